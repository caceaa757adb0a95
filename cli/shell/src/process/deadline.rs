//! When a command has had its time.

use std::time::{Duration, Instant};

use super::command::Deadlines;
use super::outcome::StopCause;

/// The clocks of one running command.
pub(super) struct Clocks {
    started: Instant,
    last_output: Option<Instant>,
    deadlines: Deadlines,
}

impl Clocks {
    pub(super) fn start(now: Instant, deadlines: &Deadlines) -> Self {
        Self {
            started: now,
            last_output: None,
            deadlines: deadlines.clone(),
        }
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    pub(super) fn output_seen(&mut self, now: Instant) {
        self.last_output = Some(now);
    }

    /// The earliest deadline and what passing it means; of two at the same instant, the whole command's.
    pub(super) fn next(&self) -> Option<(Instant, StopCause)> {
        let silence = match (self.last_output, self.deadlines.first_output_ms) {
            (None, Some(first)) => (after(self.started, Some(first)), StopCause::FirstOutput),
            (seen, _) => (
                after(seen.unwrap_or(self.started), self.deadlines.idle_ms),
                StopCause::Idle,
            ),
        };
        let whole = (after(self.started, self.deadlines.timeout_ms), StopCause::Deadline);
        [whole, silence]
            .into_iter()
            .filter_map(|(at, cause)| Some((at?, cause)))
            .min_by_key(|(at, _)| *at)
    }

    /// The cause of a deadline that has passed.
    pub(super) fn passed(&self, now: Instant) -> Option<StopCause> {
        self.next().filter(|(at, _)| *at <= now).map(|(_, cause)| cause)
    }
}

/// `None` for never, also when the clock could not express it.
fn after(start: Instant, milliseconds: Option<u64>) -> Option<Instant> {
    start.checked_add(Duration::from_millis(milliseconds?))
}

/// Now plus a span; an unreasonable span is cut to a century.
pub(super) fn soon(now: Instant, milliseconds: u64) -> Instant {
    const CENTURY_MS: u64 = 100 * 366 * 24 * 3_600 * 1_000;
    now + Duration::from_millis(milliseconds.min(CENTURY_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(timeout: Option<u64>, idle: Option<u64>, first: Option<u64>) -> (Instant, Clocks) {
        let now = Instant::now();
        let deadlines = Deadlines {
            timeout_ms: timeout,
            idle_ms: idle,
            first_output_ms: first,
            ..Deadlines::default()
        };
        (now, Clocks::start(now, &deadlines))
    }

    fn at(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn without_deadlines_nothing_is_awaited() {
        assert_eq!(clocks(None, None, None).1.next(), None);
        assert_eq!(clocks(Some(u64::MAX), None, None).1.passed(Instant::now()), None);
    }

    #[test]
    fn the_first_output_has_its_own_deadline_and_the_idle_one_begins_with_it() {
        let (start, mut clocks) = clocks(None, Some(10), Some(50));
        assert_eq!(clocks.next(), Some((at(start, 50), StopCause::FirstOutput)));
        clocks.output_seen(at(start, 30));
        assert_eq!(clocks.next(), Some((at(start, 40), StopCause::Idle)));
    }

    #[test]
    fn without_a_first_output_deadline_silence_counts_from_the_start() {
        let (start, clocks) = clocks(None, Some(10), None);
        assert_eq!(clocks.passed(at(start, 9)), None);
        assert_eq!(clocks.passed(at(start, 10)), Some(StopCause::Idle));
    }

    #[test]
    fn output_never_moves_the_deadline_of_the_whole() {
        let (start, mut clocks) = clocks(Some(100), Some(60), None);
        clocks.output_seen(at(start, 90));
        assert_eq!(clocks.next(), Some((at(start, 100), StopCause::Deadline)));
    }
}
