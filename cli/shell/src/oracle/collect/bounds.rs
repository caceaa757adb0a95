//! How much of a report is read (SPEC 6.3.7). What is more is refused whole: a part could hide the rest.

use super::CollectError;
use crate::oracle::{Artefact, Member};

/// What no report of a test runner needs.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub report_bytes: usize,
    pub members: usize,
    pub id_bytes: usize,
    /// Suites within suites.
    pub depth: usize,
}

/// The bounds of every collector.
pub const BOUNDS: Bounds = Bounds {
    report_bytes: 64 << 20,
    members: 1_000_000,
    id_bytes: 4 << 10,
    depth: 64,
};

impl Bounds {
    /// Before anything is read.
    pub(super) fn admit(&self, collector: &'static str, artefact: &Artefact<'_>) -> Result<(), CollectError> {
        let files = artefact.reports_dir_files.iter().map(|(_, bytes)| bytes.as_slice());
        let largest = artefact.report.into_iter().chain(files).map(<[u8]>::len).max();
        match largest {
            Some(size_bytes) if size_bytes > self.report_bytes => Err(CollectError::TooLarge {
                collector,
                size_bytes,
                limit_bytes: self.report_bytes,
            }),
            _ => Ok(()),
        }
    }

    /// What was read.
    pub(super) fn hold(&self, collector: &'static str, members: &[Member]) -> Result<(), CollectError> {
        let ids = members.iter().map(|member| member.id.as_str());
        match self.exceeded(ids) {
            None => Ok(()),
            Some(what) => Err(CollectError::Malformed {
                collector,
                what,
                line: None,
            }),
        }
    }

    /// Which bound a list of identities exceeds, in words.
    pub fn exceeded<'a>(&self, ids: impl ExactSizeIterator<Item = &'a str>) -> Option<String> {
        let Self { members, id_bytes, .. } = *self;
        if ids.len() > members {
            return Some(format!("it names {} tests and at most {members} are read", ids.len()));
        }
        let mut ids = ids;
        let long = ids.find(|id| id.len() > id_bytes)?;
        let shown: String = long.chars().take(40).collect();
        Some(format!(
            "the name that begins with {shown:?} has {} bytes and at most {id_bytes} are read",
            long.len()
        ))
    }

    pub(super) fn too_deep(&self, collector: &'static str) -> CollectError {
        CollectError::Malformed {
            collector,
            what: format!("suites are nested more than {} deep", self.depth),
            line: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Status;
    use crate::oracle::collect::{ALL, by_name};

    const SMALL: Bounds = Bounds {
        report_bytes: 8,
        members: 2,
        id_bytes: 4,
        depth: 1,
    };

    fn members(ids: &[&str]) -> Vec<Member> {
        ids.iter().map(|id| Member::new(*id, Status::Passed)).collect()
    }

    #[test]
    fn a_report_over_the_size_is_refused_wherever_it_lies() {
        let files = [("a.xml".to_owned(), b"123456789".to_vec())];
        let beside = Artefact {
            reports_dir_files: &files,
            ..Artefact::default()
        };
        let named = Artefact {
            report: Some(b"123456789"),
            ..Artefact::default()
        };
        let fits = Artefact {
            report: Some(b"12345678"),
            ..Artefact::default()
        };
        assert!(SMALL.admit("x", &beside).is_err() && SMALL.admit("x", &named).is_err());
        assert_eq!(SMALL.admit("x", &fits), Ok(()));
    }

    #[test]
    fn one_member_or_one_byte_too_many_is_malformed_and_nothing_is_cut() {
        assert_eq!(SMALL.hold("x", &members(&["abcd", "b"])), Ok(()));
        for over in [&["a", "b", "c"][..], &["abcde"]] {
            let refused = SMALL.hold("x", &members(over)).unwrap_err();
            assert!(matches!(refused, CollectError::Malformed { .. }), "{refused}");
        }
    }

    #[test]
    fn every_collector_is_read_within_the_bounds() {
        let huge = vec![b' '; BOUNDS.report_bytes + 1];
        let artefact = Artefact {
            report: Some(&huge),
            ..Artefact::default()
        };
        for collector in ALL {
            let refused = collector.read(&artefact).unwrap_err();
            assert!(
                matches!(refused, CollectError::TooLarge { .. }),
                "{}: {refused}",
                collector.name
            );
        }
        let long = |bytes: usize| format!("1..1\nok 1 - {}\n", "x".repeat(bytes));
        let read = |text: &str| {
            let artefact = Artefact {
                exit: Some(0),
                stdout: text.as_bytes(),
                ..Artefact::default()
            };
            by_name("tap").unwrap().read(&artefact)
        };
        assert_eq!(read(&long(BOUNDS.id_bytes)).unwrap().members.len(), 1);
        assert!(
            read(&long(BOUNDS.id_bytes + 1))
                .unwrap_err()
                .to_string()
                .contains("4097 bytes")
        );
    }

    #[test]
    fn suites_within_suites_are_read_to_the_bound_and_no_deeper() {
        let xml = |depth: usize| {
            let open = "<testsuite name=\"s\">".repeat(depth);
            let close = "</testsuite>".repeat(depth);
            format!("<testsuites>{open}<testcase name=\"t\"/>{close}</testsuites>")
        };
        let tap = |depth: usize| format!("TAP version 13\n{}ok 1 - t\n1..0\n", "    ".repeat(depth));
        let read = |collector: &str, text: &str| {
            let artefact = Artefact {
                exit: Some(0),
                stdout: text.as_bytes(),
                report: Some(text.as_bytes()),
                ..Artefact::default()
            };
            by_name(collector).unwrap().read(&artefact)
        };
        let at = BOUNDS.depth;
        assert_eq!(read("junit", &xml(at)).unwrap().members.len(), 1);
        assert!(read("tap", &tap(at - 1)).is_ok());
        for (collector, text) in [("junit", xml(at + 1)), ("tap", tap(at)), ("node", tap(at))] {
            let refused = read(collector, &text).unwrap_err().to_string();
            assert!(refused.contains("more than 64 deep"), "{collector}: {refused}");
        }
    }
}
