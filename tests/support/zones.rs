//! Whether zones are to be had here, and the flags that ask for them.

use std::process::Command;
use std::sync::LazyLock;

/// A user that owns nothing.
const UID: &str = "64646";

/// The flags that isolate a run on this machine; none, said aloud, where it has no zones.
pub(crate) fn zones() -> Option<&'static [&'static str]> {
    static FOUND: LazyLock<Result<(), String>> = LazyLock::new(look);
    if let Err(why) = &*FOUND {
        eprintln!("skipped: no zones here: {why}");
        return None;
    }
    Some(flags())
}

/// The same, whether or not there are any.
pub(crate) fn flags() -> &'static [&'static str] {
    if rustix::process::geteuid().is_root() {
        &["--isolate", "--zone-uid", UID]
    } else {
        &["--isolate"]
    }
}

/// What bwrap itself says, asked for no more than any zone needs.
fn look() -> Result<(), String> {
    let namespaces = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"];
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", UID, "--regid", UID, "--clear-groups", "bwrap"]);
        command
    } else {
        Command::new("bwrap")
    };
    let output = command.args(namespaces).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
