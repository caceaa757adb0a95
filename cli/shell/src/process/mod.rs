//! Commands, run so that nothing they start outlives them.
//!
//! ```text
//!   governor ── socket ── supervisor ── command ── whatever it starts
//!   (decides)             (own session,  (own process group; stdin at its end,
//!                          subreaper)     stdout and stderr into pipes, no other descriptor)
//! ```
//!
//! One [`Supervisor`] lives as long as a run. It is the same binary started again with the hidden argument
//! [`SUPERVISE`], and the parent of every command, so whatever a command leaves behind (a background job, a daemon
//! with a session of its own) becomes the supervisor's child and is found, named and ended before the command is
//! reported. The end of a command is the exit of its main process, never the end of its output.
//!
//! Who dies, and who cleans up:
//! - the command: the supervisor ends its descendants;
//! - the governor: the supervisor sees the socket close, ends the tree and exits;
//! - the supervisor: its orphans move to the governor, itself a subreaper, which ends them and says so
//!   ([`ProcessError::Lost`]);
//! - both at once: the next run finds the rest through [`leftovers`].
//!
//! Signals go through pidfds, or to children that have not been waited for: never to a number that another process
//! may carry by now. The two types to read first are [`CommandSpec`] and [`CommandRun`].

mod aside;
pub(crate) mod bytes;
mod capture;
mod children;
mod command;
mod deadline;
mod environment;
mod error;
mod host_program;
pub mod leftovers;
mod lost;
mod mask;
mod outcome;
mod pipes;
mod protocol;
mod running;
mod signals;
mod spawn;
mod spill;
mod stop;
mod supervise;
mod supervisor;
mod survivors;
mod syscall;
mod table;
mod which;
mod wish;

pub(crate) use aside::{Aside, StandingBy};
pub(crate) use capture::remove_unmasked;
pub use command::{Cancel, CaptureSpec, CommandSpec, Deadlines, Input};
pub use error::{ProcessError, SupervisorLost};
pub(crate) use host_program::{host_environment, host_program, keep_out};
pub(crate) use mask::{holds_any, masked};
pub use outcome::{Captured, CommandRun, Outcome, StopCause, Survivor, Unmasked};
pub use signals::{Signal, Signals};
pub use supervise::supervise;
pub use supervisor::{Supervisor, SupervisorOptions};
pub(crate) use syscall::{close_on_exec_from, landlock_abi, spawn_into};
pub use which::which;
pub(crate) use which::{candidates, executable, path_of};
pub use wish::{Wisher, Wishes, wishes};

/// The hidden first argument that turns the binary into a supervisor.
pub const SUPERVISE: &str = "__supervise";

/// The variable that marks every command of a supervisor; its value is the supervisor's nonce.
pub const NONCE_VARIABLE: &str = "LOOPEXEC_SUPERVISOR";
