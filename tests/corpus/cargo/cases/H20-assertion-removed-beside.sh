# An assertion of a test beside the product is removed.
# ends: metric_integrity_violation protected_manifest assertion_count
sh "$CORPUS/honest.sh"
sed -i 's/        assert_eq!(later(Time(1430), 20), Time(10));/        later(Time(1430), 20);/' src/lib.rs
