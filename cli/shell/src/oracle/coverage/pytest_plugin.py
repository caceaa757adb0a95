"""Measures which lines run in one pytest session, by the package `coverage`, where nobody else measures.

Every worker of xdist measures for itself. What cannot be measured leaves no report and changes nothing. Sessions that
are started by the tests themselves are a part of the one they run in.
"""

import os

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))

_measuring = None
_owner = None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    global _measuring, _owner
    if _owner is not None or getattr(early_config.known_args_namespace, "cov_source", None):
        return
    try:
        import coverage

        if coverage.Coverage.current() is not None:
            return
        measuring = coverage.Coverage(source=["."], data_file=None)
        measuring.start()
    except Exception:
        return
    _measuring, _owner = measuring, early_config


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config):
    global _measuring
    if config is not _owner or _measuring is None:
        return
    measuring, _measuring = _measuring, None
    try:
        measuring.stop()
        measuring.json_report(outfile=os.path.join(HERE, "coverage-%d.json" % os.getpid()))
    except Exception:
        return
