# SPDX-License-Identifier: MIT
"""What reads a recording: libbytepoll.so through bytepoll_analysis, or where that cannot be loaded
the native program, whose JSON is read. Both answer the same questions with the same figures.

A question is about a window of one process: what was allocated in it, what of that was live at its
end, or the peak of what was allocated in it. For the peak the filter `time=` leaves out what was
allocated before the window: the window of a query says which moments are looked at.

All estimates, intervals and verdicts are made there; here is no statistics.
"""
import collections
import contextlib
import ctypes
import json
import math

import bytepoll_analysis as binding

from . import native
from .figures import Figure, Row, Table

# Flags of a figure, of opening, of a query and of a limit (bytepoll/analysis.h).
EXACT, UNKNOWN = 1, 2
NO_SYMBOLS, SYMBOL_CACHE = 1, 4
HAS_AT, HAS_FROM, HAS_TO, WITHOUT_PEAK = 4, 8, 16, 64
ONLY_SEEN = 2

Window = collections.namedtuple("Window", "path pid from_ns to_ns")
# `interval_needed`: the T that would decide, in bytes, 0: none is known. `reason`: why a verdict is
# "undecided", in a word of bytepoll_check_result.
Verdict = collections.namedtuple("Verdict", "outcome reason figure interval interval_needed")


def filters_of(window, metric):
    if metric != "peak":
        return []
    return ["time=%dns..%dns" % (window.from_ns, window.to_ns)]


def figure_of(figure, objects=False):
    unknown = bool(figure.flags & UNKNOWN)
    return Figure(math.nan if unknown else figure.estimate, figure.low, figure.high,
                  bool(figure.flags & EXACT), objects)


class LibraryReader:
    """Opens a file once, and answers questions about it by libbytepoll.so."""

    loaded = {}  # by path

    def __init__(self, path, library, symbols=True):
        self.library = self.loaded.get(library)
        if self.library is None:
            self.library = self.loaded[library] = binding.Library(library)
        flags = SYMBOL_CACHE if symbols else NO_SYMBOLS
        self.profile = self.library.open_files(path, flags=flags)

    def close(self):
        self.library.close(self.profile)

    def question(self, window, metric, **fields):
        flags = (HAS_FROM | HAS_TO | (HAS_AT if metric == "live" else 0) |
                 (WITHOUT_PEAK if metric != "peak" else 0))
        return binding.query(metric=metric, flags=flags, pid=window.pid, from_ns=window.from_ns,
                             to_ns=window.to_ns, at_ns=window.to_ns if metric == "live" else 0,
                             filters=filters_of(window, metric), **fields)

    def total(self, window, metric):
        query = self.question(window, metric)
        table = self.library.aggregate(self.profile, ctypes.byref(query))
        try:
            total = binding.Total()
            if not self.library.table_total(table, metric.encode(), ctypes.byref(total)):
                return Figure(math.nan, 0, math.inf)
            return figure_of(total.bytes)
        finally:
            self.library.table_close(table)

    def table(self, window, metric, by, limit):
        query = self.question(window, metric, by=by)
        table = self.library.aggregate(self.profile, ctypes.byref(query))
        rows = []
        try:
            for row in self.library.rows(table):
                if len(rows) == limit:
                    break
                name = self.stack(row) if row.name is None else row.name.decode(errors="replace")
                rows.append(Row(name, figure_of(row.bytes), figure_of(row.objects, True),
                                row.samples))
        finally:
            self.library.table_close(table)
        return Table(rows, by, metric)

    def stack(self, row):
        """The functions of a stack, innermost first."""
        frame, names = binding.Frame(), []
        for i in range(row.frame_count):
            self.library.profile_frame(self.profile, row.frames[i], ctypes.byref(frame))
            names.append((frame.function or b"?").decode(errors="replace"))
        return " < ".join(names)

    def check(self, window, metric, most, false_alarm):
        query = self.question(window, metric)
        limit = binding.Limit(metric=metric.encode(), most=float(most), false_alarm=false_alarm,
                              flags=ONLY_SEEN)
        result = binding.CheckResult()
        self.library.check(self.profile, ctypes.byref(query), ctypes.byref(limit),
                           ctypes.byref(result))
        return Verdict(result.outcome.decode(), result.reason and result.reason.decode(),
                       figure_of(result.figure), result.interval, result.interval_needed)


class ProgramReader:
    """The same by `bytepoll report --json` and `bytepoll check --json`, one process a question."""

    def __init__(self, path, symbols=True):
        self.path = path
        native.program()  # raises what is wrong now, rather than with the first question

    def close(self):
        pass

    def words(self, window, metric):
        words = ["--from", "%dns" % window.from_ns, "--until", "%dns" % window.to_ns,
                 "--pid", str(window.pid)]
        if metric == "live":
            words += ["--at", "%dns" % window.to_ns]
        for text in filters_of(window, metric):
            words += ["--filter", text]
        return words

    def report(self, window, metric, *more):
        return json.loads(native.output("report", "--json", "--metric", metric, *more,
                                        *self.words(window, metric), self.path))

    def total(self, window, metric):
        total = self.report(window, metric, "--rows", "1")["totals"][metric]
        return figure_of_json(total and total["bytes"])

    def table(self, window, metric, by, limit):
        rows = self.report(window, metric, "--by", by, "--rows", str(limit))["rows"]
        return Table([Row(row_name(row), figure_of_json(row["bytes"]),
                          figure_of_json(row["objects"], True), row["samples"])
                      for row in rows], by, metric)

    def check(self, window, metric, most, false_alarm):
        told = json.loads(native.output(
            "check", "--json", "--only-seen", "--limit", "%s=%d" % (metric, most),
            "--false-alarm", repr(false_alarm), *self.words(window, metric), self.path,
            good=(0, 1, 3)))["limits"][0]
        needs = told["needs"] or {}
        return Verdict(told["verdict"], told["reason"], figure_of_json(told["interval"]),
                       told["sampling_interval"], needs.get("interval") or 0)


def figure_of_json(figure, objects=False):
    number = lambda name, otherwise: otherwise if (figure or {}).get(name) is None else figure[name]
    return Figure(number("estimate", math.nan), number("low", 0), number("high", math.inf),
                  objects=objects)


def row_name(row):
    """By stack a row has the frames of the stack instead of a name."""
    if row.get("name") is not None:
        return row["name"]
    return " < ".join(frame["function"] or "?" for frame in row["stack"])


def open_recording(path, symbols=True):
    """A reader of a recording."""
    library = native.library()
    if library is not None:
        try:
            return LibraryReader(path, library, symbols)
        except OSError:  # the library cannot be loaded beside those that the process has
            pass
    return ProgramReader(path, symbols)


@contextlib.contextmanager
def reading(path, symbols=True):
    """A reader that is closed when the block ends."""
    reader = open_recording(path, symbols)
    try:
        yield reader
    finally:
        reader.close()
