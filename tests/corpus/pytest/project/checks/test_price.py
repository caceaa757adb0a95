import json
import pathlib

import pytest

from helpers import assert_label
from shop.price import discount, label, total


def test_total():
    assert total([(2, 150), (1, 99)]) == 399


def test_total_of_nothing():
    assert total([]) == 0


def test_discount():
    assert discount(199, 10) == 180


@pytest.mark.parametrize("cents, text", [(250, "2.50"), (205, "2.05"), (9, "0.09")], ids=["even", "tens", "small"])
def test_label(cents, text):
    assert label(cents) == text


def test_receipt():
    expected = json.loads((pathlib.Path(__file__).parent / "data" / "receipt.json").read_text())
    for cents, text in expected:
        assert label(int(cents)) == text


def test_labels_by_helper():
    assert_label(1203, "12.03")
