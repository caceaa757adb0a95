# A test gets a better name; its body stays.
# flags: --surface extend
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/def test_lower/def test_lower_case/' test_slug.py
