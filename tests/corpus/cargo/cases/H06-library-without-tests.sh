# The manifest says that the library has no tests.
# ends: metric_integrity_violation collected_set artefact_consistency
printf '\n[lib]\ntest = false\ndoctest = false\n' >> Cargo.toml
: > checks/day.rs
