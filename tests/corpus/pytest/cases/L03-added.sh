# A test is added.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf '\n\ndef test_total_of_one():\n    assert total([(4, 25)]) == 100\n' >> checks/test_price.py
