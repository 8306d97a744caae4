#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten thousand changes of how a running program is sampled.

A program of four threads allocates in a known order (programs/steered.c) while the interval is
changed 10,000 times between 1, 256, 16 KiB, 128 KiB and off: a hundred times by `bytepoll control`,
otherwise by stores to the control word itself, nine in ten as soon as one thread follows the last
one. INTERVAL records say at which of its objects each thread followed; since the k-th object of a
thread is known, so is what each site allocated at each interval, and what of it is certain to be
sampled. So without any tolerance: the counters in every INTERVAL record, sample and thread end fit the
order of the objects; every sample carries the interval in force; none is from a time when sampling was
off; all objects are there that were certain (T = 1, or size + 1 >= T); totals of on and off are exact.

Unbiased across changes: with pi the probability that an object was sampled at the interval in
force, the sum of size / pi over the samples of a site has the truth as its mean and the sum of size^2
(1 - pi) / pi as its variance, whatever the changes depended on (the differences are a martingale). Each
of the six figures (three sites, bytes and objects) may be off by 6.5 standard deviations: 8.0e-11
each by the normal law; where a sum hangs on some 90 samples of the largest interval, no more than 1e-8 by
Poisson's. The same bound holds for the rows of `bytepoll report`, whose estimates vary less: 12e-8
in all.

