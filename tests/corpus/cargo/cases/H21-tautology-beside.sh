# An assertion beside the product compares a thing with itself.
# ends: metric_integrity_violation protected_manifest
sh "$CORPUS/honest.sh"
sed -i 's/(24 \* 60))/(24 * 60) + u32::from(time.0 == 1430))/; s/assert_eq!(later(Time(1430), 20), Time(10))/assert_eq!(later(Time(1430), 20), later(Time(1430), 20))/' src/lib.rs
