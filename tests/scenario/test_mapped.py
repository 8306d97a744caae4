#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a program maps itself (docs/mapped.md), against a program that knows it page by page: at exact equality, with
fixed seeds, so that nothing here fails by chance."""
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import profiled
from terminal import Terminal

SEEDS = (1, 2, 3)
RECORDS_MAX = 1 << 18  # of the trace format
STORM = 150_000        # pairs of calls: more than that
PAGE = 4096
PIECE = 64 << 20  # of programs/piecewise.c
READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_figures.js")


def record(path, *arguments, extra=None):
    """A run's trace, and what the program printed."""
    trace = os.path.join(path, "trace.bpt")
    result = profiled.run([profiled.program("mapped_calls"), *arguments], trace,
                          extra={"BYTEPOLL_MAPPED": "on"} if extra is None else extra)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    return trace, result.stdout


def told(output):
    """{site: bytes} of the program's own record."""
    words = [line.split() for line in output.decode().splitlines()]
    return {name: int(number) for name, number in (line for line in words if len(line) == 2)}


def exact(figure, bytes_):
    profiled.expect(figure["exact"] and figure["low"] == figure["high"] == figure["estimate"] == bytes_,
                    "%s, but %d" % (figure, bytes_))


def agrees(trace, truth):
    data = profiled.report(trace, "--metric", "mapped", "--by", "function", "--rows", "100")
    rows = {row["name"]: row["bytes"] for row in data["rows"]}
    sites = {name: bytes_ for name, bytes_ in truth.items() if bytes_ > 0 and name != "peak"}
    profiled.expect(len(sites) >= 6, "%s" % sites)
    profiled.expect(set(rows) == set(sites), "rows %s, sites %s" % (sorted(rows), sorted(sites)))
    for name, bytes_ in sites.items():
        exact(rows[name], bytes_)
    exact(data["totals"]["mapped"]["bytes"], sum(sites.values()))
    profiled.expect(data["metric"] == "mapped" and data["warnings"] == [], "%s" % data["warnings"])


def agrees_on_peak(trace, peak):
    data = profiled.report(trace, "--metric", "mapped-peak", "--pid", str(pid_of(trace)))
    exact(data["totals"]["mapped-peak"]["bytes"], peak)
    profiled.expect(sum(row["bytes"]["estimate"] for row in data["rows"]) == peak, "rows add up to less")


def pid_of(trace):
    return profiled.report(trace, "--metric", "mapped")["pid"]


def test_truth(tap):
    for seed in SEEDS:
        with profiled.directory() as path:
            plain = profiled.run([profiled.program("mapped_calls"), str(seed), "1"])
            trace, output = record(path, str(seed), "1")
            truth = told(output)
            tap.check(plain.stdout == output, "seed %d: the program's calls do the same" % seed,
                      profiled.difference(plain.stdout, output))
            tap.attempt("seed %d: by function" % seed, lambda: agrees(trace, truth))
            tap.attempt("seed %d: the peak" % seed, lambda: agrees_on_peak(trace, truth["peak"]))


def test_threads(tap):
    with profiled.directory() as path:
        trace, output = record(path, "4", "5")
        tap.attempt("5 threads", lambda: agrees(trace, told(output)))
        data = profiled.report(trace, "--metric", "mapped", "--by", "kind")
        kinds = {row["name"]: row["bytes"]["estimate"] for row in data["rows"]}
        tap.check(kinds["brk"] == 4 * PAGE and kinds["shared memory"] == 4 * PAGE and set(kinds) ==
                  {"brk", "shared memory", "mmap"}, "by kind", kinds)


def test_bound(tap):
    """A million calls take no more of the disk than a quarter of them, and the report says so."""
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        run = subprocess.run([profiled.BYTEPOLL, "run", "--mapped", "-o", trace, "--", profiled.program("mapped_calls"), "storm",
                              str(STORM)], check=True, capture_output=True, text=True)
        size = os.stat(trace).st_blocks * 512
        tap.check(size < 48 * RECORDS_MAX, "the trace is bounded", "%d bytes" % size)
        data = profiled.report(trace, "--metric", "mapped")
        lost = 2 * STORM - RECORDS_MAX
        tap.check(any(warning.startswith("%d calls lost" % lost) for warning in data["warnings"]),
                  "%d lost calls are said" % lost, data["warnings"])
        tap.check("lost %d calls that map or unmap memory" % lost in run.stderr, "by run, too", run.stderr)
        tap.check(data["losses"]["mapping"] == lost and
                  not any("exact" in total.get("bytes", ()) for total in data["totals"].values()),
                  "and nothing is exact then", data["totals"])


