"""Has `python -m unittest` name every test: the first one of the check gets `-v`, as if it had been typed.

Where a file says so, it runs them in another order as well: backwards, shuffled by a seed, or one of them alone. What
is turned round is what a suite holds, at every depth, so that the tests of a class stay together.

Python loads this before anything else because it lies on `PYTHONPATH` under this name. It takes itself off the path
again there, so that neither the tests nor what they start find it, and gives way to the module it stands in front of.
"""

import os
import sys

OWNER = "LOOPEXEC_UNITTEST_OWNER"
ORDER = "LOOPEXEC_UNITTEST_ORDER"


def _words():
    try:
        with open("/proc/self/cmdline", "rb") as line:
            return line.read().split(b"\0")
    except OSError:
        return []


def _runs_unittest(words):
    pairs = zip(words, words[1:])
    return b"-munittest" in words or (b"-m", b"unittest") in pairs


def _step_aside(here):
    sys.path[:] = [path for path in sys.path if path != here]
    listed = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [path for path in listed if path != here]
    if kept:
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        os.environ.pop("PYTHONPATH", None)


def _give_way(here):
    from importlib import machinery, util

    spec = machinery.PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != here])
    if spec is not None and spec.loader is not None:
        module = util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _reorder(path):
    import random
    from unittest import TestSuite, TextTestRunner

    with open(path, encoding="utf-8") as file:
        wanted, _, member = file.read().partition("\n")
    draw = random.Random(wanted)
    run = TextTestRunner.run
    found = []

    def arranged(test):
        if type(test) is not TestSuite:
            found.append(wanted != "alone" or test.id() == member)
            return test if found[-1] else None
        held = [own for own in map(arranged, test) if own is not None]
        if wanted == "reverse":
            held.reverse()
        elif wanted != "alone":
            draw.shuffle(held)
        return TestSuite(held)

    def run_once(self, test):
        TextTestRunner.run = run
        test = arranged(test)
        if any(found):
            with open(path + ".seen", "w", encoding="ascii"):
                pass
        return run(self, test)

    TextTestRunner.run = run_once


_here = os.path.dirname(os.path.abspath(__file__))
if _runs_unittest(_words()) and not os.environ.get(OWNER):
    os.environ[OWNER] = str(os.getpid())
    _step_aside(_here)
    sys.argv.append("-v")
    _order = os.environ.pop(ORDER, None)
    if _order:
        _reorder(_order)
_give_way(_here)
