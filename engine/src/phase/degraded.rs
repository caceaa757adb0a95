//! Work that is held without a zone (SPEC 14.1.5): what a contract may not ask for beside it.

use crate::event::halt::HaltReason;
use crate::event::policy::Policy;

type Objection = (HaltReason, &'static str, &'static str);

/// Why nothing starts under this contract; `None` where it asks for no such thing.
pub(super) fn objection(policy: &Policy) -> Option<Objection> {
    let isolation = &policy.isolation;
    let wrong = |detail| Some((HaltReason::WorkspaceInvalid, "configuration_invalid", detail));
    if !isolation.degraded {
        return None;
    }
    if isolation.zones {
        return wrong("zones do not step down: leave out either --isolate or --isolate-degraded");
    }
    if isolation.require_cgroup {
        return wrong("only a zone has a cgroup of its own: leave out --require-cgroup, or ask for --isolate");
    }
    if !isolation.egress_allow.is_empty() {
        // Who may connect to a port may connect to that port of everybody.
        return wrong("only a zone is held to a list of hosts: leave out --egress-allow, or ask for --isolate");
    }
    if policy.exec.is_empty() {
        return wrong("--isolate-degraded holds the work, and there is none: name it with --exec, or leave that out");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::policy::Command;

    #[test]
    fn what_only_a_zone_can_hold_is_not_promised_without_one() {
        let mut policy = Policy {
            exec: Command::shell("work"),
            ..Policy::default()
        };
        policy.isolation.degraded = true;
        assert_eq!(objection(&policy), None);
        let spoiled: [fn(&mut Policy); 4] = [
            |policy| policy.isolation.require_cgroup = true,
            |policy| policy.isolation.zones = true,
            |policy| policy.isolation.egress_allow.push("model.test:443".into()),
            |policy| policy.exec = Command::default(),
        ];
        for spoil in spoiled {
            let mut policy = policy.clone();
            spoil(&mut policy);
            assert_eq!(objection(&policy).map(|found| found.1), Some("configuration_invalid"));
            policy.isolation.degraded = false;
            assert_eq!(objection(&policy), None);
        }
    }
}
