//! Which test binary printed which block of libtest output.
//!
//! cargo names each binary on stderr before it starts it, the binary prints its block on stdout, and
//! nothing but the order ties the two together. Unit and integration binaries print exactly one
//! block; the doc-tests of a crate may print several, and always come last.

/// A test binary, or the doc-tests of a crate, as cargo announced it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binary {
    /// Stable name: file name of the binary without its build hash, then its source path.
    pub(super) label: String,
    pub(super) source: Option<String>,
    pub(super) doc: bool,
}

/// Reads one of cargo's header lines.
pub(super) fn header(line: &str) -> Option<Binary> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        let label = format!("doc-tests {}", name.trim());
        return Some(Binary {
            label,
            source: None,
            doc: true,
        });
    }
    let rest = line.strip_prefix("Running ")?;
    let rest = rest.strip_prefix("unittests").map_or(rest, str::trim_start);
    if rest.contains('`') {
        return None;
    }
    let (source, path) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((source, path)) => (source.trim(), path),
        None if rest.contains('/') && !rest.contains(' ') => ("", rest),
        None => return None,
    };
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = without_hash(file.strip_suffix(".exe").unwrap_or(file));
    let label = if source.is_empty() {
        stem.to_string()
    } else {
        format!("{stem} {source}")
    };
    Some(Binary {
        label,
        source: (!source.is_empty()).then(|| source.to_string()),
        doc: false,
    })
}

fn without_hash(file: &str) -> &str {
    match file.rsplit_once('-') {
        Some((stem, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => stem,
        _ => file,
    }
}

/// Gives each of `blocks` blocks its binary, by order; the second value tells what did not fit.
pub(super) fn align(headers: &[Binary], blocks: usize) -> (Vec<Option<Binary>>, Option<String>) {
    let units: Vec<&Binary> = headers.iter().filter(|header| !header.doc).collect();
    let docs: Vec<&Binary> = headers.iter().filter(|header| header.doc).collect();
    if headers.is_empty() {
        return (vec![None; blocks], None);
    }
    let mut out: Vec<Option<Binary>> = units.iter().take(blocks).map(|unit| Some((*unit).clone())).collect();
    let rest = blocks - out.len();
    let nameless = Binary {
        label: "doc-tests".to_string(),
        source: None,
        doc: true,
    };
    let mut note = None;
    match docs.as_slice() {
        [] if rest > 0 => {
            note = Some(format!("{rest} blocks of test output belong to no announced binary"));
            out.extend(std::iter::repeat_n(None, rest));
        }
        [one] => out.extend(std::iter::repeat_n(Some((*one).clone()), rest)),
        several if several.len() == rest => out.extend(several.iter().map(|doc| Some((*doc).clone()))),
        _ => out.extend(std::iter::repeat_n(Some(nameless), rest)),
    }
    if units.len() > blocks {
        note = Some(format!(
            "{} test binaries were started and {blocks} reported",
            units.len()
        ));
    }
    (out, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_lose_their_build_hash() {
        let cases = [
            (
                "     Running unittests src/lib.rs (target/debug/deps/demo-8348ca7a80742723)",
                Some("demo src/lib.rs"),
            ),
            (
                "     Running tests/it.rs (/t/debug/deps/it-4a9c20718bed82b8)",
                Some("it tests/it.rs"),
            ),
            ("     Running target/debug/deps/old-4a9c20718bed82b8", Some("old")),
            (
                "     Running unittests (target/debug/deps/mid-name-4a9c20718bed82b8)",
                Some("mid-name"),
            ),
            ("   Doc-tests demo", Some("doc-tests demo")),
            ("     Running `/t/debug/deps/it-4a9c20718bed82b8`", None),
            ("Running late for work", None),
        ];
        for (line, expected) in cases {
            assert_eq!(header(line).map(|binary| binary.label).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn the_doc_tests_of_one_crate_take_all_remaining_blocks() {
        let unit = header("Running tests/a.rs (x/a-0000000000000000)").unwrap();
        let doc = header("Doc-tests d").unwrap();
        let (aligned, note) = align(&[unit.clone(), doc.clone()], 3);
        assert_eq!(aligned, [Some(unit.clone()), Some(doc.clone()), Some(doc)]);
        assert_eq!(note, None);
        assert!(align(&[unit.clone(), unit], 1).1.is_some());
    }
}
