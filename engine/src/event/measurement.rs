//! What was measured: a command that ran, a tree that was walked, a check that was read.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::id::{Bytes, Digest};
use super::shape::{label, wire};
use super::zone::ZoneSeen;

label! {
    /// How a command ended.
    pub enum RunOutcome {
        /// `code` is the exit status.
        Exited = "exited",
        /// `code` is the signal.
        Signaled = "signaled",
        NotFound = "not_found",
        NotExecutable = "not_executable",
        /// `code` is the errno.
        StartFailed = "start_failed",
        /// The supervisor of the run died while the command ran.
        SupervisorLost = "supervisor_lost",
        /// The zone that it was to run in is not to be had; it did not start.
        ZoneRefused = "zone_refused",
        /// The zone went away under it.
        ZoneLost = "zone_lost",
    }
}
label! {
    /// Why loopexec itself ended a command.
    pub enum StopCause {
        /// It did not: the command ended by itself.
        None = "none",
        Deadline = "deadline",
        /// The working time of the whole run was spent.
        RunDeadline = "run_deadline",
        Idle = "idle",
        FirstOutput = "first_output",
        OutputCap = "output_cap",
        /// Its zone held more memory than it may.
        MemoryCap = "memory_cap",
        /// Its zone connected more, or moved more bytes, than it may.
        EgressCap = "egress_cap",
        /// A signal to the governor.
        Cancelled = "cancelled",
        /// Its zone kept more on disk than it may.
        VolumeCap = "volume_cap",
    }
}
wire! {
    /// One output stream. Count and digest are of the full stream; what is kept may be less.
    #[derive(Default)]
    pub struct Captured {
        pub bytes: u64,
        pub digest: Digest,
        /// The whole stream when `complete`, else its beginning.
        pub head: Bytes,
        /// The end of a stream that is not complete in `head`.
        pub tail: Bytes,
        pub complete: bool,
        /// The blob that holds the stream up to the cap, when it is not complete in `head`.
        pub blob: Option<Digest>,
        /// The blob ends before the stream did.
        pub truncated: bool,
        /// How many secrets were masked.
        pub masked: u64,
    }
}
wire! {
    /// A process that outlived its command.
    pub struct Survivor {
        pub pid: u32,
        pub command: Bytes,
        /// False when it could not be ended.
        pub ended: bool,
    }
}
wire! {
    /// One command that ran, or could not.
    pub struct CommandRun {
        pub outcome: RunOutcome,
        pub code: i32,
        pub stop: StopCause,
        pub duration_ms: u64,
        pub cpu_ms: u64,
        pub rss_max_kib: u64,
        pub stdout: Captured,
        pub stderr: Captured,
        pub survivors: Vec<Survivor>,
        /// The zone that it ran in; absent where it ran with the user's rights.
        pub zone: Option<ZoneSeen>,
    }
}

impl CommandRun {
    /// Ended by itself with this status.
    pub fn exited(&self) -> Option<i32> {
        (self.outcome == RunOutcome::Exited && self.stop == StopCause::None).then_some(self.code)
    }
}

label! {
    /// How one path differs.
    pub enum ChangeKind {
        Added = "added",
        Removed = "removed",
        Modified = "modified",
        Mode = "mode",
        Type = "type",
    }
}
label! {
    /// Why a path belongs to the watched surface.
    pub enum SurfaceClass {
        Blocked = "blocked",
        /// Test-determining content: tests, runner configuration, lock files, build scripts.
        Protected = "protected",
        /// A name that alters the runner by merely appearing.
        Determinant = "determinant",
        /// A program that the check starts, or a file that starts with it; its path is absolute.
        Toolchain = "toolchain",
    }
}
wire! {
    pub struct TreeChange {
        pub path: Bytes,
        pub kind: ChangeKind,
    }
}
label! {
    /// Where a watched path was looked at (SPEC 5.4.8).
    pub enum Place {
        Tree = "tree",
        Index = "index",
        /// The commit that `HEAD` comes to.
        Commit = "commit",
    }
}
wire! {
    /// A watched path that differs from t0.
    pub struct SurfaceChange {
        pub path: Bytes,
        pub place: Place,
        pub kind: ChangeKind,
        pub class: SurfaceClass,
        /// The pattern that made it watched.
        pub pattern: String,
    }
}
impl SurfaceChange {
    /// What happened, and where, unless it shows in the tree.
    pub fn told(&self) -> String {
        match self.place {
            Place::Tree => self.kind.label().into(),
            Place::Index => format!("{} in the index", self.kind),
            Place::Commit => format!("{} in the commit of HEAD", self.kind),
        }
    }
}

