//! A zone that runs, seen from outside: every word of the inside is heard here, and everything ends here.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::{Order, Parcel, Word};
use super::facts::{Seen, namespaces};
use super::launch::{Parent, refuse};
use super::memory::Held;
use super::plan::{Network, ZonePlan};
use super::proxy::Over;
use super::report::{Ended, Refusal, Tier, ZoneReport};
use super::started::Started;
use super::watch::Kept;
use super::way::Way;

/// Between two looks at what the zone holds.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Of that time so much is spent on what it keeps on disk, and as much on what it has open.
const WALK: Duration = Duration::from_millis(20);

/// The caps that are passed by that.
const VOLUME: &str = "volume";

const MEMORY: &str = "memory";

/// What an ending zone is given before it is killed.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Of bwrap's words at most this much is told.
const WORDS_MAX_BYTES: u64 = 2 * 1024;

pub(super) struct Outside<'a> {
    plan: &'a ZonePlan,
    started: Started,
    parent: &'a Parent,
    report: &'a mut ZoneReport,
    seen: Option<Seen>,
    /// The way out, for zones that have one.
    way: Option<Way>,
    kept: Kept,
    held: Held,
}

impl<'a> Outside<'a> {
    pub(super) fn new(plan: &'a ZonePlan, started: Started, parent: &'a Parent, report: &'a mut ZoneReport) -> Self {
        Self {
            plan,
            started,
            parent,
            report,
            seen: None,
            way: None,
            kept: Kept::below(writable(plan)),
            held: Held::default(),
        }
    }

    /// Returns when the zone is gone and the report is complete.
    pub(super) fn run(mut self) {
        let mut look_at = Instant::now() + LOOK_EVERY;
        let mut open = true;
        while open && !self.is_decided() {
            let left = look_at.saturating_duration_since(Instant::now());
            let [heard, orphaned, over] = self.wait(left);
            if heard {
                open = self.hear();
            } else if orphaned {
                break;
            } else if over {
                self.stop_for_the_proxy();
            }
            if Instant::now() >= look_at {
                look_at = Instant::now() + LOOK_EVERY;
                self.look();
            }
        }
        self.end();
        if !self.is_decided() {
            self.conclude();
        }
        // Passed between two looks, it was passed all the same.
        if self.seen.is_some() && self.kept.exceeds_in_all(self.plan.limits.volume_bytes) {
            self.report.cap.get_or_insert_with(|| VOLUME.to_owned());
        }
        if let Some(mut way) = self.way.take() {
            way.close();
            // Passed in the last moment, it was passed all the same.
            let cap = way.over().and_then(Over::cap).map(str::to_owned);
            self.report.cap = self.report.cap.take().or(cap);
            self.report.egress = way.finish();
        }
    }

    fn is_decided(&self) -> bool {
        self.report.refused.is_some() || self.report.ended.is_some()
    }

    /// Waits for a word from inside, the end of the parent, that of the proxy, or the time.
    fn wait(&self, at_most: Duration) -> [bool; 3] {
        let [gone, unread] = self.parent.signs();
        let mut sources = vec![PollFd::new(&self.started.line, PollFlags::IN), gone, unread];
        sources.extend(self.way.iter().map(|way| PollFd::new(way, PollFlags::IN)));
        let timeout: Option<Timespec> = at_most.try_into().ok();
        // Interrupted: nothing is ready, and the caller comes again.
        if poll(&mut sources, timeout.as_ref()).is_err() {
            return [false; 3];
        }
        let ready = |at: usize| sources.get(at).is_some_and(|source| !source.revents().is_empty());
        [ready(0), ready(1) || ready(2), ready(3)]
    }

    /// Takes one word; false when none will come any more.
    fn hear(&mut self) -> bool {
        let Ok(Some((word, with))) = self.started.line.receive::<Word>() else {
            return false;
        };
        match word {
            Word::Seen(seen) => {
                if let Err(refusal) = self.let_start(&seen, with) {
                    self.report.refused = Some(refusal);
                }
                self.seen = Some(*seen);
            }
            Word::Confined(confined) => {
                let tier = self.started.cgroup.as_ref().map_or(Tier::Rlimit, |cgroup| cgroup.tier);
                self.report.facts = self.seen.as_ref().map(|seen| seen.told(self.plan, confined, tier))
            }
            Word::Segments { bytes } => self.held.segments_bytes = bytes,
            Word::Failed(what) => self.report.refused = Some(refuse(what)),
            Word::Ended { ended, left_inside } => {
                self.report.ended = Some(ended);
                self.report.left_inside = left_inside;
            }
        }
        true
    }

