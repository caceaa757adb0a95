sed -i 's/    Some(hours \* 60 + minutes)/    (hours < 24 \&\& minutes < 60).then_some(hours * 60 + minutes)/; s/    Time(time.0 + minutes)/    Time((time.0 + minutes) % (24 * 60))/' src/lib.rs
