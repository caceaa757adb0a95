//! The gateway of a contract (SPEC 14.4.5): what it must say, so that the one key goes to one place and never to the work.

use crate::event::halt::HaltReason;
use crate::event::policy::Policy;

type Objection = (HaltReason, &'static str, &'static str);

/// Why nothing starts under this contract; `None` where it has no gateway and asks for nothing of one.
pub(super) fn objection(policy: &Policy) -> Option<Objection> {
    let isolation = &policy.isolation;
    let wrong = |detail| Some((HaltReason::WorkspaceInvalid, "configuration_invalid", detail));
    let minted = isolation.mint.as_ref().is_some_and(|command| !command.is_empty());
    if isolation.gateway.is_empty() {
        return match isolation.gateway_key_env {
            Some(_) => {
                wrong("--gateway-key-env names a key for a gateway, and there is none: add --gateway NAME=https://HOST")
            }
            None => None,
        };
    }
    if !isolation.zones {
        return wrong("a gateway is the way out of a zone: add --isolate, or leave out --gateway");
    }
    let Some(name) = &isolation.gateway_key_env else {
        return None;
    };
    if minted {
        return wrong("there is one key: leave out either --mint-cmd or --gateway-key-env");
    }
    if isolation.agent_env.contains(name) {
        return wrong("the key of the gateway would reach the work: leave its variable out of --agent-env");
    }
    if policy.oracle.pass_env.contains(name) {
        return wrong("the key of the gateway would reach the check: leave its variable out of --check-env");
    }
    None
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::event::policy::Command;

    fn held() -> Policy {
        let mut policy = Policy::default();
        policy.isolation.zones = true;
        policy.isolation.gateway = vec!["BASE_URL=https://model.test".into()];
        policy.isolation.gateway_key_env = Some("KEY".into());
        policy
    }

    #[test]
    fn one_key_stays_with_the_gateway_of_a_zone() {
        assert_eq!(objection(&Policy::default()), None);
        assert_eq!(objection(&held()), None);
        type Spoil = fn(&mut Policy);
        let cases: &[Spoil] = &[
            |policy| policy.isolation.zones = false,
            |policy| policy.isolation.gateway.clear(),
            |policy| policy.isolation.mint = Some(Command::shell("mint")),
            |policy| policy.isolation.agent_env.push("KEY".into()),
            |policy| policy.oracle.pass_env.push("KEY".into()),
        ];
        for (number, spoil) in cases.iter().enumerate() {
            let mut policy = held();
            spoil(&mut policy);
            let (reason, cause, _) = objection(&policy).unwrap();
            assert_eq!(
                (reason, cause),
                (HaltReason::WorkspaceInvalid, "configuration_invalid"),
                "{number}"
            );
        }
    }
}
