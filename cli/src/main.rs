//! The `loopexec` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    shell::hidden::dispatch(std::env::args_os().skip(1)).unwrap_or_else(cli::main)
}
