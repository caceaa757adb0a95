# Parameters get other names.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/ids=\["even", "tens", "small"\]/ids=["whole", "below-ten", "below-one"]/' checks/test_price.py
