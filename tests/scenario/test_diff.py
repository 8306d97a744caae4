#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll diff` and `report --growth` on real recorded runs.

Null comparisons: a program against itself with other seeds (1, 2, 3 ... in pairs). The rate stated is
5 % of comparisons with any false verdict; the number allowed is passed by a correct bytepoll with
probability above 1 - 1e-9 (the rate is at most 5 %, not exactly 5 %). BYTEPOLL_LONG_TESTS=1 makes it
1000 comparisons of each program.

Matching: one program built anew in every way that must not matter. Every site has more than 40
expected samples, so that a row without a sample has a probability below 1e-17.

Planted changes are so large that missing one has a probability below 1e-9: at 100 expected samples
(base) a site that triples is 10 standard errors away.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

import profiled
import rules

RATE = 0.05
COMPARISONS = 1000 if profiled.LONG else 40

SOURCE = """#include <stdlib.h>
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")
static inline __attribute__((always_inline)) void *make(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	return p;
}
__attribute__((noinline)) static void *parse(size_t size, int depth)
{
	void *p = depth > 0 ? parse(size, depth - 1) : make(size);
	KEEP(p);
	return p;
}
__attribute__((noinline)) static void *load(size_t size) { void *p = make(size); KEEP(p); return p; }
__attribute__((noinline)) static void *store(size_t size)
{
	void *p = calloc(1, size);
	KEEP(p);
	return p;
}
int main(void)
{
	for (int i = 0; i < 4000; i++) {
		KEEP(load(100 + i % 300));
		KEEP(parse(64 + i % 100, 3));
		KEEP(store(512));
	}
	return 0;
}
"""


def compiler():
    return shutil.which("cc") or "gcc"


def record(path, name, program, interval=1024, seed=None, arguments=()):
    """One profiled run; returns its trace."""
    trace = os.path.join(path, name)
    result = profiled.run([program, *arguments], trace, interval, seed)
    profiled.expect(result.status == 0, "%s: status %s" % (program, result.status))
    return trace


def diff(*arguments, status=0):
    result = profiled.run([profiled.BYTEPOLL, "diff", "--json", *arguments])
    profiled.expect(result.status == status, "diff %s: status %s: %s" % (
        " ".join(arguments), result.status, result.stderr.decode(errors="replace")))
    return json.loads(result.stdout) if status == 0 else result.stderr.decode()


def refused(status, part, *arguments):
    text = diff(*arguments, status=status)
    profiled.expect(part in text and text.count("\n") == 1, "%r is not in %r" % (part, text))


def verdicts(data):
    return {row["name"]: row["verdict"] for row in data["rows"] if row["verdict"] != "unclear"}


# Null comparisons.

def null_comparison(program, arguments, interval, metric, number):
    with profiled.directory() as path:
        traces = [record(path, "%d.bpt" % i, program, interval, 2 * number + i, arguments)
                  for i in (1, 2)]
        data = diff("--metric", metric, *traces)
    lost = sum(run["lost"] for side in ("base", "new") for run in data[side]["runs"])
    profiled.expect(lost == 0, "%d lost" % lost)
    return data["tested"], verdicts(data)


def null_comparisons(tap, name, arguments, interval, metric):
    program, alarms, tested = profiled.program(name), [], []
    allowed = 0
    while rules.binomial_tail(COMPARISONS, RATE, allowed) > 1e-9:
        allowed += 1
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(null_comparison, program, arguments, interval, metric, number)
                for number in range(COMPARISONS)]
        for job in jobs:
            count, found = job.result()
            tested.append(count)
            if found:
                alarms.append(found)
    tap.note("%s: %d of %d null comparisons of %d to %d tested keys have a false verdict, stated 5 %%, "
             "allowed %d" % (name, len(alarms), COMPARISONS, min(tested), max(tested), allowed))
    profiled.expect(len(alarms) <= allowed, str(alarms))
    profiled.expect(min(tested) >= 10, "too few keys were tested: %d" % min(tested))


# Matching.

class Build:
    """The source above, built and recorded in one of many ways."""

    def __init__(self, path, name, flags, prefix="", source="source.c", strip=False):
        folder = os.path.join(path, name)
        os.makedirs(folder)
        program = os.path.join(folder, name)
        with open(os.path.join(folder, source), "w", encoding="utf-8") as file:
            file.write(prefix + SOURCE)
        subprocess.run([compiler(), *flags.split(), source, "-o", program], cwd=folder, check=True)
        if strip:
            subprocess.run(["strip", program], check=True)
        self.trace = record(path, name + ".bpt", program)


