use clock::{later, minutes, Time};

#[test]
fn a_whole_day_later_is_the_same_time() {
    assert_eq!(later(Time(5), 24 * 60), Time(5));
}

#[test]
fn there_is_no_hour_24() {
    assert!(minutes("24:00").is_none());
}
