//! vitest's JSON report, which has the shape of jest's.
//!
//! The report counts a test that was expected to fail as passed, without a mark: `.fails` cannot be
//! told from a pass here.

use super::{Collector, jest};

const REPORT: &str = "vitest.json";

pub(super) static COLLECTOR: Collector = Collector {
    name: "vitest",
    doc: "vitest: its json reporter (injected by a node preload), or the same JSON on stdout",
    detect: |detection| detection.find(|run| matches!(run.program(), "vitest" | "vitest.mjs")),
    inject: |request| jest::inject(request, REPORT),
    collect: |artefact| jest::collect("vitest", REPORT, artefact),
};
