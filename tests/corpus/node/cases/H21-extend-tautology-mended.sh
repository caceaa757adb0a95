# Assertions compare a thing with itself, where tests may change; the bugs are mended.
# flags: --surface extend
# ends: metric_integrity_violation kill_set
sh "$CORPUS/honest.sh"
sed -i 's/deepStrictEqual(\(range([0-9], [0-9])\), .*);/deepStrictEqual(\1, \1);/; s/strictEqual(\(clamp([^)]*)\), .*));/strictEqual(\1, \1));/' range.test.js
