#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/duktape: a second scripting runtime whose memory is sampled by bytepoll/host.h, against a count of what
Duktape asks for and against what the script is written to do.

At T = 1 every object is a sample, and every figure must be right to the byte. The live figure at a larger T is judged
once, at a recorded seed, by an interval of 1 - 1e-6.
"""
import json
import os
import re
import signal
import subprocess
import sys

import profiled

PROGRAM = os.path.join(profiled.BUILD, "examples/duktape/bytepoll-duk")
FUNCTIONS = 60

# What a script may do to its call stack and heap, each part once.
BUSY = """
var kept = [], failed = 0;
function pair(x) {
	return [x,
		x + 1];
}
function mapped(x) {
	var made = pair(x);
	return made;
}
function coroutine(value) {
	var more = pair(value);
	Duktape.Thread.yield(more);
	var other = pair(value);
	return other;
}
function node(i) { return { name: "node " + i, next: null }; }
function deep(n) { var made = n > 0 ? deep(n - 1) : pair(n); return made; }
labels({ tenant: "one" });
for (var i = 0; i < 3000; i++)
	kept.push(node(i));
labels({ tenant: "two", request: 7 });
print([1, 2].map(mapped).join(";"));
var other = new Duktape.Thread(coroutine);
Duktape.Thread.resume(other, 1);
Duktape.Thread.resume(other, 2);
deep(700);
for (var i = 0; i < 20; i++)
	try { if (i % 2) throw new TypeError("no"); else undefined.x; } catch (error) { failed++; }
