//! The contract for people: what is in force and why, and what could be said.

use super::resolve::Resolved;
use super::setting::{Off, Setting};
use super::table;
use engine::event::policy::Policy;

/// One line of the effective contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub group: &'static str,
    pub key: &'static str,
    pub value: String,
    /// `default`, or the flag, variable, file or setting that the value came from.
    pub source: String,
}

/// One line of the generated reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceRow {
    pub group: &'static str,
    pub key: &'static str,
    /// With its placeholder, as in `--timeout DURATION`.
    pub flag: String,
    pub env: &'static str,
    pub default: String,
    /// One or more sentences.
    pub meaning: String,
}

/// Name of the source of a value that nobody set.
pub const DEFAULT_SOURCE: &str = "default";

/// The whole effective contract, a row a setting, in the order of the table.
pub fn dry_run(resolved: &Resolved) -> Vec<Row> {
    let row = |setting: &Setting| Row {
        group: setting.group,
        key: setting.key,
        value: (setting.show)(&resolved.policy),
        source: resolved
            .origins
            .iter()
            .find(|origin| origin.key == setting.key)
            .map_or_else(|| DEFAULT_SOURCE.to_owned(), |origin| origin.source.clone()),
    };
    table::settings().iter().map(row).collect()
}

/// Every setting with its three names, default and meaning.
pub fn reference() -> Vec<ReferenceRow> {
    let default = Policy::default();
    let row = |setting: &Setting| ReferenceRow {
        group: setting.group,
        key: setting.key,
        flag: flag_form(setting),
        env: setting.env,
        default: (setting.show)(&default),
        meaning: meaning(setting),
    };
    table::settings().iter().map(row).collect()
}

fn flag_form(setting: &Setting) -> String {
    if setting.is_switch() {
        return setting.flag.to_owned();
    }
    let many = if setting.repeatable() { "..." } else { "" };
    format!("{} {}{many}", setting.flag, setting.kind.placeholder())
}

fn meaning(setting: &Setting) -> String {
    let mut out = format!("{}.", setting.help);
    if !setting.long.is_empty() {
        out.push(' ');
        out.push_str(setting.long);
    }
    match setting.off {
        Off::Never => {}
        Off::Word => out.push_str(" `off` clears it."),
        Off::WordOrZero => out.push_str(" `off` or 0 switches it off."),
    }
    out
}
