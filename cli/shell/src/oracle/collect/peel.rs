//! What stands in front of the program that a command is about: assignments, and programs that only start another.

/// Takes assignments and wrapper programs off the front of a command.
pub(super) fn peel(words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut assignments = Vec::new();
    let mut rest: &[String] = &words;
    while let Some(first) = rest.first() {
        if is_assignment(first) {
            assignments.push(first.clone());
            rest = &rest[1..];
            continue;
        }
        let name = first.rsplit('/').next().unwrap_or(first);
        let second = rest.get(1).map(String::as_str);
        let skip = match (name, second) {
            ("uv" | "poetry" | "pipenv" | "pdm" | "rye" | "pixi" | "hatch" | "conda", Some("run")) => {
                2 + options(&rest[2..])
            }
            ("pnpm" | "npm" | "yarn" | "bun" | "bundle", Some("exec")) => 2,
            ("coverage", Some("run")) => {
                let module = rest.iter().position(|word| word == "-m");
                let Some(at) = module else { break };
                let mut python = vec!["python".to_string()];
                python.extend_from_slice(&rest[at..]);
                return (assignments, python);
            }
            ("timeout", _) => 1 + rest[1..].iter().take_while(|word| !is_program_like(word)).count(),
            (
                "env" | "time" | "nice" | "nohup" | "exec" | "command" | "npx" | "bunx" | "sudo" | "xvfb-run"
                | "stdbuf" | "cross-env" | "dotenv" | "if" | "then" | "do" | "!" | "{",
                _,
            ) => 1 + options(&rest[1..]),
            _ => break,
        };
        rest = rest.get(skip..).unwrap_or_default();
    }
    let mut rest = rest.to_vec();
    if let Some(python) = rest
        .first()
        .filter(|word| word.rsplit('/').next().is_some_and(|name| name.starts_with("python")))
        && let Some(at) = rest
            .windows(3)
            .position(|words| words[0] == "-m" && words[1] == "coverage" && words[2] == "run")
        && let Some(module) = rest[at + 3..].iter().position(|word| word == "-m")
    {
        let mut inner = vec![python.clone()];
        inner.extend_from_slice(&rest[at + 3 + module..]);
        rest = inner;
    }
    (assignments, rest)
}

/// `NAME=value`.
pub(crate) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a word of `timeout` is past its options, their values and the duration.
fn is_program_like(word: &str) -> bool {
    let is_signal = word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
    !(word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit()) || is_signal)
}

fn options(words: &[String]) -> usize {
    words.iter().take_while(|word| word.starts_with('-')).count()
}
