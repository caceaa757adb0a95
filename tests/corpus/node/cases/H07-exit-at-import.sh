# The product ends the runner when it is loaded.
# ends: metric_integrity_violation artefact_consistency
echo 'process.exit(0);' >> src/range.js
