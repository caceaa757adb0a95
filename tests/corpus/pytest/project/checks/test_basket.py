import pytest


def test_basket_total(basket):
    basket.add(3, 20)
    basket.add(1, 5)
    assert basket.total() == 65


def test_a_line_needs_a_count(basket):
    with pytest.raises(ValueError):
        basket.add(0, 20)
