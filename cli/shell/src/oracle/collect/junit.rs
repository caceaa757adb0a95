//! JUnit XML, the dialect of everybody.
//!
//! The root's totals are often absent or zero, so cases are counted here and totals are only
//! compared when they say something. Document types are refused, and with them every entity.

use roxmltree::{Document, Node, ParsingOptions};

use super::{Artefact, BOUNDS, CollectError, Collector, Injection, ReportPlan};
use crate::oracle::{Measured, Member, Status};

pub(super) static COLLECTOR: Collector = Collector {
    name: "junit",
    doc: "JUnit XML of any runner, from the report file the user names (several files of one run are joined)",
    detect: |_| None,
    inject: |_| Injection {
        report: ReportPlan::NamedByUser,
        ..Injection::default()
    },
    collect,
};

const NODE_LIMIT: u32 = 4_000_000;

/// One `<testcase>`.
pub(super) struct Case {
    pub(super) suite: String,
    pub(super) class: String,
    pub(super) name: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) status: Status,
    pub(super) message: String,
    /// Retries the runner recorded inside the case.
    pub(super) retries: u64,
}

/// One report file.
#[derive(Default)]
pub(super) struct Report {
    pub(super) cases: Vec<Case>,
    pub(super) contradictions: Vec<String>,
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let mut measured = Measured::unfinished("junit");
    let named = artefact.report.into_iter();
    let extra = artefact
        .reports_dir_files
        .iter()
        .filter(|(name, _)| name.ends_with(".xml"));
    let documents: Vec<&[u8]> = if artefact.report.is_some() {
        named.collect()
    } else {
        extra.map(|(_, bytes)| bytes.as_slice()).collect()
    };
    if documents.is_empty() {
        return Err(CollectError::Absent {
            collector: "junit",
            what: "JUnit XML report",
        });
    }
    for bytes in documents {
        let report = read("junit", bytes)?;
        measured.contradictions.extend(report.contradictions);
        for case in report.cases {
            let group = if case.class.is_empty() || case.class == case.name {
                &case.suite
            } else {
                &case.class
            };
            let id = if group.is_empty() {
                case.name.clone()
            } else {
                format!("{group}::{}", case.name)
            };
            let mut member = Member::new(id, case.status).saying(&case.message);
            member.suite = (!case.suite.is_empty()).then(|| case.suite.clone());
            member.file = case.file.map(|file| artefact.relative(&file));
            member.line = case.line;
            measured.retried += case.retries.min(1);
            measured.members.push(member);
        }
    }
    measured.concluded = Some(measured.members.len() as u64);
    measured.finished = true;
    Ok(measured.settled())
}

/// Reads one document for the collector called `collector`.
pub(super) fn read(collector: &'static str, bytes: &[u8]) -> Result<Report, CollectError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(CollectError::Truncated {
            collector,
            what: "the XML file is empty".to_string(),
        });
    }
    let text = legal(bytes);
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: NODE_LIMIT,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(&text, options).map_err(|error| {
        let line = error.pos().row as usize;
        match error {
            roxmltree::Error::UnexpectedEndOfStream
            | roxmltree::Error::UnclosedRootNode
            | roxmltree::Error::NoRootNode => CollectError::Truncated {
                collector,
                what: format!("the XML ends early ({error})"),
            },
            other => CollectError::Malformed {
                collector,
                what: other.to_string(),
                line: Some(line),
            },
        }
    })?;
    let root = document.root_element();
    if !matches!(root.tag_name().name(), "testsuites" | "testsuite") {
        let what = format!(
            "the root element is <{}> and not <testsuites> or <testsuite>",
            root.tag_name().name()
        );
        return Err(CollectError::Malformed {
            collector,
            what,
            line: Some(1),
        });
    }
    let mut report = Report::default();
    if walk(root, &mut report) {
        return Err(BOUNDS.too_deep(collector));
    }
    Ok(report)
}

/// Visits every suite without recursion: nesting is the document's choice. True when some lie too deep.
fn walk(root: Node<'_, '_>, report: &mut Report) -> bool {
    let mut open = vec![(root, String::new(), 0)];
    while let Some((suite, path, depth)) = open.pop() {
        let name = suite.attribute("name").unwrap_or_default();
        let mut direct = 0;
        for child in suite.children() {
            match child.tag_name().name() {
                "testsuite" if depth == BOUNDS.depth => return true,
                "testsuite" => open.push((child, name.to_string(), depth + 1)),
                "testcase" => {
                    direct += 1;
                    report
                        .cases
                        .push(case(child, if name.is_empty() { &path } else { name }));
                }
                _ => {}
            }
        }
        let leaf = !suite.children().any(|child| child.has_tag_name("testsuite"));
        if let Some(stated) = suite
            .attribute("tests")
            .and_then(|text| text.trim().parse::<u64>().ok())
            && suite.has_tag_name("testsuite")
            && leaf
            && stated > direct
        {
            report
                .contradictions
                .push(format!("suite {name:?} states {stated} tests and lists {direct}"));
        }
    }
    false
}