wire! {
    /// A reference, or a file of the repository's own configuration, that differs from t0.
    pub struct RefChange {
        pub name: String,
        pub from: Option<String>,
        pub to: Option<String>,
    }
}
label! {
    pub enum GitState {
        /// The workdir is not in a git repository.
        None = "none",
        Read = "read",
        /// There is a repository that could not be read.
        Unavailable = "unavailable",
    }
}
wire! {
    /// The repository around the workdir, read from its files.
    pub struct GitSeen {
        pub state: GitState,
        pub note: String,
        pub head: Option<String>,
        pub branch: Option<String>,
        /// Against t0; a moved current branch and a switched `HEAD` included.
        pub refs: Vec<RefChange>,
        /// Configuration, hooks, info, alternates, modules; against t0.
        pub meta: Vec<RefChange>,
        /// Whether index and commit could be listed, at t0 and now, and if not, why.
        pub listed: GitState,
        pub listed_note: String,
        /// An index lock was present.
        pub index_locked: bool,
    }
}
wire! {
    /// A test that keeps its file and name, and asserts less than at t0.
    pub struct AssertionsFallen {
        pub path: Bytes,
        pub name: String,
        pub from: u32,
        pub to: u32,
    }
}
wire! {
    /// A file whose assertions were known at t0 and are not now.
    pub struct AssertionsUnknown {
        pub path: Bytes,
        pub why: String,
    }
}
wire! {
    /// Assertions of all tests that are read by syntax tree, against t0.
    #[derive(Default)]
    pub struct AssertionsSeen {
        /// Files with tests at t0; without any there is nothing to compare with.
        pub files_t0: u64,
        /// Over the files that are known at both times, and those that are new.
        pub total_t0: u64,
        pub total: u64,
        pub fallen: Vec<AssertionsFallen>,
        /// Beyond those listed.
        pub fallen_more: u64,
        pub unknown: Vec<AssertionsUnknown>,
        pub unknown_more: u64,
    }
}
wire! {
    /// One walk of the workdir.
    pub struct TreeSeen {
        pub tree: Digest,
        pub files: u64,
        pub bytes: u64,
        /// Changed paths since the walk before.
        pub changes_total: u64,
        /// The first of them, in path order.
        pub changes: Vec<TreeChange>,
        /// Watched paths that differ from t0 in the tree, the index or the commit (or, at t0, none).
        pub surface: Vec<SurfaceChange>,
        /// Beyond those listed.
        pub surface_more: u64,
        /// How many files the watched surface holds, and the digest over them.
        pub surface_files: u64,
        pub surface_digest: Digest,
        /// Files that kept changing while they were read.
        pub unstable: Vec<Bytes>,
        /// Files too large to be kept in the store.
        pub unstored: Vec<Bytes>,
        /// Files that could not be read.
        pub unreadable: Vec<Bytes>,
        pub git: GitSeen,
        pub assertions: AssertionsSeen,
        pub cost_us: u64,
    }
}

label! {
    /// What the runner said of one member.
    pub enum MemberStatus {
        Passed = "passed",
        Failed = "failed",
        Error = "error",
        Skipped = "skipped",
        Xfail = "xfail",
        Xpass = "xpass",
        Ignored = "ignored",
        Todo = "todo",
        /// Passed only after a retry.
        FlakyPassed = "flaky_passed",
        /// Not collected any more.
        Absent = "absent",
    }
}

impl MemberStatus {
    /// Counts as passing for the ratchet.
    pub const fn passes(self) -> bool {
        matches!(self, Self::Passed)
    }

    /// Counts as failing: a member that is gone fails (SPEC 4.2).
    pub const fn fails(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Error | Self::Absent | Self::FlakyPassed | Self::Xpass
        )
    }
}

wire! {
    pub struct MemberChange {
        pub id: String,
        pub status: MemberStatus,
    }
}
label! {
    pub enum ReportState {
        /// The collector reads no file.
        NotUsed = "not_used",
        Fresh = "fresh",
        /// Older than the run that should have written it.
        Stale = "stale",
        Absent = "absent",
        Malformed = "malformed",
    }
}
wire! {
    /// What one check run showed, from its one captured artefact.
    pub struct Measurement {
        /// Empty when no collector could read the artefact: then the exit code is all there is.
        pub collector: String,
        pub note: String,
        pub report: ReportState,
        /// Members that the runner said it would run, and those it said it finished.
        pub announced: Option<u64>,
        pub concluded: Option<u64>,
        /// The runner itself said that it came to its end.
        pub finished: bool,
        /// Every concluded test is named; otherwise only what failed is.
        pub complete: bool,
        /// Sentences about evidence that cannot all be true.
        pub contradictions: Vec<String>,
        /// Tests that ran more than once.
        pub retried: u64,
        pub members_total: u64,
        /// Members whose status differs from the measurement before this one.
        pub changes: Vec<MemberChange>,
        /// Over the sorted (id, status) pairs.
        pub members_digest: Digest,
        /// Over the normalised failure messages.
        pub messages_digest: Digest,
        /// Over the normalised output, for replay.
        pub output_digest: Digest,
        /// Identities printed by the integrity command; absent without one.
        pub integrity: Option<IntegritySet>,
        pub cost_us: u64,
    }
}
wire! {
    /// The surface as the operator's own command lists it.
    pub struct IntegritySet {
        pub total: u64,
        pub digest: Digest,
        /// Identities not seen before: the known set only grows.
        pub added: Vec<String>,
        /// Known identities that are gone.
        pub lost: Vec<String>,
        /// Why the command's answer is unusable; empty when it is usable.
        pub error: String,
    }
}
