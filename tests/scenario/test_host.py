#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces that hosts write (bytepoll/host.h): what they made, by type and by line, against what the
reports say.

programs/host_truth.c makes the same objects in every run, sampled by the byte counter or in allocation
contexts under a moving collector, with seeds 1 to RUNS. Figures by type are judged by the two rules
of rules.py, whose false-alarm rates are printed; totals must be right to the byte. Then all that other
commands do with such a trace: folding, exports, damage, names that would steer a terminal.

BYTEPOLL_LONG_TESTS=1 makes it 1000 runs.
"""
import concurrent.futures
import json
import math
import os
import random
import signal
import sys

import profiled
import rules

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../unit/trace"))
import compare_decoders  # noqa: E402

RUNS = 1000 if profiled.LONG else 80
INTERVAL, OBJECTS, THREADS = 16384, 12000, 2
METRICS = ("allocated", "live")
UNITS = ("bytes", "objects")
SEED = 20261122
DECODE = os.path.join(os.path.dirname(__file__), "../../tools/trace_decode.py")
FORMATS = ("pprof", "collapsed", "speedscope", "dhat", "firefox", "json", "csv")


def record(trace, form, seed, interval=INTERVAL, objects=OBJECTS, threads=THREADS):
    """Runs the host; what it says it made."""
    result = profiled.run([profiled.program("host_truth"), trace, form, str(seed), str(interval),
                           str(objects), str(threads)])
    wanted = -signal.SIGKILL if form == "killed" else 0
    profiled.expect(result.status == wanted, "%s: %s" % (form, result))
    truth = json.loads(result.stdout)
    for kind in truth["types"]:
        for key in ("name", "function"):  # bytes, one code point each
            kind[key] = kind[key].encode("latin-1").decode("utf-8", "backslashreplace")
    return truth


def rows_by(trace, by, metric):
    data = profiled.report(trace, "--by", by, "--metric", metric, "--rows", "1000")
    return data, {row["name"]: row for row in data["rows"]}


def row_of(rows, name):
    """JSON may write bytes that are no text in a way of its own: by its end then."""
    found = [rows[key] for key in rows if key == name or key.endswith("bytes") and
             name.endswith("bytes")]
    return found[0] if found else None


def one_run(form, seed):
    with profiled.directory() as path:
        trace = os.path.join(path, "host.bpt")
        truth = record(trace, form, seed)
        reports = {metric: rows_by(trace, "type", metric) for metric in METRICS}
        if seed == 1:
            lines_as_types(trace, truth, reports)
        return truth, reports


def lines_as_types(trace, truth, reports):
    """Each type is made on a line of its own: the rows say the same."""
    for metric in METRICS:
        lines = rows_by(trace, "line", metric)[1]
        for kind in truth["types"]:
            of_type = row_of(reports[metric][1], kind["name"])
            of_line = lines.get("parser.x:%d" % kind["line"])
            profiled.expect((of_type is None) == (of_line is None), "%s: %s" % (kind, of_line))
            for unit in UNITS if of_type else ():
                profiled.expect(of_type[unit] == of_line[unit], "%s instead of %s" % (
                    of_line, of_type))
    functions = rows_by(trace, "function", "allocated")[1]
    profiled.expect(set(functions) == {kind["function"] for kind in truth["types"]},
                    str(sorted(functions)))
    stacks = profiled.report(trace, "--by", "stack", "--metric", "allocated")["rows"]
    for row in stacks:
        profiled.expect(len(row["stack"]) == 2 and row["stack"][1]["function"] == "main" and
                        row["stack"][1]["file"] == "program.x", str(row))


def absent_row():
    """What a report says of a type without a sample by leaving it out."""
    return {"estimate": 0, "low": 0,
            "high": math.log(2 / (1 - rules.CONFIDENCE)) / -math.log1p(-1 / INTERVAL)}


def collect(form):
    figures, truth = {}, None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for seed, job in enumerate([pool.submit(one_run, form, seed)
                                    for seed in range(1, RUNS + 1)], 1):
            own, reports = job.result()
            truth = truth or own
            profiled.expect(own["types"] == truth["types"], "another truth")
            check_totals(form, own, reports, seed)
            for metric in METRICS:
                for kind in truth["types"]:
                    row = row_of(reports[metric][1], kind["name"])
                    for unit in UNITS:
                        key = unit if metric == "allocated" else "live_" + unit
                        figure = figures.setdefault((kind["name"], metric, unit),
                                                    rules.Figure(kind[key]))
                        figure.add(row[unit] if row else absent_row())
    return figures


def check_totals(form, truth, reports, seed):
    data = reports["allocated"][0]
    profiled.expect(profiled.lost(data) == 0, "lost: %s" % data["losses"])
    profiled.expect(data["samples"] == truth["samples"], "seed %d: %d samples of %d" % (
        seed, data["samples"], truth["samples"]))
    totals = data["totals"]["allocated"]
    for unit in UNITS:
        total = totals[unit]
        exact = form != "context" or unit == "bytes"  # contexts count no objects
        profiled.expect(bool(total.get("exact")) == exact, "%s: %s" % (unit, total))
        made = sum(kind[unit] for kind in truth["types"])
        profiled.expect(not exact or total["estimate"] == made, "%s: %s of %d" % (
            unit, total, made))
    temporary = data["totals"]["temporary"]["bytes"]
    profiled.expect((temporary["estimate"] is None) == (form == "context"), str(temporary))


def judge(tap, form):
    figures = collect(form)
    means = {key: figure.standard_errors() for key, figure in figures.items()}
    allowed = rules.misses_allowed(RUNS)
    false_mean, false_interval = rules.false_alarm_rates(RUNS, len(figures))
    tap.note("%s: %d figures over %d runs; a correct profiler fails the mean rule with probability "
             "<= %.1g, the interval rule <= %.1g" % (form, len(figures), RUNS, false_mean,
                                                     false_interval))
    wrong = ["%r %s %s: %+.2f standard errors" % (*key, mean) for key, mean in means.items()
             if abs(mean) > rules.MEAN_LIMIT_STANDARD_ERRORS]
    tap.check(not wrong, "%s: means within 4.5 standard errors of the truth" % form,
              "\n".join(wrong))
    wrong = ["%r %s %s: %d of %d" % (*key, figure.misses, RUNS) for key, figure in figures.items()
             if figure.misses > allowed]
    tap.check(not wrong, "%s: no figure misses more than %d of %d intervals" % (form, allowed,
                                                                                RUNS),
              "\n".join(wrong))
    tap.note("all figures: %.2f %% missed" % (
        100 * sum(figure.misses for figure in figures.values()) / (RUNS * len(figures))))


class Case:
    """What else is done with such a trace."""

    def __init__(self, path):
        self.path = path

    def trace(self, name):
        return os.path.join(self.path, name + ".bpt")

    def killed(self):
        """Totals are lower limits, and estimates above them."""
        truth = record(self.trace("killed"), "killed", 1)
        data = profiled.report(self.trace("killed"))
        made = sum(kind["bytes"] for kind in truth["types"])
        total = data["totals"]["allocated"]["bytes"]
        profiled.expect(total["low"] == made and not total.get("exact"), str(total))
        profiled.expect(made <= total["estimate"] <= total["high"] < 1.2 * made, str(total))

    def charged(self):
        """Weights are those of the host's charge: 0 with contexts, 1 with the counter."""
        for form, charge in (("context", 0), ("counter", 1)):
            trace = self.trace("charged-" + form)
            record(trace, form, 1, 200, 4000)
            weights = [sum(sample.size / rules.inclusion_probability(
                sample.size, sample.interval, of) for sample in profiled.samples(trace))
                       for of in (charge, 1 - charge)]
            rows = profiled.report(trace, "--by", "type", "--metric", "allocated", "--rows", "100",
                                   "--estimator", "ht")["rows"]
            told = sum(row["bytes"]["estimate"] for row in rows)
            profiled.expect(abs(told - weights[0]) < 1e-9 * told, "%s: %r, not %r" % (
                form, told, weights[0]))
            profiled.expect(abs(told - weights[1]) > 1e-6 * told, "%s: tells nothing" % form)

    def unseen(self):
        """Live is refused where frees are not told."""
        truth = record(self.trace("unseen"), "unseen", 1)
        result = profiled.run([profiled.BYTEPOLL, "report", "--metric", "live",
                               self.trace("unseen")])
        profiled.expect(result.status != 0 and b"was freed" in result.stderr, str(result))
        data = profiled.report(self.trace("unseen"), "--metric", "allocated")
        profiled.expect(data["totals"]["live"]["bytes"]["estimate"] is None and
                        data["totals"]["allocated"]["bytes"]["estimate"] ==
                        sum(kind["bytes"] for kind in truth["types"]), str(data["totals"]))

    def paused(self):
        """What was made while sampling was off is counted, and apart."""
        truth = record(self.trace("paused"), "paused", 1)
        data = profiled.report(self.trace("paused"), "--metric", "allocated")
        made = sum(kind["objects"] for kind in truth["types"])
        on = data["totals"]["allocated"]["objects"]
        off = data["sampling"]["off"]["objects"]
        profiled.expect(on["exact"] and off["exact"] and on["estimate"] + off["estimate"] == made
                        and off["estimate"] * 4 == made, "%s %s" % (on, off))
        profiled.expect(data["intervals"] == [INTERVAL, 2 * INTERVAL], str(data["intervals"]))

    def folded(self):
        """Types, stacks and lines survive folding."""
        trace = self.trace("folded")
        record(trace, "counter", 1, 512, 60000)
        queries = [("--by", by, "--metric", metric) for by in ("type", "line", "stack", "thread")
                   for metric in ("allocated", "live", "peak", "temporary")]
        before = [profiled.report(trace, *query)["rows"] for query in queries]
        size = os.stat(trace).st_blocks
        result = profiled.run([profiled.BYTEPOLL, "fold", trace])
        profiled.expect(result.status == 0, str(result))
        profiled.expect(os.stat(trace).st_blocks < size / 2, "nothing was given back")
        for query, rows in zip(queries, before):
            after = profiled.report(trace, *query)["rows"]
            profiled.expect(len(after) == len(rows), str(query))
            for one, other in zip(rows, after):
                profiled.expect(one.get("name") == other.get("name") and
                                one["samples"] == other["samples"] and
                                abs(one["bytes"]["high"] - other["bytes"]["high"]) <=
                                1e-9 * one["bytes"]["high"], "%s: %s, %s" % (query, one, other))
        dump = os.path.join(profiled.BUILD, "tests/unit/trace/dump_trace")
        if os.path.exists(dump):
            difference = compare_decoders.compare(dump, DECODE, trace)
            profiled.expect(difference is None, str(difference))

    def exported(self):
        """Every export and the page take it, and no name of a type steers a terminal."""
        trace = self.trace("exported")
        record(trace, "counter", 1)
        for by in ("type", "function", "stack", "line", "file", "module", "thread", "size"):
            for words in (["report", "--by", by], ["report", "--by", by, "--csv"],
                          ["report", "--tree"]):
                result = profiled.run([profiled.BYTEPOLL, *words, trace])
                profiled.expect(result.status == 0 and b"\x1b" not in result.stdout and
                                b"\xff" not in result.stdout, "%s: %s" % (words, result))
        for kind in FORMATS:
            out = os.path.join(self.path, "out." + kind)
            result = profiled.run([profiled.BYTEPOLL, "export", "--to", kind, "-o", out, trace])
            profiled.expect(result.status == 0 and os.path.getsize(out) > 20, kind + str(result))
        out = os.path.join(self.path, "out.html")
        result = profiled.run([profiled.BYTEPOLL, "html", "-o", out, trace])
        profiled.expect(result.status == 0 and os.path.getsize(out) > 10000, str(result))

    def damaged(self):
        """Bytes that are changed or missing cost what is in them: an answer or one line of error."""
        trace = self.trace("damaged")
        record(trace, "context", 1)
        with open(trace, "rb") as file:
            data = bytearray(file.read())
        draw = random.Random(SEED)
        for number in range(40):
            broken = bytearray(data)
            if number % 4 == 0:
                del broken[draw.randrange(len(broken)):]
            for _ in range(draw.randrange(1, 60)):
                if broken:
                    # Unsealed chunks too, so that changed records are read.
                    broken[draw.randrange(min(len(broken), 200000))] = draw.randrange(256)
            for chunk in range(65536, len(broken) - 64, 65536):
                broken[chunk + 20] = 0
            path = self.trace("broken")
            with open(path, "wb") as file:
                file.write(broken)
            result = profiled.run([profiled.BYTEPOLL, "report", "--by", "type", path])
            profiled.expect(result.status in (0, 1, 2) and b"\x1b" not in result.stdout and
                            (result.status == 0) == (result.stderr == b""), str(result))

    def together(self):
        """Two of them: types of one name are one row."""
        for seed in (1, 2):
            record(self.trace("many%d" % seed), "counter", seed)
        data = profiled.report(self.trace("many1"), self.trace("many2"), "--by", "type",
                               "--metric", "allocated")
        names = [row["name"] for row in data["rows"]]
        profiled.expect(len(names) == 6 and len(set(names)) == 6, str(names))


def main():
    tap = profiled.Tap()
    for form in ("counter", "context"):
        try:
            judge(tap, form)
        except AssertionError as error:
            tap.check(False, "%s: %d runs" % (form, RUNS), str(error))
    with profiled.directory() as path:
        case = Case(path)
        for action in (case.killed, case.charged, case.unseen, case.paused, case.folded, case.exported,
                       case.damaged, case.together):
            tap.attempt(action.__doc__.split("\n")[0], action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
