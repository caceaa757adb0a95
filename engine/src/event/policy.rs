//! The pinned contract of a run: everything that decides how it may end, recorded in its first event.

use alloc::string::String;
use alloc::vec::Vec;

use super::id::{Bytes, Digest};
use super::shape::{label, wire};

mod guards;
mod isolation;

pub use guards::{Adequacy, BLOCKED_DEFAULT, GuardBudget, GuardPolicy, OnViolation, OverBudget, Surface};
pub use isolation::{IsolationPolicy, ZoneRuntime};

label! {
    /// The control topology (SPEC 10).
    pub enum LoopMode { CheckFixpoint = "check_fixpoint", TaskList = "task_list" }
}
label! {
    /// What a failed work command does to the run.
    pub enum OnExecFailure { Halt = "halt", Continue = "continue", Retry = "retry" }
}
label! {
    /// What a work command that ran out of time does to the run.
    pub enum OnExecTimeout { Check = "check", Halt = "halt" }
}
label! {
    /// What a check that ran out of time means.
    pub enum OnCheckTimeout { Halt = "halt", Red = "red" }
}
label! {
    /// Whether the identity of the model must be declared.
    pub enum PinMode { Optional = "optional", Required = "required" }
}
label! {
    /// How spend is accounted for.
    pub enum Metering { Unmetered = "unmetered", Observed = "observed", Strict = "strict" }
}

wire! {
    /// A program and its arguments. `shell` says that the user wrote one string, run as `sh -c`.
    #[derive(Default)]
    pub struct Command {
        pub words: Vec<Bytes>,
        pub shell: bool,
    }
}

impl Command {
    /// A command that the user wrote as one string.
    pub fn shell(text: &str) -> Self {
        Self {
            words: [Bytes::from(text)].into(),
            shell: true,
        }
    }

    /// No command at all.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The command as a person would read it.
    pub fn display(&self) -> String {
        let words: Vec<String> = self.words.iter().map(Bytes::text).collect();
        words.join(" ")
    }
}

wire! {
    /// The limits of a run. Absent means unlimited; every limit can be raised by an amendment.
    pub struct Bounds {
        pub max_iterations: u32,
        /// Working time of the whole run, over all resumes.
        pub timeout_ms: Option<u64>,
        /// One work command.
        pub command_timeout_ms: Option<u64>,
        pub check_timeout_ms: Option<u64>,
        /// No output on either stream for this long.
        pub idle_timeout_ms: Option<u64>,
        /// No output at all since the start for this long.
        pub first_output_timeout_ms: Option<u64>,
        /// From TERM to KILL.
        pub grace_ms: u64,
        pub budget_microusd: Option<u64>,
    }
}
wire! {
    /// What happens after a command that did not do its work.
    pub struct Failures {
        pub on_exec_failure: OnExecFailure,
        /// Attempts in one iteration beyond the first, under `retry`.
        pub exec_retries_max: u32,
        /// First delay between attempts; doubles up to 60 s.
        pub retry_backoff_ms: u64,
        /// This many instant failures in a row halt the run, whatever the policy.
        pub instant_failures_max: u32,
        /// A failure at most this long after the start is instant.
        pub instant_failure_ms: u64,
        pub on_exec_timeout: OnExecTimeout,
        pub on_check_timeout: OnCheckTimeout,
    }
}
wire! {
    /// The thresholds of the progress detectors (SPEC 4.3). Zero switches a detector off.
    pub struct Thresholds {
        /// Iterations without a strictly smaller best failing set.
        pub no_progress_k: u32,
        /// Identical failures in a row, with the tree changed in between.
        pub same_failure_r: u32,
        /// Full periods of a cycle of failing sets.
        pub oscillation_periods: u32,
        /// Different candidates that broke the same passing test.
        pub regression_candidates: u32,
        /// Candidates that trade one test for another.
        pub pair_candidates: u32,
        /// Accepted, unread changes before a person must look.
        pub comprehension_every: u32,
    }
}
wire! {
    /// How the check is run and read.
    pub struct Oracle {
        pub check: Command,
        pub success_exit: i32,
        /// Name of a collector, or `auto`.
        pub collector: String,
        /// A report file that the check writes, relative to the workdir.
        pub report: Option<Bytes>,
        /// A report of coverage that the check writes, relative to the workdir.
        pub coverage: Option<Bytes>,
        /// Names of variables that a check gets as the user has them (SPEC 6.7.1).
        pub pass_env: Vec<String>,
        /// The check is declared to depend on nothing outside of the tree (SPEC 6.7.3).
        pub hermetic: bool,
        /// Absolute paths, and addresses with or without a port, that such a check may reach all the same.
        pub hermetic_allow: Vec<String>,
        /// Prints one failing identity a line from the captured artefact.
        pub failures_cmd: Option<Command>,
        /// Prints one identity of the test-determining surface a line.
        pub integrity_cmd: Option<Command>,
        /// Run the check on the untouched tree first.
        pub baseline: bool,
        /// An already green baseline is inadequate instead of converged.
        pub require_red: bool,
        /// The share of runs that may disagree on one tree, in parts per million (SPEC 6.5.5).
        pub max_flake_ppm: u32,
    }
}
wire! {
    /// How much of a command's output is kept.
    pub struct Capture {
        /// Outputs up to this size travel inside the journal.
        pub inline_max_bytes: u64,
        /// Head and tail of a larger one that travel inside the journal.
        pub excerpt_bytes: u64,
        /// Cap of the blob file of a larger one.
        pub blob_max_bytes: u64,
        /// A stream larger than this ends its command.
        pub output_cap_bytes: Option<u64>,
    }
}
wire! {
    /// Who the model is said to be. Declarations of the operator, not attestations of a provider.
    #[derive(Default)]
    pub struct ModelPin {
        pub provider: Option<String>,
        pub id: Option<String>,
        pub version: Option<String>,
        pub quantization: Option<String>,
        pub runtime: Option<String>,
        pub endpoint: Option<String>,
    }
}
wire! {
    /// Sampling parameters, as decimal text where they are fractions: an event holds no float.
    #[derive(Default)]
    pub struct Sampling {
        pub temperature: Option<String>,
        pub top_p: Option<String>,
        pub seed: Option<i64>,
        pub max_tokens: Option<u64>,
    }
}
wire! {
    /// One file that the agent was given from outside, by content.
    pub struct ContextFile {
        pub path: Bytes,
        /// Absent when the file could not be read.
        pub digest: Option<Digest>,
    }
}
wire! {
    /// What determines the agent's output, as far as it was declared.
    pub struct Pins {
        pub mode: PinMode,
        pub model: ModelPin,
        pub sampling: Sampling,
        pub context_files: Vec<ContextFile>,
        /// Cost that the operator declares for the whole run.
        pub declared_cost_microusd: Option<u64>,
    }
}
wire! {
    /// Money and calls (SPEC 7).
    pub struct MoneyPolicy {
        pub metering: Metering,
        pub calls_max: Option<u64>,
        pub tokens_max: Option<u64>,
    }
}
wire! {
    /// The whole contract of a run.
    pub struct Policy {
        pub mode: LoopMode,
        /// The work command; empty means that only the check runs.
        pub exec: Command,
        pub oracle: Oracle,
        pub bounds: Bounds,
        pub failures: Failures,
        pub thresholds: Thresholds,
        pub guards: GuardPolicy,
        pub isolation: IsolationPolicy,
        pub capture: Capture,
        pub pins: Pins,
        pub money: MoneyPolicy,
        /// Names of environment variables whose values are masked wherever output is kept.
        pub secrets: Vec<String>,
    }
}
wire! {
    /// Where a value of the contract came from.
    pub struct Origin {
        /// Dotted name of the setting.
        pub key: String,
        /// `default`, `loopexec.toml`, the name of an environment variable or of a flag.
        pub source: String,
    }
}

