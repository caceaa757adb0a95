//! What the two streams can show: colour, a line that moves, signs beyond ASCII.

use std::ffi::OsString;
use std::io::IsTerminal as _;

/// The abilities of one stream. Colour only repeats what a word says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    /// A line can be written over.
    pub(crate) live: bool,
    pub(crate) utf8: bool,
    /// Columns of the terminal.
    pub(crate) width: usize,
}

/// Columns when nobody knows.
const WIDTH: usize = 80;

/// The styles of standard output and standard error.
pub(crate) fn styles(env: &[(OsString, OsString)]) -> (Style, Style) {
    let out = std::io::stdout();
    let err = std::io::stderr();
    let width = |size: Result<rustix::termios::Winsize, _>| match size {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => WIDTH,
    };
    (
        style(env, out.is_terminal(), width(rustix::termios::tcgetwinsize(&out))),
        style(env, err.is_terminal(), width(rustix::termios::tcgetwinsize(&err))),
    )
}

/// `NO_COLOR` and a dumb terminal say no, `CLICOLOR_FORCE` says yes, `CLICOLOR=0` says no to a terminal.
fn style(env: &[(OsString, OsString)], terminal: bool, width: usize) -> Style {
    let said = |name: &str| {
        let found = env.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.to_string_lossy())
            .filter(|value| !value.is_empty())
    };
    let dumb = said("TERM").is_none_or(|term| term == "dumb");
    let forced = said("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let wanted = terminal && !dumb && said("CLICOLOR").is_none_or(|value| value != "0");
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| said(name));
    let utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    let plain = said("NO_COLOR").is_some();
    Style {
        colour: !plain && (forced || wanted),
        live: terminal && !dumb && !plain,
        utf8,
        width,
    }
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)], terminal: bool) -> Style {
        let env: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        style(&env, terminal, WIDTH)
    }

    #[test]
    fn colour_is_for_terminals_that_want_it() {
        assert!(of(&[("TERM", "xterm")], true).colour);
        assert!(!of(&[("TERM", "xterm")], false).colour);
        assert!(!of(&[("TERM", "dumb")], true).colour);
        assert!(!of(&[("TERM", "xterm"), ("NO_COLOR", "1")], true).colour);
        assert!(!of(&[("TERM", "xterm"), ("CLICOLOR", "0")], true).colour);
        assert!(of(&[("CLICOLOR_FORCE", "1")], false).colour);
        assert!(!of(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false).colour);
    }

    #[test]
    fn signs_beyond_ascii_need_a_locale_that_has_them() {
        assert!(of(&[("LANG", "en_US.UTF-8")], false).utf8);
        assert!(!of(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")], false).utf8);
        assert!(!of(&[], false).utf8);
    }
}
