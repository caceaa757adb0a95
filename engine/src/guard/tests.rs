use super::bench::Bench;
use super::*;
use alloc::string::ToString;

#[test]
fn guards_stand_in_alphabetical_order_with_unique_names() {
    assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
}

#[test]
fn an_honest_turn_clears_every_guard() {
    let report = judge(&Bench::honest().evidence());
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(clear(&report, &vetted(), 1, Digest::ZERO).is_some());
}

/// Every vet, passed, on the tree of these tests.
fn vetted() -> Vec<Arc<Vetted>> {
    vet::ALL
        .iter()
        .map(|vet| Arc::new(vet::bench::vetted(vet.name)))
        .collect()
}

#[test]
fn a_vet_that_is_missing_could_not_run_or_spoke_of_another_tree_clears_nothing() {
    let report = judge(&Bench::honest().evidence());
    let bent = |bend: fn(&mut Vec<Vetted>)| {
        let own = |vetted: Vec<Arc<Vetted>>| vetted.iter().map(|vetted| (**vetted).clone()).collect::<Vec<_>>();
        let mut vetted = own(vetted());
        bend(&mut vetted);
        let vetted: Vec<Arc<Vetted>> = vetted.into_iter().map(Arc::new).collect();
        clear(&report, &vetted, 1, Digest::ZERO)
    };
    assert!(bent(|_| {}).is_some());
    assert!(bent(|vetted| vetted[0].state = GuardState::NotApplicable).is_some());
    assert!(bent(|vetted| vetted.truncate(vet::ALL.len() - 1)).is_none());
    assert!(bent(|vetted| vetted[0].state = GuardState::Unavailable).is_none());
    assert!(bent(|vetted| vetted[0].tree = Digest([9; 32])).is_none());
    assert!(bent(|vetted| vetted[0].iteration = 2).is_none());
    assert!(bent(|vetted| vetted[0].findings.push(vet::ALL[0].violation("a", "b"))).is_none());
}

#[test]
fn what_was_left_to_kill_set_needs_its_word_and_no_other() {
    let mut report = judge(&Bench::honest().evidence());
    report.guards[0].state = GuardState::Deferred;
    let with = |name: &str, state: GuardState| {
        let vetted = vetted().into_iter().map(|vetted| {
            let mut vetted = (*vetted).clone();
            if vetted.guard == name {
                vetted.state = state;
            }
            Arc::new(vetted)
        });
        let vetted: Vec<Arc<Vetted>> = vetted.collect();
        (
            clear(&report, &vetted, 1, Digest::ZERO).map(|cleared| cleared.suites_compared()),
            open(&report, &vetted).is_some(),
        )
    };
    let kill_set = vet::kill_set::VET.name;
    assert_eq!(with(kill_set, GuardState::Active), (Some(true), false));
    for state in [GuardState::Off, GuardState::NotApplicable, GuardState::Unavailable] {
        assert_eq!(with(kill_set, state), (None, true), "{state}");
    }
    assert_eq!(with("order", GuardState::Off), (Some(true), false));
    assert!(passed(&report), "it is no finding by itself");
}

#[test]
fn a_report_that_lacks_a_guard_clears_nothing() {
    let mut report = judge(&Bench::honest().evidence());
    report.guards.pop();
    assert_eq!(clear(&report, &vetted(), 1, Digest::ZERO), None);
}

#[test]
fn a_guard_that_could_not_run_clears_nothing() {
    let mut report = judge(&Bench::honest().evidence());
    report.guards[0].state = GuardState::Unavailable;
    assert_eq!(clear(&report, &vetted(), 1, Digest::ZERO), None);
}

#[test]
fn an_unlisted_finding_clears_nothing() {
    let mut report = judge(&Bench::honest().evidence());
    report.findings_more = 1;
    assert_eq!(clear(&report, &vetted(), 1, Digest::ZERO), None);
}

#[test]
fn guards_of_the_surface_find_what_they_can_and_pass_nothing_when_index_and_commit_cannot_be_listed() {
    let state = |bench: &Bench, name: &str| {
        let report = judge(&bench.evidence());
        report.guards.iter().find(|run| run.guard == name).unwrap().state
    };
    for (name, class) in [
        ("blocked_paths", SurfaceClass::Blocked),
        ("protected_manifest", SurfaceClass::Protected),
        ("determinant_files", SurfaceClass::Determinant),
    ] {
        let mut bench = Bench::honest();
        bench.after_exec.git.listed = GitState::Unavailable;
        assert_eq!(state(&bench, name), GuardState::Unavailable);
        bench.after_exec.surface = [bench.change("tests/a.py", class)].into();
        assert_eq!(state(&bench, name), GuardState::Active);
        bench.after_exec.surface.clear();
        bench.after_exec.git.listed = GitState::None;
        assert_eq!(state(&bench, name), GuardState::Active);
    }
}

#[test]
fn a_guard_switched_off_is_said_and_finds_nothing() {
    let mut bench = Bench::honest();
    bench.policy.guards.off = ["leftover_processes".to_string()].into();
    bench.exec_survivors = [bench.survivor(false)].into();
    let report = judge(&bench.evidence());
    assert!(report.findings.is_empty());
    let run = report
        .guards
        .iter()
        .find(|run| run.guard == "leftover_processes")
        .unwrap();
    assert_eq!(run.state, GuardState::Off);
}

#[test]
fn a_guard_that_was_active_at_the_start_cannot_stop_applying() {
    let mut bench = Bench::honest();
    bench.measurement.collector.clear();
    bench.universe = IdSet::default();
    let state = |bench: &Bench| {
        let report = judge(&bench.evidence());
        report
            .guards
            .iter()
            .find(|run| run.guard == "outcome_downgrades")
            .unwrap()
            .state
    };
    assert_eq!(state(&bench), GuardState::NotApplicable);
    bench.active_at_t0 = ["outcome_downgrades".to_string()].into();
    assert_eq!(state(&bench), GuardState::Unavailable);
}

#[test]
fn the_gravest_violation_names_the_halt() {
    let mut bench = Bench::honest();
    bench.measurement.concluded = Some(0);
    bench.after_exec.surface = [bench.change("tests/a.py", SurfaceClass::Blocked)].into();
    let report = judge(&bench.evidence());
    assert_eq!(gravest(&report, &[]).unwrap().reason, HaltReason::BlockedPathModified);
}
