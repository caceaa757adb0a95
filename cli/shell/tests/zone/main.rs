//! Real zones under attack: what must not be possible in them is tried, and must fail.
//!
//! Launcher and init are the binary that starts zones, so this binary is all three: its `main` takes the hidden
//! arguments first, as that of `loopexec` does. A machine on which bare bwrap starts nothing is said aloud, and the
//! tests are skipped there.

// A helper that fails fails its test; what is skipped is said aloud; the stand-ins say what they found.
#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

mod attack;
mod catalogue;
mod ends;
mod governor;
mod lives;
mod refusals;
mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use shell::hidden;

fn main() -> ExitCode {
    if let Some(done) = hidden::dispatch(std::env::args_os().skip(1)) {
        return done;
    }
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if words.is_empty() {
        return tests();
    }
    let first = words.remove(0);
    match first.as_str() {
        attack::ATTACK => attack::attack(&words),
        governor::STAND_IN => governor::stand_in(),
        governor::KILLER => governor::killer(&words),
        _ => tests(),
    }
}

fn tests() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = catalogue::trials();
    for seed in [1, 2] {
        let name = format!("governor::nothing_outlives_a_killed_governor_a66::{seed}");
        trials.push(Trial::test(name, move || {
            governor::nothing_outlives_a_killed_governor(seed);
            Ok(())
        }));
    }
    trials.extend(lives());
    trials.push(Trial::test(
        "governor::whoever_outlives_a_stand_in_governor_is_named_and_ended",
        || {
            governor::whoever_outlives_a_stand_in_governor_is_named_and_ended();
            Ok(())
        },
    ));
    if let Some(reason) = support::unable() {
        eprintln!("skipped: no zone starts on this machine: {reason}");
        trials = trials.into_iter().map(|trial| trial.with_ignored_flag(true)).collect();
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The tests of a room, each under its own name.
macro_rules! trials {
    ($room:ident: $($test:ident),* $(,)?) => {
        vec![$(Trial::test(concat!(stringify!($room), "::", stringify!($test)), || {
            $room::$test();
            Ok(())
        })),*]
    };
}

fn lives() -> Vec<Trial> {
    let mut trials = trials!(refusals:
        root_without_a_user_to_drop_to_is_refused_a93,
        a_bwrap_that_is_missing_unsafe_or_failing_is_refused_a91,
        an_init_that_is_not_kept_apart_gets_no_go,
        sources_that_are_not_as_planned_are_refused,
        a_zone_that_is_less_apart_than_asked_for_gets_no_go,
        a_zone_that_shows_more_than_was_planned_gets_no_go,
        capabilities_that_somebody_asked_for_are_dropped,
    );
    trials.extend(trials!(lives:
        the_launcher_ends_as_the_command_did,
        a_command_that_is_not_there_is_told_apart_from_one_that_failed,
        what_was_in_force_is_told,
        a_zone_has_a_cgroup_where_one_is_to_be_had_and_is_refused_where_that_is_required_and_not,
        binds_are_seen_as_planned,
        a_tree_below_scratch_cannot_be_moved_away,
        a_program_with_roots_bit_gives_nothing_a18,
        a_descriptor_of_the_governor_does_not_reach_the_zone_a13,
        what_one_zone_leaves_the_next_does_not_find_a85,
        a_socket_of_one_zone_leads_the_next_nowhere_a54,
        the_agents_tree_is_not_the_checks_a10,
        everybody_goes_with_the_command_a65,
        a_command_that_will_not_end_is_ended_a68,
        a_command_that_is_asked_to_end_has_its_last_word,
        output_is_capped_a69,
        a_flood_of_processes_stays_inside_a63,
        many_together_hold_no_more_than_the_zone_a64,
        memory_that_no_process_maps_is_counted_too,
        no_secret_is_in_any_process_table_and_nobody_is_root_a73,
        hashes_are_the_same_twice_a82,
        a_zone_with_a_proxy_has_its_listener_and_nothing_else,
        a_plain_request_leaves_the_zone_for_the_place_that_is_listed_for_it,
    ));
    trials.extend(trials!(ends:
        what_is_kept_on_disk_has_a_limit,
        what_cannot_be_ended_is_said_to_be_there,
        a_zone_goes_with_its_launcher_though_somebody_holds_its_line,
        a_command_has_the_processors_and_the_input_that_were_planned,
    ));
    trials
}
