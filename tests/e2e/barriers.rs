//! What must be durable before which effect (SPEC 11.4), as the kernel sees it.
//!
//! ```text
//!   strace: writes and syncs of the journal | starts of commands | files put back | the end of the governor
//! ```

use std::collections::BTreeSet;

use crate::support::Project;

const SYNCS: &[&str] = &["fdatasync(", "fsync("];
const TRACED: &str =
    "trace=execve,write,pwrite64,writev,pwritev,pwritev2,fdatasync,fsync,rename,renameat,renameat2,exit_group";

/// Something that must find the journal durable, a check that need not, or a write or a sync of it.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Written,
    Synced,
    Work,
    Check,
    PutBack,
    End,
}

/// A project whose first turn breaks what passed, and whose later turns change what no test notices.
fn project() -> Project {
    let project = Project::new();
    project.write("kept.txt", "good\n");
    project.write("check.sh", "echo 1..2\nif grep -q good kept.txt; then echo ok 1 - kept; else echo not ok 1 - kept; fi\necho not ok 2 - never\nexit 1\n");
    project.write(
        "agent.sh",
        "if test $LOOPEXEC_ITERATION = 1; then echo bad > kept.txt; else echo $LOOPEXEC_ITERATION > notes; fi\n",
    );
    project
}

/// The steps of a traced run up to its cap; fails when the journal holds something that is not durable at one of them.
fn steps(project: &Project, iterations: u32) -> Option<Vec<Step>> {
    let log = project.outside.join("trace");
    let log = log.to_str().unwrap();
    let strace = ["strace", "-f", "-y", "-s", "400", "-o", log, "-e", TRACED];
    if !std::process::Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|s| s.success())
    {
        eprintln!("skipped: strace cannot trace here");
        return None;
    }
    let most = iterations.to_string();
    let run = [
        "run",
        "--exec",
        "sh agent.sh",
        "--check",
        "sh check.sh",
        "--collector",
        "tap",
    ];
    let bounds = [
        "--max-iterations",
        &most,
        "--no-progress-k",
        "off",
        "--same-failure-r",
        "off",
    ];
    let answer = project.start_under(&strace, &[&run[..], &bounds].concat()).end();
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    Some(read(&project.told("trace")))
}

fn read(trace: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut dirty, mut syncing) = (None, BTreeSet::new());
    let governor = trace.split(' ').next().unwrap();
    for line in trace.lines() {
        let (pid, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        let of_journal = call.contains(".seg>");
        let step = if SYNCS.iter().any(|sync| call.starts_with(sync)) && of_journal {
            if call.ends_with("<unfinished ...>") {
                syncing.insert(pid);
                continue;
            }
            dirty = None;
            Step::Synced
        } else if call.starts_with("<... f") && call.contains("sync resumed>") && syncing.remove(pid) {
            dirty = None;
            Step::Synced
        } else if call.contains("write") && of_journal {
            assert!(dirty.is_none(), "written behind what is not durable: {dirty:?}");
            dirty = Some(line);
            steps.push(Step::Written);
            continue;
        } else if call.starts_with("execve(\"/bin/sh\"") && call.contains("\"-c\", \"sh agent.sh\"") {
            Step::Work
        } else if call.starts_with("execve(\"/bin/sh\"") && call.contains("\"-c\", \"sh check.sh\"") {
            Step::Check
        } else if call.starts_with("rename") && call.contains("kept.txt") {
            Step::PutBack
        } else if call.starts_with("exit_group") && pid == governor {
            Step::End
        } else {
            continue;
        };
        let is_kept = dirty.is_none() || step == Step::Check;
        assert!(is_kept, "{step:?} while the journal was not durable: {dirty:?}");
        steps.push(step);
    }
    steps
}

fn number(of: &[Step], wanted: Step) -> usize {
    of.iter().filter(|step| **step == wanted).count()
}

#[test]
fn every_effect_finds_the_journal_durable() {
    let project = project();
    let Some(steps) = steps(&project, 3) else { return };
    let count = |wanted: Step| number(&steps, wanted);
    assert_eq!((count(Step::Work), count(Step::End)), (3, 1), "{steps:?}");
    // The baseline, three turns, and the recheck of the one that was put back.
    assert_eq!((count(Step::Check), count(Step::PutBack)), (5, 1), "{steps:?}");
    // What an effect announces is kept: something was written since the one before.
    let effects = steps.split(|step| !matches!(step, Step::Written | Step::Synced));
    let bare = effects.skip(1).filter(|kept| !kept.contains(&Step::Written)).count();
    assert_eq!(bare, 1, "only behind the end nothing follows: {steps:?}");
}

#[test]
fn an_iteration_with_one_attempt_needs_at_most_three_syncs() {
    let project = project();
    project.write("agent.sh", "echo $LOOPEXEC_ITERATION > notes\n");
    let Some(steps) = steps(&project, 6) else { return };
    let mut iterations: Vec<_> = steps.split(|step| *step == Step::Work).skip(1).collect();
    let last = iterations.pop().unwrap();
    let syncs = |steps: &[Step]| steps.iter().filter(|step| **step == Step::Synced).count();
    let whole: Vec<_> = iterations.into_iter().map(syncs).collect();
    assert_eq!(whole.len(), 5);
    assert!(whole.iter().all(|syncs| (1..=3).contains(syncs)), "{whole:?}");
    // The last one has the end of the run with it.
    assert!(syncs(last) <= 4, "{last:?}");
}

#[test]
fn a_write_that_is_not_durable_is_seen_by_these_tests() {
    let write = "7 pwrite64(3</j/0.seg>, \"x\", 1, 0) = 1\n";
    let sync = "7 fdatasync(3</j/0.seg>) = 0\n";
    let work = "8 execve(\"/bin/sh\", [\"/bin/sh\", \"-c\", \"sh agent.sh\"], 0x1) = 0\n";
    let check = work.replace("agent", "check");
    let synced = [Step::Written, Step::Synced];
    assert_eq!(
        read(&[write, sync, work].concat()),
        [&synced[..], &[Step::Work]].concat()
    );
    let meanwhile = read(&[write, &check, sync, write, sync, work].concat());
    assert_eq!(meanwhile[..3], [Step::Written, Step::Check, Step::Synced]);
    let split = "7 fdatasync(3</j/0.seg> <unfinished ...>\n";
    let resumed = "7 <... fdatasync resumed>) = 0\n";
    assert_eq!(
        read(&[write, split, resumed, work].concat()),
        [&synced[..], &[Step::Work]].concat()
    );
    let unheard = [write, &check, write].concat();
    for hasty in [[write, work].concat(), [write, split, work].concat(), unheard] {
        assert!(std::panic::catch_unwind(|| read(&hasty)).is_err(), "{hasty}");
    }
}
