#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose malloc is jemalloc, TCMalloc or mimalloc, preloaded behind the recorder.

  truth          at T = 1 every figure of every call site is the truth, to the byte and the object, in C
                 and in C++ (whose operators these allocators bring); at T = 2048, 102 runs spread over
                 the three, the rules of rules.py judge means and intervals
  exact totals   the total grows by what a counting malloc, put between recorder and allocator, counts
  entries        objects that cross between malloc and the allocator's own entries (dallocx, mi_free ...)
                 live, die and count as others do; entries nobody can be put before do no harm
  life           the programs of test_lifecycle.py do as without the recorder, their traces are whole
  header         a trace says what it was recorded over, and a report names the allocator

Long form: BYTEPOLL_LONG_TESTS=1, with two more TCMallocs, more intervals, 300 runs, and those in C++
too.
"""
import concurrent.futures
import json
import os
import struct
import sys

import profiled
import rules
import test_lifecycle
import test_truth

INTERVAL = test_truth.INTERVALS["truth"]
FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
# Names of what is one library in different releases of Debian.
LIBRARIES = {"jemalloc": ("libjemalloc.so.2",), "tcmalloc": ("libtcmalloc.so.4",),
             "mimalloc": ("libmimalloc.so.2", "libmimalloc.so.3")}
if profiled.LONG:
    LIBRARIES["tcmalloc debug"] = ("libtcmalloc_minimal_debug.so.4",)
    LIBRARIES["tcmalloc minimal"] = ("libtcmalloc_minimal.so.4",)
RUNS_EACH = 100 if profiled.LONG else 34
RECOGNITION_TABLE = 3

# Not `signals` over jemalloc and mimalloc, whose malloc a signal handler must not call (it hangs and
# crashes unprofiled), and nothing that is about what glibc's malloc alone does.
LIFE = (("contents", "8"), ("zeroed",), ("libc_extras",), ("thread_storm",), ("thread_exit",),
        ("fork_storm",), ("fork_with_threads",), ("exec_chain",), ("vfork_exec",), ("spawn",),
        ("jumps",), ("odd_stacks",), ("raw_clone",), ("dynamic_loading", test_lifecycle.PLUGIN),
        ("exit_ways", "_exit"), ("exit_ways", "quick_exit"), ("exit_ways", "abort"),
        ("exit_ways", "kill"))


def path_of(names):
    for folder in FOLDERS:
        for name in names:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                return path
    raise AssertionError(" or ".join(names) + " is not installed: run scripts/install-deps")


def preload(*libraries):
    """An environment with those behind the recorder, or alone."""
    return {"LD_PRELOAD": ":".join(libraries)}


def run(arguments, library, trace=None, interval=None, seed=None, extra=None):
    """Unprofiled without `trace`."""
    chosen = preload(profiled.RECORDER, library) if trace else preload(library)
    return profiled.run(arguments, trace, interval, seed, extra={**chosen, **(extra or {})},
                        time_limit_s=30)


def alone(arguments, library):
    """The result of an unprofiled run that came to an end. Over the TCMalloc of Debian 13 one of a program that forks
    beside threads has not, within 30 s, with no recorder in it: such a run is repeated, twice at the most."""
    for _ in range(2):
        plain = run(arguments, library)
        if plain.status != "time limit":
            return plain
        profiled.Tap.note("%s did not end, without the recorder" % os.path.basename(arguments[0]))
    return run(arguments, library)


def same_as_alone(arguments, library, trace, interval=None, seed=None):
    """The result of a profiled run that did as the unprofiled one."""
    plain = run(arguments, library)
    profiled.expect(plain.status == 0, "unprofiled: status %s: %s" % (plain.status, plain.stderr))
    result = run(arguments, library, trace, interval, seed)
    profiled.expect_same(plain, result)
    return result


def site_figures(trace, metric):
    return test_truth.sites_of(profiled.report(
        trace, "--by", "function", "--metric", metric, "--rows", "100000"))


def truth_at_one(name, library, before=()):
    """`before`: a program that starts it."""
    arguments = [profiled.program(word) for word in before] + [
        profiled.program(name), "1", "portable"]
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        truth = json.loads(same_as_alone(arguments, library, trace, 1).stdout)
        for metric in test_truth.METRICS:
            rows = site_figures(trace, metric)
            for site, figures in truth.items():
                for unit in test_truth.UNITS:
                    row = rows.get(site)
                    seen = row[unit]["estimate"] if row else 0
                    profiled.expect(seen == figures[metric][unit], "%s %s %s: %s instead of %s" % (
                        site, metric, unit, seen, figures[metric][unit]))
        profiled.expect(profiled.lost(profiled.report(trace)) == 0, "something was lost")


def one_run(arguments, library, seed, expected_output):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = run(arguments, library, trace, INTERVAL, seed)
        profiled.expect(result.status == 0 and result.stdout == expected_output,
                        "seed %d: status %s: %s" % (seed, result.status, result.stderr))
        return {metric: site_figures(trace, metric) for metric in test_truth.METRICS}


def truth_by_sampling(tap, name, libraries):
    """One judgement over the runs of all allocators: the truth is the same."""
    arguments = [profiled.program(name), "1", "portable"]
    plain = run(arguments, libraries[0])
    truth = json.loads(plain.stdout)
    figures = {(site, metric, unit): rules.Figure(truth[site][metric][unit])
               for site in truth for metric in test_truth.METRICS for unit in test_truth.UNITS}
    runs = RUNS_EACH * 3
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one_run, arguments, libraries[seed % 3], seed, plain.stdout)
                for seed in range(1, runs + 1)]
        for job in jobs:
            reports = job.result()
            for site, metric, unit in figures:
                row = reports[metric].get(site)
                figures[site, metric, unit].add(
                    row[unit] if row else test_truth.absent_row(INTERVAL))
    test_truth.RUNS = runs
    test_truth.judge(tap, name, figures)
    test_truth.judge_certain(tap, figures)


def total_and_count(arguments, library, interval):
    """Objects and bytes as the report and as the counting malloc have them."""
    with profiled.directory() as path:
        trace, count = os.path.join(path, "trace.bpt"), os.path.join(path, "count")
        with open(count, "wb") as file:
            file.write(bytes(4096))
        result = run(arguments, profiled.program("libcounting.so") + ":" + library, trace, interval,
                     extra={"BYTEPOLL_COUNTING": count})
        profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr))
        with open(count, "rb") as file:
            counted = struct.unpack("<2Q", file.read(16))
        total = profiled.report(trace)["totals"]["allocated"]
        profiled.expect(total["bytes"].get("exact") and total["objects"].get("exact"),
                        "not exact: %s" % total)
        return (total["objects"]["estimate"], total["bytes"]["estimate"]), counted


def exact_totals(name, library, interval):
    """What the recorder asks for at its start is counted by the one below alone: it is the same for a
    program that does nothing."""
    arguments = [profiled.program(name), "1", "portable"]
    total, counted = total_and_count(arguments, library, interval)
    same_language = "nothing_cpp" if name.endswith("cpp") else "nothing"
    nothing, counted_nothing = total_and_count([profiled.program(same_language)], library, interval)
    grown = [total[i] - nothing[i] for i in range(2)]
    grown_counted = [counted[i] - counted_nothing[i] for i in range(2)]
    profiled.expect(grown == grown_counted, "%s more instead of %s" % (grown, grown_counted))
    own = sum(site["allocated"]["bytes"] for site in json.loads(
        run(arguments, library).stdout).values())
    profiled.expect(grown[1] >= own, "%d counted, %d requested" % (grown[1], own))


def entries(library, interval, way):
    arguments = [profiled.program("foreign_entries")] + way
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        result = same_as_alone(arguments, library, trace, interval)
        if interval != 1:
            return
        if way == ["next"]:
            # Frees that are not seen do no harm, and are noticed when the address comes again.
            losses = profiled.report(trace)["losses"]
            profiled.expect(losses["free"] > 1000 and profiled.lost({"losses": losses}) ==
                            losses["free"], "losses: %s" % losses)
            return
        for site, (size, count) in json.loads(result.stdout).items():
            row = site_figures(trace, "allocated")[site]
            seen = row["bytes"]["estimate"], row["objects"]["estimate"]
            profiled.expect(seen == (size, count), "%s: %s instead of %s" % (
                site, seen, (size, count)))
            live = site_figures(trace, "live").get(site)
            profiled.expect(live is None, "%s: live at the end: %s" % (site, live))
        profiled.expect(profiled.lost(profiled.report(trace)) == 0, "something was lost")


def life(words, library, interval):
    arguments = list(test_lifecycle.path_of(words))
    plain = alone(arguments, library)
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        profiled.expect_same(plain, run(arguments, library, trace, interval))
        left = profiled.litter(path, trace)
        profiled.expect(not left, "litter: %s" % left)
        data = profiled.report(trace)
        exact = bool(data["totals"]["allocated"]["bytes"].get("exact"))
        ordered = words[-1] not in test_lifecycle.UNORDERED
        # Both have a thread that may allocate while the process ends; so has one that fails in a thread (contents,
        # where an allocator aligns less).
        open_end = any(process["open_threads"] for process in data["processes"])
        profiled.expect(exact == (ordered and not open_end) and (
            not open_end or plain.status != 0 or words[0] in ("thread_exit", "exit_ways")),
                        "allocated bytes are %sexact" % ("" if exact else "not "))
        profiled.expect(interval is None or data["samples"] > 0, "no samples")


def header(library):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        same_as_alone([profiled.program("truth"), "1", "portable"], library, trace, 4096)
        with open(trace, "rb") as file:
            recognition, reason = struct.unpack_from("<2I", file.read(192), 156)
        profiled.expect((recognition, reason) == (RECOGNITION_TABLE, 0),
                        "recognition %d, reason %d" % (recognition, reason))
        text = profiled.run([profiled.BYTEPOLL, "report", trace]).stdout.decode()
        profiled.expect("malloc of " + os.path.basename(library) in text or
                        "malloc of " + os.path.basename(os.path.realpath(library)) in text,
                        "not named: %s" % text[:200])


def main():
    tap = profiled.Tap()
    try:
        libraries = {name: path_of(files) for name, files in LIBRARIES.items()}
    except AssertionError as error:
        tap.check(False, "the allocators are installed", str(error))
        return tap.finish()
    sampled = list(libraries.values())[:3]
    if sys.argv[1:]:  # `jemalloc`, or `others`
        libraries = {name: library for name, library in libraries.items()
                     if (name == "jemalloc") == (sys.argv[1] == "jemalloc")}
    intervals = (1, 64, 4096, None) if profiled.LONG else (1, None)
    for name, library in libraries.items():
        tap.attempt(name + ": header", lambda: header(library))
        for program in ("truth", "truth_cpp"):
            tap.attempt("%s: %s at T = 1" % (name, program), lambda: truth_at_one(program, library))
            for interval in (1, 2048):
                tap.attempt("%s: exact totals of %s at T = %d" % (name, program, interval),
                            lambda: exact_totals(program, library, interval))
        tap.attempt(name + ": truth where code cannot be written",
                    lambda: truth_at_one("truth", library, ["forbid_writable_code"]))
        for interval in (1, 64, None):
            for way in ([], ["dlsym"], ["next"]):
                tap.attempt("%s: entries %s at T = %s" % (name, way[0] if way else "directly",
                                                         interval or "default"),
                            lambda: entries(library, interval, way))
        for words in LIFE:
            if name == "tcmalloc debug" and words == ("fork_with_threads",):
                continue  # its locks stay held in the child: that hangs unprofiled, too
            for interval in intervals:
                tap.attempt("%s: %s at T = %s" % (name, " ".join(words), interval or "default"),
                            lambda: life(words, library, interval))
    if sys.argv[1:] != ["jemalloc"]:
        for program in ("truth", "truth_cpp") if profiled.LONG else ("truth",):
            truth_by_sampling(tap, program, sampled)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
