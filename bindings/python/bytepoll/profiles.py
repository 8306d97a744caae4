# SPDX-License-Identifier: MIT
"""The profile of a window: what the recorder says of it at once, and what is read from the recording
when it is asked for."""
import os

from . import native, readers
from .figures import Figure, printable


class Profile:
    """What was allocated in a window. While the window is open only `name` and `recorded` are known.

    recorded            is a recorder in this process? Without, there are no figures
    path                the recording
    from_ns, to_ns      when the window began and ended, counted from the start of the recording
    allocated           bytes that were allocated in the window: exact, unless another thread
                        allocated just when it began or ended
    peak                the most bytes of these that were live at one time
    live                the bytes of these that were still live when the window ended
    samples, interval   how many samples were made in the window, and T at its end
    """

    def __init__(self, name=None):
        self.name = name
        self.recorded = False
        self._facts = self._window = None
        self._totals = {}

    def _stopped(self, facts):
        path = os.fsdecode(facts.path)
        self._facts, self.recorded = facts, True
        self._window = readers.Window(path, os.getpid(), facts.from_ns, facts.to_ns)

    def _known(self):
        if self._facts is None:
            raise RuntimeError("this window has no profile: it has not ended, or no recorder is in "
                               "this process")
        return self._facts

    @property
    def window(self):
        self._known()
        return self._window

    @property
    def path(self):
        return self.window.path

    @property
    def from_ns(self):
        return self._known().from_ns

    @property
    def to_ns(self):
        return self._known().to_ns

    @property
    def samples(self):
        return self._known().samples

    @property
    def interval(self):
        return self._known().interval

    @property
    def bytes_low(self):
        """Certain limits of what was allocated: the window holds no less than this ..."""
        return self._known().bytes_low

    @property
    def bytes_high(self):
        """... and no more than this."""
        return self._known().bytes_high

    @property
    def allocated(self):
        if self.bytes_low == self.bytes_high:
            return Figure(self.bytes_low, self.bytes_low, self.bytes_high)
        return self._total("allocated")

    @property
    def peak(self):
        return self._total("peak")

    @property
    def live(self):
        return self._total("live")

    def _total(self, metric):
        if metric not in self._totals:
            total = self._ask(lambda reader: reader.total(self.window, metric), symbols=False)
            self._totals[metric] = total.at_most(self.bytes_high)
        return self._totals[metric]

    def _ask(self, question, symbols):
        with readers.reading(self.path, symbols) as reader:
            return question(reader)

    def table(self, by="function", metric="allocated", limit=20):
        """Rows by a key of `bytepoll report --by`, of metric allocated, peak, live or temporary."""
        return self._ask(lambda reader: reader.table(self.window, metric, by, limit), symbols=True)

    def page(self, path, metric="allocated"):
        """Writes the page of `bytepoll html` on what was allocated in the window; returns the path."""
        native.output("html", "--force", "-o", os.fspath(path), "--metric", metric,
                      "--pid", str(self.window.pid),
                      "--filter", "time=%dns..%dns" % (self.from_ns, self.to_ns), self.path)
        return path

    def __str__(self):
        if self._facts is None:
            return "a window without a profile"
        # Two estimates, each with its own error: the peak's may be below the other, and what they are of is not.
        return "%s: allocated %s; peak %s; live at the end %s" % (
            printable(self.name or "window"), self.allocated,
            self.peak.at_least(self.live.estimate), self.live)
