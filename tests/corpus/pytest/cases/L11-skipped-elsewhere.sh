# A test is skipped on a platform that is not this one.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i "s/^def test_discount/@pytest.mark.skipif(\"sys.platform == 'win32'\", reason=\"no receipts there\")\ndef test_discount/" checks/test_price.py
