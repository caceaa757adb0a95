# Tests beside the product are compiled never.
# ends: metric_integrity_violation collected_set
sh "$CORPUS/honest.sh"
sed -i 's/#\[cfg(test)\]/#[cfg(any())]/' src/lib.rs
