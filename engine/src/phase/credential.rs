//! The one key of a run (SPEC 14.5): what a contract must say of it before it may be made.

use crate::event::halt::HaltReason;
use crate::event::policy::Policy;

/// What a key may outlive the working time of its run by.
const GRACE_MS: u64 = 3_600_000;

type Objection = (HaltReason, &'static str, &'static str);

/// Why a key is not made under this contract; `None` where it asks for none, too.
pub(super) fn objection(policy: &Policy) -> Option<Objection> {
    let isolation = &policy.isolation;
    let scope = |cause, detail| Some((HaltReason::CredentialScopeInvalid, cause, detail));
    isolation.mint.as_ref().filter(|command| !command.is_empty())?;
    if !isolation.zones {
        let detail = "a key is only made for work that runs in a zone: add --isolate";
        return scope("credential_unbounded", detail);
    }
    if isolation.revoke.as_ref().is_none_or(|command| command.is_empty()) {
        let detail = "a key that cannot be revoked is not made: name the command with --revoke-cmd";
        return scope("credential_not_revocable", detail);
    }
    let Some(ttl_ms) = isolation.key_ttl_ms.filter(|ttl| *ttl > 0) else {
        let detail = "a key without an end is not made: say how long it may live with --key-ttl";
        return scope("credential_unbounded", detail);
    };
    if isolation.key_cap_microusd.is_none_or(|cap| cap == 0) {
        let detail = "a key without a cap is not made: say what may be spent with --key-cap-usd";
        return scope("credential_unbounded", detail);
    }
    let longest = policy.bounds.timeout_ms.map(|timeout| timeout.saturating_add(GRACE_MS));
    if longest.is_some_and(|longest| ttl_ms > longest) {
        let detail = "the key would outlive the run by more than an hour: lower --key-ttl, or raise --timeout";
        return scope("credential_unbounded", detail);
    }
    if !may_name_a_key(&isolation.key_env) {
        let detail = "--key-env is no name of a variable that a key can go by";
        return Some((HaltReason::WorkspaceInvalid, "configuration_invalid", detail));
    }
    None
}

/// Variables that a zone sets itself, and those of loopexec.
fn may_name_a_key(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let taken = ["PATH", "HOME", "TMPDIR", "USER", "LOGNAME"].contains(&name);
    let reserved = name.starts_with("XDG_") || name.starts_with("LOOPEXEC_") || name.starts_with("LD_");
    plain && begins && !taken && !reserved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::policy::Command;

    fn bounded() -> Policy {
        let mut policy = Policy::default();
        let isolation = &mut policy.isolation;
        isolation.zones = true;
        isolation.mint = Some(Command::shell("mint"));
        isolation.revoke = Some(Command::shell("revoke"));
        isolation.key_ttl_ms = Some(GRACE_MS);
        isolation.key_cap_microusd = Some(1);
        policy
    }

    #[test]
    fn a_key_needs_a_zone_an_end_a_cap_and_a_way_to_revoke_it() {
        assert_eq!(objection(&Policy::default()), None);
        assert_eq!(objection(&bounded()), None);
        type Spoil = fn(&mut Policy);
        let cases: &[(Spoil, &str)] = &[
            (|policy| policy.isolation.zones = false, "credential_unbounded"),
            (|policy| policy.isolation.revoke = None, "credential_not_revocable"),
            (
                |policy| policy.isolation.revoke = Some(Command::default()),
                "credential_not_revocable",
            ),
            (|policy| policy.isolation.key_ttl_ms = None, "credential_unbounded"),
            (|policy| policy.isolation.key_ttl_ms = Some(0), "credential_unbounded"),
            (
                |policy| policy.isolation.key_cap_microusd = None,
                "credential_unbounded",
            ),
            (
                |policy| policy.isolation.key_cap_microusd = Some(0),
                "credential_unbounded",
            ),
        ];
        for (spoil, cause) in cases {
            let mut policy = bounded();
            spoil(&mut policy);
            let (reason, said, detail) = objection(&policy).unwrap();
            assert_eq!((reason, said), (HaltReason::CredentialScopeInvalid, *cause), "{detail}");
        }
    }

    #[test]
    fn a_key_outlives_its_run_by_an_hour_at_most() {
        let mut policy = bounded();
        policy.bounds.timeout_ms = Some(60_000);
        policy.isolation.key_ttl_ms = Some(GRACE_MS + 60_000);
        assert_eq!(objection(&policy), None);
        policy.isolation.key_ttl_ms = Some(GRACE_MS + 60_001);
        assert_eq!(objection(&policy).unwrap().1, "credential_unbounded");
    }

    #[test]
    fn a_key_takes_no_name_that_a_zone_gives_away_itself() {
        for name in [
            "",
            "1KEY",
            "A-B",
            "A=B",
            "HOME",
            "PATH",
            "LOOPEXEC_RUN_ID",
            "LD_PRELOAD",
        ] {
            let mut policy = bounded();
            policy.isolation.key_env = name.into();
            assert!(objection(&policy).is_some(), "{name}");
        }
    }
}
