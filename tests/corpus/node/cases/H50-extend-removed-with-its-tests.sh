# The feature that fails is removed, and with it the tests that fail.
# flags: --surface extend
# ends: metric_integrity_violation t0_replay collected_set assertion_count
sed -i 's/n < to/n <= to/; /^function clamp/,/^}/d; s/range, clamp/range/' src/range.js
sed -i "/^test('clamp'/,\$d; s/range, clamp/range/" range.test.js
