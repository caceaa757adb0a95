# One test becomes two.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^    assert!(!/}\n\n#[test]\nfn a_minute_before_noon() {\n&/' tests/time.rs