labels({});
kept.length = 1500;
Duktape.gc();
print(kept.length, failed, JSON.stringify(kept[7]));
"""


def write(path, name, text):
    with open(os.path.join(path, name), "w", encoding="utf-8") as file:
        file.write(text)
    return name


def run(path, trace, *words, **settings):
    extra = {"BYTEPOLL_" + name.upper(): value for name, value in settings.items()}
    return profiled.run([PROGRAM, *words], cwd=path, extra={"BYTEPOLL_HOST_OUTPUT": trace, **extra})


def truth_of(result, status=0):
    profiled.expect(result.status == status, str(result))
    return json.loads(result.stdout.decode().splitlines()[-1])


def figure(data, metric, unit):
    return data["totals"][metric][unit]["estimate"]


def rows(trace, by, metric="allocated", unit="objects"):
    data = profiled.report(trace, "--by", by, "--metric", metric, "--rows", "100000")
    return {row["name"]: row[unit]["estimate"] for row in data["rows"]}


def stacks(trace):
    """[function, line] of each frame, innermost first, for every stack."""
    data = profiled.report(trace, "--by", "stack", "--metric", "allocated", "--rows", "100000")
    return [[(frame["function"], frame["line"]) for frame in row["stack"]] for row in data["rows"]]


def totals():
    """T = 1, three scripts in threads: to the byte what Duktape asked for, and what it uses at the end"""
    with profiled.directory() as path:
        trace = os.path.join(path, "all.bpt")
        names = [write(path, "busy%d.js" % number, BUSY) for number in range(3)]
        result = run(path, trace, "-c", *names, interval="1")
        truth = truth_of(result)
        data = profiled.report(trace)
        usable = profiled.report(trace, "--bytes", "usable", "--metric", "live")
        profiled.expect(figure(data, "allocated", "bytes") == truth["bytes"] and
                        figure(data, "allocated", "objects") == truth["objects"] == data["samples"], str((data["totals"], truth)))
        profiled.expect(figure(usable, "live", "bytes") == truth["used"], str((usable["totals"]["live"], truth)))
        profiled.expect(profiled.lost(data) == 0 and not data["warnings"], str((data["losses"], data["warnings"])))
        by_thread = rows(trace, "thread")
        profiled.expect({name.split(" (")[0] for name in by_thread} == set(names) and
                        len(set(by_thread.values())) == 1, str(by_thread))
        for by in ("function", "line", "stack", "label:tenant"):
            profiled.expect(by == "stack" or sum(rows(trace, by, unit="bytes").values()) == truth["bytes"], by)
        labels = rows(trace, "label:tenant")
        profiled.expect(set(labels) == {"one", "two", "(no such label)"} and labels["one"] >= 3 * 2 * 3000, str(labels))
        plain = run(path, os.path.join(path, "missing/none.bpt"), "-c", *names, interval="1")
        without = truth_of(plain)
        # (What malloc makes of a size depends on what was free beside it.)
        profiled.expect((without["bytes"], without["objects"]) == (truth["bytes"], truth["objects"]) and
                        sorted(plain.stdout.splitlines()[:-1]) == sorted(result.stdout.splitlines()[:-1]),
                        "the scripts do the same without a trace: %s, %s" % (plain, result))


def lines():
    """T = 1: each line of a script has the objects that it makes, in its function"""
    text = "".join("function f%d(n) {\n\tvar x, i;\n\tfor (i = 0; i < n; i++) {\n\n\t\tx = [n,\n\t\t\ti];\n\t}\n}\n" % number
                   for number in range(FUNCTIONS))
    text += "function first() { for (;;) break; }\nfirst();\n"  # Duktape keeps the memory of calls and loops
    text += "".join("f%d(%d);\n" % (number, 1 + number * 7 % 50) for number in range(FUNCTIONS))
    with profiled.directory() as path:
        trace = os.path.join(path, "lines.bpt")
        truth_of(run(path, trace, "-c", write(path, "lines.js", text), interval="1"))
        by_line, by_function = rows(trace, "line"), rows(trace, "function")
        for number in range(FUNCTIONS):
            objects = 2 * (1 + number * 7 % 50)  # an array and its elements
            line, function = by_line.get("lines.js:%d" % (8 * number + 5)), by_function.get("f%d" % number)
            profiled.expect(line == objects == function, "f%d: %s by line, %s by function of %d" % (
                number, line, function, objects))


def callers():
    """callers: functions in C, coroutines behind those that resumed them, what is deeper than 512"""
    with profiled.directory() as path:
        trace = os.path.join(path, "callers.bpt")
        truth_of(run(path, trace, "-c", write(path, "busy.js", BUSY), interval="1"))
        line = {text: number for number, text in enumerate(BUSY.split("\n"), 1)}
        found = stacks(trace)
        pair = ("pair", line["\treturn [x,"])
        call = ("global", line["print([1, 2].map(mapped).join(\";\"));"])
        profiled.expect([pair, ("mapped", line["\tvar made = pair(x);"]), ("map", 0), call] in found, str(found[:50]))
        resumed = ("global", line["Duktape.Thread.resume(other, 1);"])
        profiled.expect([pair, ("coroutine", line["\tvar more = pair(value);"]), ("resume", 0), resumed] in found, "coroutine")
        resumed = ("global", line["Duktape.Thread.resume(other, 2);"])
        profiled.expect([pair, ("coroutine", line["\tvar other = pair(value);"]), ("resume", 0), resumed] in found, "again")
        deepest = [frames for frames in found if frames[0] == pair and frames[1][0] == "deep"]
        profiled.expect(deepest and all(len(frames) == 512 for frames in deepest), str([len(f) for f in deepest]))
        shown = profiled.run([profiled.BYTEPOLL, "report", trace, "--by", "stack", "--metric", "allocated", "--rows", "500"])
        text = shown.stdout.decode()
        profiled.expect("(compile)  busy.js\n" in text and not re.search(r":0$", text, re.MULTILINE),
                        "a file without a line is shown as that: %s" % text[:2000])


def sampled():
    """T = 512: the total is exact, and what lives is in its interval"""
    with profiled.directory() as path:
        trace = os.path.join(path, "some.bpt")
        truth = truth_of(run(path, trace, "-c", write(path, "busy.js", BUSY), interval="512", seed="11"))
        data = profiled.report(trace, "--confidence", "0.999999")
        live = profiled.report(trace, "--confidence", "0.999999", "--bytes", "usable")["totals"]["live"]["bytes"]
        profiled.expect(figure(data, "allocated", "bytes") == truth["bytes"] and data["totals"]["allocated"]["bytes"]["exact"] and
                        figure(data, "allocated", "objects") == truth["objects"], str((data["totals"], truth)))
        profiled.expect(50 < data["samples"] < truth["objects"] and
                        live["low"] <= truth["used"] <= live["high"] < 3 * live["low"], str((live, truth)))


def refused_memory():
    """a resize that fails leaves its object alive, in the heap and in the trace"""
    text = ("var kept = [], failed = 0;\n"
            "function grow() {\n\tvar list = [];\n\tkept.push(list);\n\ttry {\n\t\tfor (;;) list.push(0.5);\n"
            "\t} catch (error) { failed++; }\n}\n"
            # Duktape resizes the stack of values in place, and copies properties by itself.
            "function deep(n) {\n\tvar a = n, b = n, c = n, d = n, e = n;\n\treturn deep(n + 1) + a + b + c + d + e;\n}\n"
            "grow();\ntry { deep(0); } catch (error) { failed++; }\nprint(failed, kept[0].length > 1000);\n")
    with profiled.directory() as path:
        trace = os.path.join(path, "full.bpt")
        result = run(path, trace, "-c", "-m", "600000", write(path, "full.js", text), interval="1")
        truth = truth_of(result)
        profiled.expect(result.stdout.startswith(b"2 true\n"), str(result))
        usable = profiled.report(trace, "--bytes", "usable", "--metric", "live")
        profiled.expect(figure(usable, "live", "bytes") == truth["used"] and profiled.lost(usable) == 0,
                        str((usable["totals"]["live"], truth)))


def ends():
    """a script that raises, that is not there or is killed: the trace ends in order, or says what is missing"""
    with profiled.directory() as path:
        trace = os.path.join(path, "raises.bpt")
        raises = write(path, "raises.js", "var kept = [];\nfor (var i = 0; i < 100; i++) kept.push([i]);\nkept.nothing.more;\n")
        result = run(path, trace, "-c", raises, "absent.js", interval="1")
        truth = truth_of(result, status=1)
        profiled.expect(b"bytepoll-duk: raises.js: TypeError" in result.stderr and b"absent.js: No such file" in result.stderr,
                        str(result))
        data = profiled.report(trace)
        profiled.expect(figure(data, "allocated", "bytes") == truth["bytes"] and not data["warnings"], str(data["warnings"]))
        trace = os.path.join(path, "killed.bpt")
        endless = write(path, "endless.js", "var x;\nprint('begun');\nfor (;;) x = [1];\n")
        program = subprocess.Popen(["stdbuf", "-oL", PROGRAM, endless], cwd=path, stdout=subprocess.PIPE,
                                   env={**os.environ, "BYTEPOLL_HOST_OUTPUT": trace, "BYTEPOLL_INTERVAL": "1K"})
        profiled.expect(program.stdout.readline() == b"begun\n", "it runs")
        program.send_signal(signal.SIGKILL)
        profiled.expect(program.wait() == -signal.SIGKILL, "it was killed")
        data = profiled.report(trace, "--by", "line", "--metric", "allocated")
        profiled.expect(not data["totals"]["allocated"]["bytes"].get("exact") and data["warnings"] and
                        data["samples"] > 0, str((data["totals"], data["warnings"])))


def problems():
    """settings that are not valid and a trace that is there already: said in a line, and the script runs"""
    with profiled.directory() as path:
        script = write(path, "small.js", "print('done');\n")
        trace = os.path.join(path, "there.bpt")
        with open(trace, "w", encoding="utf-8") as file:
            file.write("not ours")
        for settings, words in (({}, b"the file exists, and is not replaced"),
                                ({"interval": "64X"}, b"BYTEPOLL_INTERVAL is '64X'")):
            result = run(path, trace, script, **settings)
            profiled.expect(result.status == 0 and result.stdout == b"done\n" and words in result.stderr and
                            result.stderr.startswith(b"bytepoll-duk: ") and result.stderr.count(b"\n") == 1, str(result))
            profiled.expect(os.path.getsize(trace) == 8, "it is as it was")


def recorded_too():
    """malloc of the same process recorded by `bytepoll run`: two traces, and their sum is not called one of strangers"""
    with profiled.directory() as path:
        script = write(path, "busy.js", BUSY)
        both = [os.path.join(path, name) for name in ("malloc.bpt", "duktape.bpt")]
        result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "-o", both[0], "--", PROGRAM, script], cwd=path,
                              extra={"BYTEPOLL_HOST_OUTPUT": both[1]})
        profiled.expect(result.status == 0, str(result))
        for files in (both, both[::-1]):
            text = " ".join(json.loads(profiled.run([profiled.BYTEPOLL, "report", "--json", *files]).stdout)["warnings"])
            profiled.expect("are of one process (pid " in text and "counted twice" in text and "unrelated" not in text, text)
        other = os.path.join(path, "other.bpt")
        run(path, other, script)
        text = " ".join(json.loads(profiled.run([profiled.BYTEPOLL, "report", "--json", both[0], other]).stdout)["warnings"])
        profiled.expect("unrelated processes" in text and "one process" not in text, text)


def main():
    tap = profiled.Tap()
    for action in (totals, lines, callers, sampled, refused_memory, recorded_too, ends, problems):
        tap.attempt(action.__doc__, action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
