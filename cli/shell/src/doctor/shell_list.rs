//! The commands of a shell text and how they are joined: as much of the grammar as tells whose exit status counts.

/// How two commands are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// `;`, a line end, or the end of the text.
    Then,
    And,
    Or,
    Pipe,
    Background,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Without redirections.
    pub words: Vec<String>,
    /// What stands behind it.
    pub behind: Joint,
}

impl Part {
    /// File name of the program.
    pub(super) fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }
}

/// Words that open or close what is not a list of simple commands.
const COMPOUND: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
    "{", "}", "[[",
];

/// The parts of a text, in order; `None` for a text that holds more than simple commands.
pub(super) fn parts(text: &str) -> Option<Vec<Part>> {
    let mut reader = Reader {
        chars: text.chars().collect(),
        at: 0,
        parts: Vec::new(),
        words: Vec::new(),
        word: None,
    };
    reader.read()?;
    let mut parts = reader.parts;
    let is_compound = |part: &Part| COMPOUND.contains(&part.words.first().map_or("", String::as_str));
    if parts.iter().any(is_compound) {
        return None;
    }
    if let Some(last) = parts.last_mut()
        && !matches!(last.behind, Joint::Then | Joint::Background)
    {
        return None;
    }
    Some(parts)
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    parts: Vec<Part>,
    words: Vec<String>,
    word: Option<String>,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn add(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn read(&mut self) -> Option<()> {
        while let Some(c) = self.next() {
            match c {
                '\'' | '"' => self.quoted(c)?,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.add(escaped),
                },
                '#' if self.word.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '$' if matches!(self.peek(), Some('(' | '{')) => {
                    self.add(c);
                    self.nested()?;
                }
                '`' => self.quoted('`')?,
                // A subshell, a function, a pattern.
                '(' | ')' => return None,
                '<' | '>' => self.redirection(c)?,
                ';' if self.peek() == Some(';') => return None,
                ';' | '\n' => self.end(Joint::Then),
                '&' => self.ampersand()?,
                '|' => {
                    let joint = match self.peek() {
                        Some('|') => Joint::Or,
                        _ => Joint::Pipe,
                    };
                    self.at += usize::from(joint == Joint::Or || self.peek() == Some('&'));
                    self.end(joint);
                }
                c if c.is_whitespace() => self.words.extend(self.word.take()),
                c => self.add(c),
            }
        }
        self.end(Joint::Then);
        Some(())
    }

    fn ampersand(&mut self) -> Option<()> {
        match self.peek() {
            Some('&') => {
                self.at += 1;
                self.end(Joint::And);
            }
            // Both streams into a file.
            Some('>') => {
                self.at += 1;
                self.redirection('>')?;
            }
            _ => self.end(Joint::Background),
        }
        Some(())
    }

    /// The rest of a quoted part of a word, as it is.
    fn quoted(&mut self, quote: char) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.next()? {
                c if c == quote => return Some(()),
                '\\' if quote != '\'' => {
                    let escaped = self.next()?;
                    self.add(escaped);
                }
                c => self.add(c),
            }
        }
    }

    /// The rest of a substitution, brackets and all.
    fn nested(&mut self) -> Option<()> {
        let mut depth = 0_u32;
        loop {
            let c = self.next()?;
            self.add(c);
            match c {
                '(' | '{' => depth += 1,
                ')' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Operator and target of a redirection; what is read from here on in the text is not understood.
    fn redirection(&mut self, first: char) -> Option<()> {
        // The number of the stream in front of it.
        let number = self.word.take_if(|word| word.chars().all(|c| c.is_ascii_digit()));
        if number.is_none() {
            self.words.extend(self.word.take());
        }
        match (first, self.peek()) {
            ('<', Some('<')) => return None,
            (_, Some('(')) => return None,
            (_, Some('>' | '&' | '|' | '<')) => self.at += 1,
            _ => {}
        }
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace() && !";&|()<>".contains(*c)) {
            self.at += 1;
            if c == '\'' || c == '"' {
                self.quoted(c)?;
            }
        }
        self.word = None;
        Some(())
    }

    fn end(&mut self, behind: Joint) {
        self.words.extend(self.word.take());
        if !self.words.is_empty() {
            let words = std::mem::take(&mut self.words);
            self.parts.push(Part { words, behind });
        } else if let (Some(last), false) = (self.parts.last_mut(), behind == Joint::Then) {
            // An operator behind a line end: no sentence of a shell.
            last.behind = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        let parts = parts(text)?;
        let told = parts
            .iter()
            .map(|part| format!("{} {:?}", part.words.join("_"), part.behind));
        Some(told.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn simple_commands_are_told_apart_with_their_joints() {
        for (text, wanted) in [
            ("a b", "a_b Then"),
            ("a | tail -1", "a Pipe, tail_-1 Then"),
            ("a || true", "a Or, true Then"),
            ("a && b; c &", "a And, b Then, c Background"),
            ("a 2>&1 | b", "a Pipe, b Then"),
            ("a > log 2>&1; b", "a Then, b Then"),
            ("a &> log\nb", "a Then, b Then"),
            ("a |& b", "a Pipe, b Then"),
            ("a 'x | y' \"b; c\"", "a_x | y_b; c Then"),
            ("x=$(a | b) c # d | e", "x=$(a | b)_c Then"),
            ("a &&\n b", "a And, b Then"),
            ("a \\\n b", "a_b Then"),
        ] {
            assert_eq!(told(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_more_than_a_list_is_not_guessed_at() {
        for text in [
            "(a; b)",
            "if a; then b; fi",
            "for x in y; do a; done",
            "a <<E\nx\nE",
            "f() { a; }",
            "a 'x",
            "a ||",
            "case x in y) ;; esac",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }
}
