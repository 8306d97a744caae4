#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that use bytepoll/bytepoll.h and bytepoll/annotate.h, beside what they know themselves.

  absent      without the recorder every call says no and does nothing, and the program runs as with it
  windows     at T = 1 the limits a window has are the program's own counts, exactly where one thread
              runs and within the program's own limits where four do; a report on exactly that window
              has the samples, bytes and objects of it, and calls them exact; at T = 4096 the totals are
              still exact, and over 60 seeded runs the estimates of a site in the windows are judged by
              the rules of rules.py (false alarm: 6.8e-6 by the mean rule for bytes, 1e-8 by that for
              intervals of both)
  steering    windows that want sampling switch it on at once, and off again
  listeners   every sample and every free is told once; weights sum up to what was allocated; storms of
              threads and of listeners that come and go; a listener that leaves by longjmp
  tags        figures by label are the truth at T = 1, in children and threads too; 20,000 sets are
              bounded and counted; hostile ones are refused or escaped
  pools       objects of an arena are the truth at T = 1, its memory is not counted where it says so, by
              our calls, heaptrack's names and Valgrind's; over jemalloc too; over 60 seeded runs at
              T = 2048 the estimates are judged (false alarm: 8 figures, 5.5e-5 and 3e-8)
  verified    the recorder that counts every object takes no notice of pools and agrees with itself
  forks       children made while threads change tags, pools and windows
  linked      the recorder is found where it is linked, and where the header is used from C++

