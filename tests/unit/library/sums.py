#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sums of libbytepoll.so add up. Of one recording they make the figures of its rows; of several,
merged by name and size class in a random order, those of all of them read together. And numbers that
are no sums are refused, whatever they are (20,000 times, from a fixed seed). Figures are equal to
1e-11; the largest difference seen was 3e-13 (limits are roots, and rounding is in another order).

Usage: sums.py BYTEPOLL LIBRARY SCENARIO_FOLDER
"""
import math
import os
import random
import subprocess
import sys
from ctypes import byref, sizeof

import bytepoll_analysis as binding

BYTEPOLL, LIBRARY, SCENARIO = sys.argv[1:4]
sys.path.insert(0, SCENARIO)
os.environ["BYTEPOLL_BUILD"] = os.path.dirname(os.path.abspath(BYTEPOLL))
import profiled  # noqa: E402 (which reads BYTEPOLL_BUILD)

CLASSES = 17
CALIBRATED = 1
WORDS = "my %h; for my $i (1 .. 30000) { push @{$h{$i % 700}}, 'x' x ($i % 900); } delete @h{1..300};"
LARGE = "my @a; for my $i (1 .. 400) { push @a, 'x' x (200 * $i); } splice @a, 0, 200;"
library = binding.Library(LIBRARY)


def record(folder, name, script, **settings):
    trace = os.path.join(folder, name + ".bpt")
    options = [word for key, value in settings.items() for word in ("--" + key, str(value))]
    subprocess.run([BYTEPOLL, "run", "--quiet", "-o", trace, *options, "--", "perl", "-e", script],
                   stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=True,
                   env=profiled.environment())
    return trace


def records_of(get, *arguments):
    """All records of one key."""
    room = (binding.Sums * CLASSES)()
    for record_ in room:
        record_.struct_bytes = sizeof(binding.Sums)
    count = get(*arguments, room, CLASSES)
    profiled.expect(get(*arguments, None, 0) == count, "the count depends on the room")
    return [copy(room[i]) for i in range(count)]


def copy(sums):
    result = binding.Sums()
    for name, _ in binding.Sums._fields_:
        setattr(result, name, getattr(sums, name))
    return result


def figures(records, others, assumptions, confidence=0.0):
    bytes_, objects = binding.Figure(), binding.Figure()
    array = (binding.Sums * max(1, len(records)))(*records)
    rest = None if others is None else (binding.Sums * max(1, len(others)))(*others)
    library.sums_estimate(array, len(records), rest, len(others or []), byref(assumptions),
                          confidence, byref(bytes_), byref(objects))
    return bytes_, objects


def near(one, other):
    return one == other or math.isnan(one) and math.isnan(other) or \
        math.isclose(one, other, rel_tol=1e-11)


def expect_figure(told, expected, where):
    for name in ("estimate", "low", "high"):
        profiled.expect(near(getattr(told, name), getattr(expected, name)),
                        f"{where}: {name} {getattr(told, name)!r} for {getattr(expected, name)!r}")
    profiled.expect(told.flags == expected.flags, f"{where}: flags {told.flags} for {expected.flags}")


class Table:
    """A table, its rows' sums by name, and everything else that estimates take."""

    def __init__(self, paths, **question):
        profile = library.open_files(*paths)
        self.table = library.aggregate(profile, byref(binding.query(**question)))
        library.close(profile)
        self.names, self.sums, self.rows = [], [], []
        row = binding.Row()
        while library.table_row(self.table, len(self.rows), byref(row)):
            self.names.append(row.name or bytes(str(len(self.rows)), "ascii"))
            self.sums.append(records_of(library.table_row_sums, self.table, len(self.rows)))
            self.rows.append((binding.Figure.from_buffer_copy(row.bytes),
                              binding.Figure.from_buffer_copy(row.objects)))
        self.outside = records_of(library.table_outside_sums, self.table)
        self.assumptions = binding.Assumptions()
        library.table_assumptions(self.table, byref(self.assumptions))

    def others(self, i):
        return self.outside + [r for j, records in enumerate(self.sums) if j != i for r in records]

    def close(self):
        library.table_close(self.table)


def check_rows(paths, **question):
    """The figures of the rows, once more from their sums."""
    table = Table(paths, **question)
    calibrated = table.assumptions.flags & CALIBRATED
    profiled.expect(len(table.rows) > 0, "no rows")
    for i, (bytes_, objects) in enumerate(table.rows):
        told = figures(table.sums[i], table.others(i) if calibrated else None, table.assumptions)
        expect_figure(told[0], bytes_, f"bytes of {table.names[i]}")
        expect_figure(told[1], objects, f"objects of {table.names[i]}")
    table.close()
    return calibrated


def check_merged(paths, seed, **question):
    """Each file by itself, its sums merged in a random order: the rows of all files together."""
    whole, parts = Table(paths, **question), [Table([path], **question) for path in paths]
    merged, assumptions = {}, binding.Assumptions()
    loose = [(name, r) for part in parts for name, records in zip(part.names, part.sums)
             for r in records]
    random.Random(seed).shuffle(loose)
    for name, record_ in loose:
        into = merged.setdefault((name, record_.size_class), binding.Sums())
        profiled.expect(library.sums_merge(byref(into), byref(record_)), "not merged")
    for part in parts:
        profiled.expect(library.assumptions_merge(byref(assumptions), byref(part.assumptions)), "not")
    by_name = {name: [r for (other, _), r in merged.items() if other == name] for name, _ in merged}
    profiled.expect(set(by_name) == set(whole.names), "other names")
    calibrated = assumptions.flags & CALIBRATED
    for name, (bytes_, objects) in zip(whole.names, whole.rows):
        others = [r for part in parts for r in part.outside]
        others += [r for other, records in by_name.items() if other != name for r in records]
        told = figures(by_name[name], others if calibrated else None, assumptions)
        expect_figure(told[0], bytes_, f"bytes of {name}")
        expect_figure(told[1], objects, f"objects of {name}")
    for table in [whole, *parts]:
        table.close()