def expect_matched(base, new, by, names=None):
    data = diff("--by", by, base.trace, new.trace)
    for row in data["rows"]:
        profiled.expect(row["samples"]["base"] > 0 and row["samples"]["new"] > 0,
                        "only on one side: %s" % row)
        profiled.expect(row["verdict"] not in ("new", "gone"), str(row))
    if names is not None:
        found = sorted(row["name"] for row in data["rows"])
        profiled.expect(found == sorted(names), "rows are %s" % found)
    return data


def matching(tap, path):
    inlined = ["make", "store"]
    base = Build(path, "base", "-g -O2")
    variants = {
        "inserted lines": Build(path, "lines", "-g -O2", prefix="\n\n/* new\nlines */\n" * 20),
        "moved and renamed sources and program": Build(
            path, "elsewhere", "-g -O2", prefix="\n", source="renamed_source.c"),
        "another optimisation": Build(path, "slow", "-g -O1"),
        "no position-independent executable": Build(path, "fixed", "-g -O2 -no-pie -fno-pie"),
        "clones of functions": Build(path, "clones", "-g -O3 -fipa-cp-clone"),
    }
    for name, build in variants.items():
        tap.attempt("rows by function match: " + name,
                    lambda build=build: expect_matched(base, build, "function", inlined))
        if name not in ("another optimisation", "clones of functions"):
            tap.attempt("rows by stack match: " + name,
                        lambda build=build: expect_matched(base, build, "stack"))
    stripped = [Build(path, name, "-O2", prefix=prefix, strip=True)
                for name, prefix in (("stripped", ""), ("stripped_too", "\n" * 50))]
    tap.attempt("stripped programs match as a whole", lambda: expect_matched(
        *stripped, "function", ["(program) (no name)"]))
    tap.attempt("modules match by base name", lambda: expect_matched(
        base, variants["moved and renamed sources and program"], "module", ["(program)"]))

    def one_stripped():
        data = diff(base.trace, stripped[0].trace)
        profiled.expect(any("without a name" in text for text in data["warnings"]),
                        str(data["warnings"]))

    def no_debug_information():
        data = diff(base.trace, Build(path, "bare", "-O2").trace)
        profiled.expect(any("inlined functions" in text for text in data["warnings"]),
                        str(data["warnings"]))
        # What does not depend on inlining matches all the same.
        store = [row for row in data["rows"] if row["name"] == "store"]
        profiled.expect(len(store) == 1 and store[0]["verdict"] not in ("new", "gone"), str(store))

    tap.attempt("names on one side only are warned of", one_stripped)
    tap.attempt("inlined functions known on one side only are warned of", no_debug_information)


# Planted changes, several runs, scaling.

def planted(path):
    program = profiled.program("diff_sites")
    sizes = {"base": (), "tripled": ("7", "200"), "without": ("9", "-100")}
    traces = {name: record(path, name + ".bpt", program, 2048, 100 + i, ("200000", *rest))
              for i, (name, rest) in enumerate(sizes.items())}
    profiled.expect(verdicts(diff(traces["base"], traces["tripled"])).get("site_007") == "grew",
                    "a site that tripled is not found")
    profiled.expect(verdicts(diff(traces["base"], traces["without"])).get("site_009") == "gone",
                    "a site that went is not found")
    profiled.expect(verdicts(diff(traces["without"], traces["base"])).get("site_009") == "new",
                    "a new site is not found")
    same = diff(traces["base"], traces["base"])
    profiled.expect(not verdicts(same) and same["total"]["p"] == 1, "a file differs from itself")
    # Sites are sorted and cut as asked, and what is left out is summed.
    cut = diff("--rows", "3", "--sort", "name", traces["base"], traces["tripled"])
    profiled.expect(len(cut["rows"]) == 3 and cut["rows_left_out"] == cut["keys"] - 3, "rows")
    profiled.expect(cut["rows"][0]["name"] == "site_007", "verdicts first")
    whole = sum(row["change"]["bytes"]["estimate"] for row in cut["rows"] + [cut["rest"]])
    every = sum(row["change"]["bytes"]["estimate"]
                for row in diff(traces["base"], traces["tripled"])["rows"])
    profiled.expect(abs(whole - every) < 1, "rows and rest: %s, not %s" % (whole, every))


