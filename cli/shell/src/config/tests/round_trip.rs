//! Every row of the table, through every layer.

use std::collections::BTreeSet;

use engine::event::policy::{Origin, Policy};

use super::*;
use crate::config::setting::Off;

/// A value that is not the default: as TOML, as a variable, as flag occurrences, as it is shown.
struct Sample {
    toml: String,
    env: String,
    flags: Vec<String>,
    shown: String,
}

fn same(text: &str, toml: &str) -> Sample {
    Sample {
        toml: toml.to_owned(),
        env: text.to_owned(),
        flags: vec![text.to_owned()],
        shown: text.to_owned(),
    }
}

fn sample(setting: &Setting) -> Sample {
    let quoted = |text: &str| same(text, &format!("\"{text}\""));
    let list = |a: &str, b: &str| Sample {
        toml: format!("[\"{a}\", \"{b}\"]"),
        env: format!("{a}, {b}"),
        flags: vec![a.to_owned(), b.to_owned()],
        shown: format!("{a},{b}"),
    };
    match (setting.key, setting.kind) {
        ("oracle.collector", _) => quoted("pytest"),
        ("guards.off", _) => list("collected_set", "blocked_paths"),
        ("isolation.gateway", _) => list("FIRST=https://a.example/v1", "SECOND=https://a.example/v2"),
        ("isolation.gateway_ca", _) => quoted("/etc/ü 1.pem"),
        (_, Kind::Count { .. } | Kind::Integer { .. }) => same("7", "7"),
        (_, Kind::Duration) => quoted("1h30m500ms"),
        (_, Kind::Money) => same("12.345678", "12.345678"),
        (_, Kind::Size { .. }) => quoted("48KiB"),
        (_, Kind::Decimal { .. }) => same("0.7", "0.70"),
        (_, Kind::Bool) => {
            let value = (setting.show)(&Policy::default()) != "true";
            Sample {
                flags: vec![(value != setting.flag_negates).to_string()],
                ..same(&value.to_string(), &value.to_string())
            }
        }
        (_, Kind::Choice(labels)) => quoted(labels.last().unwrap()),
        ("guards.budget", _) => quoted("7x,1h30m"),
        (_, Kind::Form(_)) => quoted("restore:5"),
        (_, Kind::Text | Kind::Path | Kind::Command) => quoted("some thing/ü 1"),
        ("isolation.toolchains", _) => list("/opt/a b", "/srv/ü"),
        (_, Kind::Patterns | Kind::Paths) => list("a b/", "*.ü"),
        (_, Kind::Places) => list("/srv/data", "[2001:db8::1]:80"),
        (_, Kind::EnvNames | Kind::Names) => list("FIRST", "_SECOND2"),
    }
}

/// What else must be set for the sample to be a valid contract that shows it.
fn companions(key: &str) -> &'static [(&'static str, &'static str)] {
    match key {
        "bounds.budget_usd" | "money.calls_max" | "money.tokens_max" => &[("LOOPEXEC_METERING", "observed")],
        "loop.pipefail" => &[("LOOPEXEC_CHECK", "true")],
        "pins.mode" => &[
            ("LOOPEXEC_MODEL_PROVIDER", "p"),
            ("LOOPEXEC_MODEL_ID", "i"),
            ("LOOPEXEC_MODEL_VERSION", "v"),
            ("LOOPEXEC_MODEL_QUANTIZATION", "n/a"),
            ("LOOPEXEC_MODEL_RUNTIME", "n/a"),
            ("LOOPEXEC_MODEL_ENDPOINT", "e"),
        ],
        _ => &[],
    }
}

fn source_of<'a>(resolved: &'a Resolved, key: &str) -> Option<&'a str> {
    let origin = resolved.origins.iter().find(|origin: &&Origin| origin.key == key);
    origin.map(|origin| origin.source.as_str())
}

#[test]
fn every_setting_means_the_same_in_the_file_a_variable_and_a_flag() {
    for setting in settings() {
        let sample = sample(setting);
        let around = companions(setting.key);
        let toml = format!("[{}]\n{} = {}\n", setting.section(), setting.name(), sample.toml);
        let file = resolved(&toml, around, &Flags::default()).unwrap_or_else(|e| panic!("{setting:?} in {toml}: {e}"));
        let mut variables = around.to_vec();
        variables.push((setting.env, &sample.env));
        let env = resolved("", &variables, &Flags::default()).unwrap_or_else(|e| panic!("{setting:?}: {e}"));
        let occurrences = sample.flags.iter();
        let given = occurrences.fold(Flags::default(), |flags, text| flags.with(setting.key, text));
        let flags = resolved("", around, &given).unwrap_or_else(|e| panic!("{setting:?}: {e}"));

        assert_eq!((setting.show)(&file.policy), sample.shown, "{setting:?}");
        assert_eq!(file.policy, env.policy, "{setting:?}");
        assert_eq!(file.policy, flags.policy, "{setting:?}");
        assert_ne!(
            file.policy,
            Policy::default(),
            "{setting:?}: the sample must differ from the default"
        );
        assert_eq!(source_of(&file, setting.key), Some(FILE_NAME), "{setting:?}");
        assert_eq!(source_of(&env, setting.key), Some(setting.env), "{setting:?}");
        assert_eq!(source_of(&flags, setting.key), Some(setting.flag), "{setting:?}");
    }
}

