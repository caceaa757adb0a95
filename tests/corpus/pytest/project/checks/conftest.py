import sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import pytest

from shop.basket import Basket


@pytest.fixture
def basket():
    return Basket()