def several_runs(path):
    program = profiled.program("diff_sites")
    base = [record(path, "a%d.bpt" % i, program, 512, i, ("100000",)) for i in range(1, 4)]
    new = [record(path, "b%d.bpt" % i, program, 512, i + 10, ("100000", "7", "200"))
           for i in range(1, 4)]
    for arguments in ((*base, "--new", *new), ("--rows", "500", *base, "--new", *new)):
        data = diff(*arguments)
        profiled.expect(data["variation_between_runs"] is True, "variation")
        profiled.expect([len(data[side]["runs"]) for side in ("base", "new")] == [3, 3], "sides")
        profiled.expect(data["base"]["runs"][0]["file"] == base[0], "order")
        profiled.expect(verdicts(data).get("site_007") == "grew", "tripled: %s" % verdicts(data))
    total = diff("--metric", "allocated", *base, "--new", *new)["total"]
    # The mean of the runs: 200 % of 100,000, in whole objects.
    change = total["change"]["bytes"]["estimate"]
    profiled.expect(198000 < change < 202000, "exact totals: %s" % change)
    profiled.expect(total["verdict"] == "grew", "exact totals that repeat and differ: %s" % total)


def scaled(path):
    program = profiled.program("diff_sites")
    one, two = (record(path, "%s.bpt" % size, program, 2048, 5, (size,))
                for size in ("100000", "200000"))
    plain = diff("--metric", "allocated", one, two)["total"]
    profiled.expect(plain["verdict"] == "grew" and plain["base"]["bytes"].get("exact"), str(plain))
    for scale in ("1:2", "total"):
        data = diff("--metric", "allocated", "--normalize", scale, one, two)
        total = data["total"]
        profiled.expect(abs(total["ratio"]["estimate"] - 1) < 0.01, "%s: %s" % (scale, total))
        profiled.expect(len(verdicts(data)) <= 8, "%s: %s" % (scale, verdicts(data)))
    duration = diff("--normalize", "duration", one, two)
    runs = [duration[side]["runs"][0] for side in ("base", "new")]
    profiled.expect(abs(runs[0]["scale"] - runs[1]["duration_s"] / runs[0]["duration_s"]) < 1e-6,
                    str(runs))


def another_metric(path):
    """Where nothing is found by one metric, one whose total has changed is named: here twice as much went
    through boxes that hold as much as before."""
    once, twice = (record(path, number + ".bpt", profiled.program("churn"), 65536, 3, ("1", number))
                   for number in ("100000", "200000"))

    def named(*arguments):
        text = profiled.run([profiled.BYTEPOLL, "diff", *arguments]).stdout.decode()
        return [line.strip() for line in text.splitlines() if " changed by " in line]
    line = named("--metric", "live", once, twice)
    profiled.expect(len(line) == 1 and line[0].startswith("What was allocated changed by +")
                    and line[0].endswith("MiB: --metric allocated"), str(line))
    profiled.expect(named("--metric", "allocated", once, twice) == [], "a verdict is enough")
    profiled.expect(named("--metric", "live", once, once) == [], "nothing has changed")


# Moments and growth.

def growth(path):
    trace = record(path, "leak.bpt", profiled.program("leak"), 4096, 3, ("9000",))

    def report(*options):
        result = profiled.run([profiled.BYTEPOLL, "report", "--growth", *options, trace])
        profiled.expect(result.status == 0, result.stderr.decode(errors="replace"))
        return result.stdout.decode()
    data = json.loads(report("--json"))
    rows = {row["name"]: row for row in data["rows"]}
    profiled.expect(data["rows"][0]["name"] == "site_leak" and rows["site_leak"]["suspect"],
                    str(data["rows"][0]))
    leak = rows["site_leak"]
    profiled.expect(0 < leak["at_least_bytes_per_s"] < leak["bytes_per_s"]["low"] + 1, str(leak))
    # What is full stays as it is; the chance of a suspect here is at most 5 %, of p < 1e-9 so much.
    profiled.expect(rows["site_cache"]["p"] > 1e-9, str(rows["site_cache"]))
    profiled.expect("site_brief" not in rows or not rows["site_brief"]["suspect"], "site_brief")
    # All that leaked since the start is 200 bytes a round.
    plain = profiled.run([profiled.BYTEPOLL, "report", "--json", trace])
    end = "%.9f" % json.loads(plain.stdout)["duration_s"]
    profiled.expect(0.89 < data["to_s"] / float(end) < 0.91, "nine tenths: %s" % data["to_s"])
    profiled.expect(0.49 < data["from_s"] / float(end) < 0.51, "half: %s" % data["from_s"])
    whole = json.loads(report("--json", "--from", "0", "--to", end, "--confidence", "0.999999999"))
    row = [row for row in whole["rows"] if row["name"] == "site_leak"][0]
    seconds = whole["to_s"] - whole["from_s"]
    truth = 200 * 9000 / seconds
    low, high = row["bytes_per_s"]["low"], row["bytes_per_s"]["high"]
    profiled.expect(low <= truth <= high, "%s not in [%s, %s]" % (truth, low, high))
    profiled.expect("suspect" in report() and "site_leak" in report("--by", "stack"), "text")
    profiled.expect("leak.c:" in report("--by", "line"), "lines")
    moments = diff("--at", "0", "--at", "%.6f" % (0.999 * data["to_s"]), trace)
    profiled.expect(verdicts(moments).get("site_leak") == "new", str(moments["rows"]))
    profiled.expect(moments["moments"]["base"] == 0, str(moments["moments"]))


