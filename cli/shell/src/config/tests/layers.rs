//! Precedence, contradictions, and the rules of the whole contract.

use engine::event::policy::{Command, GuardBudget, GuardPolicy, LoopMode, OnViolation, Surface};

use super::*;

fn shown(resolved: &Resolved, key: &str) -> (String, String) {
    let rows = dry_run(resolved);
    let row = rows.into_iter().find(|row| row.key == key).unwrap();
    (row.value, row.source)
}

#[test]
fn flags_win_over_variables_over_the_file_over_defaults() {
    let toml = "[bounds]\nmax_iterations = 2\ntimeout = \"2s\"\ncheck_timeout = \"2s\"\n";
    let variables = [("LOOPEXEC_MAX_ITERATIONS", "3"), ("LOOPEXEC_TIMEOUT", "3s")];
    let resolved = resolved(toml, &variables, &Flags::default().with("--max-iterations", "4")).unwrap();
    let expect = |key, value: &str, source: &str| {
        assert_eq!(shown(&resolved, key), (value.to_owned(), source.to_owned()), "{key}");
    };
    expect("bounds.max_iterations", "4", "--max-iterations");
    expect("bounds.timeout", "3s", "LOOPEXEC_TIMEOUT");
    expect("bounds.check_timeout", "2s", "loopexec.toml");
    expect("bounds.idle_timeout", "off", "default");
    assert_eq!(resolved.origins.len(), 3);
}

#[test]
fn a_list_of_a_higher_layer_replaces_the_lower_one() {
    let toml = "[guards]\nblocked = [\"a/\", \"b/\"]\n";
    let resolved = resolved(toml, &[], &Flags::default().with("--blocked", "c/")).unwrap();
    assert_eq!(resolved.policy.guards.blocked, ["c/"]);
}

#[test]
fn a_mistake_is_reported_even_where_a_flag_overrides_it() {
    let wrong = resolved(
        "[bounds]\ntimeout = \"5\"\n",
        &[],
        &Flags::default().with("--timeout", "5s"),
    );
    assert!(matches!(wrong.unwrap_err().fault, Fault::MissingUnit { .. }));
}

#[test]
fn the_word_default_stands_for_the_built_in_blocked_paths() {
    let flags = Flags::default()
        .with("--blocked", "default")
        .with("--blocked", "migrations/");
    let blocked = resolved("", &[], &flags).unwrap().policy.guards.blocked;
    assert_eq!(blocked.first().map(String::as_str), Some("test/"));
    assert_eq!(blocked.last().map(String::as_str), Some("migrations/"));
    assert_eq!(blocked.len(), 7);
}

#[test]
fn an_extendable_surface_moves_test_directories_out_of_the_blocked_paths() {
    let extend = from_flag("--surface", "extend").unwrap();
    assert_eq!(extend.policy.guards.surface, Surface::Extend);
    assert_eq!(extend.policy.guards.blocked, ["infra/", ".env", ".git/", ".loopexec/"]);
    assert_eq!(shown(&extend, "guards.blocked").1, "guards.surface");
    let flags = Flags::default().with("--surface", "extend").with("--blocked", "tests/");
    assert_eq!(
        resolved("", &[], &flags).unwrap().policy.guards.blocked,
        ["tests/"],
        "what is said, holds"
    );
}

#[test]
fn violations_are_counted_as_the_form_says() {
    let of = |text| {
        from_flag("--on-violation", text).map(|r| (r.policy.guards.on_violation, r.policy.guards.violations_max))
    };
    assert_eq!(of("halt"), Ok((OnViolation::Halt, 2)));
    assert_eq!(of("restore"), Ok((OnViolation::Restore, 2)));
    assert_eq!(of("restore:1"), Ok((OnViolation::Restore, 1)));
    for text in [
        "restore:0",
        "restore:",
        "restore:-1",
        "restore:+1",
        "halt:2",
        "Restore",
        "restore:x",
        "restore:99999999999",
    ] {
        assert!(of(text).is_err(), "{text}");
    }
}

