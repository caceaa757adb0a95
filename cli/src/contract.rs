//! Flags of the contract, built from the one table of settings.
//!
//! Every setting has a flag here without anybody listing it; `run` takes all of them, `resume` the limits that a
//! person may change between two lives of a run.

use std::ffi::OsString;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use engine::event::id::Stamp;
use engine::event::policy::Policy;
use engine::event::run::Amended;
use shell::config::{Flags, Known, Setting, flags, settings};

use crate::failure::Failure;
use crate::which::quoted;

/// Settings that an amendment can change.
const AMENDABLE: &[&str] = &[
    "bounds.max_iterations",
    "bounds.timeout",
    "bounds.command_timeout",
    "bounds.check_timeout",
    "bounds.budget_usd",
];

/// Settings that repeated runs of the check alone obey.
const PROBED: &[&str] = &[
    "loop.check",
    "loop.pipefail",
    "loop.secrets",
    "oracle.collector",
    "oracle.report",
    "oracle.hermetic",
    "oracle.hermetic_allow",
    "oracle.failures_cmd",
    "oracle.check_success_exit",
    "bounds.timeout",
    "bounds.check_timeout",
    "bounds.idle_timeout",
    "bounds.first_output_timeout",
    "bounds.terminate_grace",
    "failures.on_check_timeout",
    "capture.output_cap",
    "isolation.zones",
    "isolation.toolchains",
    "isolation.check_outputs",
    "isolation.uid",
    "isolation.memory_max",
    "isolation.processes_max",
    "isolation.require_cgroup",
    "isolation.scratch_max",
    "isolation.volume_max",
    "isolation.processors",
];

/// The flags of the whole contract, as they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContractFlags(pub(crate) Flags);

/// The flags of an amendment, as they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct LimitFlags(pub(crate) Flags);

/// The flags that speak of the check, as they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProbeFlags(pub(crate) Flags);

/// The flags that an examination looks at, as they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct DoctorFlags(pub(crate) Flags);

/// Settings beside those that an examination looks at.
const EXAMINED: &[&str] = &[
    "loop.exec",
    "oracle.check_env",
    "oracle.coverage",
    "isolation.egress_allow",
    "isolation.egress_max",
    "isolation.agent_env",
    "isolation.mint_cmd",
    "isolation.revoke_cmd",
    "isolation.key_env",
    "isolation.key_ttl",
    "isolation.key_cap_usd",
    "isolation.gateway",
    "isolation.gateway_key_env",
    "isolation.gateway_key_header",
    "isolation.gateway_ca",
    "isolation.runtime",
    "isolation.image",
];

fn examined(setting: &Setting) -> bool {
    probed(setting) || EXAMINED.contains(&setting.key)
}

fn probed(setting: &Setting) -> bool {
    PROBED.contains(&setting.key)
}

fn amendable(setting: &Setting) -> bool {
    AMENDABLE.contains(&setting.key)
}

/// The argument of one setting.
fn arg(setting: &'static Setting) -> Arg {
    let mut arg = Arg::new(setting.key)
        .long(setting.flag.trim_start_matches('-'))
        .value_parser(value_parser!(OsString))
        // The table tells a repetition that is a mistake from one that adds to a list.
        .action(ArgAction::Append)
        .allow_negative_numbers(true)
        .help_heading(setting.group)
        .help(setting.help)
        .long_help(long_help(setting));
    if setting.is_switch() {
        arg = arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("")
            .value_name("true|false");
    } else {
        arg = arg.value_name(placeholder(setting));
    }
    arg
}

/// What stands for the value of a setting, for as long as the program runs.
fn placeholder(setting: &Setting) -> &'static str {
    static ALL: LazyLock<Vec<String>> =
        LazyLock::new(|| settings().iter().map(|setting| setting.kind.placeholder()).collect());
    let at = settings().iter().position(|row| row.key == setting.key);
    at.and_then(|at| ALL.get(at)).map_or("VALUE", String::as_str)
}

fn long_help(setting: &Setting) -> String {
    let mut text = setting.help.to_owned();
    if !setting.long.is_empty() {
        text.push_str(". ");
        text.push_str(setting.long);
    }
    let default = (setting.show)(&Policy::default());
    if !default.is_empty() {
        text.push_str(&format!("\n\n[default: {default}]"));
    }
    text.push_str(&format!(
        "\n[file: {} in [{}]] [env: {}]",
        setting.name(),
        setting.section(),
        setting.env
    ));
    text
}

fn augment(command: Command, wanted: fn(&Setting) -> bool) -> Command {
    let rows = settings().iter().filter(|setting| wanted(setting));
    rows.fold(command, |command, setting| command.arg(arg(setting)))
}

/// What was written, in the order of the table.
fn written(matches: &ArgMatches, wanted: fn(&Setting) -> bool) -> Flags {
    let mut flags = Flags::default();
    for setting in settings().iter().filter(|setting| wanted(setting)) {
        let values = matches.get_many::<OsString>(setting.key).into_iter().flatten();
        for value in values {
            flags = flags.with(setting.key, value.clone());
        }
    }
    flags
}

macro_rules! flag_set {
    ($name:ident, $wanted:expr) => {
        impl Args for $name {
            fn augment_args(command: Command) -> Command {
                augment(command, $wanted)
            }

            fn augment_args_for_update(command: Command) -> Command {
                augment(command, $wanted)
            }
        }

        impl FromArgMatches for $name {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                Ok(Self(written(matches, $wanted)))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                self.0 = written(matches, $wanted);
                Ok(())
            }
        }
    };
}

