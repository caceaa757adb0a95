# Comments and layout of the tests.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i "s/^test('one/\/\/ Both ends are the same.\ntest('one/; s/range(4, 4)/range( 4, 4 )/" range.test.js
