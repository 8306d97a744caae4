#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll fleet`: its figures are those of `bytepoll report`, `diff` and `check` on the recordings themselves.

Programs of several kinds (threads, trees of processes, both laws, killed ones, labels, profiles of Go) are recorded
and exported, each as a host of its own. Random questions (seeded; BYTEPOLL_FLEET_QUESTIONS, 30) are asked of random
hosts, and every number of the JSON must be report's to 1e-9. Values with SQL in them select what they say, and change
nothing. Without DuckDB's program on PATH that is skipped; what a scripted one shows is always tested.
"""
import base64
import glob
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import parquet_read
import profiled
from profiled import expect

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "pprof"))
import pprof_write  # noqa: E402

QUESTIONS = int(os.environ.get("BYTEPOLL_FLEET_QUESTIONS", "30"))
SEED = 24
MACROS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src/tool/fleet/sql/duckdb.sql")
HOSTILE = "'); DROP TABLE every; --"
# Of a report these say when something was, or of which file, or are of one run.
ELSEWHERE = {"peak", "peak_at", "file", "unrelated", "warnings"}
ANOTHER_ORDER = {"rows", "processes"}


class Recordings:
    """Recordings, and a store that has them: recording i is that of host h<i>."""
    def __init__(self, folder):
        self.folder, self.store = folder, os.path.join(folder, "store")
        self.tables = self.store  # (test_fleet_clickhouse.py asks another store for the same)
        self.traces, self.runs, self.lengths = [], [], []
        os.mkdir(self.store)
        for i, (program, words, law, interval) in enumerate((
                ("churn", ["3", "8000"], None, 1024), ("churn", ["2", "5000"], "bernoulli", 2048),
                ("truth", [], None, 512), ("truth", [], None, 4096), ("fork_storm", [], None, 4096),
                ("exec_chain", [], None, 512), ("leak", [], None, 65536), ("inprocess_tags", [], None, 256))):
            trace = os.path.join(folder, "t%d.bpt" % i)
            result = profiled.run([profiled.program(program), *words], trace, interval, 100 + i, law)
            if os.path.exists(trace) and profiled.report(trace)["samples"] > 20:
                self.add(trace, "odd" if i % 2 else "even", "%d.0" % (i % 3))
            del result
        self.killed()
        self.go()
        expect(len(self.traces) >= 8, "too few recordings: %s" % self.traces)

    def add(self, trace, service, release):
        host = "h%d" % len(self.traces)
        out = os.path.join(self.store, "deep", host) if len(self.traces) % 2 else os.path.join(self.store, host)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        done = profiled.run([profiled.BYTEPOLL, "export", trace, "--to", "parquet", "-o", out, "--service", service,
                             "--release", release, "--host", host, "--tag", "number=%d" % len(self.traces)])
        expect(done.status == 0, "export: %s" % done.stderr)
        self.traces.append(trace)
        self.runs.append((service, release))

    def median_s(self, hosts):
        """The median of the lengths of these runs, seconds."""
        if not self.lengths:
            self.lengths = [profiled.report(trace).get("duration_s") or 0 for trace in self.traces]
        return sorted(self.lengths[i] for i in hosts)[len(hosts) // 2]

    def killed(self):
        trace = os.path.join(self.folder, "killed.bpt")
        process = subprocess.Popen([profiled.program("churn"), "2", "3000", "pause"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=profiled.environment(trace, 1024, 7))
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.add(trace, HOSTILE, HOSTILE)

    def go(self):
        writer = pprof_write.Writer(period=524288)
        for i in range(50):
            writer.bucket(("f%d" % i, "it's", "main"), 64 << i % 12, 5000 >> i % 12 or 1, 3)
        path = os.path.join(self.folder, "go.pb.gz")
        with open(path, "wb") as file:
            file.write(writer.finish())
        self.add(path, "go", "1.0")


def ask(*words, status=0, environment=None):
    done = subprocess.run([profiled.BYTEPOLL, *words], capture_output=True, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})})
    expect(done.returncode == status, "%s: status %d: %s" % (" ".join(words), done.returncode, done.stderr.decode()))
    if status not in (0, 3) and not done.stdout:
        expect(len(done.stderr.decode().splitlines()) == 1, "one line: %s" % done.stderr.decode())
    return done


def ordered(rows):
    """By what they are of: rows of equal figures may stand in any order."""
    return sorted(rows, key=lambda row: json.dumps([row.get(name) for name in
                                                    ("name", "stack", "pid", "program", "samples")]))


def differences(got, wanted, path="", least=1):
    """Where two documents differ, numbers by more than 1e-9 (of `least` at least, which they are differences of)."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for name in sorted(set(got) | set(wanted)):
            if name not in ELSEWHERE and path + name not in ("start_s", "duration_s", "at"):
                yield from differences(got.get(name), wanted.get(name), "%s/%s" % (path, name), least)
    elif isinstance(wanted, list) and isinstance(got, list):
        if len(got) != len(wanted):
            yield "%s: %d entries, not %d" % (path, len(got), len(wanted))
            return
        if path.rsplit("/", 1)[-1] in ANOTHER_ORDER:
            got, wanted = ordered(got), ordered(wanted)
        for i, pair in enumerate(zip(got, wanted)):
            yield from differences(*pair, "%s[%d]" % (path, i), least)
    elif isinstance(wanted, float) and isinstance(got, (int, float)) or isinstance(got, float):
        # (Printed with twelve digits, times with nine behind the point.)
        if wanted is None or abs(got - wanted) > 1e-9 * max(abs(got), abs(wanted), least):
            yield "%s: %r, not %r" % (path, got, wanted)
    elif got != wanted:
        yield "%s: %r, not %r" % (path, got, wanted)


