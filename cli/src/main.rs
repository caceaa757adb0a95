//! The `loopexec` binary.

use std::process::ExitCode;

use shell::{process, zone};

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == process::SUPERVISE {
        return process::supervise();
    }
    if first == zone::LAUNCH {
        return zone::launch();
    }
    if first == zone::REAP {
        return zone::reap();
    }
    if first == zone::INIT {
        return zone::init();
    }
    cli::main()
}
