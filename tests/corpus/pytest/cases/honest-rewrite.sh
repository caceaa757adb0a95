# The product is written anew, in other files, and committed.
# ends: success_condition_met
cat > shop/money.py <<'PY'
"""Euros and cents as text."""


def label(cents):
    euros, rest = divmod(cents, 100)
    return "%d.%02d" % (euros, rest)
PY
cat > shop/price.py <<'PY'
"""Prices in cents."""

from shop.money import label

__all__ = ["discount", "label", "total"]


def total(lines):
    result = 0
    for count, price in lines:
        result += count * price
    return result


def discount(cents, percent):
    return cents - cents * percent // 100
PY
git add -A
git -c user.name=T -c user.email=t@example.org commit -qm "Write the prices anew"
