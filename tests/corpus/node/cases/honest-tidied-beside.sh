# The bugs are mended, and something that no test looks at is added.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^module.exports = .*/const UNIT = 1;\n\nmodule.exports = { range, clamp, UNIT };/' src/range.js
