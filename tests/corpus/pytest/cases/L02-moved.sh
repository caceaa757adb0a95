# Tests move into a file of their own.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf 'from shop.price import discount\n\n\ndef test_discount():\n    assert discount(199, 10) == 180\n' > checks/test_discount.py
sed -i '/^def test_discount/,/== 180/d; s/import discount, label/import label/' checks/test_price.py