def question(draw, longest):
    """Words of a random question that report and fleet both understand."""
    words = []
    if draw.random() < .7:
        words += ["--metric", draw.choice(["live", "allocated", "temporary"])]
    words += ["--by", draw.choice(["function", "function", "stack", "line", "file", "module", "thread", "size", "type",
                                   "kind", "process", "label"])]
    if draw.random() < .3 and words[-1] in ("function", "line", "file", "module"):
        words += ["--cumulative"]
    if draw.random() < .3:
        words += ["--bytes", "usable"]
    if draw.random() < .3:
        words += ["--confidence", str(draw.choice([.5, .8, .99, .999]))]
    if draw.random() < .2:
        words += ["--min-size", str(draw.choice([8, 16]))]
    if draw.random() < .2:
        words += ["--allocators", draw.choice(["none", "make.*"])]
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        words += ["--filter", draw.choice(["function=*a*", "stack=*main*", "size=16..400", "size=1000..1M", "kind=malloc",
                                           "thread=*", "module=*churn*", "process=*truth*", "label=*", "function=it's"])]
    if draw.random() < .3:
        words += ["--sort", draw.choice(["bytes", "objects", "name", "samples"])]
    return words + times(draw, longest)


def times(draw, longest):
    """A window, a filter of time, a moment, several of them or none; seconds since the start of each run."""
    words = []
    first, last = sorted(draw.uniform(0, longest) for _ in range(2))
    if draw.random() < .4:
        words += ["--from", "%.9f" % first]
    if draw.random() < .4:
        words += ["--until", "%.9f" % last]
    if draw.random() < .15:
        words += ["--filter", "time=%.9fs..%.9fs" % tuple(sorted(draw.uniform(0, longest) for _ in range(2)))]
    if draw.random() < .15:
        words += ["--at", "%.9f" % draw.uniform(0, longest)]
    return words


def check_questions(recordings):
    draw, asked, windows = random.Random(SEED), 0, 0
    while asked < QUESTIONS:
        hosts = sorted(draw.sample(range(len(recordings.traces)), draw.randint(2, len(recordings.traces))))
        words = question(draw, recordings.median_s(hosts))
        if {"--from", "--until", "--at"} & set(words) and draw.random() < .9:
            hosts = [i for i in hosts if not recordings.traces[i].endswith(".pb.gz")]  # (a snapshot has no times)
        plain = subprocess.run([profiled.BYTEPOLL, "report", "--json", *words,
                                *[recordings.traces[i] for i in hosts]], capture_output=True, check=False)
        asked += 1
        which = [word for i in hosts for word in ("--host", "h%d" % i)]
        if plain.returncode != 0:
            # What report refuses, fleet does, too.
            done = subprocess.run([profiled.BYTEPOLL, "fleet", "top", recordings.store, "--json", *which, *words],
                                  capture_output=True, check=False)
            expect(done.returncode == plain.returncode, "report refuses %s: %s" % (words, plain.stderr))
            continue
        done = ask("fleet", "top", recordings.store, "--json", *which, *words)
        wanted = json.loads(plain.stdout)
        found = list(differences(json.loads(done.stdout), wanted))
        if "--from" in words or "--until" in words:
            windows += wanted["totals"]["allocated"]["samples"] > 0
        expect(not found, "%s %s: %d differences: %s" % (hosts, words, len(found), "; ".join(found[:4])))
    expect(windows >= QUESTIONS / 10, "only %d windows" % windows)
    print("# %d questions, %d windows" % (asked, windows))


