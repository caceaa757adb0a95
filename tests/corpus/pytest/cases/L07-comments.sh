# Comments and layout of the tests.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^def test_total()/# Two lines, one of them with a count.\ndef test_total()/; s/total(\[(2, 150), (1, 99)\])/total([ (2, 150), (1, 99) ])/' checks/test_price.py
