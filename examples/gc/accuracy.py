#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
""".NET's accuracy tests on the collector of this folder, beside what .NET published.

    accuracy.py BUILD [--iterations N] [--count N] [--only SCENARIO] [--check] [--doc FILE]

Runs gc-scenarios N times with different seeds (1, 2, ...), has `bytepoll report --by type` estimate what
each type was allocated, and compares with what the program says. Prints a Markdown table: per type the
truth, the first estimate with its 95 % interval, the errors of all iterations, how many intervals missed
the truth. Errors are those of the sums that the program's listener made (a report's estimate never
exceeds the exact total, which is known to it). Published ranges are those of .NET's test (runtime README,
the pull request, Datadog's tool), for as many objects; they are errors of single estimates in %, or numbers
of samples.

--check: exits 1 unless theory allows what is seen: every mean error within 4.5 standard deviations (false
alarm 7e-6 each where counts are normal), no more misses than a chance of 1e-7 leaves, totals exact. --doc:
puts the table between its marks in that file.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

T = 102400
BEGIN, END = "<!-- gc-accuracy: begin -->\n", "<!-- gc-accuracy: end -->"
# Scenario: objects of each type that the published figures are of, {size: published}.
SCENARIOS = {
    "small-and-big": (200000, {24: "44 samples", 32: "67 samples", 48: "80 samples",
                               80: "143 samples", 144: "280 samples"}),
    "per-thread": (200000, {24: "47 samples", 32: "65 samples", 48: "108 samples", 64: "132 samples",
                            72: "155 samples", 96: "191 samples"}),
    "doubles": (1000000, {}),
    "types": (1000000, {24: "215 to 283 samples", 72: "675 to 702 samples", 96: "946 to 974 samples",
                        200: "1842 to 1982 samples (of 197 bytes)"}),
    "ratio": (100000, {1048: "-6.6 to +2.8 %", 10264: "-3.6 to +2.0 %", 102424: "-0.5 to +0.4 %",
                       1024024: "0.0 %", 10240024: "0.0 %"}),
    "automatic": (2000000, {144: "2763 samples"}),
}


def command(*words):
    """What a command prints."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("accuracy.py: %s: status %d: %s" % (" ".join(words), done.returncode,
                                                   done.stderr.strip()))
    return done.stdout


def iteration(build, scenario, count, seed, directory):
    """What the program says, and the report of its trace."""
    trace = os.path.join(directory, "gc.bpt")
    truth = json.loads(command(os.path.join(build, "examples", "gc", "gc-scenarios"), scenario,
                               "--count", str(count), "--seed", str(seed), "--output", trace))
    report = json.loads(command(os.path.join(build, "bytepoll"), "report", "--json", "--by", "type",
                                "--metric", "allocated", "--rows", "1000", trace))
    os.remove(trace)
    return truth, report


class Type:
    """One type of a scenario over all iterations."""

    def __init__(self, truth):
        self.name, self.size, self.objects = truth["name"], truth["size"], truth["objects"]
        self.estimates, self.samples, self.misses, self.first = [], [], 0, None

    def add(self, heard_bytes, row):
        """The listener's sum, and the row of a report; None: nothing of it was sampled."""
        interval = row["bytes"] if row else {"estimate": 0, "low": 0, "high": 0}
        truth = self.size * self.objects
        self.first = self.first or interval
        self.estimates.append(heard_bytes)
        self.samples.append(row["samples"] if row else 0)
        self.misses += not interval["low"] <= truth * (1 + 1e-9) or interval["high"] < truth * (1 - 1e-9)

    def inclusion(self):
        """P(an object is sampled)."""
        return -math.expm1(self.size * math.log1p(-1 / T))

    def errors(self):
        """Relative errors, sorted."""
        truth = self.size * self.objects
        return sorted(estimate / truth - 1 for estimate in self.estimates)

    def deviation(self):
        """Of the relative error of one iteration, in theory."""
        pi = self.inclusion()
        return math.sqrt((1 - pi) / (pi * self.objects))


