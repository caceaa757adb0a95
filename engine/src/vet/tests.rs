use super::*;

#[test]
fn names_are_unique_and_no_guard_of_every_iteration_is_called_the_same() {
    let names: Vec<&str> = ALL.iter().map(|vet| vet.name).collect();
    let all = names.iter().chain(crate::guard::ALL.iter().map(|guard| &guard.name));
    let unique: alloc::collections::BTreeSet<&&str> = all.clone().collect();
    assert_eq!(unique.len(), all.count());
}

#[test]
fn what_was_cut_short_is_known_by_any_of_its_runs() {
    let mut vetted = bench::vetted("t0_replay");
    assert_eq!(cut(&vetted), None);
    vetted.trials.push(Trial {
        stop: StopCause::Cancelled,
        ..bench::trial(9)
    });
    assert_eq!(cut(&vetted), Some(StopCause::Cancelled));
    vetted.trials[1].stop = StopCause::Deadline;
    assert_eq!(cut(&vetted), None, "the time of one check is a verdict on the copy");
}
