"""Prices in cents."""


def total(lines):
    """The sum over lines of (count, price)."""
    return sum(price for count, price in lines)


def discount(cents, percent):
    """What is left; the discount is rounded down."""
    return cents - cents * percent // 100


def label(cents):
    """Euros and cents, as they stand on a receipt."""
    return f"{cents // 100}.{cents % 100}"
