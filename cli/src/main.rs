//! The `loopexec` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == shell::process::SUPERVISE)
    {
        return shell::process::supervise();
    }
    cli::main()
}
