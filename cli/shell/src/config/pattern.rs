//! Patterns of paths, refused when they could only mislead.
//!
//! They follow gitignore rules, read against the workdir. An empty pattern would match nothing or
//! everything depending on the reader; one that leaves the workdir can never match a walked path.

use super::error::Fault;

/// Checks one pattern.
///
/// # Errors
/// [`Fault::Empty`], [`Fault::Nul`] or [`Fault::BadPattern`] with the reason.
pub fn check(pattern: &str) -> Result<(), Fault> {
    let bad = |why| {
        Err(Fault::BadPattern {
            found: pattern.to_owned(),
            why,
        })
    };
    if pattern.trim().is_empty() {
        return Err(Fault::Empty { what: "a pattern" });
    }
    if pattern.contains('\0') {
        return Err(Fault::Nul);
    }
    if pattern.starts_with('!') {
        return bad("negates, which a list of patterns cannot do; name the exception with --allow");
    }
    if pattern.starts_with('#') {
        return bad("would be read as a comment; write \\# for a name that starts with #");
    }
    if pattern.split('/').any(|part| part == "..") {
        return bad("leaves the workdir, where it can match nothing");
    }
    if pattern.contains(['\n', '\r']) {
        return bad("holds a line break");
    }
    if pattern.trim_matches('/').is_empty() {
        return bad("names no path");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_could_only_mislead_are_refused() {
        for pattern in [
            "",
            "  ",
            "!keep",
            "#note",
            "../other",
            "a/../../b",
            "a\nb",
            "/",
            "//",
            "a\0b",
        ] {
            assert!(check(pattern).is_err(), "{pattern:?}");
        }
    }

    #[test]
    fn usual_patterns_are_taken_as_they_are() {
        for pattern in [
            "tests/",
            ".env",
            "/Cargo.toml",
            "src/**/*_test.go",
            "ein ordner/ü",
            "\\#odd",
            "a..b",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern:?}");
        }
    }
}