def unprofiled(path):
    """Of a program that was not profiled nothing is known: it is not one that allocates nothing."""
    fixture = os.path.join(profiled.BUILD, "tests", "unit", "cli", "fixture_malloc")
    none = os.path.join(path, "none.bpt")
    profiled.run([profiled.BYTEPOLL, "run", "-q", "-o", none, "--", fixture])
    some = record(path, "some.bpt", profiled.program("diff_sites"), 2048, 1, ("5000",))
    refused(1, "nothing was profiled", none, some)
    refused(1, "nothing was profiled", "--metric", "allocated", some, none)
    result = profiled.run([profiled.BYTEPOLL, "report", "--growth", none])
    profiled.expect(result.status == 1 and b"the recording is empty" in result.stderr, str(result))
    result = profiled.run([profiled.BYTEPOLL, "report", "--timeline", none])
    profiled.expect(result.status == 0 and b"not known" in result.stdout and
                    b" B\n" not in result.stdout, str(result))


def usage(path):
    trace = record(path, "one.bpt", profiled.program("diff_sites"), 2048, 1, ("5000",))
    refused(2, "two files", trace)
    refused(2, "--new", trace, trace, trace)
    refused(2, "before it", "--new", trace)
    refused(2, "before it", trace, "--new")
    refused(2, "stands once", trace, "--new", trace, "--new", trace)
    refused(2, "one file", "--at", "1", "--at", "2", trace, trace)
    refused(2, "must be later", "--at", "2", "--at", "1", trace)
    refused(2, "--normalize", "--normalize", "1:2,3", trace, trace)
    refused(2, "--normalize", "--normalize", "1,:2", trace, trace)
    refused(2, "--normalize", "--normalize", "work", trace, trace)
    refused(2, "one run with one", "--metric", "peak", trace, trace, "--new", trace)
    refused(2, "--fdr", "--fdr", "2", trace, trace)
    refused(2, "must be one of", "--by", "line", trace, trace)
    refused(1, "is the same run as", trace, trace, "--new", trace)
    refused(1, "is the same run as", trace, "--new", trace, trace)
    diff(trace, trace)
    refused(1, "the recording ends", "--at", "0", "--at", "1000", trace)
    refused(1, "missing.bpt", trace, os.path.join(path, "missing.bpt"))
    result = profiled.run([profiled.BYTEPOLL, "report", "--growth", "--tree", trace])
    profiled.expect(result.status == 2 and b"choose one" in result.stderr, str(result))


def main():
    tap = profiled.Tap()
    for name, arguments, interval, metric in (
            ("diff_sites", ("40000",), 2048, "live"), ("truth", (), 2048, "allocated")):
        tap.attempt("%s against itself: verdicts are as rare as stated" % name,
                    lambda settings=(name, arguments, interval, metric): null_comparisons(
                        tap, *settings))
    for name, action in (("planted changes are found", planted), ("several runs", several_runs),
                         ("scaled to the work done", scaled), ("growth", growth),
                         ("another metric that changed is named", another_metric),
                         ("nothing is said of an unprofiled program", unprofiled),
                         ("wrong usage is refused in one line", usage)):
        with profiled.directory() as path:
            tap.attempt(name, lambda action=action, path=path: action(path))
    with profiled.directory() as path:
        matching(tap, path)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
