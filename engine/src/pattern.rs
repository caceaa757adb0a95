//! Path patterns of the contract, with the rules people know from gitignore.
//!
//! A pattern without an inner slash matches a name at any depth; one with a slash is anchored at the
//! workdir. A trailing slash means the directory and all below it. `*` and `?` stay within one name,
//! `**` crosses them. There is no negation: exemptions are a list of their own.

/// Does `pattern` match `path` (relative, `/`-separated) or a directory above it?
pub fn matches(pattern: &str, path: &[u8]) -> bool {
    let trimmed = pattern.strip_suffix('/');
    let directory_only = trimmed.is_some();
    let body = trimmed.unwrap_or(pattern);
    let anchored = body.contains('/');
    let body = body.strip_prefix('/').unwrap_or(body).as_bytes();
    if body.is_empty() {
        return false;
    }
    let mut start = 0;
    loop {
        if matches_from(body, &path[start..], directory_only) {
            return true;
        }
        if anchored {
            return false;
        }
        match path[start..].iter().position(|b| *b == b'/') {
            Some(slash) => start += slash + 1,
            None => return false,
        }
    }
}

/// The first of `patterns` that matches.
pub fn first<'a>(patterns: impl IntoIterator<Item = &'a str>, path: &[u8]) -> Option<&'a str> {
    patterns.into_iter().find(|pattern| matches(pattern, path))
}

/// Matches `body` against the whole of `path` or against one of its leading directories.
fn matches_from(body: &[u8], path: &[u8], directory_only: bool) -> bool {
    let below = (0..path.len())
        .filter(|i| path[*i] == b'/')
        .any(|end| glob(body, &path[..end]));
    below || (!directory_only && glob(body, path))
}

/// Classic backtracking over one star at a time; `**` may also match across slashes.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', b'*', b'/', rest @ ..] => {
            glob(rest, text) || (0..text.len()).any(|i| text[i] == b'/' && glob(rest, &text[i + 1..]))
        }
        [b'*', b'*', rest @ ..] => (0..=text.len()).any(|i| glob(rest, &text[i..])),
        [b'*', rest @ ..] => {
            let name = text.iter().position(|b| *b == b'/').unwrap_or(text.len());
            (0..=name).any(|i| glob(rest, &text[i..]))
        }
        [b'?', rest @ ..] => matches!(text, [b, tail @ ..] if *b != b'/' && glob(rest, tail)),
        [byte, rest @ ..] => matches!(text, [b, tail @ ..] if b == byte && glob(rest, tail)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_people_expect() {
        let cases: &[(&str, &str, bool)] = &[
            ("tests/", "tests/a.py", true),
            ("tests/", "pkg/tests/a.py", true),
            ("tests/", "tests", false),
            ("tests/", "mytests/a.py", false),
            (".env", ".env", true),
            (".env", "deploy/.env", true),
            (".env", ".envrc", false),
            (".env*", ".env.local", true),
            ("*.pth", "lib/x.pth", true),
            ("test_*.py", "a/b/test_x.py", true),
            ("test_*.py", "a/b/atest_x.py", false),
            (".github/workflows/", ".github/workflows/ci.yml", true),
            (".github/workflows/", "x/.github/workflows/ci.yml", false),
            ("**/workflows/", "x/workflows/ci.yml", true),
            ("src/**/gen.rs", "src/gen.rs", true),
            ("src/**/gen.rs", "src/a/b/gen.rs", true),
            ("src/*/gen.rs", "src/a/b/gen.rs", false),
            ("/setup.py", "setup.py", true),
            ("/setup.py", "a/setup.py", false),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("", "a", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path.as_bytes()), *expected, "{pattern} against {path}");
        }
    }
}