fn case(node: Node<'_, '_>, suite: &str) -> Case {
    let attribute = |name| node.attribute(name).unwrap_or_default().to_string();
    let mut case = Case {
        suite: suite.to_string(),
        class: attribute("classname"),
        name: attribute("name"),
        file: node.attribute("file").map(str::to_string),
        line: node.attribute("line").and_then(|text| text.parse().ok()),
        status: Status::Passed,
        message: String::new(),
        retries: 0,
    };
    let unrun = |key| {
        matches!(
            node.attribute(key),
            Some("notrun" | "skipped" | "disabled" | "suppressed")
        )
    };
    if unrun("status") || unrun("result") {
        case.status = Status::Skipped;
    }
    for child in node.children() {
        let status = match child.tag_name().name() {
            "failure" => Status::Failed,
            "error" => Status::Error,
            "skipped" if child.attribute("type") == Some("pytest.xfail") => Status::Xfail,
            "skipped" => Status::Skipped,
            "flakyFailure" | "flakyError" | "rerunFailure" | "rerunError" => {
                case.retries += 1;
                Status::Passed
            }
            _ => continue,
        };
        if case.message.is_empty() {
            case.message = said(child);
        }
        if severity(status) > severity(case.status) {
            case.status = status;
        }
    }
    if case.retries > 0 && case.status == Status::Passed {
        case.status = Status::FlakyPassed;
    }
    case
}

fn severity(status: Status) -> u8 {
    match status {
        Status::Error => 3,
        Status::Failed => 2,
        Status::Passed => 0,
        _ => 1,
    }
}

fn said(node: Node<'_, '_>) -> String {
    let text = node.text().unwrap_or_default().trim();
    match node.attribute("message").filter(|message| !message.is_empty()) {
        Some(message) if text.is_empty() || text.starts_with(message) => message.to_string(),
        Some(message) => format!("{message}\n{text}"),
        None => text.to_string(),
    }
}

/// Characters XML forbids are common in captured output; they are replaced rather than refused.
fn legal(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' => c,
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            _ if c < ' ' => '\u{fffd}',
            _ => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(xml: &[u8]) -> Result<Measured, CollectError> {
        collect(&Artefact {
            report: Some(xml),
            ..Artefact::default()
        })
    }

    #[test]
    fn statuses_retries_and_duplicates_are_told_apart() {
        let seen = measure(
            b"<?xml version='1.0'?>\r\n<testsuites><testsuite name='s' tests='7'>\
            <testcase classname='C' name='ok'/><testcase classname='C' name='ok'/>\
            <testcase classname='C' name='bad' file='a.py' line='3'><failure message='m'>m and more</failure></testcase>\
            <testcase classname='C' name='err'><system-out>x\x00\x1b[0m</system-out><error>boom</error></testcase>\
            <testcase name='skip'><skipped/></testcase>\
            <testcase classname='C' name='lucky'><flakyFailure message='first'/></testcase>\
            <testcase classname='C' name='unlucky'><failure/><rerunFailure/></testcase></testsuite></testsuites>",
        )
        .unwrap();
        let status = |id: &str| seen.member(id).unwrap().status;
        assert_eq!(status("C::ok#2"), Status::Passed);
        assert_eq!(seen.member("C::bad").unwrap().message, "m");
        assert_eq!(seen.member("C::bad").unwrap().line, Some(3));
        assert_eq!(status("C::err"), Status::Error);
        assert_eq!(status("s::skip"), Status::Skipped);
        assert_eq!(status("C::lucky"), Status::FlakyPassed);
        assert_eq!(status("C::unlucky"), Status::Failed);
        assert_eq!((seen.retried, seen.concluded), (2, Some(7)));
        assert!(seen.contradictions.is_empty());
    }

    #[test]
    fn entities_are_refused() {
        let bomb = b"<!DOCTYPE t [<!ENTITY a 'aaaa'>]><testsuites>&a;</testsuites>";
        assert!(matches!(measure(bomb), Err(CollectError::Malformed { .. })));
    }

    #[test]
    fn a_cut_document_is_truncated_and_an_absent_one_absent() {
        assert!(matches!(
            measure(b"<testsuites><testsuite>"),
            Err(CollectError::Truncated { .. })
        ));
        assert!(matches!(measure(b"  "), Err(CollectError::Truncated { .. })));
        assert!(matches!(measure(b"<html></html>"), Err(CollectError::Malformed { .. })));
        assert!(matches!(
            collect(&Artefact::default()),
            Err(CollectError::Absent { .. })
        ));
    }

    #[test]
    fn fewer_cases_than_stated_is_a_contradiction() {
        let seen = measure(b"<testsuite name='s' tests='3'><testcase name='a'/></testsuite>").unwrap();
        assert_eq!(seen.contradictions.len(), 1);
    }

    #[test]
    fn deep_nesting_ends() {
        let depth = 100_000;
        let xml = format!("{}{}", "<testsuite>".repeat(depth), "</testsuite>".repeat(depth));
        let _ = measure(xml.as_bytes());
    }
}
