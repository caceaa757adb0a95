//! Times of the day.

/// Minutes since midnight of `hh:mm`.
pub fn minutes(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(hours * 60 + minutes)
}

/// A time of the day.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub u32);

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// A later time of the day; midnight is passed.
pub fn later(time: Time, minutes: u32) -> Time {
    Time(time.0 + minutes)
}

/// Whether it is noon or later.
pub fn afternoon(time: Time) -> bool {
    time.0 >= 12 * 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_past_one() {
        assert_eq!(minutes("01:30"), Some(90));
    }

    #[test]
    fn no_hour_has_ninety_minutes() {
        assert_eq!(minutes("01:90"), None);
    }

    #[test]
    fn a_little_later() {
        assert_eq!(later(Time(100), 20), Time(120));
    }

    #[test]
    fn after_midnight() {
        assert_eq!(later(Time(1430), 20), Time(10));
    }
}
