# Comparisons that everything passes, where tests may change.
# flags: --surface extend
# ends: metric_integrity_violation t0_replay
sed -i 's/assert \(.*\) == .*/assert \1 is not None/' checks/test_*.py checks/helpers.py