def random_number(random_):
    return random_.choice([0.0, 1.0, -1.0, math.nan, math.inf, 1e308, 5e-324, -0.0, 3.5, 1e18,
                           random_.random() * 10 ** random_.randint(-5, 40)])


def random_sums(random_):
    result = binding.Sums()
    for name, kind in binding.Sums._fields_[1:]:
        if kind is binding.c_double:
            value = random_number(random_) if random_.random() < 0.04 else random_.random() * 1e6
            setattr(result, name, -abs(value) if name == "log_pi_sum" else value)
        else:
            bits = random_.choice([1, 3, 5, 20, 32, 64])
            setattr(result, name, random_.getrandbits(bits) if random_.random() < 0.7 else 0)
    result.size_class = random_.choice([0, 0, 1, 5, 16, 17])
    result.flags = random_.choice([0, 0, 1, 2, 4, 7, 8])
    if random_.random() < 0.8:  # cumulants that could be those of samples, mostly
        for letter in "cn":
            first, ratio = random_.random() * 1e6, 10 ** random_.uniform(-3, 12)
            for i, value in enumerate((first, first * ratio, first * ratio**2 * 1.5)):
                setattr(result, f"{letter}{i + 1}", value)
    return result


def check_hostile():
    """Whatever the numbers are, there is an error or a figure; and no figure is upside down where the
    sums could be those of samples."""
    random_ = random.Random(20)
    refused = 0
    for _ in range(20000):
        records = [random_sums(random_) for _ in range(random_.randint(0, 4))]
        others = [random_sums(random_)] if random_.random() < 0.3 else None
        assumed = binding.Assumptions(
            flags=random_.getrandbits(4),
            charge=random_.randint(0, 2),
            interval=random_.choice([0] + [1, 2, 4096, 2**40, 2**64 - 1] * 8),
            size_min=random_.choice([0, 1, 2**63]), ratio_max=random_.choice([0.0, math.inf] + [1.0, 25.0] * 40),
            bytes=binding.Count(random_.getrandbits(20), 2**64 - 1),
            objects=binding.Count(0, random_.getrandbits(30)),
            offered=binding.Count(0, random_.getrandbits(40)),
            offered_objects=binding.Count(0, random_.getrandbits(30)))
        try:
            for one in figures(records, others, assumed, random_.choice([0.0, 0.95, 0.5, 0.999999])):
                profiled.expect(one.flags < 16, "flags")
        except binding.Failed as failure:
            refused += 1
            profiled.expect(failure.kind == 1, f"kind {failure.kind}")
        if len(records) > 1:
            library.sums_merge(byref(records[0]), byref(records[1]))
    profiled.expect(4000 < refused < 16000, f"{refused} of 20000 refused")


def check_refusals():
    good, assumptions = binding.Sums(samples=1, bytes=5.0), binding.Assumptions(
        interval=100, ratio_max=1.0, objects=binding.Count(0, 2**64 - 1),
        bytes=binding.Count(0, 2**64 - 1))
    figures([good], None, assumptions)
    unset = binding.Sums(samples=1)
    unset.struct_bytes = 0
    for bad in (binding.Sums(size_class=17), binding.Sums(bytes=-1.0), binding.Sums(c1=math.nan),
                binding.Sums(log_pi_sum=1.0), binding.Sums(flags=1), unset):
        profiled.expect(not library.sums_merge(byref(copy(good)), byref(bad)), "merged")
        try:
            figures([bad], None, assumptions)
        except binding.Failed:
            continue
        raise AssertionError("taken for sums")
    profiled.expect(not library.sums_merge(byref(good), byref(binding.Sums(size_class=3, samples=1))),
                    "two classes in one record")


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        exact = [record(folder, f"exact{seed}", WORDS, interval="8K", seed=seed) for seed in (1, 2, 3)]
        trial = [record(folder, f"trial{seed}", LARGE, interval="4K", seed=seed, law="bernoulli")
                 for seed in (1, 2)]
        for by in ("function", "stack", "size", "kind"):
            tap.attempt(f"the rows of metric live by {by}", lambda by=by: check_rows(exact[:1], by=by))
            tap.attempt(f"by trial: rows by {by}",
                        lambda by=by: check_rows(trial[:1], by=by, metric="allocated"))
        tap.attempt("calibrated rows", lambda: profiled.expect(
            check_rows(exact[:1], metric="allocated"), "not calibrated"))
        tap.attempt("calibrated rows with a filter", lambda: profiled.expect(check_rows(
            exact[:1], metric="allocated", filters=["size=0..400"]), "not calibrated"))
        tap.attempt("usable bytes", lambda: check_rows(exact[:1], flags=2, confidence=0.0))
        tap.attempt("n3", lambda: check_rows(exact[:1], metric="allocated", method="n3"))
        for metric in ("live", "temporary", "allocated"):
            tap.attempt(f"three runs, merged: {metric}",
                        lambda metric=metric: check_merged(exact, 7, metric=metric))
        tap.attempt("two runs by trial, merged", lambda: check_merged(trial, 8, metric="live"))
        tap.attempt("two runs by trial, by size", lambda: check_merged(trial, 9, by="size"))
    tap.attempt("what are no sums", check_refusals)
    tap.attempt("numbers of any kind", check_hostile)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