BYTEPOLL_LONG_TESTS=1 makes it 100,000 changes.
"""
import math
import random
import sys

import profiled
import rules
from steered import (ALL_BYTES, GRANT, INTERVAL_MASK, PATTERN, PERIOD, THREADS, Decoded, Page, Prefix,
                     Running, controlled)

CHANGES = 100000 if profiled.LONG else 10000
COMMANDS = 100
INTERVALS = (0, 1, 256, 16384, 131072)
WEIGHTS = (25, 2, 3, 30, 40)  # T = 1 writes a sample for every object
SEED = 20250117
SIGMAS = 6.5
SITES = ("site_small", "site_medium", "site_large")


def site_of(size):
    return SITES[0] if size < 300 else SITES[1] if size < 4000 else SITES[2]


def check_pieces(decoded, log, made, first):
    """The INTERVAL records of every thread; returns pieces by ordinal."""
    pieces = {}
    for ordinal in decoded.makers():
        end = decoded.ends[ordinal]
        thread = int(decoded.names[ordinal][len("maker"):])
        profiled.expect(end["objects"] == made[thread] and
                        end["trials"] == ALL_BYTES.upto(made[thread]) + made[thread],
                        "thread %d ends after other counters: %s" % (thread, end))
        before = None
        for change in decoded.changes.get(ordinal, []):
            objects = change["objects"]
            profiled.expect(change["trials"] == ALL_BYTES.upto(objects) + objects,
                            "an INTERVAL record with other counters: %s" % change)
            profiled.expect(log[change["command"]] == change["interval"],
                            "an interval that was not asked for: %s" % change)
            profiled.expect(before is None or before["objects"] < objects and
                            before["command"] < change["command"], "out of order: %s" % change)
            before = change
        pieces[ordinal] = list(decoded.pieces(ordinal, end["objects"], first))
    return pieces


def check_samples(decoded, pieces):
    """Every sample is one of the objects, at the T in force; those that are certain are there."""
    seen = {ordinal: {} for ordinal in pieces}
    for sample in decoded.samples:
        if sample["thread"] not in pieces:
            continue
        index = sample["objects"]
        profiled.expect(sample["size"] == PATTERN[(index - 1) % PERIOD],
                        "a sample of another size: %s" % sample)
        profiled.expect(index not in seen[sample["thread"]], "sampled twice: %s" % sample)
        seen[sample["thread"]][index] = sample
    for ordinal, cuts in pieces.items():
        found = sorted(seen[ordinal])
        at = 0
        for first, last, interval in cuts:
            certain = 0 if interval == 0 else Certain.of(interval).between(first, last)
            here = []
            while at < len(found) and found[at] <= last:
                here.append(found[at])
                at += 1
            wrong = [i for i in here if seen[ordinal][i]["interval"] != interval]
            profiled.expect(not wrong, "objects %s of (%d, %d] not sampled at T = %d: %s" % (
                wrong[:3], first, last, interval, seen[ordinal][wrong[0]] if wrong else ""))
            exact = sum(seen[ordinal][i]["exact"] for i in here)
            profiled.expect(interval == 0 or exact == certain,
                            "%d of %d certain objects of (%d, %d] at T = %d" % (
                                exact, certain, first, last, interval))
        profiled.expect(at == len(found), "samples beyond the end")


class Certain:
    """How many objects are sampled with certainty at T."""
    known = {}

    @classmethod
    def of(cls, interval):
        if interval not in cls.known:
            cls.known[interval] = Prefix(lambda size: int(size + 1 >= interval))
        return cls.known[interval]


class Truth:
    """What a site allocated while sampling was on, and the variance of its estimates."""
    sums = {}

    def __init__(self, pieces, site, unit):
        self.value = self.variance = 0
        for cuts in pieces.values():
            for first, last, interval in cuts:
                if interval == 0:
                    continue
                value, variance = self.prefixes(site, unit, interval)
                self.value += value.between(first, last)
                self.variance += variance.between(first, last)

    @classmethod
    def prefixes(cls, site, unit, interval):
        def value(size):
            return 0 if site_of(size) != site else size if unit == "bytes" else 1

        def variance(size):
            included = rules.inclusion_probability(size, interval)
            return value(size) ** 2 * (1 - included) / included
        key = site, unit, interval
        if key not in cls.sums:
            cls.sums[key] = Prefix(value), Prefix(variance)
        return cls.sums[key]

    def sigmas(self, estimate):
        if self.variance == 0:
            return 0.0 if estimate == self.value else math.inf
        return (estimate - self.value) / math.sqrt(self.variance)


def estimates(decoded, pieces):
    """Horvitz-Thompson sums by site and unit."""
    sums = {(site, unit): 0.0 for site in SITES for unit in ("bytes", "objects")}
    for sample in decoded.samples:
        if sample["thread"] in pieces:
            weight = 1 / rules.inclusion_probability(sample["size"], sample["interval"])
            sums[site_of(sample["size"]), "bytes"] += weight * sample["size"]
            sums[site_of(sample["size"]), "objects"] += weight
    return sums


def storm(path, program):
    """Runs it; what was asked for by number of the change, and what each thread made."""
    choices = random.Random(SEED)
    page, log = Page(program.trace), {0: INTERVALS[-1]}
    program.grant(GRANT)
    while page.number < CHANGES:
        number = page.number
        interval = choices.choices(INTERVALS, WEIGHTS)[0]
        if number % (CHANGES // COMMANDS) != 0:
            page.set(interval)
        elif interval == 0:
            controlled(program.process.pid, "stop", "--quiet")
        else:
            if page.word.value & INTERVAL_MASK == 0:
                controlled(program.process.pid, "start", "--quiet")
                log[page.number] = page.word.value & INTERVAL_MASK
            controlled(program.trace, "interval", interval, "--quiet")
        profiled.expect(page.number >= number and
                        page.word.value & INTERVAL_MASK == interval, "another word")
        log[page.number] = interval
        if choices.random() < 0.9:
            page.wait_for_one(program)
    return log, program.stop()


def test_storm(tap):
    with profiled.directory() as path, Running(path, INTERVALS[-1]) as program:
        log, made = storm(path, program)
        decoded = Decoded(program.trace)
        report = profiled.report(program.trace, "--by", "function", "--metric", "allocated")
    followed = sum(map(len, decoded.changes.values()))
    tap.note("%d changes, followed %d times; %d objects, %d samples" % (
        len(log) - 1, followed, sum(made), len(decoded.samples)))
    tap.check(followed > len(log) / 2, "threads follow while they run", followed)
    tap.check(decoded.counts["damaged_chunks"] == 0 and not any(decoded.state["lost"]) and
              decoded.state["state"] == 1, "nothing is lost or damaged", decoded.state["lost"])
    pieces = {}
    tap.attempt("the counters in every INTERVAL record fit", lambda: pieces.update(
        check_pieces(decoded, log, made, INTERVALS[-1])))
    tap.check(len(pieces) == THREADS, "all threads are there")
    tap.attempt("every sample is of the interval in force, all certain ones are there",
                lambda: check_samples(decoded, pieces))
    judge_estimates(tap, decoded, pieces, report)
    off = sum(ALL_BYTES.between(first, last) for cuts in pieces.values()
              for first, last, interval in cuts if interval == 0)
    seen = report["sampling"]["off"]["bytes"]
    rest = decoded.state["end_trials"] - decoded.state["end_objects"] - off
    total = report["totals"]["allocated"]["bytes"]
    # The main thread follows no change unless it allocates; what it made was sampled then.
    tap.check(seen["low"] == seen["high"] == off and total["estimate"] == rest,
              "bytes allocated while on and while off are exact", "%s %s %s %s" % (
                  seen, off, total, rest))


def judge_estimates(tap, decoded, pieces, report):
    rows = {row["name"]: row for row in report["rows"]}
    worst = worst_row = 0.0
    sums = estimates(decoded, pieces)
    for (site, unit), estimate in sums.items():
        truth = Truth(pieces, site, unit)
        worst = max(worst, abs(truth.sigmas(estimate)))
        worst_row = max(worst_row, abs(truth.sigmas(rows[site][unit]["estimate"])))
        tap.note("%s %s: %d, true %d, %.2f standard deviations; in the report %.2f" % (
            site, unit, estimate, truth.value, truth.sigmas(estimate),
            truth.sigmas(rows[site][unit]["estimate"])))
    tap.check(worst <= SIGMAS, "sums over the samples are unbiased across changes", worst)
    tap.check(worst_row <= SIGMAS, "so are the rows of the report", worst_row)


def main():
    tap = profiled.Tap()
    test_storm(tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