#[test]
fn the_guards_time_is_so_many_checks_a_duration_or_the_larger_of_both() {
    let of = |text| from_flag("--guard-budget", text).map(|r| r.policy.guards.budget);
    let budget = |checks, at_least_ms| Ok(GuardBudget { checks, at_least_ms });
    assert_eq!((of("7x"), of("30m")), (budget(7, 0), budget(0, 1_800_000)));
    assert_eq!((of("7x,30m"), of("off")), (budget(7, 1_800_000), budget(0, 0)));
    for text in [
        "0x", "x", "-1x", "+1x", "5", "30m,7x", "7x,", ",", "7x,5", "1.5x", "1000001x",
    ] {
        assert!(of(text).is_err(), "{text}");
    }
    let told = of("5").unwrap_err().to_string();
    assert!(told.contains("1x to"), "five checks may have been meant: {told}");
    let extend = from_flag("--surface", "extend").unwrap().policy.guards.budget;
    assert!(extend.checks > GuardPolicy::default().budget.checks);
}

#[test]
fn no_progress_k_zero_means_three_and_off_means_off() {
    let k = |text| from_flag("--no-progress-k", text).map(|r| r.policy.thresholds.no_progress_k);
    assert_eq!((k("0"), k("off"), k("5")), (Ok(3), Ok(0), Ok(5)));
}

#[test]
fn iteration_bounds_below_one_are_an_invariant_and_once_wins() {
    for low in ["0", "-1", "-99999999999999999999"] {
        for error in [
            from_flag("--max-iterations", low).unwrap_err(),
            from_env("LOOPEXEC_MAX_ITERATIONS", low).unwrap_err(),
            from_toml(&format!("[bounds]\nmax_iterations = {low}\n")).unwrap_err(),
        ] {
            assert_eq!(error.class().exit_code(), 20, "{low}: {error}");
        }
    }
    assert_eq!(from_flag("--max-iterations", "x").unwrap_err().class().exit_code(), 2);
    let once = Flags {
        once: true,
        ..Flags::default().with("--max-iterations", "7")
    };
    let resolved = resolved("", &[], &once).unwrap();
    assert_eq!(shown(&resolved, "bounds.max_iterations"), ("1".into(), "--once".into()));
}

#[test]
fn negative_money_is_an_invariant_and_its_digits_are_exact() {
    for text in ["-1", "-0.000001", "nan", "inf"] {
        assert_eq!(
            from_flag("--budget-usd", text).unwrap_err().class().exit_code(),
            20,
            "{text}"
        );
        let toml = format!("[pins]\ncost_usd = {text}\n");
        assert_eq!(from_toml(&toml).unwrap_err().class().exit_code(), 20, "{toml}");
    }
    // 0.1 + 0.2 and friends: no float between the text and the micro-dollar.
    for (text, microusd) in [
        ("0.3", 300_000),
        ("12", 12_000_000),
        ("\"4.35\"", 4_350_000),
        ("1_000.000001", 1_000_000_001),
    ] {
        let toml = format!("[pins]\ncost_usd = {text}\n");
        let cost = from_toml(&toml).unwrap().policy.pins.declared_cost_microusd;
        assert_eq!(cost, Some(microusd), "{text}");
    }
    let fine = from_toml("[pins]\ncost_usd = 0.0000001\n").unwrap_err();
    assert!(matches!(fine.fault, Fault::TooFine { .. }), "{fine}");
}

#[test]
fn a_budget_that_nothing_measures_is_refused() {
    for flag in ["--budget-usd", "--calls-max", "--tokens-max"] {
        let error = from_flag(flag, "5").unwrap_err();
        assert_eq!(
            (error.fault.clone(), error.class().exit_code()),
            (Fault::BudgetWithoutMetering, 30),
            "{flag}"
        );
    }
    let flags = Flags::default()
        .with("--budget-usd", "5")
        .with("--metering", "observed");
    assert_eq!(
        resolved("", &[], &flags).unwrap().policy.bounds.budget_microusd,
        Some(5_000_000)
    );
    assert_eq!(
        from_flag("--budget-usd", "0").unwrap().policy.bounds.budget_microusd,
        None
    );
}

#[test]
fn required_pins_name_what_is_missing() {
    let flags = Flags::default().with("--pins", "required").with("--model-id", "m");
    let error = resolved("", &[], &flags).unwrap_err();
    assert_eq!(error.class().exit_code(), 30);
    let text = error.to_string();
    assert!(
        text.contains("--model-version") && !text.contains("--model-id"),
        "{text}"
    );
}

