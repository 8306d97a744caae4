#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll html`: the page's data against docs/page-format.md, and its figures against `report --json`.

A page is decoded by a reader of its own (here, and for figures page_figures.js, which runs the page's
WebAssembly under node): columns and numbers within bounds, sums of cells by function equal to the
report's samples, and estimates, limits and exactness of the same selections equal to 1e-9: live, peak,
allocated, temporary, live at edges, windows, with filters, usable sizes and both laws. Names of a hostile
profile must not be found in the page as they are.

Usage: test_html.py TRACES (the folder of tests/data/trace)
"""
import base64
import gzip
import hashlib
import json
import os
import pty
import random
import re
import shutil
import stat
import struct
import subprocess
import sys

import profiled

sys.path.insert(0, sys.argv[1])
import make_traces  # noqa: E402
import trace_builder as build  # noqa: E402

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
POLICY = ("default-src 'none'; script-src 'sha256-%s' 'wasm-unsafe-eval'; "
          "style-src 'unsafe-inline'; img-src data:")
HOSTILE = ("</script><script>alert(1)</script>", "\"'><img src=x onerror=alert(2)>", "\u202egnp.exe",
           "bell\x07\x1b[31mred", "`${alert(3)}`", "&lt;b&gt;")
SUMS = 16
figures_seen = 0  # that were compared
figures_of_whole_runs = 0  # of these; how many rows a window in time has depends on how fast the program ran


def html(*arguments):
    return profiled.run([profiled.BYTEPOLL, "html", *arguments])


def write(path, *arguments):
    result = html("-o", path, *arguments)
    profiled.expect(result.status == 0, "status %s: %s" % (result.status, result.stderr[:300]))
    with open(path, "rb") as file:
        return file.read()


def element(page, name):
    found = re.findall(rb'<script type="text/plain" id="%s">([A-Za-z0-9+/=]*)</script>' % name.encode(), page)
    profiled.expect(len(found) == 1, "%d elements %s" % (len(found), name))
    return gzip.decompress(base64.b64decode(found[0]))


def columns(data):
    """{column: values}, the records as a list of columns."""
    magic, rows, records, zero = struct.unpack_from("<4sIII", data)
    profiled.expect(magic == b"BPC2" and zero == 0, "header %r" % data[:16])
    at, result = 16, {}
    for name, code in (("stack", "I"), ("record", "I"), ("thread", "H"), ("type", "H"), ("size", "B"),
                       ("made", "B"), ("freed", "B"), ("flags", "B"), ("number", "B")):
        at += -at % 8
        result[name] = struct.unpack_from("<%d%s" % (rows, code), data, at)
        at += struct.calcsize(code) * rows
    at += -at % 8
    result["sums"] = [struct.unpack_from("<%dd" % records, data, at + 8 * records * i) for i in range(SUMS)]
    profiled.expect(at + 8 * records * SUMS == len(data), "%d bytes are left over" % (len(data) - at))
    return result


def stacks_of(head, ends=None):
    """Lists of frames, innermost first."""
    frame, back = head["tree"]
    result = []
    for node in head["stacks"] if ends is None else ends:
        stack = []
        while node > 0:
            stack.append(frame[node - 1])
            node -= back[node - 1]
        result.append(stack)
    return result


def check_tree(head):
    """Callers before what they call, no two nodes of one place, and none that is in no stack."""
    frame, back = head["tree"]
    profiled.expect(len(frame) == len(back), "a frame for each node")
    profiled.expect(all(1 <= b <= n for n, b in enumerate(back, 1)), "callers stand before")
    callers = [n - b for n, b in enumerate(back, 1)]
    profiled.expect(len(set(zip(callers, frame))) == len(frame), "nodes differ")
    profiled.expect(set(range(1, len(frame) + 1)) <= set(callers) | set(head["stacks"]), "every node is of a stack")
    profiled.expect(all(0 <= node <= len(frame) for node in head["stacks"]), "ends of stacks")


def check_numbers(head, cells):
    """Every number is of something that is there."""
    check_tree(head)
    frames, stacks, bins = head["frames"], stacks_of(head), len(head["edges_s"]) - 1
    for key, limit in (("stack", len(stacks)), ("record", len(cells["sums"][0])), ("type", len(head["types"])),
                       ("thread", len(head["threads"])), ("made", bins + 1), ("number", 17), ("flags", 4)):
        profiled.expect(all(value < limit for value in cells[key]), key + " out of bounds")
    profiled.expect(all(value < bins or value == 255 for value in cells["freed"]), "freed out of bounds")
    profiled.expect(all(max(frame[0], frame[1], frame[3]) < len(head["names"]) for frame in frames), "names")
    profiled.expect(all(number < len(frames) for stack in stacks for number in stack), "frames")
    profiled.expect(all(at < max(len(stack), 1) for at, stack in zip(head["attribution"], stacks)),
                    "attribution")
    profiled.expect(len(head["attribution"]) == len(stacks), "attribution of all stacks")
    profiled.expect(all(a < b for a, b in zip(head["edges_s"], head["edges_s"][1:])) or bins == 1, "edges")
    windows = head["calibration"]["windows"]
    profiled.expect(len(windows) == (bins * (bins + 1) // 2 if bins > 1 else 0), "windows")
    outside = head["calibration"]["outside"]
    profiled.expect((outside is None) == (not head["filters"]), "outside")
    # The page copies each of them into room for so many numbers.
    profiled.expect({len(record) for record in outside or []} <= {SUMS},
                    "records of what is left out")


def charged(head, stack):
    frames = stacks_of(head, [head["stacks"][stack]])[0]
    if not frames:
        return "(no stack recorded)"
    return head["names"][head["frames"][frames[head["attribution"][stack]]][0]] or "(no name)"


def check_samples(trace, options, head, cells):
    """Samples by function, of all that was allocated and of all that was live at exit."""
    last = len(head["edges_s"]) - 1
    for metric in set(head["metrics"]) & {"allocated", "live"}:
        mine = {}
        for i, stack in enumerate(cells["stack"]):
            if metric == "live" and not (cells["made"][i] < last and cells["freed"][i] >= last):
                continue
            name = charged(head, stack)
            mine[name] = mine.get(name, 0) + int(cells["sums"][0][cells["record"][i]])
        report = profiled.report(trace, "--metric", metric, *options)
        theirs = {row["name"]: row["samples"] for row in report["rows"]}
        profiled.expect(mine == theirs, "%s: %s instead of %s" % (metric, mine, theirs))
        moment = report["totals"].get("peak", {}).pop("at", None)
        named = head["peak_moment"]
        profiled.expect((moment is None) == (named is None), "one of them names a moment")
        profiled.expect(moment is None or (moment["bytes"], moment["objects"]) == (
            named["bytes"], named["objects"]), "what was live at the named moment differs")
        profiled.expect(report["totals"] == {key: head["totals"].get(key, value)
                                             for key, value in report["totals"].items()}, "totals differ")
        for given, row in zip(head["functions"][metric], report["rows"]):
            profiled.expect(all(given[key] == row[key] for key in ("name", "samples", "bytes", "objects")),
                            "function %s of the head" % row["name"])


def requests(head, count):
    """Selections, and the options of report that ask for the same."""
    edges, bins = head["edges_s"], len(head["edges_s"]) - 1
    draw = random.Random(7)
    for metric in head["metrics"]:
        yield {"metric": metric, "by": "function"}, ["--metric", metric]
    if bins == 1 or edges[-1] > 1e6:
        return
    if "live" in head["metrics"]:
        for edge in draw.sample(range(1, bins), count):
            yield ({"metric": "live", "edge": edge, "by": "function"},
                   ["--metric", "live", "--at", "%.9f" % edges[edge]])
    for metric in sorted(set(head["metrics"]) & {"allocated", "temporary"}):
        for _ in range(count):
            start = draw.randrange(bins)
            end = draw.randrange(start + 1, bins + 1)
            options = ["--metric", metric, "--from", "%.9f" % edges[start]]
            if end < bins:
                options += ["--to", "%.9f" % edges[end]]
            yield {"metric": metric, "window": [start, end], "by": "function"}, options
            yield {"metric": metric, "window": [start, end], "by": "all"}, options


def near(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))


def flat(row):
    return [row["samples"]] + [value for key in ("bytes", "objects") for value in (
        row[key]["estimate"], row[key]["low"], row[key]["high"], int(row[key].get("exact", False)))]


def compare_figures(trace, path, options, head, count):
    global figures_seen, figures_of_whole_runs
    asked = list(requests(head, count))
    result = profiled.run(["node", os.path.join(SOURCE, "tests/scenario/page_figures.js"), path],
                          stdin=json.dumps([request for request, _ in asked]).encode())
    profiled.expect(result.status == 0, result.stderr.decode()[:500])
    for (request, words), mine in zip(asked, json.loads(result.stdout)):
        report = profiled.report(trace, *words, *options)
        theirs = {row["name"]: flat(row) for row in report["rows"]}
        if request["by"] == "all":
            # With a filter the total is part of what was counted, which rows tell.
            if head["filters"] or not mine:
                continue
            theirs = {"all": flat(report["totals"][request["metric"]])}
        if request["metric"] == "peak":  # a function may have samples in the other half alone
            mine = {name: figures for name, figures in mine.items() if name in theirs}
        profiled.expect(set(mine) == set(theirs), "%s: rows %s" % (request, set(mine) ^ set(theirs)))
        for name, figures in theirs.items():
            profiled.expect(None not in figures and all(map(near, mine[name], figures)),
                            "%s %s: %s, report has %s" % (request, name, mine[name], figures))
            figures_seen += 1
            figures_of_whole_runs += "edge" not in request and "window" not in request


def check_page(trace, directory, options=(), count=3):
    path = os.path.join(directory, "page.html")
    page = write(path, "--force", *options, trace)
    script = re.findall(rb"<script>(.*?)</script>", page, re.S)
    profiled.expect(len(script) == 1, "%d scripts that run" % len(script))
    policy = POLICY % base64.b64encode(hashlib.sha256(script[0]).digest()).decode()
    profiled.expect(page.count(b'http-equiv="Content-Security-Policy" content="%s"' % policy.encode()) == 1,
                    "policy")
    profiled.expect(len(page) < 5_000_000, "%d bytes" % len(page))
    profiled.expect(page == write(path, "--force", *options, trace), "two pages of one trace differ")
    head, cells = json.loads(element(page, "bytepoll-head")), columns(element(page, "bytepoll-cells"))
    profiled.expect(head["schema"] == "bytepoll-page-2", "schema")
    check_numbers(head, cells)
    check_samples(trace, options, head, cells)
    compare_figures(trace, path, options, head, count)
    return head, cells


def record(directory, script, interval, law=None, name="run.bpt"):
    trace = os.path.join(directory, name)
    result = profiled.run(["/usr/bin/python3", "-c", script], trace, interval, seed=3, law=law,
                          extra={"PYTHONMALLOC": "malloc"})
    profiled.expect(result.status == 0, result.stderr.decode()[:300])
    return trace


BUSY = """
import threading
def make(n):
    kept = []
    for i in range(3000):
        kept.append({"key": str(i * n), "value": [i] * (i % 50)})
        if i % 700 == 0:
            kept = kept[::2]
    big = [bytes(i * 137 % 40000) for i in range(300)]
    return kept, big
