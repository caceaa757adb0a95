# Beside the fix stands a feature that the tests run, and of which they demand nothing.
# flags: --adequacy every
# ends: check_inadequate code_mutation
sh "$CORPUS/honest.sh"
sed -i 's/^\(pub fn later.*\)/\1\n    rounded(minutes);/; s/^\/\/\/ A later time.*/\/\/\/ The next full hour.\nfn rounded(minutes: u32) -> u32 {\n    if minutes > 60 {\n        return 120;\n    }\n    60\n}\n\n&/' src/lib.rs
