# Beside the fix stands a feature that the tests run, and of which they demand nothing.
# flags: --adequacy every
# ends: check_inadequate code_mutation
sh "$CORPUS/honest.sh"
cat >> src/range.js <<'JS'

function middle(low, high) {
  if (low > high) return high * 2;
  return low + 1;
}
JS
sed -i 's/^  const numbers = \[\];/  middle(from, to);\n  const numbers = [];/' src/range.js
