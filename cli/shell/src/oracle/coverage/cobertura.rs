//! Cobertura's XML, which most tools can write: classes with a file name, and their lines with a number of hits.
//!
//! Many of them name a document type. It is taken away before the text is parsed, unless it brings definitions: with
//! those the report is refused, as every XML that could be a bomb is.

use std::borrow::Cow;

use roxmltree::{Document, Node, ParsingOptions};

use super::error::shown;
use super::{Content, CoverageError, Draft, Format};

pub(super) static FORMAT: Format = Format {
    name: "cobertura",
    recognise: |content| content.text().starts_with('<'),
    read,
};

const NODES_MAX: u32 = 8_000_000;
const DOCTYPE: &str = "<!DOCTYPE";

fn read(content: &Content<'_>, draft: &mut Draft<'_>) -> Result<(), CoverageError> {
    let text = without_doctype(content.text())?;
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(&text, options).map_err(|error| match error {
        roxmltree::Error::UnexpectedEndOfStream | roxmltree::Error::UnclosedRootNode => CoverageError::Truncated {
            format: FORMAT.name,
            what: error.to_string(),
        },
        other => malformed(other.to_string()),
    })?;
    let root = document.root_element();
    if !root.has_tag_name("coverage") {
        let what = format!("its root is <{}> and not <coverage>", shown(root.tag_name().name()));
        return Err(malformed(what));
    }
    let sources = root.descendants().filter(|node| node.has_tag_name("source"));
    let sources: Vec<&str> = sources.filter_map(|node| node.text()).map(str::trim).collect();
    for class in root.descendants().filter(|node| node.has_tag_name("class")) {
        let name = class.attribute("filename");
        let name = name.ok_or_else(|| malformed("a class has no file name"))?;
        let under = sources.iter().filter(|source| !source.is_empty());
        let under: Vec<String> = under
            .map(|source| format!("{}/{name}", source.trim_end_matches('/')))
            .collect();
        let candidates: Vec<&str> = under.iter().map(String::as_str).chain([name]).collect();
        let slot = draft.file(&candidates);
        // The lines of its methods stand among those of the class too.
        let lists = class.children().filter(|node| node.has_tag_name("lines"));
        for line in lists
            .flat_map(|list| list.children())
            .filter(|node| node.has_tag_name("line"))
        {
            let (number, hits) = (count(line, "number")?, count(line, "hits")?);
            draft.line(&slot, number, hits > 0)?;
        }
    }
    Ok(())
}

fn malformed(what: impl Into<String>) -> CoverageError {
    CoverageError::malformed(FORMAT.name, what)
}

fn count(line: Node<'_, '_>, name: &str) -> Result<i64, CoverageError> {
    let value = line.attribute(name).and_then(|text| text.trim().parse().ok());
    value.ok_or_else(|| malformed(format!("a line has no `{name}`")))
}

/// The text with a document type that only names one taken away.
fn without_doctype(text: &str) -> Result<Cow<'_, str>, CoverageError> {
    let Some(at) = text.find(DOCTYPE) else {
        return Ok(Cow::Borrowed(text));
    };
    let (before, after) = text.split_at(at);
    let Some(end) = after.find(['>', '[']).filter(|end| after[*end..].starts_with('>')) else {
        return Err(malformed("its document type brings definitions of its own"));
    };
    // Anywhere else it is a part of some text, and the parser has its say.
    let is_prologue = !before.contains("<coverage");
    match is_prologue {
        true => Ok(Cow::Owned(format!("{before}{}", &after[end + 1..]))),
        false => Ok(Cow::Borrowed(text)),
    }
}
