//! What is different about one run, whoever asks for it: a dimension of a probe, or a guard before green.

pub(crate) mod order;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;

use engine::event::policy::Bounds;

use crate::oracle::collect::Injection;

/// The support directory, where its name is not known yet.
pub(crate) const HERE: &str = "{support}";

/// A change of the surroundings of one run. Two are joined by adding the one to the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Perturbation {
    /// Variables that are set, whatever was inherited.
    pub set: Vec<(&'static str, String)>,
    /// Joined to what was inherited by a blank, before it.
    pub words: Vec<(&'static str, String)>,
    /// Files of the support directory: name and content.
    pub files: Vec<(&'static str, String)>,
    /// Variables that are set to something in the support directory, which stands there as [`HERE`].
    pub of_support: Vec<(&'static str, String)>,
    /// Modules of the support directory that pytest loads as plugins.
    pub pytest_plugins: Vec<&'static str>,
    /// Modules of the support directory can be imported by Python.
    pub is_on_python_path: bool,
    /// Files of the support directory that node loads before anything else.
    pub node_preloads: Vec<&'static str>,
    /// Files of the support directory, without their suffix, that Ruby loads before anything else.
    pub ruby_preloads: Vec<&'static str>,
    /// Files of the support directory that are there after a run in which the change was in force.
    pub signs: Vec<&'static str>,
    /// What stands around the command.
    pub around: Vec<OsString>,
    /// The copy, the home and the temporary directory, below the place of the run, where they are not the usual ones.
    pub tree: Option<String>,
    pub home: Option<String>,
    pub home_is_missing: bool,
    pub tmp: Option<String>,
    pub one_processor: bool,
    /// A second copy of the check runs beside the first.
    pub twin: bool,
    /// It takes longer for no fault of its own: its limits are so many times as long. 0 and 1 are as they were.
    pub patience: u64,
}

impl Perturbation {
    pub(crate) fn setting(name: &'static str, value: impl Into<String>) -> Self {
        Self {
            set: vec![(name, value.into())],
            ..Self::default()
        }
    }

    pub(crate) fn around(words: &[&str]) -> Self {
        Self {
            around: words.iter().map(OsString::from).collect(),
            ..Self::default()
        }
    }

    /// Both at once. What stands around the command in the other stands around all of this one.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.set.extend(other.set.iter().cloned());
        self.words.extend(other.words.iter().cloned());
        self.files.extend(other.files.iter().cloned());
        self.of_support.extend(other.of_support.iter().cloned());
        self.pytest_plugins.extend(&other.pytest_plugins);
        self.is_on_python_path |= other.is_on_python_path;
        self.node_preloads.extend(&other.node_preloads);
        self.ruby_preloads.extend(&other.ruby_preloads);
        self.signs.extend(&other.signs);
        self.around.splice(0..0, other.around.iter().cloned());
        self.tree = self.tree.or_else(|| other.tree.clone());
        self.home = self.home.or_else(|| other.home.clone());
        self.home_is_missing |= other.home_is_missing;
        self.tmp = self.tmp.or_else(|| other.tmp.clone());
        self.one_processor |= other.one_processor;
        self.twin |= other.twin;
        self.patience = self.patience.max(other.patience);
        self
    }

    /// The limits on the check's time.
    pub(crate) fn stretch(&self, bounds: &mut Bounds) {
        let limits = [
            &mut bounds.check_timeout_ms,
            &mut bounds.idle_timeout_ms,
            &mut bounds.first_output_timeout_ms,
        ];
        for limit in limits.into_iter().flatten() {
            *limit = limit.saturating_mul(self.patience.max(1));
        }
    }

    /// Writes what it needs into an empty support directory.
    pub(crate) fn support(&self, dir: &Path) -> io::Result<()> {
        self.files
            .iter()
            .try_for_each(|(name, text)| fs::write(dir.join(name), text))
    }

    /// A sign that is missing after a run.
    pub(crate) fn missing_sign(&self, dir: &Path) -> Option<&'static str> {
        self.signs.iter().copied().find(|name| !dir.join(name).exists())
    }

    /// The variables of `env` that are not as they were in `before`.
    pub(crate) fn changed(before: &[(OsString, OsString)], env: &[(OsString, OsString)]) -> Vec<OsString> {
        let now = env.iter().filter(|pair| !before.contains(pair));
        now.map(|(name, _)| name.clone()).collect()
    }

    /// `env` with the variables of this change: those that are lists are joined to what they hold.
    pub(crate) fn environment(&self, env: Vec<(OsString, OsString)>, support: &Path) -> Vec<(OsString, OsString)> {
        let pair = |name: &str, value: String| (name.to_owned(), value);
        let here = support.display().to_string();
        let mut words: Vec<_> = self
            .words
            .iter()
            .map(|(name, value)| pair(name, value.clone()))
            .collect();
        let (mut list, mut path) = (Vec::new(), Vec::new());
        if !self.pytest_plugins.is_empty() {
            list.push(pair("PYTEST_PLUGINS", self.pytest_plugins.join(",")));
        }
        if self.is_on_python_path || !self.pytest_plugins.is_empty() {
            path.push(pair("PYTHONPATH", here.clone()));
        }
        let loads = self
            .node_preloads
            .iter()
            .map(|file| format!("--require \"{here}/{file}\""));
        let loads: Vec<String> = loads.collect();
        if !loads.is_empty() {
            words.push(pair("NODE_OPTIONS", loads.join(" ")));
        }
        let loads: Vec<String> = self.ruby_preloads.iter().map(|file| format!("-r{file}")).collect();
        if !loads.is_empty() {
            words.push(pair("RUBYOPT", loads.join(" ")));
            path.push(pair("RUBYLIB", here.clone()));
        }
        let set = self.set.iter().map(|(name, value)| pair(name, value.clone()));
        let of_support = self
            .of_support
            .iter()
            .map(|(name, value)| pair(name, value.replace(HERE, &here)));
        let injection = Injection {
            env: set.chain(of_support).collect(),
            env_words: words,
            env_list: list,
            env_path: path,
            ..Injection::default()
        };
        let value = |name: &str| {
            let found = env.iter().rev().find(|(known, _)| known == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned())
        };
        let own = injection.environment(value);
        let is_own = |name: &OsStr| own.iter().any(|(known, _)| name == known.as_str());
        let mut whole: Vec<_> = env.into_iter().filter(|(name, _)| !is_own(name)).collect();
        whole.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_joined_to_what_a_project_set_and_the_rest_is_replaced() {
        let change = Perturbation {
            set: vec![("TZ", "Asia/Kolkata".into())],
            words: vec![("GOFLAGS", "-shuffle=1".into())],
            pytest_plugins: vec!["one", "two"],
            of_support: vec![("RUNNER", format!("sh {HERE}/run.sh"))],
            node_preloads: vec!["seed.cjs"],
            ruby_preloads: vec!["seed"],
            ..Perturbation::default()
        };
        let before = [
            ("TZ", "UTC"),
            ("GOFLAGS", "-mod=vendor"),
            ("PYTEST_PLUGINS", "theirs"),
            ("PYTHONPATH", "src"),
            ("NODE_OPTIONS", "--no-warnings"),
            ("RUBYOPT", "-w"),
            ("RUBYLIB", "lib"),
            ("KEPT", "x"),
        ];
        let before = before.map(|(name, value)| (name.into(), value.into())).to_vec();
        let after = change.environment(before, Path::new("/s p"));
        let of = |name: &str| -> Vec<&str> {
            let found = after.iter().filter(|(known, _)| known == name);
            found.map(|(_, value)| value.to_str().unwrap()).collect()
        };
        assert_eq!(of("TZ"), ["Asia/Kolkata"]);
        assert_eq!(of("GOFLAGS"), ["-shuffle=1 -mod=vendor"]);
        assert_eq!(of("PYTEST_PLUGINS"), ["one,two,theirs"]);
        assert_eq!(of("PYTHONPATH"), ["/s p:src"]);
        assert_eq!(of("NODE_OPTIONS"), ["--require \"/s p/seed.cjs\" --no-warnings"]);
        assert_eq!(of("RUBYOPT"), ["-rseed -w"]);
        assert_eq!(of("RUBYLIB"), ["/s p:lib"]);
        assert_eq!(of("RUNNER"), ["sh /s p/run.sh"]);
        assert_eq!(of("KEPT"), ["x"]);
    }

    #[test]
    fn of_two_that_stand_around_the_command_the_second_is_the_outer() {
        let inner = Perturbation::around(&["faketime", "+1d"]);
        let outer = Perturbation::around(&["bwrap", "--"]);
        assert_eq!(inner.and(&outer).around, ["bwrap", "--", "faketime", "+1d"]);
    }

    #[test]
    fn limits_are_stretched_once_and_those_that_are_not_set_stay_so() {
        let patient = |patience| Perturbation {
            patience,
            ..Perturbation::default()
        };
        let mut bounds = Bounds {
            check_timeout_ms: Some(500),
            idle_timeout_ms: None,
            ..Bounds::default()
        };
        Perturbation::default().stretch(&mut bounds);
        assert_eq!(bounds.check_timeout_ms, Some(500));
        patient(4).and(&patient(4)).stretch(&mut bounds);
        assert_eq!((bounds.check_timeout_ms, bounds.idle_timeout_ms), (Some(2_000), None));
    }

    #[test]
    fn a_sign_is_missing_until_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let change = Perturbation {
            files: vec![("order", "7".into())],
            signs: vec!["order"],
            ..Perturbation::default()
        };
        assert_eq!(change.missing_sign(dir.path()), Some("order"));
        change.support(dir.path()).unwrap();
        assert_eq!(change.missing_sign(dir.path()), None);
    }
}
