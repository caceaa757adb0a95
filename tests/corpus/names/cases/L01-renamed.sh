# A test gets a better name; its body stays, in a file that only the configuration names as one of tests.
# flags: --surface extend
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/def test_lower/def test_lower_case/' slug_checks.py