def check_selection(recordings):
    for option, place in (("--service", 0), ("--release", 1)):
        for value in sorted({run[place] for run in recordings.runs}):
            hosts = [i for i, run in enumerate(recordings.runs) if run[place] == value]
            data = json.loads(ask("fleet", "top", recordings.store, "--json", option, value).stdout)
            expect(data["samples"] == sum(profiled.report(recordings.traces[i])["samples"] for i in hosts),
                   "%s %s" % (option, value))
    data = json.loads(ask("fleet", "top", recordings.store, "--json", "--tag", "number=3").stdout)
    expect(data["samples"] == profiled.report(recordings.traces[3])["samples"], "--tag")
    every = json.loads(ask("fleet", "top", recordings.store, "--json", "--since", "2020-01-01").stdout)
    expect(every["samples"] > data["samples"], "--since")
    for words in (["--before", "9999-12-31"], ["--since", "1600-01-01"]):  # beyond what nanoseconds reach
        expect(json.loads(ask("fleet", "top", recordings.store, "--json", *words).stdout)["samples"] == every["samples"],
               "%s" % words)
    for words in (["--before", "2020-01-01"], ["--since", "2300-01-01"], ["--service", "nobody"], ["--tag", "number=33"], ["--service", HOSTILE + "x"]):
        expect(b"no recording" in ask("fleet", "top", recordings.store, *words, status=1).stderr, words)


def check_tree(recordings):
    middle = "%.9f" % (.5 * min(recordings.median_s([i]) for i in range(3)))
    for words in ([], ["--from", middle, "--metric", "allocated"], ["--until", middle], ["--at", middle]):
        plain = ask("report", "--tree", *words, *recordings.traces[:3]).stdout.decode()
        tree = ask("fleet", "tree", *words, recordings.store, "--host", "h0", "--host", "h1", "--host", "h2").stdout.decode()
        expect("by call tree" in tree and tree.split("by call tree")[1] == plain.split("by call tree")[1],
               "another tree:\n%s\n%s" % (tree, plain))


def check_windows(recordings):
    """Limits are judged by the interval that report has of the window."""
    middle = "%.9f" % (.5 * min(recordings.median_s([i]) for i in (0, 2)))
    hosts = ["--host", "h0", "--host", "h2"]
    for metric, words in (("live", ["--until", middle]), ("allocated", ["--from", middle]), ("live", ["--at", middle])):
        data = json.loads(ask("report", "--json", "--confidence", ".98", *words, recordings.traces[0],
                              recordings.traces[2]).stdout)["totals"][metric]["bytes"]
        expect(0 < data["low"] < data["high"], "nothing to judge: %s" % data)
        for most, status in ((data["high"] + 1, 0), (data["high"] - 1, 3), (data["low"] - 1, 1)):
            got = json.loads(ask("fleet", "check", recordings.store, "--json", *hosts, *words, "--limit",
                                 "%s=%d" % (metric, most), status=status).stdout)["limits"][0]["interval"]
            expect(not list(differences([got["low"], got["high"]], [data["low"], data["high"]])), "%s, not %s" % (got, data))
    late = ask("fleet", "top", recordings.store, *hosts, "--from", "9000", status=1).stderr
    expect(b"the recording ends at" in late, late)


def check_without_readings(recordings):
    middle = "%.9f" % (.5 * min(recordings.median_s([i]) for i in (0, 2)))
    old = os.path.join(recordings.folder, "old")
    shutil.copytree(os.path.join(recordings.store, "h0"), old)
    os.remove(os.path.join(old, "readings.parquet"))
    line = ask("fleet", "top", old, "--from", middle, status=1).stderr
    expect(b"export it again" in line, line)
    for words in ([], ["--at", middle], ["--filter", "time=..%ss" % middle]):
        ask("fleet", "top", old, *words)


