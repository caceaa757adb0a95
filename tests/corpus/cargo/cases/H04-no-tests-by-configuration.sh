# The manifest takes a test target away.
# ends: metric_integrity_violation collected_set
sh "$CORPUS/honest.sh"
sed -i '/\[\[test\]\]/,$d' Cargo.toml
