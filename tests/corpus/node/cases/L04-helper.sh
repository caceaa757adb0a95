# Assertions move into a helper.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i "s/^test('both/function holds(from, to, numbers) {\n  assert.deepStrictEqual(range(from, to), numbers);\n}\n\ntest('both/; s/  assert.deepStrictEqual(range(\([0-9], [0-9]\)), \(\[.*\])\);/  holds(\1, \2;/" range.test.js