#[test]
fn a_run_without_a_check_does_not_start() {
    let dir = workdir("");
    let inputs = Inputs {
        workdir: dir.path(),
        flags: &Flags::default().with("--exec", "true"),
        env: &environment(&[]),
        known: Known::default(),
    };
    let error = resolve(&inputs).unwrap_err();
    assert_eq!((error.fault.clone(), error.class().exit_code()), (Fault::NoCheck, 30));
    assert!(resolve_without_check(&inputs).is_ok());
}

#[test]
fn pipefail_wraps_what_a_shell_runs_and_nothing_else() {
    let flags = Flags {
        exec_words: vec!["agent".into(), "a b".into()],
        ..Flags::default().with("--pipefail", "").with("--check", "a | b")
    };
    let policy = resolved("", &[], &flags).unwrap().policy;
    let words: Vec<String> = policy.oracle.check.words.iter().map(|w| w.text()).collect();
    assert_eq!(words, ["bash", "-o", "pipefail", "-c", "a | b"]);
    assert!(!policy.oracle.check.shell && !policy.exec.shell);
    assert_eq!(policy.exec.words.len(), 2);
}

#[test]
fn pipefail_without_bash_is_refused() {
    let dir = workdir("");
    let error = resolve(&Inputs {
        workdir: dir.path(),
        flags: &Flags::default().with("--pipefail", "true").with("--check", "a | b"),
        env: &[("PATH".into(), dir.path().into())],
        known: Known::default(),
    });
    assert_eq!(error.unwrap_err().fault, Fault::NoBash);
}

#[test]
fn words_after_the_dashes_are_run_without_a_shell_and_stand_alone() {
    let words = |flags: Flags| Flags {
        exec_words: vec!["agent".into(), "--fix".into()],
        ..flags
    };
    let resolved_words = resolved("[loop]\nexec = \"from file\"\n", &[], &words(Flags::default())).unwrap();
    assert_eq!(
        shown(&resolved_words, "loop.exec"),
        ("[\"agent\", \"--fix\"]".into(), "--".into())
    );
    let twice = resolved("", &[], &words(Flags::default().with("--exec", "x"))).unwrap_err();
    assert!(matches!(twice.fault, Fault::Twice { .. }), "{twice}");
}

#[test]
fn a_single_flag_given_twice_is_refused() {
    let flags = Flags::default().with("--timeout", "5s").with("--timeout", "6s");
    let error = resolved("", &[], &flags).unwrap_err();
    assert_eq!(
        (error.fault.clone(), error.class().exit_code()),
        (
            Fault::Twice {
                first: "--timeout".into()
            },
            2
        )
    );
    assert!(
        resolved(
            "",
            &[],
            &Flags::default().with("--blocked", "off").with("--blocked", "a/")
        )
        .is_err()
    );
}

#[test]
fn negated_switches_state_the_opposite_of_their_key() {
    assert!(!from_flag("--no-baseline", "").unwrap().policy.oracle.baseline);
    assert!(from_flag("--no-baseline", "false").unwrap().policy.oracle.baseline);
    assert!(!from_env("LOOPEXEC_BASELINE", "false").unwrap().policy.oracle.baseline);
    assert!(from_flag("--require-red", "").unwrap().policy.oracle.require_red);
}

#[test]
fn unknown_variables_are_refused_with_the_nearest_and_reserved_ones_are_not() {
    let error = from_env("LOOPEXEC_MAX_ITERATION", "3").unwrap_err();
    let Fault::Unknown { nearest, .. } = &error.fault else {
        panic!("{error}")
    };
    assert_eq!(nearest.as_deref(), Some("LOOPEXEC_MAX_ITERATIONS"));
    assert_eq!(error.class().exit_code(), 30);
    let reserved = [
        ("LOOPEXEC_RUN_ID", "x"),
        ("LOOPEXEC_BUDGET_LEFT_USD", "1"),
        ("LOOPEXEC_TEST_ANYTHING", ""),
        ("LOOPEXECUTOR", "not ours"),
    ];
    assert_eq!(resolved("", &reserved, &Flags::default()).unwrap().origins, []);
}

