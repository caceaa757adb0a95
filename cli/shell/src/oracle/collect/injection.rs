//! What is added to a check's environment, so that an unmodified command leaves an artefact.

use super::Detection;

/// Where injected reporters may write, and what is known about the command.
#[derive(Debug, Clone, Copy)]
pub struct InjectRequest<'a> {
    pub detection: &'a Detection,
    /// Absolute path of an empty directory made for this one run, outside the workspace.
    pub reports_dir: &'a str,
    /// Absolute path of the directory that will hold [`Injection::support_files`], outside the workspace.
    pub support_dir: &'a str,
    /// Leave out what can make a runner refuse to start; asked for after
    /// [`InjectionRefused`](super::CollectError::InjectionRefused).
    pub light: bool,
}

/// Changes to the check's environment. Nothing in the workspace and nothing in the command changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injection {
    /// Set, replacing an inherited value.
    pub env: Vec<(String, String)>,
    /// Joined to an inherited value with a blank, the injected part first.
    pub env_words: Vec<(String, String)>,
    /// Joined to an inherited value with `,`, the injected part first.
    pub env_list: Vec<(String, String)>,
    /// Joined to an inherited value with `:`, the injected part first.
    pub env_path: Vec<(String, String)>,
    /// Files to write into the support directory before the run: name and content.
    pub support_files: Vec<(&'static str, &'static str)>,
    pub report: ReportPlan,
}

/// Where the artefact of a run is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportPlan {
    /// In what the command prints.
    #[default]
    Output,
    /// In this file of the reports directory; other files there belong to it.
    File(&'static str),
    /// In a file the user names: no reporter can be injected.
    NamedByUser,
}

impl Injection {
    /// The variables to set on the command, given what it would inherit.
    pub fn environment(&self, inherited: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
        let joined = |pairs: &[(String, String)], separator: &str| {
            let join = |(name, value): &(String, String)| {
                let value = match inherited(name).filter(|old| !old.is_empty()) {
                    Some(old) => format!("{value}{separator}{old}"),
                    None => value.clone(),
                };
                (name.clone(), value)
            };
            pairs.iter().map(join).collect::<Vec<_>>()
        };
        let mut out = self.env.clone();
        out.extend(joined(&self.env_words, " "));
        out.extend(joined(&self.env_list, ","));
        out.extend(joined(&self.env_path, ":"));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inherited_value_is_kept_behind_the_injected_one() {
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        let injection = Injection {
            env: vec![pair("A", "1")],
            env_words: vec![pair("B", "-x")],
            env_list: vec![pair("C", "plugin")],
            env_path: vec![pair("D", "/support"), pair("E", "/support")],
            ..Injection::default()
        };
        let inherited = |name: &str| (name != "E").then(|| "old".to_string());
        let expected = [
            pair("A", "1"),
            pair("B", "-x old"),
            pair("C", "plugin,old"),
            pair("D", "/support:old"),
            pair("E", "/support"),
        ];
        assert_eq!(injection.environment(inherited), expected);
    }
}