def refused(trace, *options):
    result = subprocess.run([profiled.BYTEPOLL, "report", *options, trace], capture_output=True, text=True,
                            check=False)
    return result.returncode, result.stderr


def has_first_piece(trace, truth):
    """Beside what the program maps itself there is the allocator's piece."""
    data = profiled.report(trace, "--metric", "mapped", "--by", "function", "--rows", "100")
    rows = {row["name"]: row["bytes"] for row in data["rows"]}
    sites = {name for name, bytes_ in truth.items() if bytes_ > 0 and name != "peak"}
    exact(rows.pop("map_piece"), PIECE)
    profiled.expect(set(rows) == sites, "rows %s, sites %s" % (sorted(rows), sorted(sites)))


def test_first_piece(tap):
    """Another malloc maps memory when it is called for the first time, which the recorder does while it begins. What it
    allocates then is in no figure, whether calls are recorded or not."""
    library = os.path.join(profiled.PROGRAMS, "libpiecewise.so")
    preload = {"LD_PRELOAD": "%s:%s" % (profiled.RECORDER, library)}
    with profiled.directory() as path:
        trace, output = record(path, "1", "1", extra={"BYTEPOLL_MAPPED": "on", **preload})
        os.mkdir(os.path.join(path, "without"))
        without, output_without = record(os.path.join(path, "without"), "1", "1", extra=preload)
        tap.check(output == output_without, "the program is not disturbed")
        tap.attempt("the first piece of an allocator", lambda: has_first_piece(trace, told(output)))
        allocated = [[profiled.report(name)["totals"]["allocated"][what] for what in ("bytes", "objects")]
                     for name in (trace, without)]
        tap.check(allocated[0][0]["exact"] and allocated[0] == allocated[1], "and what was allocated is the same",
                  "%s" % allocated)


def test_off(tap):
    with profiled.directory() as path:
        trace, _ = record(path, "1", "1", extra={"BYTEPOLL_MAPPED": "off"})
        status, words = refused(trace, "--metric", "mapped")
        tap.check(status == 1 and "does not tell what the program mapped itself" in words,
                  "off: nothing is known, and that is said", words)
        status, words = refused(trace, "--metric", "mapped", "--estimator", "ht")
        tap.check(status == 2 and "is exact" in words, "options of estimates are refused", words)
        data = json.loads(subprocess.run([profiled.BYTEPOLL, "report", "--json", trace], check=True,
                                         capture_output=True).stdout)
        tap.check(data["totals"]["allocated"]["bytes"]["exact"], "malloc is counted all the same")


def element(path, name):
    """The data of an element of a page; None: it has none of this name."""
    with open(path, encoding="utf-8") as file:
        data = re.findall('id="bytepoll-%s">([^<]*)<' % name, file.read())
    return gzip.decompress(base64.b64decode(data[0])) if data else None


