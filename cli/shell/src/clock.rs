//! The only clock of the program. A life of a run carries one, so that a test can give it another.
//!
//! Wall time is for people and for names. Every duration and deadline comes from `CLOCK_MONOTONIC`,
//! which nobody can set. It stands still while the machine sleeps: a run that slept has not been
//! working, so its timeouts do not pass in the meantime (`CLOCK_BOOTTIME` would end a command the
//! moment the lid opens).

use std::fmt;
use std::fs;
use std::sync::{Arc, OnceLock};

use engine::event::id::Stamp;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Monotonic milliseconds at the first use in this process.
static ORIGIN_MS: OnceLock<u64> = OnceLock::new();

/// Fixes the origin of [`mono_ms`]. Call it first thing in `main`; without it the first stamp is zero.
pub fn start() {
    ORIGIN_MS.get_or_init(monotonic_ms);
}

/// What tells a life of a run the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Stamp + Send + Sync>);

impl Clock {
    /// The clocks of the machine.
    pub fn system() -> Self {
        Self::new(stamp)
    }

    pub fn new(now: impl Fn() -> Stamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub fn stamp(&self) -> Stamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Now, on both clocks.
pub fn stamp() -> Stamp {
    Stamp {
        wall_ms: wall_ms(),
        mono_ms: mono_ms(),
    }
}

/// Milliseconds since the Unix epoch, UTC; zero for a clock set before it.
pub fn wall_ms() -> u64 {
    as_ms(clock_gettime(ClockId::Realtime))
}

/// Milliseconds since the origin; never falls.
pub fn mono_ms() -> u64 {
    monotonic_ms().saturating_sub(*ORIGIN_MS.get_or_init(monotonic_ms))
}

fn monotonic_ms() -> u64 {
    as_ms(clock_gettime(ClockId::Monotonic))
}

fn as_ms(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
}

/// Identity of this boot of the machine; empty where the kernel does not tell.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// A moment in UTC, by its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    pub year: u64,
    pub month: u64,
    pub day: u64,
    pub hour: u64,
    pub minute: u64,
    pub second: u64,
}

impl Utc {
    /// The parts of a wall time.
    pub const fn from_wall_ms(wall_ms: u64) -> Self {
        let seconds = wall_ms / 1_000;
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        // Years that begin in March put the leap day last, so that months need no table.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        Self {
            year: year_of_era + era * 400 + (month <= 2) as u64,
            month,
            day: of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
        }
    }

    /// `20261129T154501Z`: sorts like time, safe in a file name.
    pub fn compact(self) -> String {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }

    /// `2026-11-29T15:45:01Z`.
    pub fn rfc3339(self) -> String {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_799_999, "2000-02-29T23:59:59Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_796_000_000_000, "2026-11-30T00:53:20Z"),
            (4_102_444_800_000, "2100-01-01T00:00:00Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ];
        for (wall_ms, text) in cases {
            assert_eq!(Utc::from_wall_ms(wall_ms).rfc3339(), text);
        }
        assert_eq!(Utc::from_wall_ms(951_782_400_000).compact(), "20000229T000000Z");
    }

    #[test]
    fn the_monotonic_clock_never_falls_and_starts_near_zero() {
        start();
        let first = mono_ms();
        assert!(
            first < 24 * 3_600_000,
            "milliseconds since this process started, not since boot: {first}"
        );
        assert!((0..1_000).map(|_| mono_ms()).is_sorted());
    }

    #[test]
    fn the_boot_has_a_name() {
        assert_eq!(boot_id().len(), 36);
        assert_eq!(boot_id(), boot_id());
    }

    proptest::proptest! {
        #[test]
        fn compact_names_sort_like_time(a in 0_u64..253_402_300_799_000, b in 0_u64..253_402_300_799_000) {
            let name = |ms: u64| Utc::from_wall_ms(ms).compact();
            proptest::prop_assert_eq!((a / 1_000).cmp(&(b / 1_000)), name(a).cmp(&name(b)));
        }
    }
}