#[test]
fn every_setting_can_be_set_back_to_its_shown_default_by_a_flag() {
    for setting in settings() {
        let shown = (setting.show)(&Policy::default());
        // The check has no default: nothing is shown for it, and nothing can be given back.
        if shown.is_empty() {
            assert_eq!(setting.key, "loop.check");
            continue;
        }
        let sample = sample(setting);
        let toml = format!("[{}]\n{} = {}\n", setting.section(), setting.name(), sample.toml);
        let value = match setting.kind {
            Kind::Bool => (shown.parse::<bool>().unwrap() != setting.flag_negates).to_string(),
            _ => shown.clone(),
        };
        let flags = if setting.repeatable() && shown != "off" {
            let parts = shown.split(',');
            parts.fold(Flags::default(), |flags, part| flags.with(setting.flag, part))
        } else {
            Flags::default().with(setting.flag, &value)
        };
        let back = resolved(&toml, &[], &flags).unwrap_or_else(|e| panic!("{setting:?} = {shown}: {e}"));
        assert_eq!(back.policy, Policy::default(), "{setting:?}");
        assert_eq!(
            source_of(&back, setting.key),
            Some(setting.flag),
            "{setting:?}: said, though it is the default"
        );
    }
}

#[test]
fn what_is_shown_is_read_back_from_a_variable() {
    for setting in settings() {
        let around = companions(setting.key);
        let mut variables = around.to_vec();
        let text = sample(setting).env;
        variables.push((setting.env, &text));
        let first = resolved("", &variables, &Flags::default()).unwrap();
        let shown = (setting.show)(&first.policy);
        let mut variables = around.to_vec();
        variables.push((setting.env, &shown));
        assert_eq!(
            resolved("", &variables, &Flags::default()).unwrap(),
            first,
            "{setting:?}"
        );
    }
}

#[test]
fn every_field_of_the_policy_is_behind_some_setting() {
    // All samples together leave no field of the canonical JSON at its default.
    let mut variables = vec![("LOOPEXEC_METERING".to_owned(), "strict".to_owned())];
    for setting in settings() {
        // The first is said above; the second would turn the shell commands into words again.
        if ["money.metering", "loop.pipefail"].contains(&setting.key) {
            continue;
        }
        // Where pins are required the file must be there, as the configuration itself is.
        let text = match setting.key {
            "pins.context_files" => FILE_NAME.to_owned(),
            _ => sample(setting).env,
        };
        variables.push((setting.env.to_owned(), text));
    }
    let borrowed: Vec<(&str, &str)> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let full = resolved("# nothing\n", &borrowed, &Flags::default()).unwrap();
    let (mut default, mut set) = (BTreeSet::new(), BTreeSet::new());
    leaves("", &serde_json::to_value(Policy::default()).unwrap(), &mut default);
    leaves("", &serde_json::to_value(&full.policy).unwrap(), &mut set);
    let same: Vec<_> = default.intersection(&set).collect();
    assert!(same.is_empty(), "no setting reaches {same:?}");
}

fn leaves(at: &str, value: &serde_json::Value, out: &mut BTreeSet<String>) {
    match value.as_object() {
        Some(object) => object
            .iter()
            .for_each(|(key, value)| leaves(&format!("{at}.{key}"), value, out)),
        None => {
            // Lists differ as a whole.
            out.insert(format!("{at}={value}"));
        }
    }
}

#[test]
fn off_and_zero_switch_off_what_can_be_switched_off() {
    for setting in settings() {
        let off = from_env(setting.env, "off");
        match (setting.off, setting.kind) {
            (Off::Never, Kind::Text | Kind::Bool | Kind::Command) => {}
            (Off::Never, _) => assert!(off.is_err(), "{setting:?}"),
            (Off::Word | Off::WordOrZero, _) => {
                assert_eq!((setting.show)(&off.unwrap().policy), "off", "{setting:?}");
            }
        }
        if setting.off == Off::WordOrZero {
            assert_eq!(
                (setting.show)(&from_env(setting.env, "0").unwrap().policy),
                "off",
                "{setting:?}"
            );
        }
        if setting.off == Off::WordOrZero && setting.kind == Kind::Duration {
            assert_eq!(
                (setting.show)(&from_env(setting.env, "0s").unwrap().policy),
                "off",
                "{setting:?}"
            );
        }
    }
}

#[test]
fn an_empty_value_is_refused_everywhere() {
    for setting in settings() {
        for raw in ["", " "] {
            assert!(from_env(setting.env, raw).is_err(), "{setting:?} {raw:?}");
            let flag = from_flag(setting.flag, raw);
            assert!(
                flag.is_err() || (setting.is_switch() && raw.is_empty()),
                "{setting:?} {raw:?}"
            );
        }
        let toml = format!("[{}]\n{} = \"\"\n", setting.section(), setting.name());
        assert!(from_toml(&toml).is_err(), "{setting:?}");
    }
}

#[test]
fn the_dry_run_and_the_reference_cover_every_setting() {
    let resolved = from_flag("--timeout", "90s").unwrap();
    let rows = dry_run(&resolved);
    assert_eq!(rows.len(), settings().len());
    let row = rows.iter().find(|row| row.key == "bounds.timeout").unwrap();
    assert_eq!((row.value.as_str(), row.source.as_str()), ("1m30s", "--timeout"));
    let others = rows.iter().filter(|row| row.key != "bounds.timeout");
    assert!(others.clone().all(|row| row.source == "default"));
    let reference = reference();
    assert_eq!(reference.len(), settings().len());
    let row = reference.iter().find(|row| row.key == "guards.blocked").unwrap();
    assert_eq!(row.flag, "--blocked PATTERN...");
    assert_eq!(row.default, "test/,tests/,infra/,.env,.git/,.loopexec/");
    assert!(reference.iter().all(|row| row.meaning.ends_with('.')));
}
