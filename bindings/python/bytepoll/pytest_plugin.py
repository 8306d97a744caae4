# SPDX-License-Identifier: MIT
"""Limits on what a test allocates, for pytest.

    @pytest.mark.limit_peak("24 MB")         the most that its objects held at one time
    @pytest.mark.limit_allocated("1 GiB")    all that it allocated
    @pytest.mark.limit_leaks("100 KiB")      what of it was live when the test ended

The call of each test (without its fixtures) is a window. A limit is judged as `bytepoll check` does,
by bytepoll_check: "exceeded" fails the test, "undecided" warns and names the T that would decide, or
fails with --bytepoll-strict. The limits of a session share the rate of false alarms: with K limits
each has 1/K of it, so that the whole session has it.

The recorder has to be in the process from its start on. Where it is not, and where it is needed, the
same command is executed once more with the recorder preloaded. Workers of pytest-xdist inherit it.
What a window's facts are travels in the test's report, so that whoever prints the table reads the
recordings of all workers.
"""
import gc
import json
import os
import shutil
import sys
import tempfile
import time
import traceback

import pytest

from . import native, readers, recorder, sizes
from .figures import Figure, printable
from .windows import window

METRICS = {"limit_peak": "peak", "limit_allocated": "allocated", "limit_leaks": "live"}
WHAT = {"peak": "peak", "allocated": "allocated", "live": "live at the end of the test"}
FALSE_ALARM = 0.01  # as `bytepoll check`
INTERVAL = "16K"
STARTED = "BYTEPOLL_PYTEST"  # set for the second start: the process, and the folder of its recordings
ROWS = 10
# A question for a test takes .4 s for each million samples of the session. So many tests are asked about
# in any case, and others as long as less than this time has passed.
ASKED_LEAST = 50
ASKED_SECONDS = 20.0
PROPERTY = "bytepoll"


class BytepollUndecided(pytest.PytestWarning):
    """A limit was neither exceeded nor kept for certain: T is too large to decide."""


def pytest_addoption(parser):
    group = parser.getgroup("bytepoll", "memory, by bytepoll")
    group.addoption("--bytepoll", action="store_true",
                    help="record the tests, and list those that held most")
    group.addoption("--bytepoll-strict", action="store_true",
                    help="fail tests whose limit is undecided")
    group.addoption("--bytepoll-interval", metavar="SIZE", default=INTERVAL,
                    help="the sampling interval T (%(default)s)")
    group.addoption("--bytepoll-false-alarm", metavar="RATE", type=float, default=FALSE_ALARM,
                    help="probability that a session fails although no limit is exceeded (0.01)")
    group.addoption("--bytepoll-output", metavar="DIR", default=None,
                    help="keep the recordings there")


def pytest_configure(config):
    for name, metric in METRICS.items():
        config.addinivalue_line("markers", "%s(size): fail if more is %s" % (name, WHAT[metric]))
    try:
        interval = sizes.parse(config.getoption("bytepoll_interval"))
    except ValueError as wrong:
        raise pytest.UsageError("--bytepoll-interval: %s" % wrong)
    if not 1 <= interval <= 2 ** 40:
        raise pytest.UsageError("--bytepoll-interval: must be from 1 to 1T")
    if not 1e-9 <= config.getoption("bytepoll_false_alarm") < 0.5:
        raise pytest.UsageError("--bytepoll-false-alarm: must be at least 1e-9 and below 0.5")
    plugin = Plugin(config, interval)
    config.pluginmanager.register(plugin, "bytepoll-plugin")
    if config.getoption("bytepoll") and not plugin.recorded:
        plugin.start_again()


def folder_of_recordings():
    """The folder that this process made before it was executed again; None: it was not, or is a child
    of one that was."""
    process, _, folder = os.environ.get(STARTED, "").partition(" ")
    return folder if process == str(os.getpid()) else None


def limits_of(item):
    """[(marker, metric, bytes, as written)] of a test; the closest marker of a name counts."""
    limits = []
    for name, metric in METRICS.items():
        marker = item.get_closest_marker(name)
        if marker is None:
            continue
        if len(marker.args) != 1 or marker.kwargs:
            raise pytest.UsageError('%s: write @pytest.mark.%s("24 MB")' % (item.nodeid, name))
        try:
            limits.append((name, metric, sizes.parse(marker.args[0]), str(marker.args[0])))
        except ValueError as wrong:
            raise pytest.UsageError("%s: %s: %s" % (item.nodeid, name, wrong))
    return limits


