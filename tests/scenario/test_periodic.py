#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Allocation patterns that commensurate with the sampling interval (programs/periodic.c).

The recorder must be unbiased on them: over 60 seeded runs the mean of every site's bytes and
objects is within 4.5 standard errors of the truth (false alarm: rules.py). A sampler that takes
the byte at every T-th position, written out here, sees one and the same object for ever; the test
asserts that it is badly wrong on the same patterns, so that they are known to bite.
"""
import os
import sys

import profiled
import rules

RUNS = 300 if profiled.LONG else 60
SITES = ("site_first", "site_second", "site_third")
# name, T, sizes, charge of the strided sampler's trials, rounds
PATTERNS = (("pair", 100, (20, 80), 0, 5000), ("cycle", 4096, (15, 239, 767), 1, 40000))


def strided(sizes, charge, interval, rounds):
    """Bytes that a sampler with a fixed stride of T trials estimates for each size (weight T)."""
    estimates = [0] * len(sizes)
    left = interval
    for _ in range(rounds):
        for number, size in enumerate(sizes):
            left -= size + charge
            while left <= 0:
                estimates[number] += interval
                left += interval
    return estimates


def profile(name, interval, sizes, rounds):
    """Figures per site and unit over all runs."""
    figures = {}
    for site, size in zip(SITES, sizes):
        figures[site, "bytes"] = rules.Figure(size * rounds)
        figures[site, "objects"] = rules.Figure(rounds)
    for seed in range(1, RUNS + 1):
        with profiled.directory() as path:
            trace = os.path.join(path, "trace.bpt")
            result = profiled.run([profiled.program("periodic"), name, str(rounds)],
                                  trace, interval, seed)
            profiled.expect(result.status == 0, "status %s" % result.status)
            data = profiled.report(trace, "--by", "function", "--metric", "allocated",
                                   "--rows", "100000")
        rows = {row["name"]: row for row in data["rows"]}
        for site, unit in figures:
            profiled.expect(site in rows, "seed %d: no row for %s" % (seed, site))
            figures[site, unit].add(rows[site][unit])
    return figures


def main():
    tap = profiled.Tap()
    for name, interval, sizes, charge, rounds in PATTERNS:
        estimates = strided(sizes, charge, interval, rounds)
        errors = [estimate / (size * rounds) - 1 for estimate, size in zip(estimates, sizes)]
        tap.check(max(map(abs, errors)) > 0.2, "%s: a strided sampler is wrong" % name)
        tap.note("strided: " + ", ".join("%+.0f %%" % (100 * error) for error in errors))
        try:
            figures = profile(name, interval, sizes, rounds)
        except AssertionError as error:
            tap.check(False, "%s: %d runs" % (name, RUNS), str(error))
            continue
        distances = {"%s %s" % key: figure.standard_errors() for key, figure in figures.items()}
        detail = ", ".join("%s %+.2f" % item for item in distances.items())
        tap.check(all(abs(distance) <= rules.MEAN_LIMIT_STANDARD_ERRORS
                      for distance in distances.values()),
                  "%s: means within 4.5 standard errors of the truth" % name, detail)
        tap.note("standard errors: " + detail)
        misses = max(figure.misses for figure in figures.values())
        tap.check(misses <= rules.misses_allowed(RUNS), "%s: intervals hold" % name,
                  "%d of %d miss" % (misses, RUNS))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