def misses_tail(runs, misses):
    """P(so many of 95 % intervals or more)."""
    return sum(math.comb(runs, k) * .05 ** k * .95 ** (runs - k) for k in range(misses, runs + 1))


def findings_of(scenario, kind):
    """What theory does not allow."""
    errors = kind.errors()
    mean = sum(errors) / len(errors)
    limit = 4.5 * kind.deviation() / math.sqrt(len(errors)) + 1e-6
    if abs(mean) > limit:
        yield "%s %s: mean error %+.4f, more than %.4f" % (scenario, kind.name, mean, limit)
    if misses_tail(len(errors), kind.misses) < 1e-7:
        yield "%s %s: %d of %d intervals miss" % (scenario, kind.name, kind.misses, len(errors))


def measure(build, scenario, count, iterations, directory):
    """[Type], findings."""
    kinds, findings = {}, []
    for seed in range(1, iterations + 1):
        truth, report = iteration(build, scenario, count, seed, directory)
        total = sum(row["bytes"] for row in truth["types"])
        said = report["totals"]["allocated"]["bytes"]
        if truth["counted_bytes"] != total or not said.get("exact") or said["estimate"] != total:
            findings.append("%s, seed %d: %d bytes, counted %d, reported %s" % (
                scenario, seed, total, truth["counted_bytes"], said))
        rows = {row["name"]: row for row in report["rows"]}
        for row in truth["types"]:
            kind = kinds.setdefault((row["name"], row["size"]), Type(row))
            kind.add(row["heard_bytes"], rows.get(row["name"]))
    for kind in kinds.values():
        findings += findings_of(scenario, kind)
    return list(kinds.values()), findings


def mib(count):
    """Bytes in MiB, with sense."""
    return "%.4g" % (count / (1 << 20))


def rows_of(scenario, count, kinds):
    """Rows of the table."""
    published_count, published = SCENARIOS[scenario]
    for kind in kinds:
        errors = kind.errors()
        expected = kind.objects * kind.inclusion()
        exact = expected > kind.objects * (1 - 1e-12)
        yield "| " + " | ".join((
            scenario, kind.name, str(kind.size), "%d" % kind.objects, mib(kind.size * kind.objects),
            "%s [%s, %s]" % tuple(mib(kind.first[key]) for key in ("estimate", "low", "high")),
            "%.5g" % expected, "%d to %d" % (min(kind.samples), max(kind.samples)),
            "0" if exact else "%+.2f to %+.2f" % (100 * errors[0], 100 * errors[-1]),
            "%.2g" % (100 * kind.deviation()), "%d of %d" % (kind.misses, len(errors)),
            published.get(kind.size, "") if count == published_count else "")) + " |"


def replace(path, text):
    """Puts the table between its marks."""
    with open(path, encoding="utf-8") as file:
        document = file.read()
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        sys.exit("accuracy.py: %s: must have one line '%s' and one '%s'" % (path, BEGIN.strip(), END))
    before, rest = document.split(BEGIN)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + text + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--count", type=int, help="objects of each type, instead of the published number")
    parser.add_argument("--only", choices=sorted(SCENARIOS))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--doc")
    options = parser.parse_args()
    if options.doc and (options.only or options.iterations < 2):
        parser.error("--doc takes the whole table, of at least two iterations")
    lines = ["| scenario | type | size | objects | MiB | first estimate, MiB | expected samples | samples "
             "| errors, % | theory, sd | intervals that miss | .NET published |", "|" + "-|" * 12]
    findings = []
    with tempfile.TemporaryDirectory() as directory:
        for scenario, (count, _) in SCENARIOS.items():
            if options.only in (None, scenario):
                kinds, found = measure(options.build, scenario, options.count or count,
                                       options.iterations, directory)
                lines += rows_of(scenario, options.count or count, kinds)
                findings += found
    text = "\n".join(lines) + "\n"
    print(text, end="")
    for finding in findings:
        print("accuracy.py: " + finding, file=sys.stderr)
    if options.doc and not findings:
        replace(options.doc, text)
    return 1 if findings and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
