//! The environment of a run in a copy: what leads into the workdir leads into the copy there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

/// Where a build keeps what it made, told apart by times alone: what is shared with the workdir would be taken for the copy's.
const BUILT: &[&str] = &["CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR"];

/// The environment with every path into the workdir, and of what is built, leading into the copy.
pub(in crate::world) fn moved(
    env: Vec<(OsString, OsString)>,
    workdir: &Path,
    copy: &Path,
) -> Vec<(OsString, OsString)> {
    let value = |value: OsString| {
        let parts = value.as_bytes().split(|byte| *byte == b':');
        let parts: Vec<Vec<u8>> = parts
            .map(|part| match Path::new(OsStr::from_bytes(part)).strip_prefix(workdir) {
                Ok(below) if below.as_os_str().is_empty() => copy.as_os_str().as_bytes().to_vec(),
                Ok(below) => copy.join(below).into_os_string().into_vec(),
                Err(_) => part.to_vec(),
            })
            .collect();
        OsString::from_vec(parts.join(&b':'))
    };
    let own = |(name, old): (OsString, OsString)| {
        let is_built = BUILT.iter().any(|known| name == *known);
        let is_elsewhere = Path::new(&old).is_absolute() && !Path::new(&old).starts_with(workdir);
        let now = if is_built && is_elsewhere {
            copy.join("target").into()
        } else {
            value(old)
        };
        (name, now)
    };
    env.into_iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_into_the_workdir_lead_into_the_copy_and_all_others_stay() {
        let env = vec![
            ("PATH".into(), "/w/.venv/bin:/usr/bin:/wide/bin".into()),
            ("CARGO_TARGET_DIR".into(), "/w/target".into()),
            ("CARGO_BUILD_TARGET_DIR".into(), "/shared/target".into()),
            ("HERE".into(), "/w".into()),
            ("TEXT".into(), "a:/b".into()),
        ];
        let now = moved(env, Path::new("/w"), Path::new("/c"));
        let of = |name: &str| {
            now.iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        };
        assert_eq!(of("PATH").unwrap(), "/c/.venv/bin:/usr/bin:/wide/bin");
        assert_eq!(of("CARGO_TARGET_DIR").unwrap(), "/c/target");
        assert_eq!(of("CARGO_BUILD_TARGET_DIR").unwrap(), "/c/target");
        assert_eq!(of("HERE").unwrap(), "/c");
        assert_eq!(of("TEXT").unwrap(), "a:/b");
    }
}
