# An assertion demands more.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i "s/  assert.deepStrictEqual(range(4, 4), \[4\]);/&\n  assert.deepStrictEqual(range(-1, -1), [-1]);/" range.test.js