threads = [threading.Thread(target=make, args=(n,)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
kept = make(9)
"""


def many_small(directory):
    """So many tiny objects, none of them sampled, that their count says what the smallest size is."""
    code, program = os.path.join(directory, "small.c"), os.path.join(directory, "small")
    trace = os.path.join(directory, "sparse.bpt")
    with open(code, "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\nint main(void)\n{\n\tfor (int i = 0; i < 300000; i++)\n"
                   "\t\t*(char volatile *)malloc(i % 100 ? 1 : 20000) = 1;\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-O0", code, "-o", program], check=True, timeout=60)
    profiled.expect(profiled.run([program], trace, 4_000_000, seed=5).status == 0, "the program failed")
    return trace


def real_programs(tap, directory):
    exact = record(directory, BUSY, 4096)
    trial = record(directory, BUSY, 4096, law="bernoulli", name="trial.bpt")
    sparse = many_small(directory)
    for name, trace, options in (("exact law", exact, []), ("few samples of many objects", sparse, []), ("law bernoulli", trial, []),
                                 ("a filter", exact, ["--filter", "size=100..2K"]),
                                 ("a filter, law bernoulli", trial, ["--filter", "size=1K..30K"]),
                                 ("usable sizes", exact, ["--bytes", "usable"]),
                                 ("another confidence", exact, ["--confidence", "0.6"]),
                                 ("a smallest size", exact, ["--min-size", "1"])):
        tap.attempt("figures of a program: " + name, lambda: check_page(trace, directory, options))


def synthetic(tap, directory, traces):
    for name in sorted(os.listdir(traces)):
        if name.endswith(".bpt") and not name.startswith("bad_") and not name.startswith("folded"):
            tap.attempt("page of " + name, lambda: check_page(os.path.join(traces, name), directory))
    tap.attempt("what one place frees", lambda: check_page(os.path.join(traces, "free_stacks.bpt"), directory,
                                                           ["--filter", "freed-by=sweep"]))
    for name in sorted(os.listdir(traces)):
        if name.startswith("bad_"):
            result = html("-o", os.path.join(directory, "bad.html"), os.path.join(traces, name))
            tap.check(result.status == 1 and result.stderr.startswith(b"bytepoll: ") and
                      result.stderr.count(b"\n") == 1 and not os.path.exists(directory + "/bad.html"),
                      "no page of " + name, result.stderr[:200])


def hostile_trace(path, name):
    chunk = build.Chunk(base_time=1000, interval=64)
    chunk.thread_begin(1, 100, 1001, name)
    chunk.module(1, 0x400000, 0x480000, 0x400000, b"/tmp/" + name)
    chunk.stack(1, [0x401000, 0x402000])
    chunk.sample(1, 2000, 100, stack=1, trials=5000, objects=40, offset=7)
    chunk.thread_end(1, 100, 3000, 30000, 100, name=name)
    state = build.state(ended=1, reason=1, end_time=3_000_000, trials=30000, objects=100, last_sequence=1,
                        samples=1)
    with open(path, "wb") as file:
        file.write(build.trace(build.header(interval=64, program=b"/bin/" + name, command_line=name), state,
                               chunks=[chunk.bytes(1)]))


def hostile(directory):
    trace, path = os.path.join(directory, "hostile.bpt"), os.path.join(directory, "hostile.html")
    plain = None
    for name in [text.encode() for text in HOSTILE] + [b"\xff\xfe\x80<script>", b"x" * 1500 + b"<b>"]:
        hostile_trace(trace, name)
        page = write(path, "--force", trace)
        outside = re.sub(rb'(<script type="text/plain" id="bytepoll-(?:head|cells)">)[A-Za-z0-9+/=]*', rb"\1",
                         page)
        profiled.expect(plain is None or outside == plain, "%r changed what is no data" % name)
        plain = outside
        text = element(page, "bytepoll-head").decode("utf-8")  # valid, or this raises
        head = json.loads(text)
        profiled.expect(head["command_line"] == name.decode(errors="replace"), head["command_line"])
        profiled.expect(not re.search("[\x00-\x09\x0b-\x1f]", text), "control characters in the head")


def default_name(directory):
    """A program's name does not choose where the page goes."""
    trace = os.path.join(directory, "hostile.bpt")
    for name in (b"..", b"a\x1b[31m b\xff", b"", b"."):
        hostile_trace(trace, name)
        before = set(os.listdir(directory))
        result = profiled.run([profiled.BYTEPOLL, "html", trace], cwd=directory)
        made = set(os.listdir(directory)) - before
        profiled.expect(result.status == 0 and len(made) == 1, "%s %r %r" % (result.status, made, result.stderr))
        profiled.expect(all(re.fullmatch(r"bytepoll\.[\w+-][\w.+-]*\.html", file) for file in made), made)
        os.unlink(os.path.join(directory, made.pop()))


def files(directory, traces):
    trace, path = os.path.join(traces, "simple.bpt"), os.path.join(directory, "out.html")
    page = write(path, trace)
    profiled.expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "mode")
    result = html("-o", path, trace)
    profiled.expect(result.status == 1 and b"exists" in result.stderr, "replaced without --force")
    with open(path, "wb") as file:
        file.write(b"mine")
    profiled.expect(html("-o", path, trace).status == 1 and open(path, "rb").read() == b"mine", "touched")
    profiled.expect(write(path, "--force", trace) == page, "not replaced by --force")
    profiled.expect(html("-o", "-", trace).stdout == page, "standard output")
    for wrong in (directory, os.path.join(directory, "none", "x.html"), "/dev/full", ""):
        result = html("--force", "-o", wrong, trace)
        profiled.expect(result.status == 1 and result.stderr.count(b"\n") == 1, "%s: %r" % (wrong, result))
    for options in (["--metric", "x"], ["--confidence", "2"], ["--nonsense"], ["--filter", "x=y"], ["--pid", "0"]):
        profiled.expect(html(*options, trace).status == 2, options)
    profiled.expect(html().status == 2, "no file")
    profiled.expect([name for name in os.listdir(directory) if name.startswith("out.html")] == ["out.html"],
                    "something is left beside the page")


def terminal(traces):
    """No page is poured into a terminal."""
    main, other = pty.openpty()
    result = subprocess.run([profiled.BYTEPOLL, "html", "-o", "-", os.path.join(traces, "simple.bpt")],
                            stdin=subprocess.DEVNULL, stdout=other, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(other)
    profiled.expect(result.returncode == 1 and b"terminal" in result.stderr, result.stderr)
    os.close(main)


def comparison(directory, traces):
    path = os.path.join(directory, "diff.html")
    sides = [os.path.join(traces, "simple.bpt"), os.path.join(traces, "random_records.bpt")]
    words = [profiled.BYTEPOLL, "diff", "--metric", "allocated", *sides]
    expected = profiled.run(words + ["--json"]).stdout
    result = profiled.run(words + ["--html", path])
    profiled.expect(result.status == 0, result.stderr)
    with open(path, "rb") as file:
        page = file.read()
    profiled.expect(element(page, "bytepoll-diff") == expected, "another JSON than --json")
    profiled.expect(b'id="bytepoll-head"' not in page.split(b'<script>')[0], "a profile in it")
    profiled.expect(profiled.run(words + ["--html", path]).status == 1, "replaced without --force")
    profiled.expect(profiled.run(words + ["--html", path, "--force"]).status == 0, "--force")
    profiled.expect(profiled.run(words + ["--html", path, "--json"]).status == 2, "--json with --html")


def sources(directory):
    """Lines of source, only if asked for, and not of a file that is newer than the program."""
    code, program = os.path.join(directory, "code.c"), os.path.join(directory, "code")
    trace, path = os.path.join(directory, "code.bpt"), os.path.join(directory, "code.html")
    with open(code, "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\nvoid *kept[900];\nint main(void)\n{\n\tfor (int i = 0; i < 900; i++)\n"
                   "\t\tkept[i] = malloc(999); /* <script> */\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-g", "-O0", code, "-o", program], check=True, timeout=60)
    profiled.expect(profiled.run([program], trace, 64).status == 0, "the program failed")
    profiled.expect(json.loads(element(write(path, trace), "bytepoll-head"))["sources"] is None, "unasked")
    wanted = {"6": "\t\tkept[i] = malloc(999); /* <script> */"}
    found = json.loads(element(write(path, "--force", "--embed-source", trace), "bytepoll-head"))["sources"]
    profiled.expect(found.get(code) == wanted, found)
    built = os.stat(program).st_mtime_ns
    if profiled.is_root():
        os.chown(program, 12345, -1)
        found = json.loads(element(write(path, "--force", "--embed-source", trace), "bytepoll-head"))["sources"]
        profiled.expect(code not in found, "the debug information of another user's program is believed")
        os.chown(program, 0, -1)
    os.utime(program, ns=(built + 10 ** 9,) * 2)
    found = json.loads(element(write(path, "--force", "--embed-source", trace), "bytepoll-head"))["sources"]
    profiled.expect(code not in found, "the profile's word for the time of a program is taken")
    os.utime(program, ns=(built,) * 2)
    os.utime(code, (os.stat(program).st_mtime + 9,) * 2)
    found = json.loads(element(write(path, "--force", "--embed-source", trace), "bytepoll-head"))["sources"]
    profiled.expect(code not in found, "a newer file is told")


def lines(shown, trace):
    """Every number and name of both looks as in report --resident."""
    for moment, metric in (("highest", "peak"), ("last", "live")):
        told = profiled.report(trace, "--resident", "--metric", metric)["resident"]
        look = shown[moment]
        profiled.expect(shown["pid"] == told["pid"] and near(look["at_s"], told["at"]), "another look")
        for key in ("total_bytes", "resident_bytes", "page_table_bytes", "swapped_bytes", "heap_walked", "lines", "unexplained"):
            profiled.expect(look[key] == told[key], "%s, %s: %s, report %s" % (moment, key, look[key], told[key]))
    profiled.expect(shown["highest"]["total_bytes"] > shown["last"]["total_bytes"] + 20_000_000, "the looks are the same")


def resident(directory):
    """Resident memory is taken apart as in the report; warnings name switches of the page, no options."""
    trace, path = os.path.join(directory, "seen.bpt"), os.path.join(directory, "seen.html")
    script = "import time; kept = [bytearray(b'x') * 100000 for _ in range(300)]; time.sleep(%g); del kept; time.sleep(%g)"
    for longer in (1, 3, 9):  # on a busy machine the last look may be early
        result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--force", "--interval", "65536", "-o", trace, "--",
                               "/usr/bin/python3", "-c", script % (longer * 0.4, longer * 0.7)])
        profiled.expect(result.status == 0, result.stderr.decode()[:300])
        looks = [profiled.report(trace, "--resident", "--metric", metric)["resident"]["total_bytes"] for metric in ("peak", "live")]
        if looks[0] > looks[1] + 20_000_000:
            break
    head = json.loads(element(write(path, trace), "bytepoll-head"))
    told = profiled.report(trace)["resident"]
    profiled.expect(head["resident_pid"] == told["pid"] == head["pid"], "the process")
    profiled.expect(head["resident_most"] == [told["peak"]["low"], told["peak"]["high"]], "the most ever")
    for moment in ("highest", "last"):
        mine, theirs = head["resident_parts"][moment], told[moment]
        for key in ("resident", "file", "shared", "swapped", "recorder_most", "stack_most", "live"):
            profiled.expect(mine[key] == theirs[key], "%s: %s, report %s" % (key, mine[key], theirs[key]))
        profiled.expect(near(mine["at_s"], theirs["at"]), "another moment")
        profiled.expect(all(map(near, mine["rest"], [theirs["rest"][key] for key in ("low", "high")])),
                        "rest: %s, report %s" % (mine["rest"], theirs["rest"]))
        profiled.expect([mine["at_s"], mine["resident"]] in head["resident"], "a moment of none of the looks")
    profiled.expect(told["highest"]["resident"] > 30_000_000, "nothing was seen of 30 MB")
    kinds = profiled.report(trace, "--timeline", "--metric", "live")["resident"]["points"]
    profiled.expect(head["resident_kinds"] == [[point[kind] for kind in ("anonymous", "file", "shared", "swapped")] for point in kinds],
                    "kinds of resident memory")
    profiled.expect([sum(look[:3]) for look in head["resident_kinds"]] == [look[1] for look in head["resident"]], "their sums")
    lines(head["resident_lines"], trace)
    filtered = json.loads(element(write(path, "--force", "--filter", "module=libc*", trace), "bytepoll-head"))
    profiled.expect("resident_lines" not in filtered, "lines of all memory beside what is filtered")
    profiled.expect(head["metric"] == "peak", "the page begins with " + head["metric"])
    # What is live at exit lies in functions of the interpreter that have no name.
    warnings = json.loads(element(write(path, "--force", "--metric", "live", trace), "bytepoll-head"))["warnings"]
    profiled.expect(any("anew by bytepoll html --debuginfod" in text for text in warnings), warnings)
    profiled.expect(not any("or pass --" in text for text in warnings), warnings)
    os.unlink(trace + ".mappings")
    head = json.loads(element(write(path, "--force", trace), "bytepoll-head"))
    profiled.expect("resident_lines" not in head and head["resident"], "lines of nothing")
    os.unlink(trace + ".resident")
    head = json.loads(element(write(path, "--force", trace), "bytepoll-head"))
    profiled.expect(head["resident"] is None and "resident_parts" not in head and "resident_kinds" not in head, "of nothing")