    /// Judges what the init saw, and says GO.
    fn let_start(&mut self, seen: &Seen, with: Vec<OwnedFd>) -> Result<(), Refusal> {
        let outside = namespaces().map_err(|error| refuse(format!("/proc does not show namespaces: {error}")))?;
        if let Some(fault) = seen.fault(self.plan, &outside) {
            return Err(refuse(fault));
        }
        let mut env = self.plan.env.clone();
        if let Network::Proxy(egress) = &self.plan.network {
            let way = Way::open(with, egress)?;
            env.extend(way.variables());
            self.way = Some(way);
        }
        let failed = |error: io::Error| refuse(format!("the order to start cannot be given: {error}"));
        let parcel = parcel(self.plan, env).pack().map_err(failed)?;
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let with = [parcel.as_fd(), stdout.as_fd(), stderr.as_fd()];
        self.started.line.send(&Order::Go, &with).map_err(failed)
    }

    /// Ends a zone that holds more than it may.
    fn look(&mut self) {
        let root = self.started.bwrap.id();
        let until = Instant::now() + WALK;
        let most = self.plan.limits.memory_bytes;
        let over = self.held.exceeds(most, root, || Instant::now() >= until);
        let until = Instant::now() + WALK;
        let most = self.plan.limits.volume_bytes;
        let cap = match over {
            true => Some(MEMORY),
            false => self.kept.exceeds(most, || Instant::now() >= until).then_some(VOLUME),
        };
        if let Some(cap) = cap
            && !self.is_decided()
        {
            self.report.cap = Some(cap.to_owned());
            self.report.ended = Some(Ended::Signaled(9));
        }
    }

    /// Ends a zone whose way out is closed: it used it up, or nobody sees any more what passes.
    fn stop_for_the_proxy(&mut self) {
        let Some(over) = self.way.as_ref().and_then(Way::over) else {
            return;
        };
        self.report.cap = over.cap().map(str::to_owned);
        self.report.ended = Some(if over.cap().is_some() {
            Ended::Signaled(9)
        } else {
            Ended::Lost
        });
    }

    /// The zone is gone on return, or said not to be: its process 1 holds the other end of the line, and bwrap waits for that
    /// process.
    fn end(&mut self) {
        // Refused, it is gone already.
        let _unheard = self.started.line.send(&Order::Stop, &[]);
        if !self.closes(END_LIMIT) {
            // With bwrap goes process 1, and with that everybody.
            let _gone = self.started.bwrap.kill();
            self.report.outlived = !self.closes(END_LIMIT);
        }
        if let Some(cgroup) = &self.started.cgroup {
            self.report.outlived |= !cgroup.end(END_LIMIT);
            if cgroup.ran_out() {
                self.report.cap.get_or_insert_with(|| MEMORY.to_owned());
                self.report.ended = Some(Ended::Signaled(9));
            }
        }
        self.started.bwrap.wait();
    }

    /// Whether the other end is closed by then; late words are not heard any more.
    fn closes(&self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        while Instant::now() < until {
            let line = &self.started.line;
            let left: Option<Timespec> = until.saturating_duration_since(Instant::now()).try_into().ok();
            let heard = poll(&mut [PollFd::new(line, PollFlags::IN)], left.as_ref()).is_ok_and(|ready| ready > 0);
            if heard && !matches!(self.started.line.receive::<Word>(), Ok(Some(_))) {
                return true;
            }
        }
        false
    }

    /// The line closed without a word of how it ended.
    fn conclude(&mut self) {
        if self.seen.is_some() {
            self.report.ended = Some(Ended::Lost);
            return;
        }
        let mut words = Vec::new();
        // What was said is in the pipe by now; where nothing more comes it says so at once.
        let _all = self
            .started
            .words
            .by_ref()
            .take(WORDS_MAX_BYTES)
            .read_to_end(&mut words);
        self.report.refused = Some(refuse(explain(String::from_utf8_lossy(&words).trim())));
    }
}

/// What bwrap said, and where to look when the kernel withheld what it asked for.
fn explain(words: &str) -> String {
    if words.is_empty() {
        return "bwrap ended without a word".to_owned();
    }
    let withheld = [
        "Operation not permitted",
        "Permission denied",
        "uid map",
        "RTM_NEWADDR",
        "No space left",
    ];
    if withheld.iter().any(|sign| words.contains(sign)) {
        return format!(
            "{words} (does this machine allow user namespaces? See user.max_user_namespaces, \
             kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
        );
    }
    words.to_owned()
}

/// What a zone may write on disk, where the governor has it.
fn writable(plan: &ZonePlan) -> Vec<PathBuf> {
    let work = Some(&plan.work.source).filter(|_| plan.work.writable);
    let binds = plan.binds.iter().filter(|bind| bind.writable).map(|bind| &bind.source);
    work.into_iter().chain(binds).cloned().collect()
}

/// All that the command gets to know.
fn parcel(plan: &ZonePlan, env: Vec<(OsString, OsString)>) -> Parcel {
    let work = Some(&plan.work.at).filter(|_| plan.work.writable);
    let binds = plan.binds.iter().filter(|bind| bind.writable).map(|bind| &bind.at);
    Parcel {
        argv: plan.argv.clone(),
        env,
        cwd: plan.cwd.clone(),
        input: plan.input.clone(),
        umask: plan.umask,
        limits: plan.limits,
        writable: work
            .into_iter()
            .chain(&plan.work.outputs)
            .chain(binds)
            .cloned()
            .collect(),
    }
}