flag_set!(ContractFlags, |_| true);
flag_set!(LimitFlags, amendable);
flag_set!(ProbeFlags, probed);
flag_set!(DoctorFlags, examined);

/// The flags as they could be typed again, each with a space before it.
pub(crate) fn spelled(written: &Flags) -> String {
    let mut line = String::new();
    for (key, value) in &written.values {
        let Some(setting) = settings().iter().find(|setting| setting.key == key) else {
            continue;
        };
        let value = quoted(&value.to_string_lossy());
        line.push_str(&match (setting.is_switch(), value.as_str()) {
            (true, "''") => format!(" {}", setting.flag),
            (true, value) => format!(" {}={value}", setting.flag),
            (false, value) => format!(" {} {value}", setting.flag),
        });
    }
    line
}

/// Names that the configuration cannot know by itself.
pub(crate) fn known() -> (Vec<&'static str>, Vec<&'static str>) {
    let before_green = engine::vet::ALL.iter().map(|vet| vet.name);
    let guards = engine::guard::ALL
        .iter()
        .map(|guard| guard.name)
        .chain(before_green)
        .collect();
    let collectors = shell::oracle::collect::ALL
        .iter()
        .map(|collector| collector.name)
        .collect();
    (guards, collectors)
}

/// [`known`], as the configuration wants it.
pub(crate) const fn as_known<'a>(names: &'a (Vec<&'a str>, Vec<&'a str>)) -> Known<'a> {
    Known {
        guards: names.0.as_slice(),
        collectors: names.1.as_slice(),
    }
}

/// The change of limits that these flags ask for; none when they say nothing.
pub(crate) fn amendment(written: &Flags) -> Result<Option<Amended>, Failure> {
    let mut asked = Amended {
        at: Stamp::default(),
        by: person(),
        max_iterations: None,
        timeout_ms: None,
        command_timeout_ms: None,
        check_timeout_ms: None,
        budget_microusd: None,
    };
    let entries = flags::read(written)?;
    if entries.is_empty() {
        return Ok(None);
    }
    for entry in &entries {
        let setting = entry.setting;
        if !amendable(setting) {
            return Err(Failure::usage(format!(
                "{}: the contract of a run is pinned and only its limits can be changed on resume ({}); start a new run for anything else",
                setting.flag,
                amendable_flags()
            )));
        }
        let mut policy = Policy::default();
        (setting.set)(&mut policy, entry.value.clone())
            .map_err(|fault| shell::config::ConfigError::of(entry.place.clone(), setting.key, fault))?;
        let bounds = policy.bounds;
        let limit = |limit: Option<u64>| {
            limit.map(Some).ok_or_else(|| {
                Failure::usage(format!(
                    "{}: a limit can be raised on resume, not switched off; give a large one",
                    setting.flag
                ))
            })
        };
        match setting.key {
            "bounds.max_iterations" => asked.max_iterations = Some(bounds.max_iterations),
            "bounds.timeout" => asked.timeout_ms = limit(bounds.timeout_ms)?,
            "bounds.command_timeout" => asked.command_timeout_ms = limit(bounds.command_timeout_ms)?,
            "bounds.check_timeout" => asked.check_timeout_ms = limit(bounds.check_timeout_ms)?,
            _ => asked.budget_microusd = limit(bounds.budget_microusd)?,
        }
    }
    Ok(Some(asked))
}

fn amendable_flags() -> String {
    let flags = settings().iter().filter(|setting| amendable(setting));
    flags.map(|setting| setting.flag).collect::<Vec<_>>().join(", ")
}

/// Who is at the keyboard, as far as the environment says.
fn person() -> String {
    let said = |name| std::env::var(name).ok().filter(|name| !name.is_empty());
    said("LOGNAME")
        .or_else(|| said("USER"))
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_amendable_key_is_a_setting() {
        assert_eq!(
            settings().iter().filter(|setting| amendable(setting)).count(),
            AMENDABLE.len()
        );
    }

    #[test]
    fn every_key_that_is_probed_is_a_setting() {
        assert_eq!(
            settings().iter().filter(|setting| probed(setting)).count(),
            PROBED.len()
        );
    }

    #[test]
    fn flags_are_spelled_so_that_they_can_be_typed_again() {
        let written = Flags::default()
            .with("loop.check", "make test")
            .with("loop.pipefail", "");
        assert_eq!(spelled(&written), " --check 'make test' --pipefail");
    }

    #[test]
    fn an_amendment_holds_exactly_what_was_asked_for() {
        let asked = amendment(&Flags::default().with("bounds.max_iterations", "7"))
            .unwrap()
            .unwrap();
        assert_eq!((asked.max_iterations, asked.timeout_ms), (Some(7), None));
        assert_eq!(amendment(&Flags::default()), Ok(None));
    }

    #[test]
    fn what_is_pinned_cannot_be_amended_and_a_limit_cannot_be_switched_off() {
        let pinned = amendment(&Flags::default().with("--check", "true")).unwrap_err();
        assert_eq!(pinned.exit, 2);
        assert!(pinned.message.contains("--max-iterations"), "{}", pinned.message);
        let off = amendment(&Flags::default().with("--timeout", "off")).unwrap_err();
        assert!(off.message.contains("--timeout"), "{}", off.message);
    }
}
