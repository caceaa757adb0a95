//! What names the workdir by its absolute path, led to the same place in a copy.
//!
//! A path ends where no name could go on: `/w` stands in `/w/tests` and in `--root=/w`, not in `/w-old` or `/mnt/w`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;

use engine::State;
use engine::event::id::Bytes;

/// The contract with a check that looks at the copy where it names the workdir.
///
/// # Errors
/// When the path of the copy cannot stand in a shell's text as it is.
pub(super) fn contract(state: &State, workdir: &Path, copy: &Path) -> Result<Option<State>, String> {
    let check = &state.facts.policy().oracle.check;
    let known = spellings(check.words.iter().map(|word| word.0.as_slice()), workdir);
    let words: Vec<Bytes> = check
        .words
        .iter()
        .map(|word| Bytes(led(&word.0, &known, copy)))
        .collect();
    if words == check.words {
        return Ok(None);
    }
    if check.shell
        && copy
            .as_os_str()
            .as_bytes()
            .iter()
            .any(|byte| !goes_on(*byte) && *byte != b'/')
    {
        return Err(format!(
            "the check names the workdir, and the path of a copy ({}) cannot take its place in a shell's text",
            copy.display()
        ));
    }
    let mut state = state.clone();
    Arc::make_mut(&mut state.facts.opened).policy.oracle.check.words = words;
    Ok(Some(state))
}

/// Where a build keeps what it made, told apart by times alone: what is shared with the workdir would be taken for the copy's.
const BUILT: &[&str] = &["CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR"];

/// The environment with every path into the workdir, and of what is built, leading into the copy.
pub(in crate::world) fn moved(
    env: Vec<(OsString, OsString)>,
    workdir: &Path,
    copy: &Path,
) -> Vec<(OsString, OsString)> {
    let known = [workdir.as_os_str().as_bytes().to_vec()];
    let own = |(name, old): (OsString, OsString)| {
        let is_built = BUILT.iter().any(|known| name == *known);
        let is_elsewhere = Path::new(&old).is_absolute() && !Path::new(&old).starts_with(workdir);
        let now = if is_built && is_elsewhere {
            copy.join("target").into()
        } else {
            OsString::from_vec(led(old.as_bytes(), &known, copy))
        };
        (name, now)
    };
    env.into_iter().map(own).collect()
}

/// How these texts spell the workdir: as it is, and through links.
fn spellings<'a>(texts: impl Iterator<Item = &'a [u8]>, workdir: &Path) -> Vec<Vec<u8>> {
    let own = workdir.as_os_str().as_bytes().to_vec();
    let mut known = vec![own];
    for text in texts {
        for word in text.split(|byte| !goes_on(*byte) && *byte != b'/') {
            let Some(start) = word.iter().position(|byte| *byte == b'/') else {
                continue;
            };
            let path = word.get(start..).unwrap_or_default();
            let ends = (1..=path.len()).filter(|end| path.get(*end).is_none_or(|byte| *byte == b'/'));
            let mut heads = ends.filter_map(|end| path.get(..end));
            let leads_there =
                |head: &&[u8]| fs::canonicalize(OsStr::from_bytes(head)).is_ok_and(|real| real == workdir);
            known.extend(heads.find(leads_there).map(<[u8]>::to_vec));
        }
    }
    known.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
    known.dedup();
    known.retain(|spelling| spelling.len() > 1);
    known
}

/// The text with each of these paths leading into the copy.
fn led(text: &[u8], known: &[Vec<u8>], copy: &Path) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        let begins = out_ends_a_path(&out);
        let found = known.iter().find(|spelling| {
            let after = rest.strip_prefix(spelling.as_slice());
            begins && after.is_some_and(|after| after.first().is_none_or(|byte| !goes_on(*byte)))
        });
        match found {
            Some(spelling) => {
                out.extend_from_slice(copy.as_os_str().as_bytes());
                rest = rest.get(spelling.len()..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    out
}

/// An absolute path may begin behind this: no name, and no path but the empty one of an address.
fn out_ends_a_path(out: &[u8]) -> bool {
    match out.last() {
        Some(b'/') => out.ends_with(b"://"),
        Some(byte) => !goes_on(*byte),
        None => true,
    }
}

/// A byte that a name can go on with.
fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-+@%~".contains(&byte) || !byte.is_ascii()
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
            ("OPTIONS".into(), "--root=/w/a -p '/w' file:///w/b".into()),
            ("OTHERS".into(), "/w-old /w.d /mnt/w x/w ~/w //w".into()),
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
        assert_eq!(of("OPTIONS").unwrap(), "--root=/c/a -p '/c' file:///c/b");
        assert_eq!(of("OTHERS").unwrap(), "/w-old /w.d /mnt/w x/w ~/w //w");
    }

    #[test]
    fn a_workdir_is_known_through_a_link_too() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("a b"), dir.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let real = fs::canonicalize(real).unwrap();
        let text = format!(
            "cd '{}' && x {}/tests {}2",
            real.display(),
            link.display(),
            link.display()
        );
        let known = spellings([text.as_bytes()].into_iter(), &real);
        let led = led(text.as_bytes(), &known, Path::new("/c"));
        let expected = format!("cd '/c' && x /c/tests {}2", link.display());
        assert_eq!(String::from_utf8(led).unwrap(), expected);
    }
}
