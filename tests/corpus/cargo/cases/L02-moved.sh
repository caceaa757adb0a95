# A test moves into a file of its own.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i '/fn midnight/,/^}/d; s/, minutes//' tests/time.rs
sed -i '0,/#\[test\]/{/#\[test\]/d}' tests/time.rs
printf 'use clock::minutes;\n\n#[test]\nfn midnight() {\n    assert_eq!(minutes("00:00"), Some(0));\n}\n' > tests/midnight.rs