#[test]
fn unknown_flags_guards_and_collectors_are_refused_with_the_nearest() {
    let nearest = |flag, value: &str| match from_flag(flag, value).unwrap_err() {
        ConfigError {
            fault: Fault::Unknown { nearest, .. },
            place,
            ..
        } => (nearest.unwrap(), place),
        other => panic!("{other}"),
    };
    assert_eq!(nearest("--max-iteration", "3").0, "--max-iterations");
    assert_eq!(nearest("--guard-off", "blocked_path").0, "blocked_paths");
    let (name, place) = nearest("--collector", "py-test");
    assert_eq!((name.as_str(), place), ("pytest", Place::Flag("--collector".into())));
    assert_eq!(
        from_flag("--collector", "auto").unwrap().policy.oracle.collector,
        "auto"
    );
}

#[test]
fn lists_in_variables_may_hold_commas_when_written_by_line() {
    let protected = |text| from_env("LOOPEXEC_PROTECTED", text).unwrap().policy.guards.protected;
    assert_eq!(protected("a, b"), ["a", "b"]);
    assert_eq!(protected("a,b\r\nc\r\n"), ["a,b", "c"]);
    assert_eq!(protected("off"), Vec::<String>::new());
    assert!(from_env("LOOPEXEC_PROTECTED", "a,,b").is_err());
    assert!(from_env("LOOPEXEC_PROTECTED", "a,off").is_err());
}

#[test]
fn a_secret_written_where_its_name_belongs_is_not_repeated() {
    let error = from_flag("--secret", "sk-live-0123456789").unwrap_err();
    assert!(!error.to_string().contains("0123456789"), "{error}");
}

#[test]
fn context_files_are_pinned_by_content_and_missing_ones_stay_without() {
    let dir = workdir("[pins]\ncontext_files = [\"notes.md\", \"gone.md\", \"folder\"]\n");
    fs::write(dir.path().join("notes.md"), "hello").unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    let resolved = resolve_without_check(&Inputs {
        workdir: dir.path(),
        flags: &Flags::default(),
        env: &environment(&[]),
        known: Known::default(),
    })
    .unwrap();
    let digests: Vec<_> = resolved
        .policy
        .pins
        .context_files
        .iter()
        .map(|file| file.digest)
        .collect();
    let hello = engine::event::id::Digest(*blake3::hash(b"hello").as_bytes());
    assert_eq!(digests, [Some(hello), None, None]);
}

#[test]
fn required_pins_refuse_a_context_file_that_cannot_be_read_and_name_it() {
    let dir = workdir("[pins]\nmode = \"required\"\ncontext_files = [\"notes.md\", \"gone.md\", \"folder\"]\n");
    fs::write(dir.path().join("notes.md"), "hello").unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    let model = ["provider", "id", "version", "quantization", "runtime", "endpoint"];
    let flags = model.iter().fold(Flags::default(), |flags, part| {
        flags.with(&format!("--model-{part}"), "n/a")
    });
    let refused = |flags: &Flags| {
        resolve_without_check(&Inputs {
            workdir: dir.path(),
            flags,
            env: &environment(&[]),
            known: Known::default(),
        })
    };
    let error = refused(&flags).unwrap_err();
    assert_eq!(error.class().exit_code(), 30);
    let text = error.to_string();
    assert!(
        text.contains("gone.md") && text.contains("folder") && !text.contains("notes.md"),
        "{text}"
    );
    fs::write(dir.path().join("gone.md"), "").unwrap();
    fs::remove_dir(dir.path().join("folder")).unwrap();
    fs::write(dir.path().join("folder"), "").unwrap();
    assert!(refused(&flags).is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_need_not_be_text_but_everything_else_must_be() {
    use std::os::unix::ffi::OsStringExt as _;
    let odd = OsString::from_vec(b"run \xff".to_vec());
    let policy = resolved("", &[], &Flags::default().with("--check", odd.clone()))
        .unwrap()
        .policy;
    assert_eq!(policy.oracle.check.words[0].0, b"run \xff");
    let error = resolved("", &[], &Flags::default().with("--model-id", odd)).unwrap_err();
    assert_eq!(error.fault, Fault::NotUtf8);
}

#[test]
fn the_topology_and_the_array_form_of_a_command_come_from_the_file() {
    let policy = from_toml("[loop]\nmode = \"task_list\"\ncheck = [\"cargo\", \"test\"]\n")
        .unwrap()
        .policy;
    assert_eq!(policy.mode, LoopMode::TaskList);
    let expected = Command {
        words: vec!["cargo".into(), "test".into()],
        shell: false,
    };
    assert_eq!(policy.oracle.check, expected);
}
