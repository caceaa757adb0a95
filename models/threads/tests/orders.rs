//! Each model under every order of steps, or under every one with few switches where all of them are too many.

use threads::models;

/// Every execution with at most this many switches away from a thread that could go on.
fn with_few_switches(switches: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(switches);
    orders.check(model);
}

#[test]
fn every_job_of_a_walk_is_done_once_and_every_thread_ends() {
    loom::model(|| models::a_walk(1, 2));
    with_few_switches(4, || models::a_walk(2, 2));
    with_few_switches(2, || models::a_walk(1, 3));
}

#[test]
fn a_job_that_fails_ends_every_thread() {
    loom::model(|| models::a_walk_that_fails(2));
    with_few_switches(3, || models::a_walk_that_fails(3));
}

#[test]
fn a_thread_that_never_comes_is_not_waited_for() {
    loom::model(models::a_walk_with_a_thread_too_few);
}

#[test]
fn nothing_passes_beyond_a_cap_and_whoever_is_refused_has_rung() {
    loom::model(models::connections_up_to_a_cap);
    loom::model(models::bytes_up_to_a_cap);
}

#[test]
fn no_place_of_a_connection_is_given_twice_or_lost() {
    with_few_switches(4, models::places_at_once);
}
