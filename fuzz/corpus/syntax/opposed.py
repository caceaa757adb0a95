dfrom calc import add

def test_a():
    assert add(1, 2) == 3
from calc import add

def test_b():
    assert add(1, 2) == 4
