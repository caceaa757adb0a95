//! The environments of commands: a check gets less than the work command, and some of it fixed (SPEC 6.7.1).
//!
//! ```text
//!   the user's ── ours and what misleads ──> offered to every command ──┬── fixed ──> a check
//!              └─ withheld from checks ─────────────────────────────────┴───────────> the work command
//! ```

use std::ffi::OsString;

use engine::event::id::Stamp;
use engine::event::policy::Policy;
use engine::hermetic;

use super::command::inherited;
use crate::process::host_environment;

type Variables = Vec<(OsString, OsString)>;

/// What every command gets, and what the work command gets on top.
fn parted(policy: &Policy, env: &[(OsString, OsString)]) -> (Variables, Variables) {
    let is_withheld = |name: &OsString| {
        name.to_str()
            .is_some_and(|name| hermetic::is_withheld(&policy.oracle, &policy.secrets, name))
    };
    inherited(env).into_iter().partition(|(name, _)| !is_withheld(name))
}

/// What the supervisor of a run is started with. Under zones it starts launchers and helpers alone, and a launcher is
/// told by its plan what the zone gets.
pub(crate) fn supervised(policy: &Policy, env: &[(OsString, OsString)]) -> Variables {
    let offered = offered(policy, env);
    match policy.isolation.zones {
        true => host_environment(&offered),
        false => offered,
    }
}

/// What every command gets.
pub(crate) fn offered(policy: &Policy, env: &[(OsString, OsString)]) -> Variables {
    parted(policy, env).0
}

/// What the work command gets on top.
pub(crate) fn withheld(policy: &Policy, env: &[(OsString, OsString)]) -> Variables {
    parted(policy, env).1
}

/// What a check gets on top.
pub(crate) fn fixed(policy: &Policy, t0: Stamp) -> Variables {
    let set = hermetic::fixed(&policy.oracle, t0);
    set.into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// `env` with what is fixed in it, for a check outside of a run.
pub(crate) fn settled(policy: &Policy, t0: Stamp, env: &[(OsString, OsString)]) -> Variables {
    let fixed = fixed(policy, t0);
    let is_fixed = |name: &OsString| fixed.iter().any(|(known, _)| known == name);
    let mut settled: Variables = env.iter().filter(|(name, _)| !is_fixed(name)).cloned().collect();
    settled.extend(fixed);
    settled
}
