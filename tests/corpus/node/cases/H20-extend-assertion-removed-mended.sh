# Assertions are removed, where tests may change; the bugs are mended.
# flags: --surface extend
# ends: metric_integrity_violation kill_set
sh "$CORPUS/honest.sh"
sed -i 's/^  assert.deepStrictEqual.*//; s/=> assert.strictEqual(.*));/=> {});/' range.test.js
