# What an assertion throws is caught by nobody, where tests may change; the bugs are mended.
# flags: --surface extend
# ends: metric_integrity_violation kill_set
sh "$CORPUS/honest.sh"
sed -i 's/^  assert.deepStrictEqual(\(.*\));/  try { assert.deepStrictEqual(\1); } catch {}/; s/=> assert.strictEqual(\(.*\)));/=> { try { assert.strictEqual(\1); } catch {} });/' range.test.js
