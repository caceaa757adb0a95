# A test is added.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf "\\ntest('two numbers', () => {\\n  assert.deepStrictEqual(range(1, 2), [1, 2]);\\n});\\n" >> range.test.js
