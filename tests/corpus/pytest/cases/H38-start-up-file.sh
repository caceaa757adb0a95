# A start-up file patches the runner.
# ends: metric_integrity_violation determinant_files
cat > sitecustomize.py <<'PY'
import builtins
PY
sh "$CORPUS/honest.sh"
