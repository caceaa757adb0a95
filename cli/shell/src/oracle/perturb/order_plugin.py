"""Runs the tests of one pytest session in another order: backwards, shuffled by a seed, or one of them alone.

The generator is its own, so that whatever tests draw at random is what it would be without this. Every worker
of xdist comes to the same order. Sessions started by the tests themselves keep theirs.
"""

import os
import random

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
OWNER = "LOOPEXEC_PROBE_ORDER_OWNER"

_session = None


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    global _session
    worker = hasattr(config, "workerinput")
    if _session is None and (worker or OWNER not in os.environ):
        _session = config
        os.environ[OWNER] = str(os.getpid())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config is not _session:
        return
    with open(os.path.join(HERE, "order"), encoding="utf-8") as file:
        wanted, _, member = file.read().partition("\n")
    if wanted == "alone":
        others = [item for item in items if item.nodeid != member]
        items[:] = [item for item in items if item.nodeid == member]
        config.hook.pytest_deselected(items=others)
        if not items:
            return
    elif wanted == "reverse":
        items.reverse()
    else:
        random.Random(int(wanted)).shuffle(items)
    with open(os.path.join(HERE, "order.seen"), "w", encoding="ascii"):
        pass
