"""Seeds Python's own generator before a pytest session collects anything, so that a run can be made again."""

import os
import random

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    with open(os.path.join(HERE, "seed"), encoding="ascii") as file:
        random.seed(int(file.read()))
    with open(os.path.join(HERE, "seed.seen"), "w", encoding="ascii"):
        pass