def check_diff(recordings):
    store = os.path.join(recordings.folder, "versions")
    os.mkdir(store)
    traces = {"1": [], "2": []}
    for i in range(6):
        trace = os.path.join(recordings.folder, "v%d.bpt" % i)
        release = "2" if i % 2 else "1"
        profiled.run([profiled.program("churn"), "2", "9000" if i % 2 else "6000"], trace, 1024, 200 + i)
        ask("export", trace, "--to", "parquet", "-o", os.path.join(store, str(i)), "--release", release, "--host",
            "m%d" % (i // 2))
        traces[release].append(trace)
    words = ["diff", "--json", "--metric", "allocated"]
    plain = json.loads(ask(*words, *traces["1"], "--new", *traces["2"]).stdout)
    sample = json.loads(ask("fleet", *words, store, "--base", "1", "--new", "2", "--hosts", "sample").stdout)
    for data in (plain, sample):
        for name in ("base", "new", "files", "warnings", "runs"):
            data.pop(name, None)
    found = [text for text in differences(sample, plain) if "file" not in text]
    expect(not found, "; ".join(found[:5]))
    whole = json.loads(ask("fleet", *words, store, "--base", "1", "--new", "2").stdout)
    expect(any(row["verdict"] == "grew" for row in whole["rows"]), "nothing grew")
    text = ask("fleet", "diff", "--metric", "allocated", store, "--base", "1", "--new", "2").stdout.decode()
    expect("sums of 3 runs" in " ".join(text.split()) and "--hosts sample" in text, text)
    text = ask("fleet", "diff", "--metric", "allocated", store, "--base", "1", "--new", "2", "--hosts", "sample").stdout
    expect(b"sums of" not in text and b"unrelated" not in text, text)
    # The same program, once and twice: nothing grew, and base is as if it had run twice. (With one thread and these seeds
    # every run of this test has the same samples.)
    store = os.path.join(recordings.folder, "uneven")
    for i, release in enumerate(("once", "twice", "twice")):
        trace = os.path.join(recordings.folder, "u%d.bpt" % i)
        profiled.run([profiled.program("churn"), "1", "12000"], trace, 1024, 200 + 2 * i)
        ask("push", "-q", trace, "--to", store, "--release", release)
    for metric in ("allocated", "live"):
        uneven = json.loads(ask("fleet", "diff", store, "--base", "once", "--new", "twice", "--json", "--metric",
                                metric).stdout)
        verdicts = {row["verdict"] for row in uneven["rows"]}
        expect(verdicts == {"unclear"} and uneven["base"]["runs"][0]["scale"] == 2, "%s: %s" % (metric, verdicts))
        change = uneven["total"]["change"]["bytes"]
        expect(change["low"] <= 0 <= change["high"] and any("multiplied by 2" in line for line in uneven["warnings"]), uneven)
    expect(b"--base" in ask("fleet", "diff", store, status=2).stderr, "without sides")
    expect(b"no recording" in ask("fleet", "diff", store, "--base", "1", "--new", "9", status=1).stderr, "no release 9")


def date(unix_ns):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix_ns // 10 ** 9)) + ".%09dZ" % (unix_ns % 10 ** 9)


def beginning(recordings, i):
    """When run i began, nanoseconds since 1970, by its table."""
    rows, _ = parquet_read.read(glob.glob(os.path.join(recordings.tables, "**", "h%d" % i, "processes.parquet"),
                                       recursive=True)[0])
    return next(row["start_unix_ns"] for row in rows if row["process"] == row["run"])


def without_lines(data):
    """A row by stack is of a chain of functions, and shows the lines of any of its stacks."""
    for row in data["rows"]:
        for frame in row.get("stack", ()):
            frame.pop("line", None)
    return data


def growth(recordings, hosts, begin, end, by="function", **others):
    which = [word for i in hosts for word in ("--host", "h%d" % i)]
    return without_lines(json.loads(ask("fleet", "growth", recordings.store, "--json", "--by", by, *which, "--from", begin,
                                        "--until", end, **others).stdout))


def check_growth(recordings):
    """Between two moments of a run, and between the same two by the day: the figures of report --growth. Of several
    runs estimates add up."""
    draw, alone = random.Random(SEED + 1), {}
    for i, trace in enumerate(recordings.traces):
        plain = subprocess.run([profiled.BYTEPOLL, "report", "--json", trace], capture_output=True, check=True).stdout
        whole = json.loads(plain)["duration_s"]
        if trace.endswith("go.pb.gz") or not whole:
            continue  # (a heap profile of Go has no times)
        by = ("function", "stack", "thread")[i % 3]
        first, last = sorted(int(draw.uniform(.02, .98) * whole * 1e9) for _ in range(2))
        words = ("%.9f" % (first / 1e9), "%.9f" % (last / 1e9))
        plain = without_lines(json.loads(ask("report", "--growth", "--json", "--by", by, "--from", words[0],
                                             "--until", words[1], trace).stdout))
        got = growth(recordings, [i], *words, by=by)
        expect(got.pop("runs") == 1, "of one run")
        # A rate is a difference of sums, whose digits are those of its terms.
        terms = plain["total"]["from"]["bytes"]["estimate"] + plain["total"]["to"]["bytes"]["estimate"]
        terms = max(1, terms / (plain["to_s"] - plain["from_s"]))
        found = list(differences(got, plain, "", terms))
        expect(not found, "%s by %s from %s to %s: %s" % (trace, by, *words, "; ".join(found[:4])))
        start = beginning(recordings, i)
        days = growth(recordings, [i], date(start + first), date(start + last), by=by)
        expect(abs(days.pop("origin_unix_s") * 1e9 - (start + first)) < 1000, "the origin")
        for data in (days, got):
            for name in ("from_s", "to_s", "runs"):
                data.pop(name, None)
        found = list(differences(days, got, "", terms))
        expect(not found, "%s by %s by the day: %s" % (trace, by, "; ".join(found[:4])))
        alone[i] = whole
    expect(len(alone) >= 6, "too few runs with times")
    together = sorted(alone)[:4]
    last = "%.9f" % (.9 * min(alone[i] for i in together))
    first = "%.9f" % (.4 * min(alone[i] for i in together))
    parts = [growth(recordings, [i], first, last)["total"] for i in together]
    data = growth(recordings, together, first, last)
    wanted = sum(part["bytes_per_s"]["estimate"] for part in parts)
    terms = sum(abs(part["bytes_per_s"]["estimate"]) + (part["from"]["bytes"]["estimate"] + part["to"]["bytes"]["estimate"])
                / (data["to_s"] - data["from_s"]) for part in parts)
    expect(data["runs"] == 4 and abs(data["total"]["bytes_per_s"]["estimate"] - wanted) <= 1e-9 * max(terms, 1),
           "the sum: %s, not %s" % (data["total"], wanted))
    long = max(alone, key=alone.get)
    data = growth(recordings, sorted(alone), "0", "%.9f" % (.99 * alone[long]))
    expect(data["runs"] < len(alone) and any("left out" in text for text in data["warnings"]), "left out")
    for words in (("9000", "9001"), ("2020-01-01", "2020-01-02")):
        line = ask("fleet", "growth", recordings.store, "--from", words[0], "--until", words[1], status=1).stderr
        expect(b"at both moments" in line, line)
    text = ask("fleet", "growth", recordings.store, "--host", "h%d" % together[0], "--from", first, "--until", last).stdout
    expect(b"1 run, growth of live memory" in text, text)


def page(path):
    """The head of a page, and the figures that its WebAssembly makes of its cells, by function."""
    with open(path, "rb") as file:
        found = re.search(rb'<script type="text/plain" id="bytepoll-head">([^<]*)</script>', file.read())
    head = json.loads(gzip.decompress(base64.b64decode(found[1])))
    requests = [{"metric": metric, "by": by} for metric in head["metrics"] for by in ("function", "all")]
    done = subprocess.run(["node", os.path.join(HERE, "page_figures.js"), path], capture_output=True, check=False,
                          input=json.dumps(requests).encode())
    expect(done.returncode == 0, done.stderr.decode()[:500])
    return head, json.loads(done.stdout)


def check_html(recordings):
    """The page of a store has the figures of the page of its recordings, those of the head and those that are made in
    it; and it does not pass for that of one program."""
    for hosts in ([0, 2, 4, 5], [1]):
        mine, theirs = (os.path.join(recordings.folder, name) for name in ("fleet.html", "files.html"))
        ask("html", "--force", "-o", theirs, *[recordings.traces[i] for i in hosts])
        ask("fleet", "html", recordings.store, "--force", "-o", mine, *[word for i in hosts for word in ("--host", "h%d" % i)])
        (head, got), (wanted_head, wanted) = page(mine), page(theirs)
        expect(head["runs"] == len(hosts) and head["pid"] == 0 and not head["command_line"], head["name"])
        if len(hosts) == 1:  # (a file's page has a peak, too)
            continue
        found = list(differences([head[name] for name in ("metrics", "totals", "samples", "intervals")],
                                 [wanted_head[name] for name in ("metrics", "totals", "samples", "intervals")]))
        found += list(differences(got, wanted))
        expect(got and not found, "%s: %s" % (hosts, "; ".join(found[:4])))
    expect(b"-o FILE" in ask("fleet", "html", recordings.store, status=2).stderr, "without -o")
    expect(b"--json" in ask("fleet", "html", recordings.store, "-o", "-", "--json", status=2).stderr, "--json")
    with open(mine, "rb") as file:
        before = file.read()
    ask("fleet", "html", recordings.store, "-o", mine, status=1)
    with open(mine, "rb") as file:
        expect(file.read() == before, "a page was replaced without --force")


def check_check(recordings):
    hosts = ["--host", "h0", "--host", "h2"]
    live = json.loads(ask("fleet", "top", recordings.store, "--json", *hosts).stdout)["totals"]["live"]["bytes"]
    for limit, status in ((live["high"] * 2, 0), (live["low"] / 2, 1), (live["estimate"], 3)):
        ask("fleet", "check", recordings.store, "--limit", "live=%d" % limit, *hosts, status=status)
    for limit in ("peak=1M", "resident=1M", "nothing=1"):
        ask("fleet", "check", recordings.store, "--limit", limit, status=2)


def check_impossible(recordings):
    """Tables from strangers: values that cannot be are an error, and neither a figure nor a loop without end."""
    for i, (table, change) in enumerate((
            ("samples", "-1 AS samples"), ("samples", "2000000000000 AS samples"), ("samples", "-5 AS size"),
            ("samples", "9000000000000000000 AS size"), ("samples", "-1 AS interval"), ("processes", "-1 AS law"),
            ("processes", "7 AS law"), ("processes", "-1 AS allocated_bytes"), ("processes", "0 AS allocated_bytes_high"),
            ("processes", "9000000000000000000 AS interval_max"), ("processes", "0 AS end_clock_ns"),
            ("processes", "9000000000 AS charge"), ("intervals", "-1 AS interval"))):
        odd = os.path.join(recordings.folder, "impossible", str(i))
        shutil.copytree(os.path.join(recordings.store, "h0"), odd)
        path = os.path.join(odd, table + ".parquet")
        done = subprocess.run(["duckdb", "-init", "/dev/null", "-batch", "-bail"], capture_output=True, check=False,
                              input=("COPY (SELECT * REPLACE (%s) FROM '%s') TO '%s.new' (FORMAT parquet);" %
                                     (change, path, path)).encode())
        expect(done.returncode == 0, done.stderr.decode()[:300])
        os.rename(path + ".new", path)
        expect(b"impossible" in ask("fleet", "top", odd, status=1).stderr, change)


def check_twice(recordings):
    copy = os.path.join(recordings.store, "copy")
    shutil.copytree(os.path.join(recordings.store, "h0"), copy)
    try:
        expect(b"twice" in ask("fleet", "top", recordings.store, status=1).stderr, "twice")
        ask("fleet", "top", recordings.store, "--host", "h1", status=0)
    finally:
        shutil.rmtree(copy)


def check_names_of_folders(recordings):
    for i, name in enumerate(("it's [1]", "a*b?", "'); DROP TABLE every; --")):
        odd = os.path.join(recordings.folder, "odd", name)
        shutil.copytree(os.path.join(recordings.store, "h0"), os.path.join(odd, "x%d" % i))
        data = json.loads(ask("fleet", "top", odd, "--json").stdout)
        expect(data["samples"] == profiled.report(recordings.traces[0])["samples"], name)


def scripted(folder, answer, status=0):
    """A duckdb that keeps what it was asked."""
    bin_folder = os.path.join(folder, "bin")
    os.makedirs(bin_folder, exist_ok=True)
    path = os.path.join(bin_folder, "duckdb")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\ncat > '%s/asked'\nprintf '%%b' '%s'\necho no table >&2\nexit %d\n" % (folder, answer, status))
    os.chmod(path, 0o755)
    return {"PATH": bin_folder + ":/usr/bin:/bin"}


def check_scripted(recordings):
    """What is asked holds no value but as digits; what is answered is not trusted."""
    value = "x'); SELECT 1; --\n.shell touch /tmp/x"
    words = ["fleet", "top", recordings.store, "--service", value, "--release", value, "--host", value, "--tag", value]
    ask(*words, environment=scripted(recordings.folder, ""), status=1)
    with open(os.path.join(recordings.folder, "asked"), encoding="utf-8") as file:
        asked = file.read()
    expect(value.encode().hex().upper() in asked and "shell" not in asked and "SELECT 1" not in asked, "a value as SQL")
    for answer in ("P,1,zz\\n", "P\\n", "S,1,2,3\\n", "K,9\\n", "F,1,41\\n", "?\\n", ",\\n", "S," + "9" * 40 + "\\n", "\\n\\n"):
        ask("fleet", "top", recordings.store, environment=scripted(recordings.folder, answer), status=1)
    line = ask("fleet", "top", recordings.store, environment=scripted(recordings.folder, "", 1), status=1).stderr
    expect(b"no table" in line, line)
    nothing = {"PATH": os.path.join(recordings.folder, "nowhere")}
    expect(b"pip install duckdb-cli" in ask("fleet", "top", recordings.store, environment=nothing, status=1).stderr,
           "not on PATH")


def check_usage(recordings):
    for words in (["top"], ["what", recordings.store], [], ["top", recordings.store, "--limit", "live=1"],
                  ["top", recordings.store, "--metric", "peak"], ["tree", recordings.store, "--by", "line"],
                  ["top", recordings.store, "--since", "yesterday"],
                  ["top", recordings.store, "--since", "2026-02-31"], ["growth", recordings.store, "--from", "1", "--until", "2", "--filter", "time=1..2"],
                  ["growth", recordings.store], ["growth", recordings.store, "--from", "1", "--until", "2026-01-31"],
                  ["growth", recordings.store, "--from", "2", "--until", "1"],
                  ["top", recordings.store, "--from", "2026-01-31", "--until", "5"],
                  ["top", recordings.store, "--from", "2026-01-31", "--until", "2026-01-30"],
                  ["top", recordings.store, "--at", "2026-01-31", "--from", "5"],
                  ["top", recordings.store, "--from", "2026-01-31", "--filter", "time=1..2"], ["top", recordings.store, "--from", "2", "--until", "1"],
                  ["html", recordings.store, "-o", "-", "--from", "1"], ["html", recordings.store, "-o", "-", "--at", "1"],
                  ["html", recordings.store, "-o", "-", "--filter", "time=1..2"],
                  ["diff", recordings.store, "--base", "1", "--new", "2", "--from", "1"],
                  ["diff", recordings.store, "--base", "1", "--new", "2", "--by", "release"],
                  ["top", recordings.store, "--hosts", "sample", "--by", "host"], ["top", recordings.store, "--by", "tag:"],
                  ["html", recordings.store, "-o", "-", "--by", "service"], ["top", recordings.store, "--by", "service", "-c"],
                  ["top", recordings.store, "--filter", "service=x"],
                  ["top", recordings.store, "--filter", "freed-by=free"],
                  ["check", recordings.store, "--limit", "allocated:freed-by=free=1M"],
                  ["growth", recordings.store, "--from", "tomorrow", "--until", "1"]):
        ask("fleet", *words, status=2)
    empty = os.path.join(recordings.folder, "empty")
    os.mkdir(empty)
    expect(b"no tables" in ask("fleet", "top", empty, status=1).stderr, "an empty folder")
    expect(b"cannot be read" in ask("fleet", "top", empty + "/none", status=1).stderr, "no folder")


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        recordings = Recordings(folder)
        tap.attempt("a scripted duckdb", lambda: check_scripted(recordings))
        tap.attempt("usage", lambda: check_usage(recordings))
        for name, check in (("random questions", check_questions), ("selection", check_selection), ("tree", check_tree),
                            ("windows", check_windows), ("a store without readings", check_without_readings),
                            ("growth", check_growth), ("html", check_html), ("diff", check_diff), ("check", check_check),
                            ("impossible values", check_impossible), ("a run twice", check_twice),
                            ("names of folders", check_names_of_folders)):
            if shutil.which("duckdb") is None:
                tap.skip(name, "duckdb is not on PATH (pip install duckdb-cli)")
            else:
                tap.attempt(name, lambda check=check: check(recordings))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
