//! The containers of a contract (SPEC 14.2.5): an engine that is asked for, and an image that cannot change.

use crate::event::halt::HaltReason;
use crate::event::policy::{Policy, ZoneRuntime};

const DIGEST_HEX: usize = 64;

type Objection = (HaltReason, &'static str, &'static str);

/// Why nothing starts under this contract; `None` where zones are bwrap's, too.
pub(super) fn objection(policy: &Policy) -> Option<Objection> {
    let isolation = &policy.isolation;
    let wrong = |detail| Some((HaltReason::WorkspaceInvalid, "configuration_invalid", detail));
    match (isolation.runtime, &isolation.image) {
        (ZoneRuntime::Bwrap, None) => None,
        (ZoneRuntime::Bwrap, Some(_)) => wrong("an image is for containers: name their engine with --runtime podman"),
        (_, None) => wrong("a container needs an image: name one by its digest, --image NAME@sha256:DIGEST"),
        (_, Some(image)) if !is_pinned(image) => {
            wrong("an image goes by its digest, for a tag can be moved: write --image NAME@sha256:DIGEST")
        }
        (_, Some(_)) => None,
    }
}

fn is_pinned(image: &str) -> bool {
    let Some((name, digest)) = image.split_once("@sha256:") else {
        return false;
    };
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    begins && name.bytes().all(named) && digest.len() == DIGEST_HEX && digest.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;

    fn objects(runtime: ZoneRuntime, image: Option<&str>) -> bool {
        let mut policy = Policy::default();
        policy.isolation.runtime = runtime;
        policy.isolation.image = image.map(String::from);
        objection(&policy).is_some()
    }

    #[test]
    fn an_image_goes_by_its_digest() {
        let digest = "0123456789abcdef".repeat(4);
        let good = format!("quay.io/a/b@sha256:{digest}");
        assert!(!objects(ZoneRuntime::Podman, Some(&good)) && !objects(ZoneRuntime::Docker, Some(&good)));
        assert!(!objects(ZoneRuntime::Bwrap, None) && objects(ZoneRuntime::Bwrap, Some(&good)));
        assert!(objects(ZoneRuntime::Podman, None));
        for bad in [
            "quay.io/a/b",
            "quay.io/a/b:latest",
            "@sha256:0123",
            "a@sha256:0123",
            &format!("--privileged@sha256:{digest}"),
            &format!("a b@sha256:{digest}"),
            &format!("a@sha256:{digest}0"),
            &format!("a@sha256:{}", digest.to_uppercase()),
        ] {
            assert!(objects(ZoneRuntime::Podman, Some(bad)), "{bad}");
        }
    }
}
