//! The `loopexec` binary.

use std::process::ExitCode;

use shell::{process, zone};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next().unwrap_or_default();
    if first == process::SUPERVISE {
        return process::supervise();
    }
    if first == zone::LAUNCH {
        return zone::launch();
    }
    if first == zone::REAP {
        return zone::reap(words.next().as_deref());
    }
    if first == zone::INIT {
        return zone::init(words.next().as_deref());
    }
    cli::main()
}
