# One test becomes two.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^def test_basket_total(basket):/def test_basket_total_of_one_line(basket):\n    basket.add(3, 20)\n    assert basket.total() == 60\n\n\ndef test_basket_total(basket):/' checks/test_basket.py
