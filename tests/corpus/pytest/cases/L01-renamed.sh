# A test gets a better name; its body stays.
# flags: --surface extend
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/def test_total()/def test_total_of_two_lines()/' checks/test_price.py
