#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll metrics`: a reader of Prometheus' text format, written from its description, finds report's figures."""
import os
import re
import sys

import profiled
from profiled import expect

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "pprof"))
import pprof_write  # noqa: E402

LINE = re.compile(r'^([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\n"])*",?)*)\} (\S+)$')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')


def read(text):
    """{family: [(labels, value)]}; every family has its help and type, and its lines stand together."""
    families, types, last = {}, {}, None
    expect(text.endswith("\n"), "the last line has no end")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            expect(name not in types and kind in ("counter", "gauge"), line)
            types[name] = kind
        elif line.startswith("# HELP "):
            last = line.split(" ")[2]
            expect(last not in families, "%s stands apart" % last)
        else:
            match = LINE.match(line)
            expect(match and match.group(1) == last and last in types, line)
            expect((types[last] == "counter") == last.endswith("_total"), "type of %s" % last)
            labels = {key: re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m.group(1), m.group(1)), value)
                      for key, value in LABEL.findall(match.group(2))}
            families.setdefault(last, []).append((labels, float(match.group(3))))
    return families


def metrics(*words, status=0):
    result = profiled.run([profiled.BYTEPOLL, "metrics", *words])
    expect(result.status == status, "%s: status %s: %s" % (words, result.status, result.stderr))
    return result.stdout.decode()


def check_figures(folder, traces):
    families = read(metrics(*traces))
    for i, trace in enumerate(traces):
        totals = profiled.report(trace)["totals"]
        for name, value in (("allocated_bytes_total", totals["allocated"]["bytes"]["low"]),
                            ("allocated_objects_total", totals["allocated"]["objects"]["low"]),
                            ("live_bytes", totals["live"]["bytes"]["estimate"]),
                            ("live_low_bytes", totals["live"]["bytes"]["low"]),
                            ("live_high_bytes", totals["live"]["bytes"]["high"])):
            labels, got = families["bytepoll_" + name][i]
            expect(labels["file"] == trace and labels["program"] == "churn", labels)
            expect(abs(got - value) <= 1e-9 * value, "%s: %r, not %r" % (name, got, value))
    narrow = read(metrics(traces[0], "--confidence", "0.5"))
    expect(narrow["bytepoll_live_high_bytes"][0][1] < families["bytepoll_live_high_bytes"][0][1], "--confidence")


def check_resident(folder, _):
    trace = os.path.join(folder, "run.bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "-q", "-o", trace, "--", profiled.program("churn"), "2", "50000"])
    expect(result.status == 0, result.stderr)
    families = read(metrics(trace))
    expect(families["bytepoll_resident_bytes"][0][1] > 2 ** 20, families)


def check_hostile(folder, _):
    writer = pprof_write.Writer(period=524288)
    writer.bucket(("f", "main"), 64, 5000, 3)
    path = os.path.join(folder, 'a"b\\c\nd\x1b\u202e{}.pb.gz')
    with open(path, "wb") as file:
        file.write(writer.finish())
    text = metrics(path)
    expect("\x1b" not in text and "\u202e" not in text, "what steers a terminal")
    labels = read(text)["bytepoll_samples_total"][0][0]
    expect('a"b\\c' in labels["file"] and "\\u{a}d\\u{1b}\\u{202e}" in labels["file"], labels)


def check_written(folder, traces):
    out = os.path.join(folder, "out.prom")
    metrics(traces[0], "-o", out)
    metrics(traces[0], "-o", out, status=1)
    metrics(traces[1], "-o", out, "--force")
    with open(out, encoding="utf-8") as file:
        expect(file.read() == metrics(traces[1]), "another text in a file")
    metrics(traces[0], "-o", traces[0], "--force", status=1)
    metrics(status=2)
    metrics(os.path.join(folder, "none.bpt"), status=1)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        traces = []
        for i in range(2):
            traces.append(os.path.join(folder, "t%d.bpt" % i))
            profiled.run([profiled.program("churn"), "2", "8000"], traces[i], 512, i + 1)
        for name, check in (("figures", check_figures), ("resident memory", check_resident),
                            ("hostile names", check_hostile), ("files", check_written)):
            tap.attempt(name, lambda check=check: check(folder, traces))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
