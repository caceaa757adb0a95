//! Whether an engine makes the containers of a plan: found by doing, and everything that was made torn down by label.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use engine::event::policy::{IsolationPolicy, ZoneRuntime};
use engine::event::zone::ZoneSeen;

use super::{arguments, labelled, unsound};
use crate::process::{CommandRun, CommandSpec, Deadlines, Input, Outcome, Wishes, host_program};
use crate::zone::bwrap::Sources;
use crate::zone::pair::run_once;
use crate::zone::plan::{Container, ZonePlan};
use crate::zone::{Refusal, RefusalCause, account};

/// An engine that takes longer to start a container that does nothing is none.
const START_LIMIT_MS: u64 = 60_000;
const ASK_LIMIT_MS: u64 = 20_000;

/// What the program that becomes process 1 is asked instead: it answers and ends.
const NOTHING: &str = "version";

type Variables = [(OsString, OsString)];

/// The engine and the image that a contract names; `None` where it names none.
pub(in super::super) fn find(isolation: &IsolationPolicy, path: Option<&OsStr>) -> Result<Option<Container>, Refusal> {
    let engine = isolation.runtime;
    let Some(image) = isolation.image.as_ref().filter(|_| engine != ZoneRuntime::Bwrap) else {
        return Ok(None);
    };
    let program = host_program(engine.label(), path).map_err(|_| Refusal {
        cause: RefusalCause::BackendMissing,
        message: format!(
            "no directory of PATH outside of the workdir has {engine}; install it, or leave out --runtime"
        ),
    })?;
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| failed(format!("the system gives no random bytes: {error}")))?;
    Ok(Some(Container {
        engine,
        program,
        image: image.clone(),
        label: random.iter().map(|byte| format!("{byte:02x}")).collect(),
    }))
}

/// What starting this plan once shows. In this release it is a refusal whatever it shows: no command runs in a container.
pub(in super::super) fn see(
    plan: &ZonePlan,
    container: &Container,
    exe: &Path,
    env: &Variables,
    wishes: &Wishes,
) -> ZoneSeen {
    let bench = Bench {
        container,
        exe,
        env,
        wishes,
    };
    let started = bench.is_there().and_then(|()| bench.start(plan));
    let refusal = bench.tear_down().and(started).err().unwrap_or_else(|| Refusal {
        cause: RefusalCause::ProbeFailed,
        message: format!(
            "{} starts the {} zone in {}, but this release runs no command in a container: leave out --runtime and \
             --image, and it is bwrap",
            container.engine, plan.zone, container.image
        ),
    });
    account::refused(plan.zone, refusal)
}

struct Bench<'a> {
    container: &'a Container,
    exe: &'a Path,
    env: &'a Variables,
    wishes: &'a Wishes,
}

impl Bench<'_> {
    fn is_there(&self) -> Result<(), Refusal> {
        let Container { engine, image, .. } = self.container;
        let run = self.ask(&["image", "inspect", "--", image].map(OsString::from), ASK_LIMIT_MS)?;
        if run.outcome == Outcome::Exited(0) {
            return Ok(());
        }
        Err(failed(format!(
            "{engine} does not have the image {image}{}; loopexec pulls none: {engine} pull {image}",
            said(&run)
        )))
    }

    fn start(&self, plan: &ZonePlan) -> Result<(), Refusal> {
        if let Some(fault) = unsound(plan) {
            return Err(failed(fault));
        }
        let sources = Sources {
            init: self.exe.to_path_buf(),
            work: plan.work.source.clone(),
            binds: plan.binds.iter().map(|bind| bind.source.clone()).collect(),
        };
        let mut words = arguments(plan, self.container, &sources);
        // Nobody holds the other end of a control socket here.
        if let Some(at) = words.iter().position(|word| word == "--preserve-fds") {
            words.drain(at..at + 2);
        }
        words.push(NOTHING.into());
        let run = self.ask(&words, START_LIMIT_MS)?;
        if run.stop.is_none() && run.outcome == Outcome::Exited(0) {
            return Ok(());
        }
        let engine = self.container.engine;
        Err(failed(format!(
            "{engine} does not start the {} zone: it {}{}; see `{engine} info`, or leave out --runtime and --image, and it \
             is bwrap",
            plan.zone,
            run.outcome,
            said(&run)
        )))
    }

    /// Ends whatever bears the label: a client that is gone leaves its container behind.
    fn tear_down(&self) -> Result<(), Refusal> {
        let filter = format!("label={}", labelled(self.container));
        let listed = self.ask(
            &["ps", "--all", "--quiet", "--filter", &filter].map(OsString::from),
            ASK_LIMIT_MS,
        )?;
        let bytes = listed.stdout.inline.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let is_id = |word: &&str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let ids: Vec<&str> = text.split_whitespace().filter(is_id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let words: Vec<OsString> = ["rm", "--force", "--"].iter().chain(&ids).map(OsString::from).collect();
        let run = self.ask(&words, ASK_LIMIT_MS)?;
        if run.outcome == Outcome::Exited(0) {
            return Ok(());
        }
        let engine = self.container.engine;
        Err(failed(format!(
            "a container of this start is left ({}){}: end it with `{engine} rm --force {}`",
            labelled(self.container),
            said(&run),
            ids.join(" ")
        )))
    }

    fn ask(&self, words: &[OsString], limit_ms: u64) -> Result<CommandRun, Refusal> {
        let program = std::iter::once(OsString::from(&self.container.program));
        let spec = CommandSpec {
            argv: program.chain(words.iter().cloned()).collect(),
            cwd: "/".into(),
            input: Input::Bytes(Vec::new()),
            deadlines: Deadlines {
                timeout_ms: Some(limit_ms),
                ..Deadlines::default()
            },
            label: self.container.engine.label().to_owned(),
            ..CommandSpec::default()
        };
        run_once(self.exe, self.env, &spec, self.wishes).map_err(failed)
    }
}

/// The first line that an engine said of what is wrong.
fn said(run: &CommandRun) -> String {
    let text = String::from_utf8_lossy(run.stderr.inline.as_deref().unwrap_or(&run.stderr.head)).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map(|line| format!(" ({:?})", line.trim())).unwrap_or_default()
}

fn failed(message: String) -> Refusal {
    Refusal {
        cause: RefusalCause::ProbeFailed,
        message,
    }
}