def command_line():
    """The words that started this interpreter."""
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]


class Plugin:
    def __init__(self, config, interval):
        self.config, self.interval = config, interval
        self.worker = hasattr(config, "workerinput")
        self.recorded = recorder.status() is not None and recorder.set_interval(interval)
        self.limits = {}  # by nodeid
        self.windows = []  # (nodeid, facts) of the tests that ended, in the process that reports

    # ---- the start with the recorder ----

    def start_again(self):
        """Becomes the same command with the recorder in it; UsageError if that cannot help."""
        if folder_of_recordings() or recorder.status() is not None:
            raise pytest.UsageError("bytepoll: the recorder is %s in this process: "
                                    "`bytepoll doctor %s` says what is in the way" %
                                    ("off" if recorder.calls else "not", sys.executable))
        try:
            preloaded = native.recorder()
        except native.NotFound as missing:
            raise pytest.UsageError(str(missing))
        folder = tempfile.mkdtemp(prefix="bytepoll-pytest-")
        environment = dict(os.environ, **{STARTED: "%d %s" % (os.getpid(), folder),
                                          "BYTEPOLL_INTERVAL": str(self.interval),
                                          "BYTEPOLL_OUTPUT": os.path.join(folder, "pytest.%p.bpt")})
        environment["LD_PRELOAD"] = ":".join(
            [preloaded] + os.environ.get("LD_PRELOAD", "").replace(":", " ").split())
        capture = self.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
        print("bytepoll: pytest starts again with the recorder", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable] + command_line()[1:], environment)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        for item in getattr(session, "items", []):  # a controller of pytest-xdist has none
            limits = limits_of(item)
            if limits:
                self.limits[item.nodeid] = limits
        if self.limits and not (self.recorded or self.worker or self.config.option.collectonly):
            self.start_again()

    # ---- a test ----

    def pytest_runtest_setup(self, item):
        """A worker cannot start again by itself: it must have inherited the recorder."""
        if self.limits.get(item.nodeid) and not self.recorded:
            pytest.fail("bytepoll: this worker has no recorder, so that limits cannot be judged: give "
                        "--bytepoll, and pytest starts its workers with it", pytrace=False)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        limits = self.limits.get(item.nodeid)
        if not self.recorded or not (limits or self.config.getoption("bytepoll")):
            yield
            return
        block = window(item.nodeid)
        profile = block.__enter__()
        try:
            outcome = yield
        finally:
            if limits and any(limit[1] == "live" for limit in limits):
                gc.collect()
            block.__exit__(None, None, None)
        facts = profile.window._asdict()
        facts.update(low=profile.bytes_low, high=profile.bytes_high)
        item.user_properties[:] = [entry for entry in item.user_properties if entry[0] != PROPERTY]
        item.user_properties.append((PROPERTY, json.dumps(facts)))
        if limits and outcome.excinfo is None:
            item.bytepoll_failures = self.judge(item, profile, limits)

    def judge(self, item, profile, limits):
        """The sentences for which the test fails. What is live or at the peak was allocated in the
        window, and that is counted: where it is within the limit, the recording is not opened."""
        limits = [limit for limit in limits if profile.bytes_high > limit[2]]
        if not limits:
            return []
        share = self.config.getoption("bytepoll_false_alarm") / sum(map(len, self.limits.values()))
        with readers.reading(profile.path, symbols=False) as reader:
            verdicts = [reader.check(profile.window, metric, most, share)
                        for _, metric, most, _ in limits]
        failures = []
        for (name, metric, _, written), verdict in zip(limits, verdicts):
            told = "%s %s" % (WHAT[metric], verdict.figure)
            if verdict.outcome == "exceeded":
                failures.append("%s: %s, over the limit of %s\n%s" % (
                    name, told, written, profile.table(by="line", metric=metric, limit=5)))
            elif verdict.outcome != "within":
                failures += self.undecided(item, "%s: undecided: %s; the limit of %s is %s" % (
                    name, told, written, advice(verdict)))
        return failures

    def undecided(self, item, text):
        """Warns; or with --bytepoll-strict, or where warnings are errors, fails."""
        if self.config.getoption("bytepoll_strict"):
            return [text]
        try:
            item.warn(BytepollUndecided(text))
        except Warning:
            return [text]
        return []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        failures = getattr(item, "bytepoll_failures", None)
        if failures and report.when == "call" and report.outcome == "passed":
            report.outcome = "failed"
            report.longrepr = "\n".join(failures)
        if report.when == "teardown" and hasattr(item, "bytepoll_failures"):
            del item.bytepoll_failures  # a plugin may run the test once more

    # ---- the end ----

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            for name, value in report.user_properties:
                if name == PROPERTY:
                    self.windows.append((report.nodeid, json.loads(value)))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter):
        if not self.config.getoption("bytepoll"):
            return
        terminalreporter.section("bytepoll: the tests that held most")
        try:
            rows, left = heaviest(self.windows, ROWS)
        except Exception:  # the outcome of the tests does not depend on the table
            terminalreporter.write_line(traceback.format_exc(limit=1))
            return
        for line in lines_of(rows, self.interval):
            terminalreporter.write_line(line)
        if left:
            terminalreporter.write_line("%d more tests were not looked at, which takes long in so large a session: each "
                                        "allocated %s at most, and may have held that" %
                                        (len(left), sizes.show(left[0]["high"])))

    def pytest_unconfigure(self):
        folder = folder_of_recordings()
        if folder is None:
            return
        kept = self.config.getoption("bytepoll_output")
        if kept is not None:
            os.makedirs(kept, exist_ok=True)
            shutil.copytree(folder, os.path.join(kept, os.path.basename(folder)))
            print("bytepoll: the recordings are in %s" %
                  os.path.join(kept, os.path.basename(folder)))
        shutil.rmtree(folder, ignore_errors=True)


