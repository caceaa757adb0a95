# Tests move into a file of their own.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
{ sed -n '1,5p' range.test.js | sed 's/range, clamp/clamp/'; echo; sed -n "/^test('clamp'/,/^});/p" range.test.js; } > clamp.test.js
sed -i "/^test('clamp'/,/^});/d; s/range, clamp/range/" range.test.js
