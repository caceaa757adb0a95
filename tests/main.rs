//! The end-to-end and conformance tests of loopexec, in one binary.

// A helper that fails fails its test, and what is left out is said aloud.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod conformance {
    mod architecture;
    mod causes;
    mod golden;
    mod house;
    mod matrix;
    mod rooms;
    mod spec;
    mod verdicts;
}
mod support;

mod e2e {
    mod agentside;
    mod answers;
    mod barriers;
    mod budgeting;
    mod cli_contract;
    mod cli_demo;
    mod cli_record;
    mod cli_replay;
    mod cli_run;
    mod clocks;
    mod code_mutation;
    mod containers;
    mod corpus;
    mod cost;
    mod covering;
    mod credential;
    mod deciding;
    mod degraded;
    mod doctor;
    mod egress;
    mod extending;
    mod faults;
    mod flaky;
    mod foreign;
    mod gaming;
    mod hermetic;
    mod hermeticity;
    mod hostile;
    mod hygiene;
    mod in_place;
    mod judging;
    mod leaving;
    mod lives;
    mod mutation;
    mod named_runners;
    mod outputs;
    mod probing;
    mod process;
    mod profile;
    mod proving;
    mod readonly;
    mod relocating;
    mod reporting;
    mod runners;
    mod safety;
    mod vetting;
    mod vetting_order;
    mod zone_returns;
    mod zones;
}