impl Bounds {
    /// The limit of whatever runs beside work and check when the contract sets none.
    pub const BESIDE_TIMEOUT_MS: u64 = 600_000;

    /// The limit of a hook, of a command over the artefact, of a judge: never none.
    pub fn beside_timeout_ms(&self) -> u64 {
        self.command_timeout_ms.unwrap_or(Self::BESIDE_TIMEOUT_MS)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_iterations: 10,
            timeout_ms: None,
            command_timeout_ms: None,
            check_timeout_ms: None,
            idle_timeout_ms: None,
            first_output_timeout_ms: None,
            grace_ms: 2_000,
            budget_microusd: None,
        }
    }
}

impl Default for Failures {
    fn default() -> Self {
        Self {
            on_exec_failure: OnExecFailure::Halt,
            exec_retries_max: 3,
            retry_backoff_ms: 1_000,
            instant_failures_max: 3,
            instant_failure_ms: 1_000,
            on_exec_timeout: OnExecTimeout::Check,
            on_check_timeout: OnCheckTimeout::Halt,
        }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            no_progress_k: 3,
            same_failure_r: 3,
            oscillation_periods: 2,
            regression_candidates: 2,
            pair_candidates: 2,
            comprehension_every: 0,
        }
    }
}

impl Default for Oracle {
    fn default() -> Self {
        Self {
            check: Command::default(),
            success_exit: 0,
            collector: "auto".into(),
            report: None,
            coverage: None,
            pass_env: Vec::new(),
            hermetic: false,
            hermetic_allow: Vec::new(),
            failures_cmd: None,
            integrity_cmd: None,
            baseline: true,
            require_red: false,
            max_flake_ppm: 0,
        }
    }
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            inline_max_bytes: 8 << 10,
            excerpt_bytes: 4 << 10,
            blob_max_bytes: 64 << 20,
            output_cap_bytes: Some(1 << 30),
        }
    }
}

impl Default for Pins {
    fn default() -> Self {
        Self {
            mode: PinMode::Optional,
            model: ModelPin::default(),
            sampling: Sampling::default(),
            context_files: Vec::new(),
            declared_cost_microusd: None,
        }
    }
}

impl Default for MoneyPolicy {
    fn default() -> Self {
        Self {
            metering: Metering::Unmetered,
            calls_max: None,
            tokens_max: None,
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: LoopMode::CheckFixpoint,
            exec: Command::default(),
            oracle: Oracle::default(),
            bounds: Bounds::default(),
            failures: Failures::default(),
            thresholds: Thresholds::default(),
            guards: GuardPolicy::default(),
            isolation: IsolationPolicy::default(),
            capture: Capture::default(),
            pins: Pins::default(),
            money: MoneyPolicy::default(),
            secrets: Vec::new(),
        }
    }
}