def exports(path):
    """What a WebAssembly module gives to the page and wants of it, as text."""
    result = profiled.run(["node", "-e", """
        const module = new WebAssembly.Module(require("fs").readFileSync(process.argv[1]));
        for (const each of WebAssembly.Module.exports(module)) console.log(each.kind, each.name);
        for (const each of WebAssembly.Module.imports(module)) console.log("wants", each.module, each.name);
        """, path])
    profiled.expect(result.status == 0, result.stderr.decode()[-500:])
    return sorted(result.stdout.decode().splitlines())


def rebuilt(tap, directory):
    """web/estimate/build makes the bytes that are committed. Another clang than theirs makes other bytes:
    there the source must still compile, and export what the page calls."""
    path = os.path.join(directory, "estimate.wasm")
    theirs = os.path.join(SOURCE, "web/dist/estimate.wasm")
    same_compiler = shutil.which("clang-14") is not None

    def build():
        result = profiled.run([os.path.join(SOURCE, "web/estimate/build"), path],
                              extra={} if same_compiler else {"WASM_CLANG": "clang"})
        profiled.expect(result.status == 0, result.stderr.decode()[-500:])
        mine, wanted = exports(path), exports(theirs)
        profiled.expect(mine == wanted and mine, "%s, not %s" % (mine, wanted))

    def compare():
        with open(path, "rb") as mine, open(theirs, "rb") as committed:
            profiled.expect(mine.read() == committed.read(),
                            "web/dist/estimate.wasm is not what web/estimate/build makes")

    tap.attempt("the WebAssembly's source compiles, with the same exports", build)
    if same_compiler:
        tap.attempt("the WebAssembly is what its source makes", compare)
    else:
        tap.skip("the WebAssembly is what its source makes", "made by clang 14, which this system does not have")


