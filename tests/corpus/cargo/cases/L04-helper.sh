# Assertions move into a helper.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i '/    assert!(!/d; s/    assert!(afternoon.*/    begins_at(720);/' tests/time.rs
printf '\nfn begins_at(minute: u32) {\n    assert!(afternoon(Time(minute)));\n    assert!(!afternoon(Time(minute - 1)));\n}\n' >> tests/time.rs
