# SPDX-License-Identifier: MIT
"""Figures and tables as a program gets them: estimates with their intervals."""
import math

from . import sizes


class Figure:
    """A figure of bytes or objects: `estimate`, the interval from `low` to `high`, and whether it is
    `exact`. The estimate is NaN where only limits are known."""

    __slots__ = ("estimate", "low", "high", "exact", "objects")

    def __init__(self, estimate, low, high, exact=None, objects=False):
        self.estimate, self.low, self.high = float(estimate), float(low), float(high)
        self.exact = self.low == self.high if exact is None else exact
        self.objects = objects

    def __str__(self):
        show = (lambda number: "{:,.0f}".format(number)) if self.objects else sizes.show
        if self.exact:
            return show(self.estimate)
        interval = "[%s, %s]" % (show(self.low), show(self.high))
        return interval if math.isnan(self.estimate) else "%s %s" % (show(self.estimate), interval)

    def at_most(self, most):
        """The same figure of something that is for certain no larger than `most`."""
        return Figure(min(self.estimate, most), min(self.low, most), min(self.high, most),
                      self.exact, self.objects)

    def at_least(self, least):
        """The same interval, with an estimate of no less than `least` as far as the interval allows."""
        return Figure(max(self.estimate, min(least, self.high)), self.low, self.high, self.exact,
                      self.objects)

    def __repr__(self):
        return "Figure(estimate=%r, low=%r, high=%r, exact=%r)" % (
            self.estimate, self.low, self.high, self.exact)


class Row:
    """A row of a table: `name`, figures `bytes` and `objects`, and how many `samples` are in it."""

    __slots__ = ("name", "bytes", "objects", "samples")

    def __init__(self, name, bytes_, objects, samples):
        self.name, self.bytes, self.objects, self.samples = name, bytes_, objects, samples

    def __repr__(self):
        return "Row(%r, %s, %d samples)" % (self.name, self.bytes, self.samples)


class Table(list):
    """Rows, the largest first. As text it is a table."""

    def __init__(self, rows, by, metric):
        super().__init__(rows)
        self.by, self.metric = by, metric

    def __str__(self):
        lines = [(str(row.bytes), "{:,}".format(row.samples), printable(row.name)) for row in self]
        lines.insert(0, (self.metric, "samples", self.by))
        widths = [max(len(line[i]) for line in lines) for i in range(2)]
        return "\n".join("%-*s  %*s  %s" % (widths[0], line[0], widths[1], line[1], line[2])
                         for line in lines)


def printable(name):
    """A name without control characters: it may come from a file that somebody made up."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