def advice(verdict):
    """Why a verdict is undecided, and what helps."""
    if verdict.interval_needed:
        return "in between; T = %s would decide (it is %s): --bytepoll-interval %d" % (
            sizes.show(verdict.interval_needed), sizes.show(verdict.interval),
            verdict.interval_needed)
    if verdict.reason in ("samples", "too-near"):
        return "too near for any T: leave more room"
    return "not decided for another reason: %s" % verdict.reason


class Recordings:
    """The recordings of all processes that ran tests, each opened once."""

    def __init__(self):
        self.opened = {}

    def total(self, facts, metric):
        path = facts["path"]
        if path not in self.opened:
            self.opened[path] = readers.open_recording(path, symbols=False)
        asked = readers.Window(path, facts["pid"], facts["from_ns"], facts["to_ns"])
        return self.opened[path].total(asked, metric).at_most(facts["high"])

    def close(self):
        for reader in self.opened.values():
            reader.close()


def heaviest(windows, count):
    """[(peak, allocated, live, nodeid)] of the tests with the largest peaks, and the facts of those that were not
    looked at, although their peaks may be larger. A peak is at most what was allocated, so that tests are looked at
    in that order until no other can be among them, or until it has taken too long."""
    found, recordings, until = [], Recordings(), time.monotonic() + ASKED_SECONDS
    left = []
    try:
        ordered = sorted(windows, key=lambda entry: -entry[1]["high"])
        for place, (nodeid, facts) in enumerate(ordered):
            if len(found) == count and facts["high"] <= found[-1][0].estimate:
                break
            if place >= ASKED_LEAST and time.monotonic() > until:
                left = [each for _, each in ordered[place:] if each["high"] > found[-1][0].estimate]
                break
            found.append((recordings.total(facts, "peak"), facts, nodeid))
            found.sort(key=lambda row: -row[0].estimate)
            del found[count:]
        return [(peak, allocated(recordings, facts), recordings.total(facts, "live"), nodeid)
                for peak, facts, nodeid in found], left
    finally:
        recordings.close()


def allocated(recordings, facts):
    if facts["low"] < facts["high"]:
        return recordings.total(facts, "allocated")
    return Figure(facts["low"], facts["low"], facts["high"])


def lines_of(rows, interval):
    table = [("peak", "allocated", "live at its end", "test")]
    table += [tuple(map(str, row[:3])) + (printable(row[3]),) for row in rows]
    widths = [max(len(row[i]) for row in table) for i in range(3)]
    yield "95 %% intervals, T = %s" % sizes.show(interval)
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[3]
