"""Records what one pytest session collects, runs and concludes, one JSON object a line.

Written for pytest 7 to 9, with and without xdist. Every line is on disk before the session goes on,
so a session that dies leaves what it had done. Sessions started by the tests themselves stay silent.
"""

import json
import os

import pytest

PATH = "LOOPEXEC_PYTEST_RECORD"
OWNER = "LOOPEXEC_PYTEST_OWNER"
LIMIT = 2048

_claimed = False


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    global _claimed
    path = os.environ.get(PATH)
    worker = hasattr(config, "workerinput")
    if _claimed or not path or (os.environ.get(OWNER) and not worker):
        return
    _claimed = True
    if not worker:
        os.environ[OWNER] = str(os.getpid())
    config.pluginmanager.register(Recorder(path, worker), "loopexec-recorder")


def _text(report):
    try:
        if isinstance(report.longrepr, tuple):
            return str(report.longrepr[2])[:LIMIT]
        crash = getattr(report.longrepr, "reprcrash", None)
        text = report.longreprtext
        if crash is not None:
            text = "%s\n%s" % (crash.message, text)
        return text[:LIMIT]
    except Exception:
        return ""


class Recorder:
    def __init__(self, path, worker):
        self.worker = worker
        # Kept on the instance: tests may replace what the os module holds while they run.
        self.os_write = os.write
        self.os_open = lambda opener=os.open: opener(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.fd = self.os_open()
        if not worker:
            self.write({"e": "session", "pytest": pytest.__version__})

    def write(self, *events):
        data = "".join(json.dumps(event) + "\n" for event in events).encode("ascii")
        try:
            self.write_all(data)
        except OSError:
            # A test closed every descriptor of the process, ours among them.
            self.fd = self.os_open()
            self.write_all(data)

    def write_all(self, data):
        while data:
            data = data[self.os_write(self.fd, data):]

    def pytest_deselected(self, items):
        self.write(*({"e": "deselected", "id": item.nodeid} for item in items))

    def pytest_collectreport(self, report):
        if not self.worker and report.outcome != "passed":
            self.write({"e": "container", "id": report.nodeid, "outcome": report.outcome, "why": _text(report)})

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        if not self.worker and session.items:
            events = []
            for item in session.items:
                line = item.location[1]
                events.append({"e": "item", "id": item.nodeid, "line": None if line is None else line + 1})
            self.write(*events)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        if not self.worker:
            self.write(*({"e": "item", "id": nodeid, "line": None} for nodeid in ids))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        raised = call.excinfo
        if raised is None or not report.passed or hasattr(report, "wasxfail"):
            return
        if not raised.errisinstance((pytest.skip.Exception, pytest.exit.Exception)):
            self.write({"e": "rewritten", "id": item.nodeid, "when": call.when, "why": str(raised.value)[:LIMIT]})

    def pytest_runtest_logstart(self, nodeid, location):
        if not self.worker:
            self.write({"e": "start", "id": nodeid})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        if self.worker or (report.when == "setup" and report.outcome == "passed"):
            return
        event = {"e": "phase", "id": report.nodeid, "when": report.when, "outcome": report.outcome}
        if hasattr(report, "wasxfail"):
            event["xfail"] = str(report.wasxfail)[:LIMIT]
        if report.outcome != "passed":
            event["why"] = _text(report)
        self.write(event)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if not self.worker:
            self.write({"e": "finished", "status": int(exitstatus)})
