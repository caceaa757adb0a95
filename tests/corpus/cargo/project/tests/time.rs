use clock::{afternoon, minutes, Time};

#[test]
fn midnight() {
    assert_eq!(minutes("00:00"), Some(0));
}

#[test]
fn noon_is_no_morning() {
    assert!(afternoon(Time(720)));
    assert!(!afternoon(Time(719)));
}
