"""What several tests demand."""

from shop.price import label


def assert_label(cents, text):
    assert label(cents) == text