BYTEPOLL_LONG_TESTS=1: 300 runs.
"""
import concurrent.futures
import itertools
import json
import os
import sys

import profiled
import rules
import test_foreign

RUNS = 300 if profiled.LONG else 60
NUMBERS = itertools.count()
expect = profiled.expect
ALL = ("--rows", "1000000")


def traced(path, name, arguments=(), interval=1, seed=1, extra=None, recorder=None):
    """(trace, standard output) of a run that must succeed."""
    trace = os.path.join(path, "%s-%d.bpt" % (name, next(NUMBERS)))
    result = profiled.run([profiled.program(name), *arguments], trace, interval, seed,
                          recorder=recorder or profiled.RECORDER, extra=extra)
    expect(result.status == 0, "%s %s: status %s: %s" % (
        name, " ".join(arguments), result.status, result.stderr.decode(errors="replace")[-500:]))
    return trace, result.stdout.decode()


def figures(trace, metric, by, *options):
    """{name: (bytes, objects)} of the estimates, which must be exact, as at T = 1."""
    rows = profiled.report(trace, "--metric", metric, "--by", by, *ALL, *options)["rows"]
    for row in rows:
        expect(row["bytes"].get("exact") and row["objects"].get("exact"), "not exact: %s" % row)
    return {row["name"]: (row["bytes"]["estimate"], row["objects"]["estimate"]) for row in rows}


# ---- windows ----

def lines_of(text):
    return {line["name"]: line for line in map(json.loads, text.splitlines())}


def window_report(window, *options):
    return profiled.report(window["path"], "--metric", "allocated", "--from",
                           "%dns" % window["from_ns"], "--to", "%dns" % window["to_ns"], "--pid",
                           str(window["pid"]), *ALL, *options)


def samples_in(data):
    return sum(row["samples"] for row in data["rows"])


def check_window(window, interval, alone):
    data = window_report(window)
    total = data["totals"]["allocated"]
    text = json.dumps(window)
    expect(window["unread"] == 0, "threads unread: " + text)
    if alone:
        expect(samples_in(data) == window["samples"], "%d samples in the report: %s" % (
            samples_in(data), text))
    for unit in ("bytes", "objects"):
        low, high = window[unit]
        truth_low, truth_high = window["truth_" + unit]
        # What a thread is in the middle of making may be counted on either side.
        expect(low <= truth_high + (0 if alone else 4 * 70000) and
               high >= truth_low - (0 if alone else 4 * 70000), "%s: not the truth: %s" % (unit, text))
        seen = total[unit]
        if not window["interval"]:
            expect(low == high == truth_low == truth_high, text)
        elif alone:
            expect(low == high == truth_low == truth_high == seen["estimate"] and seen["exact"],
                   "%s: report %s of %s" % (unit, seen, text))
        elif interval == 1:
            expect(truth_low <= seen["estimate"] <= truth_high, "%s: report %s of %s" % (
                unit, seen, text))
        else:
            slack = 4 if unit == "objects" else 4 * 70000
            expect(seen["high"] >= truth_low - slack and seen["low"] <= truth_high + slack,
                   "%s: report %s of %s" % (unit, seen, text))


def windows(tap, path):
    def exact(name, count, alone=True, interval=1):
        _, text = traced(path, "inprocess_windows", (name,), interval)
        found = lines_of(text)
        expect(len(found) == count, "%d windows: %s" % (len(found), text))
        for window in found.values():
            check_window(window, interval, alone)
        return found

    def crossed():
        _, text = traced(path, "inprocess_windows", ("crossed",))
        window = lines_of(text)["handed"]
        # The C library's object for the thread is in it.
        expect(0 <= window["objects"][0] - window["truth_objects"][0] <= 4 and
               window["objects"][0] == window["objects"][1], text)
        expect(samples_in(window_report(window)) == window["samples"], text)

    def wanting():
        found = exact("wanting", 6)
        expect(found["off"]["samples"] == 0 and found["off"]["interval"] == 0, "off: %s" % found["off"])
        expect(found["first"]["samples"] == 1000, "sampling did not begin at once: %s" % found["first"])

    tap.attempt("windows of one thread are exact at T = 1", lambda: exact("alone", 5))
    tap.attempt("and their totals at T = 4096", lambda: exact("alone", 5, interval=4096))
    tap.attempt("windows of four threads at T = 1", lambda: exact("busy", 48, alone=False))
    tap.attempt("windows of four threads at T = 4096",
                lambda: exact("busy", 48, alone=False, interval=4096))
    tap.attempt("a window that another thread stops", crossed)
    tap.attempt("a child has windows of its own, and none of its parent's", lambda: exact("forked", 2))
    tap.attempt("windows that want sampling", wanting)
    tap.attempt("tokens of no window", lambda: traced(path, "inprocess_windows", ("abused",)))
    tap.attempt("samples in windows, estimated", windows_by_sampling)


def one_window_run(seed):
    with profiled.directory() as path:
        _, text = traced(path, "inprocess_windows", ("alone",), 4096, seed)
        window = lines_of(text)["inner"]
        # Of small objects alone the total is not known.
        data = window_report(window, "--filter", "size=0..4000", "--estimator", "ht")
        expect(samples_in(data) <= window["samples"], text)
        return data["totals"]["allocated"]


def windows_by_sampling():
    with profiled.directory() as path:
        _, text = traced(path, "inprocess_windows", ("alone",), 1)
        truth = window_report(lines_of(text)["inner"], "--filter", "size=0..4000")["totals"]["allocated"]
    found = {unit: rules.Figure(truth[unit]["estimate"]) for unit in ("bytes", "objects")}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for total in pool.map(one_window_run, range(1, RUNS + 1)):
            for unit, figure in found.items():
                figure.add(total[unit])
    # Objects are estimated as no more than the window's known total, which few of them are below.
    judge(found, no_mean=("objects",))


def judge(found, no_mean=()):
    for name, figure in found.items():
        expect(name in no_mean or
               abs(figure.standard_errors()) <= rules.MEAN_LIMIT_STANDARD_ERRORS,
               "%s: mean off by %.2f standard errors" % (name, figure.standard_errors()))
        expect(figure.misses <= rules.misses_allowed(RUNS), "%s: %d of %d intervals miss" % (
            name, figure.misses, RUNS))


# ---- listeners ----

def listeners(tap, path):
    def told(part, interval=1):
        trace, text = traced(path, "inprocess_listeners", (part,), interval)
        line = json.loads(text)
        expect(line["wrong"] == 0, text)
        return trace, line

    def sums(interval):
        trace, line = told("sums", interval)
        data = profiled.report(trace, *ALL)
        expect(line["freed"] == line["sampled"] == line["with_frames"], str(line))
        # One object was made after the listener had gone.
        expect(0 <= data["samples"] - line["sampled"] <= 1 and line["untold"] == 0, str(line))
        if interval == 1:
            expect(line["bytes"] == line["weighted_bytes"] == line["truth_bytes"], str(line))
            expect(line["weighted_objects"] == line["truth_objects"], str(line))

    def weights():
        found = {unit: [] for unit in ("bytes", "objects")}
        for seed in range(1, 41):
            _, text = traced(path, "inprocess_listeners", ("sums",), 4096, seed)
            line = json.loads(text)
            for unit, errors in found.items():
                errors.append(line["weighted_" + unit] / line["truth_" + unit] - 1)
        for unit, errors in found.items():
            mean = sum(errors) / len(errors)
            spread = (sum((e - mean) ** 2 for e in errors) / (len(errors) - 1) / len(errors)) ** .5
            expect(abs(mean) <= rules.MEAN_LIMIT_STANDARD_ERRORS * spread,
                   "%s: weights are off by %g, %g standard errors" % (unit, mean, mean / spread))

    def storm(interval):
        trace, line = told("storm", interval)
        data = profiled.report(trace, *ALL)
        expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])
        expect(line["sampled"] > 1000 and line["freed"] > 1000 and line["untold"] > 1000, str(line))
        expect(line["sampled"] <= data["samples"] and line["listeners"] == 0, str(line))
        # Each told event makes one object, samples of which are told to nobody: at T = 1 all of them.
        if interval == 1:
            expect(2 * (line["sampled"] + line["freed"]) <= line["untold"] <=
                   2 * (line["sampled"] + line["freed"]) + 200, str(line))

    def leaving():
        trace, line = told("leaving")
        expect(line["sampled"] == 3 and line["untold"] >= 2000 and
               profiled.report(trace)["samples"] >= 1003, str(line))

    tap.attempt("what listeners are told at T = 1", lambda: sums(1))
    tap.attempt("what listeners are told at T = 4096", lambda: sums(4096))
    tap.attempt("the weights they are told (false alarm 2e-5)", weights)
    tap.attempt("a storm of threads and listeners at T = 1", lambda: storm(1))
    tap.attempt("a storm of threads and listeners at T = 4096", lambda: storm(4096))
    tap.attempt("a listener that leaves by longjmp", leaving)
    tap.attempt("listeners in a child", lambda: told("forked"))
    tap.attempt("eight places for listeners", lambda: told("places"))


# ---- tags ----

def tags(tap, path):
    def by_label():
        trace, text = traced(path, "inprocess_tags")
        lines = [line.split("\t") for line in text.splitlines()]
        options = ("--filter", "function=work")
        for key in ("tenant", "phase"):
            made = figures(trace, "allocated", "label:" + key, *options)
            live = figures(trace, "live", "label:" + key, *options)
            names = {"-": "(no such label)", "": "(empty)"}
            for _, value, size, objects, left in (line for line in lines if line[0] == key):
                name = names.get(value, value)
                expect(made.pop(name) == (int(size), int(objects)), "%s=%s: %s" % (key, value, made))
                expect(live.get(name, (0, 0))[0] == int(left), "%s=%s live: %s" % (key, value, live))
            expect(not made, "more than there is: %s" % made)
        expect(figures(trace, "allocated", "label:tenant", "--filter", "label:tenant=par*") ==
               {"parent": (25 * 77, 25)}, "a child inherits its parent's tags")

    def filters():
        trace, _ = traced(path, "inprocess_tags")
        whole = figures(trace, "allocated", "label")
        expect(whole["phase=load, tenant=42"][1] == 30, str(whole))
        for options, names in ((("label:tenant=42",), {"tenant=42", "phase=load, tenant=42", "phase=, tenant=42"}),
                               (("label:tenant=4[0-1]", "label:phase=?*"), {
                                   "phase=load, tenant=41", "phase=parse, tenant=41", "phase=second, tenant=41"}),
                               (("label=phase=parse",), {"phase=parse, tenant=41"}),
                               (("label:tenant=",), {"(no label)"})):
            words = [word for option in options for word in ("--filter", option)]
            found = figures(trace, "allocated", "label", *words)
            expect(set(found) == names, "%s: %s" % (options, found))
            expect(all(whole[name] == found[name] for name in found), str(found))
        for words in (("--by", "label:"), ("--by", "label:a=b"), ("--by", "label:a\x1bb"),
                      ("--filter", "label:=x"), ("--filter", "label:a"), ("--filter", "label:\xff=x")):
            result = profiled.run([profiled.BYTEPOLL, "report", *words, trace])
            expect(result.status == 2 and result.stderr.count(b"\n") == 1 and b"\x1b" not in result.stderr,
                   "%s: %s" % (words, result))

    def other_reports():
        trace, _ = traced(path, "inprocess_tags")
        for words in (("report", "--csv"), ("report",), ("diff",)):
            files = (trace, trace) if words[0] == "diff" else (trace,)
            result = profiled.run([profiled.BYTEPOLL, *words, "--by", "label:phase", "--metric",
                                   "allocated", *files])
            expect(result.status == 0 and (b"label:phase" in result.stdout or words[0] == "diff"),
                   "%s: %s" % (words, result))
        data = profiled.report(trace, "--by", "label:phase")
        expect(data["by"] == "label:phase", data["by"])

    def many():
        trace, _ = traced(path, "inprocess_tags", ("many", "20000"))
        data = profiled.report(trace, "--metric", "allocated", "--by", "label:request", *ALL)
        named = [row for row in data["rows"] if row["name"].startswith("v")]
        missing = [row for row in data["rows"] if row["name"] == "(no such label)"]
        expect(len(named) == 16384 and all(row["objects"]["estimate"] == 1 for row in named),
               "%d sets" % len(named))
        expect(data["losses"]["name"] == 20000 - 16384 and missing[0]["samples"] == 20000 - 16384,
               str(data["losses"]))

    def bad():
        trace, _ = traced(path, "inprocess_tags", ("bad",))
        for option in ("--json", "--rows=5"):
            result = profiled.run([profiled.BYTEPOLL, "report", "--metric", "allocated", "--by", "label",
                                   option, trace])
            expect(result.status == 0 and b"\x1b" not in result.stdout and b"\x07" not in result.stdout,
                   "%s: %s" % (option, result))

    def storm():
        trace, _ = traced(path, "inprocess_tags", ("storm",))
        live = figures(trace, "live", "label:who")
        expect(all(live["t%d" % i] == (2500 * 64, 2500) for i in range(4)), str(live))

    tap.attempt("figures by label at T = 1", by_label)
    tap.attempt("filters by label, and wrong ones", filters)
    tap.attempt("other reports by label", other_reports)
    tap.attempt("more sets than there is room for", many)
    tap.attempt("keys and values that are refused", bad)
    tap.attempt("tags of many threads", storm)


# ---- pools ----

SITES = ("site_kept", "site_freed", "site_dropped", "site_trimmed")
POOL_FILTER = ("--filter", "kind=pool", "--allocators", "bp_pool_.*|tell_.*|arena_.*")


def truth_of(text):
    """{site: ((allocated bytes, objects), (live bytes, objects))}"""
    return {words[0]: (tuple(map(int, words[1:3])), tuple(map(int, words[3:5])))
            for words in map(str.split, text.splitlines())}


def check_pools(path, name, chunks_counted, extra=None, halves=False):
    trace, text = traced(path, name, extra=extra)
    truth = truth_of(text)
    expect(set(truth) == set(SITES), text)
    for number, metric in enumerate(("allocated", "live")):
        found = figures(trace, metric, "function", *POOL_FILTER)
        for site in SITES:
            size, objects = truth[site][number]
            seen = found.pop(site, (0, 0))
            if halves and metric == "allocated":  # half of each object first, then all of it
                expect(seen[1] == 2 * objects and seen[0] >= size + size // 2 - objects, "%s: %s" % (site, seen))
            else:
                expect(seen == (size, objects), "%s %s: %s instead of %s" % (
                    site, metric, seen, (size, objects)))
    data = profiled.report(trace, "--metric", "allocated", "--by", "function", "--allocators", "none",
                           "--filter", "kind=malloc", *ALL)
    chunks = [row for row in data["rows"] if row["name"] == "arena_allocate"]
    expect(bool(chunks) == chunks_counted, "memory of the arenas: %s" % chunks)
    # The thread's counters have what was sampled, everything at T = 1, and nothing else; but for what an
    # allocator makes for itself while the recorder begins.
    whole = profiled.report(trace, "--metric", "allocated", *ALL)
    for unit in () if whole["processes"][0]["unoffered_objects"] else ("bytes", "objects"):
        expect(whole["totals"]["allocated"][unit]["estimate"] ==
               sum(row[unit]["estimate"] for row in whole["rows"]), "totals: %s" % whole["totals"])
        counted = whole["processes"][0][unit + "_allocated"]
        expect(counted["estimate"] == whole["totals"]["allocated"][unit]["estimate"] and counted["exact"],
               "%s: counters have %s" % (unit, counted))
    expect(profiled.lost(data) == 0, str(data["losses"]))
    return trace


def pools(tap, path):
    def ours():
        trace = check_pools(path, "inprocess_pools", False)
        types = figures(trace, "allocated", "type")
        expect(types["kept things"][1] == 5000 and types["dropped things"][1] == 1000 and
               types["pool"][1] == 500, str(types))

    def over(library):
        extra = test_foreign.preload(profiled.RECORDER, test_foreign.path_of(library))
        check_pools(path, "inprocess_pools", False, extra)

    def storm(interval):
        trace, _ = traced(path, "inprocess_pools", ("threads",), interval)
        data = profiled.report(trace, "--filter", "kind=pool", *ALL)
        expect(data["totals"]["live"]["samples"] == 0 and profiled.lost(data) == 0, str(data["totals"]))
        expect(data["totals"]["allocated"]["samples"] > 10000, str(data["totals"]))

    def unprofiled():
        for name in ("inprocess_pools", "inprocess_heaptrack", "inprocess_valgrind"):
            plain = profiled.run([profiled.program(name)])
            expect(plain.status == 0 and len(plain.stdout.splitlines()) == 4, str(plain))
        expect(profiled.run([profiled.program("inprocess_windows"), "absent"]).status == 0, "absent")

    def verified():
        recorder = os.path.join(profiled.BUILD, "libbytepoll-recorder-verify.so")
        trace, _ = traced(path, "inprocess_pools", interval=4096, recorder=recorder)
        result = profiled.run([profiled.BYTEPOLL, "verify", trace])
        expect(result.status == 0, "%s" % (result,))
        kinds = {row["name"] for row in profiled.report(trace, "--by", "kind", *ALL)["rows"]}
        expect("pool" not in kinds, str(kinds))

    tap.attempt("without the recorder nothing happens", unprofiled)
    tap.attempt("objects of pools at T = 1", ours)
    tap.attempt("by heaptrack's names", lambda: check_pools(path, "inprocess_heaptrack", True, halves=True))
    tap.attempt("by Valgrind's macros", lambda: check_pools(path, "inprocess_valgrind", True))
    for name, library in test_foreign.LIBRARIES.items():
        tap.attempt("objects of pools over " + name, lambda library=library: over(library))
    tap.attempt("a storm of pools at T = 1", lambda: storm(1))
    tap.attempt("a storm of pools at T = 2048", lambda: storm(2048))
    tap.attempt("objects of pools, estimated", pools_by_sampling)
    tap.attempt("the recorder that verifies", verified)


def one_pool_run(seed):
    with profiled.directory() as path:
        trace, _ = traced(path, "inprocess_pools", interval=2048, seed=seed)
        rows = {}
        for metric in ("allocated", "live"):
            data = profiled.report(trace, "--metric", metric, "--by", "function", *POOL_FILTER, *ALL)
            rows[metric] = {row["name"]: row for row in data["rows"]}
        return rows


def pools_by_sampling():
    with profiled.directory() as path:
        truth = truth_of(traced(path, "inprocess_pools")[1])
    wanted = [(site, metric, unit, number, place)
              for number, metric in enumerate(("allocated", "live"))
              for place, unit in enumerate(("bytes", "objects"))
              for site in ("site_kept", "site_freed") if truth[site][number][1] != 0]
    wanted += [("site_dropped", "allocated", unit, 0, place) for place, unit in enumerate(("bytes", "objects"))]
    found = {key: rules.Figure(truth[key[0]][key[3]][key[4]]) for key in wanted}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for rows in pool.map(one_pool_run, range(1, RUNS + 1)):
            for key, figure in found.items():
                figure.add(rows[key[1]][key[0]][key[2]])
    judge(found)


def linked(tap, path):
    def one(name):
        trace = os.path.join(path, name + ".bpt")
        result = profiled.run([profiled.program(name)],
                              extra={"BYTEPOLL_OUTPUT": trace, "BYTEPOLL_INTERVAL": "1"})
        expect(result.status == 0 and result.stdout == b"profiled\n", str(result))
        found = figures(trace, "allocated", "label:scope", "--filter", "function=allocate")
        expect(found["inner"][1] == 10 and found["outer"][1] == 5, str(found))

    tap.attempt("a C++ program that is linked with the recorder", lambda: one("inprocess_linked"))
    tap.attempt("the same without the recorder", lambda: expect(
        profiled.run([profiled.program("inprocess_cxx")]).stdout == b"not profiled\n", "profiled"))
    tap.attempt("an executable at a fixed address", lambda: expect(
        traced(path, "inprocess_fixed")[1] == "profiled\n", "not profiled"))


def forks(tap, path):
    def children():
        trace, _ = traced(path, "inprocess_forks")
        data = profiled.report(trace, *ALL)
        expect(len(data["processes"]) == 61, "%d processes" % len(data["processes"]))
        found = figures(trace, "allocated", "label:step", "--filter", "label:of=the parent")
        expect(found["child"] == (60 * 20 * 100, 60 * 20), str(found.get("child")))

    tap.attempt("children of fork and _Fork, made amid changes", children)


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        for part in (windows, listeners, tags, pools, linked, forks):
            if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
                part(tap, path)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
