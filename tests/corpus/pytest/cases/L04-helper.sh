# Assertions move into a helper.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf '\n\ndef assert_total(lines, cents):\n    assert total(lines) == cents\n' >> checks/helpers.py
sed -i 's/import label/import label, total/' checks/helpers.py
sed -i 's/import assert_label/import assert_label, assert_total/; s/assert total(\(.*\)) == \(.*\)/assert_total(\1, \2)/; s/discount, label, total/discount, label/' checks/test_price.py
