//! The smallest facts that are said about commands and walks.

use engine::event::measurement::{Captured, ChangeKind, CommandRun, RunOutcome, StopCause, Survivor, TreeChange};

pub(super) fn product() -> TreeChange {
    TreeChange {
        path: "src/lib.rs".into(),
        kind: ChangeKind::Modified,
    }
}

pub(super) fn touched(touched: bool) -> Vec<String> {
    touched.then(|| "journal/0.seg".into()).into_iter().collect()
}

pub(super) fn survivor(ended: bool) -> Survivor {
    Survivor {
        pid: 7,
        command: "sleep 600".into(),
        ended,
    }
}

pub(super) fn command(outcome: RunOutcome, code: i32, stop: StopCause) -> CommandRun {
    CommandRun {
        outcome,
        code,
        stop,
        duration_ms: 0,
        cpu_ms: 0,
        rss_max_kib: 0,
        stdout: Captured::default(),
        stderr: Captured::default(),
        survivors: Vec::new(),
        zone: None,
    }
}
