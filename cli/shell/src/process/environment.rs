//! The environment of commands, made ready once: a command only adds its few variables.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, NulError, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::NONCE_VARIABLE;

/// What every command of a supervisor finds: all of what the supervisor was started with, and its mark.
pub(super) struct Environment {
    entries: Vec<(OsString, CString)>,
    path: Option<OsString>,
}

impl Environment {
    /// # Errors
    /// When a variable holds a zero byte, which one of this process cannot.
    pub(super) fn new(
        inherited: impl IntoIterator<Item = (OsString, OsString)>,
        nonce: &str,
    ) -> Result<Self, NulError> {
        let mut variables: BTreeMap<OsString, OsString> = inherited.into_iter().collect();
        variables.insert(NONCE_VARIABLE.into(), nonce.into());
        let path = variables.get(OsStr::new("PATH")).cloned();
        let mut entries = Vec::with_capacity(variables.len());
        for (name, value) in variables {
            let entry = entry(&name, &value)?;
            entries.push((name, entry));
        }
        Ok(Self { entries, path })
    }

    /// `PATH` as it is without a word of the command.
    pub(super) fn path(&self) -> Option<&OsStr> {
        self.path.as_deref()
    }

    /// All of it, with `own` in place of what has the same name; of two the later, and the mark stays what it is.
    ///
    /// # Errors
    /// When one of `own` holds a zero byte.
    pub(super) fn with(&self, own: &[(OsString, OsString)]) -> Result<Vec<Cow<'_, CStr>>, NulError> {
        let mut whole = Vec::with_capacity(self.entries.len() + own.len());
        let is_set = |name: &OsStr, by: &[(OsString, OsString)]| by.iter().any(|(set, _)| set == name);
        for (name, entry) in &self.entries {
            if name == NONCE_VARIABLE || !is_set(name, own) {
                whole.push(Cow::Borrowed(entry.as_c_str()));
            }
        }
        for (at, (name, value)) in own.iter().enumerate() {
            if name != NONCE_VARIABLE && !is_set(name, &own[at + 1..]) {
                whole.push(Cow::Owned(entry(name, value)?));
            }
        }
        Ok(whole)
    }
}

fn entry(name: &OsStr, value: &OsStr) -> Result<CString, NulError> {
    // Room for the zero byte at its end, so that it is not copied once more.
    let mut text = Vec::with_capacity(name.len() + value.len() + 2);
    text.extend_from_slice(name.as_bytes());
    text.push(b'=');
    text.extend_from_slice(value.as_bytes());
    CString::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn seen(environment: &Environment, own: &[(&str, &str)]) -> Vec<String> {
        let mut seen: Vec<String> = environment
            .with(&pairs(own))
            .unwrap()
            .iter()
            .map(|entry| entry.to_str().unwrap().to_owned())
            .collect();
        seen.sort();
        seen
    }

    #[test]
    fn the_commands_own_stand_in_place_of_the_inherited_for_that_command_alone() {
        let environment = Environment::new(pairs(&[("A", "1"), ("PATH", "/bin")]), "n").unwrap();
        let own = [("B", "2"), ("A", "3"), ("A", "4=4")];
        assert_eq!(
            seen(&environment, &own),
            ["A=4=4", "B=2", "LOOPEXEC_SUPERVISOR=n", "PATH=/bin"]
        );
        assert_eq!(seen(&environment, &[]), ["A=1", "LOOPEXEC_SUPERVISOR=n", "PATH=/bin"]);
        assert_eq!(environment.path(), Some(OsStr::new("/bin")));
    }

    #[test]
    fn no_command_takes_the_mark_off() {
        let environment = Environment::new(pairs(&[("LOOPEXEC_SUPERVISOR", "outer")]), "n").unwrap();
        assert_eq!(
            seen(&environment, &[("LOOPEXEC_SUPERVISOR", "none")]),
            ["LOOPEXEC_SUPERVISOR=n"]
        );
    }

    #[test]
    fn a_zero_byte_is_refused() {
        let environment = Environment::new([], "n").unwrap();
        assert!(environment.with(&pairs(&[("A", "a\0b")])).is_err());
    }
}
