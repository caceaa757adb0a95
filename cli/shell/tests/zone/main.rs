//! Real zones under attack: what must not be possible in them is tried, and must fail.
//!
//! Launcher and init are the binary that starts zones, so this binary is all three: its `main` takes the hidden
//! arguments first, as that of `loopexec` does.

// A helper that fails fails its test; what is skipped is said aloud.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod support;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use shell::{process, zone};

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == process::SUPERVISE {
        return process::supervise();
    }
    if first == zone::LAUNCH {
        return zone::launch();
    }
    if first == zone::INIT {
        return zone::init();
    }
    let arguments = Arguments::from_args();
    let trials = vec![Trial::test("first", || {
        let room = support::Room::new();
        let run = room.sh(zone::Zone::Exec, "id; ls -la /; exit 3");
        eprintln!("{run:#?}");
        Ok(())
    })];
    libtest_mimic::run(&arguments, trials).exit_code()
}
