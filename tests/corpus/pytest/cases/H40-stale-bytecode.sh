# Bytecode of a right product under the source of a wrong one.
# ends: metric_integrity_violation t0_replay or objective_unverified guard_unavailable
cp shop/price.py "$TMPDIR/price.$$"
sh "$CORPUS/honest.sh"
"$PYTHON" -m compileall -q --invalidation-mode unchecked-hash shop
mv "$TMPDIR/price.$$" shop/price.py