def main():
    tap = profiled.Tap()
    if sys.argv[2:] == ["programs"]:
        with profiled.directory() as directory:
            real_programs(tap, directory)
            tap.check(figures_of_whole_runs > 800, "figures of programs were compared", figures_of_whole_runs)
        return tap.finish()
    with profiled.directory() as directory:
        traces = os.path.join(directory, "traces")
        subprocess.run([sys.executable, make_traces.__file__, traces], check=True, stdout=subprocess.DEVNULL)
        for name in ("wasm-ld", "clang", "node"):
            tap.check(shutil.which(name), name + " is there (scripts/install-deps)")
        rebuilt(tap, directory)
        synthetic(tap, directory, traces)
        tap.check(figures_seen > 900, "figures of made traces were compared", figures_seen)
        tap.attempt("hostile names stay data", lambda: hostile(directory))
        tap.attempt("default names are plain", lambda: default_name(directory))
        tap.attempt("files: nothing is replaced or left behind", lambda: files(directory, traces))
        tap.attempt("no page for a terminal", lambda: terminal(traces))
        tap.attempt("a comparison as a page", lambda: comparison(directory, traces))
        tap.attempt("lines of source, if asked for", lambda: sources(directory))
        tap.attempt("resident memory as in the report", lambda: resident(directory))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
