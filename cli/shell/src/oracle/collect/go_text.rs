//! `go test` without `-json`: package lines always, tests by name only with `-v`.

use std::collections::BTreeMap;

use crate::oracle::{Measured, Member, Status};

/// Reads go's text output; `None` when there is no package line in it.
pub(super) fn read(text: &str) -> Option<Measured> {
    let mut measured = Measured::unfinished("go");
    let mut open: BTreeMap<String, Status> = BTreeMap::new();
    let (mut announced, mut concluded, mut packages, mut cached) = (0u64, 0u64, 0u64, 0u64);
    let mut verbose = false;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        if let Some(name) = content.strip_prefix("=== RUN ") {
            verbose = true;
            announced += 1;
            open.entry(name.trim().to_string()).or_insert(Status::Error);
        } else if let Some((name, status)) = verdict(content) {
            concluded += 1;
            open.insert(name.to_string(), status);
        } else if let Some((package, failed)) = package_line(line) {
            packages += 1;
            cached += u64::from(line.contains("(cached)"));
            let explained = open.values().any(|status| status.is_failing());
            for (name, status) in std::mem::take(&mut open) {
                let lost = "started, and never came to a verdict";
                let message = if status == Status::Error { lost } else { "" };
                measured.members.push(
                    Member::new(format!("{package} {name}"), status)
                        .saying(message)
                        .of_suite(package),
                );
            }
            if failed && !explained {
                measured
                    .members
                    .push(Member::new(package, Status::Error).saying(line).as_container());
            }
        }
    }
    if packages == 0 {
        return None;
    }
    measured.finished = open.is_empty();
    measured.complete = verbose;
    if verbose {
        measured.announced = Some(announced);
        measured.concluded = Some(concluded);
    } else {
        measured
            .notes
            .push("go test without -v or -json names only failing tests".to_string());
    }
    if cached > 0 {
        measured
            .notes
            .push(format!("{cached} packages were answered from go's test cache"));
    }
    Some(measured)
}

/// `--- PASS: TestName (0.00s)`
pub(super) fn verdict(content: &str) -> Option<(&str, Status)> {
    let rest = content.strip_prefix("--- ")?;
    let (word, rest) = rest.split_once(": ")?;
    let status = match word {
        "PASS" => Status::Passed,
        "FAIL" => Status::Failed,
        "SKIP" => Status::Skipped,
        _ => return None,
    };
    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
    Some((name.trim(), status))
}

/// `ok  <TAB>pkg<TAB>0.01s`, `FAIL<TAB>pkg [build failed]`, `?   <TAB>pkg<TAB>[no test files]`
fn package_line(line: &str) -> Option<(&str, bool)> {
    let (word, rest) = line.split_once('\t')?;
    let failed = match word.trim_end() {
        "ok" | "?" | "" => false,
        "FAIL" => true,
        _ => return None,
    };
    let package = rest.split(['\t', ' ']).next().filter(|package| !package.is_empty())?;
    let coverage_only = word.trim_end().is_empty() && !rest.contains("coverage:");
    (!coverage_only).then_some((package, failed))
}
