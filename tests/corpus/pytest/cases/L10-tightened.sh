# An assertion demands more.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/raises(ValueError)/raises(ValueError, match="count")/' checks/test_basket.py
