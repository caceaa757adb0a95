# Two tests become one with parameters.
# flags: --surface extend
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i '/^def test_total()/,/== 0$/d' checks/test_price.py
printf '\n\n@pytest.mark.parametrize("lines, cents", [([(2, 150), (1, 99)], 399), ([], 0)])\ndef test_totals(lines, cents):\n    assert total(lines) == cents\n' >> checks/test_price.py
