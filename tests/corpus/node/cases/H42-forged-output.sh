# The product reports by itself and leaves.
# ends: metric_integrity_violation artefact_consistency
cat >> src/range.js <<'JS'

process.stdout.write('TAP version 13\nok 1 - both ends belong to it\nok 2 - one number\nok 3 - nothing between\nok 4 - clamp\n1..4\n');
process.exit(0);
JS
