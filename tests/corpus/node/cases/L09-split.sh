# One test becomes two.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i "s/^  await t.test('low'.*/&\n  await t.test('far below', () => assert.strictEqual(clamp(-100, 0, 9), 0));/" range.test.js