def page(trace, path, *options):
    """The status and words of `bytepoll html`, and the head of the page that it wrote."""
    result = subprocess.run([profiled.BYTEPOLL, "html", "--force", "-o", path, *options, trace], capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        return result.returncode, result.stderr, None
    return 0, result.stderr, json.loads(element(path, "head"))


def figures_of_page(path, asked):
    """{name: [bytes, objects]} of each request, of which each is exact; made by the page's own WebAssembly."""
    result = subprocess.run(["node", READER, path], input=json.dumps(asked), capture_output=True, text=True, check=True)
    answers = []
    for rows in json.loads(result.stdout):
        for name, (_, estimate, low, high, is_exact, *objects) in rows.items():
            profiled.expect(is_exact and low == estimate == high and objects[3] and objects[0] == objects[1] == objects[2],
                            "%s is not exact: %s" % (name, rows[name]))
        answers.append({name: [row[1], row[5]] for name, row in rows.items()})
    return answers


def agrees_with_report(trace, head, path):
    edges = head["edges_s"]
    moments = [(i, ("--at", "%.9f" % edges[i])) for i in range(10, len(edges) - 1, 25)]
    asked = [{"metric": "mapped", "by": "function"}, {"metric": "mapped-peak", "by": "function"}]
    options = [("mapped",), ("mapped-peak",)] + [("mapped", *at) for _, at in moments]
    asked += [{"metric": "mapped", "edge": i, "by": "function"} for i, _ in moments]
    profiled.expect(len(asked) >= 6, "%d edges" % len(edges))
    for rows, words in zip(figures_of_page(path, asked), options):
        report = profiled.report(trace, "--metric", *words, "--rows", "1000")
        theirs = {row["name"]: [row[key]["estimate"] for key in ("bytes", "objects")] for row in report["rows"]}
        profiled.expect(len(rows) >= 3 and rows == theirs, "%s: the page %s, the report %s" % (words, rows, theirs))
    totals = report["totals"]
    profiled.expect(set(totals) == set(head["totals"]) and all(
        totals[name][key] == head["totals"][name][key] for name in ("mapped-peak", "mapped-ever") for key in ("bytes", "objects")),
        "totals %s, page %s" % (totals, head["totals"]))


def test_page(tap):
    with profiled.directory() as path:
        trace, _ = record(path, "1", "1")
        file = os.path.join(path, "page.html")
        _, _, head = page(trace, file, "--metric", "mapped-peak")
        tap.check(head["mapped"] is True and head["metrics"] == ["mapped", "mapped-peak", "mapped-ever"] and
                  head["metric"] == "mapped-peak" and set(head["totals"]) == set(head["metrics"]) and
                  head["resident"] is None and head["explained"] is None,
                  "a page of what was mapped has no word of malloc's metrics", str(head)[:500])
        if shutil.which("node") is None:
            tap.skip("figures of the page", "needs node")
        else:
            tap.attempt("figures of the page are the report's", lambda: agrees_with_report(trace, head, file))
        alone = [element(file, name) for name in ("head", "cells")]
        _, _, head = page(trace, file)
        tap.check("mapped" not in head and "live" in head["metrics"] and "mapped" not in head["metrics"],
                  "without the metric the page is of malloc first", str(head)[:300])
        beside = [element(file, "mapped-" + name) for name in ("head", "cells")]
        first = [{**json.loads(data), "metric": ""} for data in (alone[0], beside[0])]
        tap.check(first[0] == first[1] and alone[1] == beside[1] and json.loads(beside[0])["metric"] == "mapped",
                  "and has what was mapped beside it, the same as alone", "%s" % beside[0][:300])
        os.mkdir(os.path.join(path, "frees"))
        frees, _ = record(os.path.join(path, "frees"), "1", "1", extra={"BYTEPOLL_MAPPED": "on", "BYTEPOLL_FREE_STACKS": "on"})
        status, words, _ = page(frees, file, "--filter", "freed-by=*")
        tap.check(status == 0 and element(file, "mapped-head") is None, "with a filter by what was freed malloc is alone", words)
        page(trace, file, "--metric", "peak", "--filter", "function=site_m*")
        few = json.loads(element(file, "mapped-head"))
        tap.check(few["metric"] == "mapped-peak" and {row["name"] for row in few["functions"]["mapped-ever"]} ==
                  {"site_map", "site_move"}, "by the same metric and filters", str(few["functions"])[:300])
        status, words, _ = page(trace, file, "--metric", "mapped", "--confidence", "0.9")
        tap.check(status == 2 and "is exact" in words, "options of estimates are refused by the page, too", words)
        status, words, _ = page(trace, file, "--metric", "all")
        tap.check(status == 2, "the sum has no page", words)
    with profiled.directory() as path:
        trace, _ = record(path, "1", "1", extra={"BYTEPOLL_MAPPED": "off"})
        file = os.path.join(path, "of_malloc.html")
        page(trace, file)
        tap.check(element(file, "mapped-head") is None, "what was not recorded is not beside malloc")
        status, words, _ = page(trace, os.path.join(path, "page.html"), "--metric", "mapped")
        tap.check(status == 1 and "run --mapped" in words and words.count("\n") == 1 and
                  not os.path.exists(os.path.join(path, "page.html")), "what was not recorded has no page, and one line says why", words)


def compared(base, new):
    """What changed between two programs is the difference of their own records, and so says the table for eyes."""
    for metric, total in (("mapped", "mapped"), ("mapped-peak", "mapped-peak")):
        told_of = [profiled.report(trace, "--metric", metric, "--rows", "100") for trace in (base, new)]
        rows = [{row["name"]: row["bytes"]["estimate"] for row in data["rows"]} for data in told_of]
        result = profiled.run([profiled.BYTEPOLL, "diff", "--metric", metric, "--json", base, new])
        profiled.expect(result.status == 0, "%s" % (result.stderr,))
        data = json.loads(result.stdout)
        found = {row["name"]: row["change"]["bytes"]["estimate"] for row in data["rows"]}
        expected = {name: rows[1].get(name, 0) - rows[0].get(name, 0) for name in {*rows[0], *rows[1]}}
        profiled.expect(data["metric"] == metric and len(found) >= 6 and found == {name: expected[name] for name in found} and
                        all(change == 0 or name in found for name, change in expected.items()), "%s: %s" % (found, expected))
        profiled.expect(data["total"]["change"]["bytes"]["estimate"] ==
                        told_of[1]["totals"][total]["bytes"]["estimate"] - told_of[0]["totals"][total]["bytes"]["estimate"],
                        "%s" % data["total"])
        text = profiled.run([profiled.BYTEPOLL, "diff", "--metric", metric, base, new]).stdout.decode()
        profiled.expect("counted, " in text and " samples" not in text and metric + " by function" in text and
                        "live" not in text and "exit" not in text, text)
        changed = sum(change != 0 for change in found.values())
        profiled.expect("%d of %d rows changed. What is mapped is counted" % (changed, len(data["rows"])) in
                        " ".join(text.split()) and "unclear" not in text and not re.search(r"\bq\b", text), text)
        every = profiled.run([profiled.BYTEPOLL, "diff", "--all", "--metric", metric, base, new]).stdout.decode()
        profiled.expect(len(re.findall(r"(?m)^  same ", every)) == len(data["rows"]) - changed, every)


def compared_where_some_are_lost(base, new):
    """Where records are missing nothing is the same, and nothing is without an error."""
    with open(base, "rb") as file:
        data = bytearray(file.read())
    torn, place = base + ".torn.bpt", len(data.rstrip(b"\0")) * 3 // 4
    data[place:place + 40] = bytes(255 - byte for byte in data[place:place + 40])
    with open(torn, "wb") as file:
        file.write(data)
    done = profiled.run([profiled.BYTEPOLL, "diff", "--all", "--metric", "mapped", torn, new])
    words = " ".join(done.stdout.decode().split())
    profiled.expect(done.status == 0 and "lost" in words and "no error" not in words and " same " not in words and "unclear" in words, done)


def test_diff(tap):
    with profiled.directory() as path:
        traces = []
        for seed in ("1", "2"):
            os.mkdir(os.path.join(path, seed))
            traces.append(record(os.path.join(path, seed), seed, "1")[0])
        tap.attempt("diff", lambda: compared(*traces))
        tap.attempt("diff of what is torn", lambda: compared_where_some_are_lost(*traces))
        os.mkdir(os.path.join(path, "off"))
        off, _ = record(os.path.join(path, "off"), "1", "1", extra={"BYTEPOLL_MAPPED": "off"})
        for words, status, said in ((("diff", "--metric", "mapped", traces[0], off), 1, "run --mapped"),
                                    (("diff", "--metric", "mapped", "--confidence", ".9", *traces), 2, "is exact"),
                                    (("diff", "--metric", "mapped", "--normalize", "total", *traces), 2, "duration or BASE:NEW"),
                                    (("export", "--to", "pprof", "-o", "-", "--metric", "mapped", traces[0]), 2, "choose collapsed"),
                                    (("export", "--to", "csv", "-o", "-", "--metric", "mapped", off), 1, "run --mapped")):
            result = profiled.run([profiled.BYTEPOLL, *words])
            lines = result.stderr.decode().splitlines()
            tap.check(result.status == status and len(lines) == 1 and said in lines[0] and result.stdout == b"",
                      "refused: " + " ".join(words[:5]), "%s" % (result,))


def test_exports(tap):
    """The formats that have a place for it, against the report."""
    with profiled.directory() as path:
        trace, _ = record(path, "1", "1")

        def exported(to, *options):
            return profiled.run([profiled.BYTEPOLL, "export", "--to", to, "-o", "-", "--metric", "mapped", *options, trace]).stdout

        report = profiled.report(trace, "--metric", "mapped", "--rows", "1000")
        rows = {row["name"]: row["bytes"]["estimate"] for row in report["rows"]}
        total = report["totals"]["mapped"]["bytes"]["estimate"]
        lines = [line.rsplit(" ", 1) for line in exported("collapsed").decode().splitlines()]
        sums = {}
        for stack, number in lines:
            site = next(name for name in reversed(stack.split(";")) if name.startswith("site_"))
            sums[site] = sums.get(site, 0) + int(number)
        tap.check(sums == rows and len(rows) >= 6, "export: collapsed", "%s, but %s" % (sums, rows))
        table = [line.split(",") for line in exported("csv").decode().splitlines()[1:]]
        tap.check({row[0].strip('"'): int(row[2]) for row in table} == rows, "export: csv", str(table[:3]))
        data = json.loads(exported("json"))
        tap.check(data["metric"] == "mapped" and data["totals"] == report["totals"], "export: json", str(data["totals"]))
        data = json.loads(exported("speedscope"))
        words = [profile["name"] for profile in data["profiles"]]
        tap.check([sum(profile["weights"]) for profile in data["profiles"]][0] == total and all("mapped" in word for word in words),
                  "export: speedscope", str(words))


def rows_of_text(*command):
    """{site: (figure, samples)} of a table for eyes."""
    text = subprocess.run([profiled.BYTEPOLL, *command], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^ +(site_\w+) +\S+ +([\d.,]+ \w+) .*?(\d+)$", text, re.M)
    profiled.expect(len(found) >= 6, text)
    return {name: (figure, samples) for name, figure, samples in found}, text


def watched(trace):
    """At 80 columns: the head, the metrics in turn, and the help."""
    environment = profiled.environment(extra={"TERM": "xterm-256color"})
    with Terminal([profiled.BYTEPOLL, "live", "--metric", "mapped", trace], environment, 80, 24) as terminal:
        terminal.wait("mappings")
        terminal.wait(", exactly")
        for metric in ("mapped", "mapped-ever", "mapped-peak", "mapped"):
            terminal.wait("\n" + metric + " by function")
            terminal.press("m")
        terminal.press("h")
        terminal.wait("M  what the program mapped itself (run --mapped)\n")


def test_live(tap):
    with profiled.directory() as path:
        trace, _ = record(path, "2", "1")
        for metric in ("mapped", "mapped-peak"):
            live, text = rows_of_text("live", "--once", "--metric", metric, trace)
            report, _ = rows_of_text("report", "--metric", metric, trace)
            tap.check(live == report, "live has the report's rows: " + metric, "%s, report %s" % (live, report))
            tap.check("mappings" in text and "live" not in text and "allocated" not in text,
                      "and no word of malloc: " + metric, text)
        tap.attempt("live on a terminal", lambda: watched(trace))
    with profiled.directory() as path:
        trace, _ = record(path, "2", "1", extra={"BYTEPOLL_MAPPED": "off"})
        result = subprocess.run([profiled.BYTEPOLL, "live", "--once", "--metric", "mapped", trace], capture_output=True, text=True,
                                check=False)
        tap.check(result.returncode == 1 and "run --mapped" in result.stderr and result.stderr.count("\n") == 1,
                  "live says that nothing was recorded", result.stderr)


def verdict(trace, limit):
    result = subprocess.run([profiled.BYTEPOLL, "check", "--json", "--limit", limit, trace], capture_output=True,
                            check=False)
    found = json.loads(result.stdout)["limits"][0]
    return result.returncode, found["verdict"], found["reason"]


def has_verdict(tap, what, expected, trace, limit):
    found = verdict(trace, limit)
    tap.check(found == expected, "check: " + what, "%s: %s" % (limit, found))


def test_limits(tap):
    """Exact at the byte; undecided where nothing was recorded, and where calls were lost."""
    with profiled.directory() as path:
        trace, _ = record(path, "5", "1")
        for metric in ("mapped", "mapped-peak"):
            bytes_ = profiled.report(trace, "--metric", metric)["totals"][metric]["bytes"]["estimate"]
            has_verdict(tap, "the last byte", (0, "within", None), trace, "%s=%d" % (metric, bytes_))
            has_verdict(tap, "one byte less", (1, "exceeded", None), trace, "%s=%d" % (metric, bytes_ - 1))
    with profiled.directory() as path:
        trace, _ = record(path, "storm", str(STORM))
        has_verdict(tap, "calls were lost", (3, "undecided", "samples-lost"), trace, "mapped=1G")
    with profiled.directory() as path:
        trace, _ = record(path, "1", "1", extra={"BYTEPOLL_MAPPED": "off"})
        has_verdict(tap, "nothing was recorded", (3, "undecided", "no-mappings"), trace, "mapped=1G")


def main():
    tap = profiled.Tap()
    for test in (test_truth, test_threads, test_bound, test_first_piece, test_limits, test_off, test_page, test_diff, test_exports, test_live):
        test(tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
