//! What a resumed run finds on the watched surface before it goes on (SPEC 3.5.4).

use alloc::string::String;

use crate::event::halt::HaltReason;
use crate::event::measurement::{SurfaceChange, SurfaceClass, TreeSeen};
use crate::event::policy::GuardPolicy;
use crate::guard;

/// The watched path that differs from t0, if any, before a resumed run goes on. What the contract lets
/// the agent change, or leaves unguarded, is no drift.
pub(crate) fn drift(seen: &TreeSeen, policy: &GuardPolicy) -> Option<(HaltReason, String)> {
    let owner = |change: &SurfaceChange| match change.class {
        SurfaceClass::Blocked => &guard::blocked_paths::GUARD,
        SurfaceClass::Protected => &guard::protected_manifest::GUARD,
        SurfaceClass::Determinant => &guard::determinant_files::GUARD,
        SurfaceClass::Toolchain => &guard::toolchain_identity::GUARD,
    };
    let objectionable = |change: &&SurfaceChange| {
        let off = policy.off.iter().any(|name| name == owner(change).name);
        let allowed = guard::surface::may_change(policy, change);
        !off && !allowed
    };
    let change = seen
        .surface
        .iter()
        .filter(objectionable)
        .min_by_key(|change| change.class != SurfaceClass::Blocked)?;
    let reason = owner(change).reason;
    let path = change.path.text();
    Some((
        reason,
        alloc::format!(
            "{path} was {} since t0, seen on resume ({} is watched)",
            change.told(),
            change.pattern
        ),
    ))
}
