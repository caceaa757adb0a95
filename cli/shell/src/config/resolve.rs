//! Three layers and the defaults become one policy, with the source of every value.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use engine::event::policy::{Metering, Origin, PinMode, Policy};

use super::error::{ConfigError, Fault, Place};
use super::flags::Flags;
use super::setting::Setting;
use super::value::Value;
use super::{FILE_NAME, env, file, flags, names, pins, table};

const SURFACE: &str = "guards.surface";
const BLOCKED: &str = "guards.blocked";

/// One value of one layer.
#[derive(Clone, Debug)]
pub struct Entry {
    pub setting: &'static Setting,
    pub value: Value,
    /// Where it was written, for errors.
    pub place: Place,
    /// The name of its source, as recorded: a flag, a variable or the file.
    pub source: String,
}

/// Names that other rooms know. An empty list means that any name is taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    pub guards: &'a [&'a str],
    pub collectors: &'a [&'a str],
}

/// What the contract is made from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub workdir: &'a Path,
    pub flags: &'a Flags,
    /// The environment, as it was when the program started.
    pub env: &'a [(OsString, OsString)],
    pub known: Known<'a>,
}

/// The effective contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub policy: Policy,
    /// Where each value came from that is not a default, in the order of the table.
    pub origins: Vec<Origin>,
}

/// Makes the contract of a run.
///
/// # Errors
/// The first mistake of any layer, or of the whole: a run needs a check.
pub fn resolve(inputs: &Inputs<'_>) -> Result<Resolved, ConfigError> {
    let resolved = resolve_without_check(inputs)?;
    if resolved.policy.oracle.check.is_empty() {
        return Err(ConfigError::new(Place::Contract, Fault::NoCheck));
    }
    Ok(resolved)
}

/// As [`resolve`], for commands whose check comes from elsewhere.
///
/// # Errors
/// The first mistake of any layer, or of the whole.
pub fn resolve_without_check(inputs: &Inputs<'_>) -> Result<Resolved, ConfigError> {
    // All layers are read before any is applied: a mistake in a value that a flag overrides is still
    // a mistake.
    let layers = [
        file::read(&inputs.workdir.join(FILE_NAME))?,
        env::read(inputs.env)?,
        flags::read(inputs.flags)?,
    ];
    let mut resolved = apply(&layers)?;
    check_names(&layers, inputs.known)?;
    pins::digest_all(inputs.workdir, &mut resolved.policy.pins.context_files);
    check_whole(&resolved.policy, inputs.env)?;
    Ok(resolved)
}

/// Applies the winning entry of each setting, in the order of the table. Later layers win.
fn apply(layers: &[Vec<Entry>]) -> Result<Resolved, ConfigError> {
    let mut policy = Policy::default();
    let mut origins = Vec::new();
    for setting in table::settings() {
        let Some(entry) = winner(layers, setting) else {
            continue;
        };
        (setting.set)(&mut policy, entry.value.clone())
            .map_err(|fault| ConfigError::of(entry.place.clone(), setting.key, fault))?;
        origins.push(Origin {
            key: setting.key.to_owned(),
            source: entry.source.clone(),
        });
    }
    add_derived(&policy, &mut origins);
    Ok(Resolved { policy, origins })
}

fn winner<'a>(layers: &'a [Vec<Entry>], setting: &Setting) -> Option<&'a Entry> {
    let layers = layers.iter().rev();
    layers.flatten().find(|entry| entry.setting.key == setting.key)
}

/// The blocked paths follow the surface unless they are set: then their origin names the surface.
fn add_derived(policy: &Policy, origins: &mut Vec<Origin>) {
    let at = |key: &str, origins: &[Origin]| origins.iter().position(|origin| origin.key == key);
    let moved = policy.guards.blocked != Policy::default().guards.blocked;
    if let (Some(surface), None, true) = (at(SURFACE, origins), at(BLOCKED, origins), moved) {
        let origin = Origin {
            key: BLOCKED.to_owned(),
            source: SURFACE.to_owned(),
        };
        origins.insert(surface + 1, origin);
    }
}

/// Names that only other rooms can judge.
fn check_names(layers: &[Vec<Entry>], known: Known<'_>) -> Result<(), ConfigError> {
    let of = |key: &str| table::find(key).and_then(|setting| winner(layers, setting));
    if let Some(entry) = of("guards.off")
        && let Value::Texts(names) = &entry.value
    {
        for name in names {
            check_name(entry, "guard", name, known.guards)?;
        }
    }
    if let Some(entry) = of("oracle.collector")
        && let Value::Text(name) = &entry.value
        && name != "auto"
    {
        check_name(entry, "collector", name, known.collectors)?;
    }
    Ok(())
}

fn check_name(entry: &Entry, what: &'static str, name: &str, known: &[&str]) -> Result<(), ConfigError> {
    if known.is_empty() || known.contains(&name) {
        return Ok(());
    }
    let fault = Fault::Unknown {
        what,
        name: name.to_owned(),
        nearest: names::nearest(name, known.iter().copied()).map(str::to_owned),
    };
    Err(ConfigError::of(entry.place.clone(), entry.setting.key, fault))
}

/// What no single value can be blamed for.
fn check_whole(policy: &Policy, env: &[(OsString, OsString)]) -> Result<(), ConfigError> {
    let fail = |fault| Err(ConfigError::new(Place::Contract, fault));
    let limited = policy.bounds.budget_microusd.is_some()
        || policy.money.calls_max.is_some()
        || policy.money.tokens_max.is_some();
    if limited && policy.money.metering == Metering::Unmetered {
        return fail(Fault::BudgetWithoutMetering);
    }
    if policy.pins.mode == PinMode::Required {
        let missing = unpinned(policy);
        if !missing.is_empty() {
            return fail(Fault::Unpinned { missing });
        }
        let unread = policy.pins.context_files.iter().filter(|file| file.digest.is_none());
        let files: Vec<_> = unread.map(|file| file.path.text()).collect();
        if !files.is_empty() {
            return fail(Fault::UnreadContext { files });
        }
    }
    let pipefail = table::find("loop.pipefail").is_some_and(|row| (row.show)(policy) == "true");
    if pipefail && !on_path("bash", env) {
        return fail(Fault::NoBash);
    }
    Ok(())
}

fn unpinned(policy: &Policy) -> Vec<&'static str> {
    let model = &policy.pins.model;
    [
        ("--model-provider", &model.provider),
        ("--model-id", &model.id),
        ("--model-version", &model.version),
        ("--model-quantization", &model.quantization),
        ("--model-runtime", &model.runtime),
        ("--model-endpoint", &model.endpoint),
    ]
    .into_iter()
    .filter(|(_, declared)| declared.is_none())
    .map(|(flag, _)| flag)
    .collect()
}

/// Whether a file of this name stands in a directory of PATH.
fn on_path(program: &str, env: &[(OsString, OsString)]) -> bool {
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    let path = path.map_or(OsStr::new("/usr/bin:/bin"), OsString::as_os_str);
    std::env::split_paths(path).any(|dir| dir.join(program).is_file())
}
