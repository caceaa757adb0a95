"""A basket that remembers."""

from shop.price import total


class Basket:
    def __init__(self):
        self.lines = []

    def add(self, count, price):
        if count < 1:
            raise ValueError("a line needs a count")
        self.lines.append((count, price))

    def total(self):
        return total(self.lines)
