//! A zone that runs, seen from outside: every word of the inside is heard here, and everything ends here.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::bwrap::ID;
use super::control::{Order, Parcel, Word};
use super::facts::{Seen, namespaces};
use super::launch::{Parent, Started, refuse};
use super::plan::{Network, ZonePlan};
use super::report::{Ended, Refusal, ZoneReport};
use super::watch::resident_bytes;
use super::way::Way;

/// Between two looks at what the zone holds.
const LOOK_EVERY: Duration = Duration::from_millis(200);

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
        }
    }

    /// Returns when the zone is gone and the report is complete.
    pub(super) fn run(mut self) {
        let mut look_at = Instant::now() + LOOK_EVERY;
        let mut open = true;
        while open && !self.is_decided() {
            let left = look_at.saturating_duration_since(Instant::now());
            let [heard, orphaned] = self.wait(left);
            if heard {
                open = self.hear();
            } else if orphaned {
                break;
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
        self.report.egress = self.way.take().map(Way::finish).unwrap_or_default();
    }

    fn is_decided(&self) -> bool {
        self.report.refused.is_some() || self.report.ended.is_some()
    }

    /// Waits for a word from inside, the end of the parent, or the time.
    fn wait(&self, at_most: Duration) -> [bool; 2] {
        let [gone, unread] = self.parent.signs();
        let mut sources = [PollFd::new(&self.started.line, PollFlags::IN), gone, unread];
        let timeout: Option<Timespec> = at_most.try_into().ok();
        // Interrupted: nothing is ready, and the caller comes again.
        match poll(&mut sources, timeout.as_ref()) {
            Ok(_) => {
                let [heard, gone, unread] = sources.map(|source| !source.revents().is_empty());
                [heard, gone || unread]
            }
            Err(_) => [false; 2],
        }
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
                self.seen = Some(seen);
            }
            Word::Confined(confined) => self.report.facts = self.seen.as_ref().map(|seen| seen.told(confined)),
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
        if let Some(fault) = seen.fault(ID, &outside) {
            return Err(refuse(fault));
        }
        let mut env = self.plan.env.clone();
        if let Network::Proxy(_) = self.plan.network {
            let way = Way::open(with).map_err(|error| refuse(format!("its proxy has no listener: {error}")))?;
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
        let capped = self.way.as_ref().and_then(Way::capped);
        let over = resident_bytes(self.started.bwrap.id()) > self.plan.limits.memory_bytes;
        let cap = capped.or_else(|| over.then(|| "memory".to_owned()));
        if cap.is_some() && !self.is_decided() {
            self.report.cap = cap;
            self.report.ended = Some(Ended::Signaled(9));
        }
    }

    /// The zone is gone on return: its process 1 held the other end of the line, and bwrap waits for that process.
    fn end(&mut self) {
        // Refused, it is gone already.
        let _unheard = self.started.line.send(&Order::Stop, &[]);
        if !self.closes(END_LIMIT) {
            // With bwrap goes process 1, and with that everybody.
            let _gone = self.started.bwrap.kill();
            self.closes(END_LIMIT);
        }
        let _reaped = self.started.bwrap.wait();
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

/// All that the command gets to know.
fn parcel(plan: &ZonePlan, env: Vec<(OsString, OsString)>) -> Parcel {
    let work = Some(&plan.work.at).filter(|_| plan.work.writable);
    let binds = plan.binds.iter().filter(|bind| bind.writable).map(|bind| &bind.at);
    Parcel {
        argv: plan.argv.clone(),
        env,
        cwd: plan.cwd.clone(),
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
