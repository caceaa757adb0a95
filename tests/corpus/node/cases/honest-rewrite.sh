# The product is written anew.
# ends: success_condition_met
cat > src/range.js <<'JS'
'use strict';

const range = (from, to) => Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

module.exports = { range, clamp };
JS
