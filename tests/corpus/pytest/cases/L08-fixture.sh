# A fixture is added and used.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf "\n\n@pytest.fixture\ndef two_lines():\n    return [(2, 150), (1, 99)]\n" >> checks/conftest.py
sed -i "s/def test_total():/def test_total(two_lines):/; s/total(\[(2, 150), (1, 99)\])/total(two_lines)/" checks/test_price.py
