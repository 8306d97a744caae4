#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll plan` from outside: what it answers, against numbers worked out elsewhere (docs/statistics.md,
"Planning"; the readings of memray's charts; the table of the .NET document); what it plans from a
profile with known samples; wrong uses; and that its charts are well-formed and replace nothing.

Usage: plan.py BYTEPOLL TRACE_DATA_FOLDER     (prints TAP)
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree

import cases
from cases import test

BYTEPOLL = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.abspath(sys.argv[2]))
from trace_builder import Chunk, header, slot, state, trace  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def call(*words, **environment):
    return subprocess.run([BYTEPOLL, "plan", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, env={**os.environ, **environment})


def text(*words, **environment):
    result = call(*words, **environment)
    assert result.returncode == 0 and result.stderr == "", result
    return result.stdout


def answers(*words):
    """The answers by name."""
    data = json.loads(text(*words, "--json"))
    assert data["schema"] == "bytepoll-plan-1", data
    return data, {answer["answer"]: answer for answer in data["answers"]}


def refuses(status, words, *arguments):
    result = call(*arguments)
    assert result.returncode == status, (arguments, result)
    assert result.stdout == "", result
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("bytepoll: ") and words in lines[0], result.stderr


def near(value, wanted, tolerance):
    assert abs(value - wanted) <= tolerance * abs(wanted), (value, wanted)


@test
def without_options_a_table():
    shown = text()
    for row in ("10 %         441", "1 %      38,970", "+10 %            1,668", "3.69 T"):
        assert row in shown, (row, shown)
    assert "bytepoll plan --heap" in shown and "bytepoll plan app.bpt" in shown, shown
    data = json.loads(text("--json"))
    assert {row["accuracy"]: row["samples"] for row in data["accuracies"]} == {
        1: 11, .5: 28, .3: 63, .2: 125, .1: 441, .05: 1649, .02: 9883, .01: 38970}, data
    assert {row["change"]: row["samples"] for row in data["changes"]} == {
        1.05: 6476, 1.1: 1668, 1.2: 441, 1.3: 207, 1.5: 82, 2: 25, 3: 9, 4: 5}, data
    assert all(ord(c) < 128 for c in text(LC_ALL="C")), "not ASCII in the C locale"


@test
def an_accuracy_gives_an_interval():
    data, answer = answers("--heap", "2GiB", "--share", "5%", "--accuracy", "10%")
    near(answer["accuracy"]["samples"], 441, .003)
    near(data["interval"], 0.05 * 2 ** 31 / 441, .003)
    near(answer["accuracy"]["samples_heap"], 20 * answer["accuracy"]["samples"], 1e-6)
    near(answer["accuracy"]["per_gib"]["samples"], 2 ** 30 / data["interval"], 1e-6)
    near(answer["accuracy"]["per_gib"]["trace_bytes"], 40 * 2 ** 30 / data["interval"], 1e-6)
    assert -.14 < answer["accuracy"]["at_default"]["low"] < -.12, answer
    shown = text("--heap", "2GiB", "--share", "5%", "--accuracy", "10%")
    assert "102.4 MiB (5 % of 2 GiB)" in shown and "worst case" in shown, shown
    # The interval proposed is what `run` takes, a round one that is not larger than what was found.
    assert "bytepoll run --interval 192K" in shown, shown
    assert text("--heap", "2GiB", "--share", "5%") == shown, "10 % is the default"
    # Larger objects, a counted total, a lower confidence: each allows a larger T.
    for more in (["--size", "100K"], ["--counted"], ["--confidence", "0.9"]):
        assert answers("--heap", "2G", "--share", "5%", *more)[0]["interval"] > data["interval"]


@test
def without_bytes_the_bytes_it_takes():
    _, answer = answers("--accuracy", "10%")
    assert answer["accuracy"]["samples"] == 441, answer
    assert answer["accuracy"]["bytes"] == 441 * 524288, answer
    _, answer = answers("--interval", "64K")
    assert answer["accuracy"]["bytes"] == 441 * 65536, answer


@test
def an_interval_gives_an_accuracy():
    data, answer = answers("--heap", "52428800", "--interval", "512K")
    figure = answer["figure"]
    assert figure["expected_samples"] == 100 and data["interval"] == 524288, data
    near(figure["interval_relative"]["low"], .81 - 1, .03)
    near(figure["interval_relative"]["high"], 1.22 - 1, .03)
    near(answers("--heap", "13107200", "--interval", "512K")[1]["figure"]["smallest_growth"], 1, .005)
    # No sample is to be expected: an upper limit is all there will be.
    figure = answers("--heap", "100K", "--interval", "1M")[1]["figure"]
    near(figure["upper_limit"], 3.69 * 2 ** 20, .001)
    near(figure["chance"], 1 - math.exp(-100 / 1024), 1e-5)


@test
def one_object():
    _, answer = answers("--size", "64K", "--interval", "512K")
    near(answer["objects"]["chance"], 1 - math.exp(-1 / 8), 1e-5)
    near(answer["objects"]["error"], 1 / math.expm1(1 / 8), 1e-5)
    assert answer["objects"]["objects_seen"] == 24, answer
    _, answer = answers("--size", "1", "--interval", "1024")
    near(answer["objects"]["error"], 1023, 1e-9)
    _, answer = answers("--size", "512K", "--interval", "512K")
    assert answer["objects"]["chance"] == 1 and answer["objects"]["error"] == 0, answer


@test
def a_change():
    data, answer = answers("--change", "10%", "--heap", "200MiB")
    assert answer["change"]["samples_before"] == 1668, answer
    assert data["interval"] == 200 * 2 ** 20 // 1668, data
    assert answers("--change", "x2")[1]["change"]["samples_before"] == 25
    assert answers("--change", "2x")[1]["change"]["samples_before"] == 25
    assert answers("--change", "-50%")[1]["change"]["samples_before"] == 50
    assert answers("--change", "+100%", "--power", "99%")[1]["change"]["samples_before"] > 50
    assert "bytepoll diff" in text("--change", "10%", "--heap", "200MiB")
    assert "from run to run" in text("--change", "10%", "--heap", "200MiB")


@test
def a_limit():
    data, answer = answers("--limit", "live=200MiB", "--false-alarm", "0.01")
    limit = answer["limit"]
    # The limits in samples at which it decides: the table of docs/statistics.md within its teeth.
    for name, samples in (("exceeded_1.1", 1070), ("exceeded_1.2", 284), ("exceeded_1.5", 51),
                          ("exceeded_2", 15), ("exceeded_3", 4.7), ("within_1.2", 348),
                          ("within_1.5", 82), ("within_2", 34), ("within_3", 16)):
        near(200 * 2 ** 20 / limit["interval_" + name], samples, .09)
    near(limit["interval_decidable"], 200 * 2 ** 20 / 4.60517, 1e-5)
    assert data["interval"] == min(limit["interval_exceeded_1.2"], limit["interval_within_1.2"])
    shown = text("--limit", "live=200MiB", "--false-alarm", "0.01")
    assert "bytepoll check app.bpt --limit live=200MiB --false-alarm 0.01" in shown, shown
    narrow, answer = answers("--limit", "200M", "--change", "10%")
    assert narrow["interval"] < data["interval"] / 2, narrow
    assert "interval_exceeded_1.1" in answer["limit"], answer
    assert "moment" in text("--limit", "peak=1G") and "moment" not in shown
    assert "any T" in text("--limit", "allocated=1G")
    # At a given T, the chances: 80 % where the largest T above is that one.
    at = str(limit["interval_exceeded_1.5"])
    near(answers("--limit", "200M", "--interval", at)[1]["limit"]["chance_exceeded_1.5"], .8, .001)
    chances = answers("--limit", "200M", "--interval", "64M")[1]["limit"]
    assert chances["chance_within_3"] == 0 and chances["chance_exceeded_3"] > .1, chances
    # What a shell would not take as one word is not proposed to it.
    shown = text("--limit", "allocated:$(id)<b>\x1b[31m=10M")
    assert "$(id)" not in shown and "\x1b" not in shown and "bytepoll report" in shown, shown


def sample_trace(name="/lib/app.so", interval=65536):
    """100 live samples of 4 KiB, 12 of 30000 bytes, 3 exact ones of 1 MiB; 1500 of 16 bytes freed, so that the rows
    are small parts of what was counted, which is what the samples stand for. At T = 1: one freed."""
    chunk = Chunk(base_time=1000, interval=interval)
    chunk.module(1, 0x400000, 0x500000, 0x400000, name)
    chunk.stack(1, [0x400100])
    freed = 1 if interval == 1 else 1500
    sizes = [4096] * 100 + [30000] * 12 + [1 << 20] * 3 + [16] * freed
    trials, objects = 0, 0
    for number, size in enumerate(sizes, 1):
        twins = 100 if interval == 1 else 1 if size >= interval else round(-1 / math.expm1(-size / interval))
        trials += twins * (size + (interval != 1))
        objects += twins
        chunk.sample(2 * number, 1000 + 2 * number, size, stack=1, address=0x10000 * number, trials=trials,
                     objects=objects, exact=size >= interval)
        if size == 16:
            chunk.free(2 * number + 1, 1001 + 2 * number, 2 * number, trials=trials, objects=objects)
    return trace(header(interval=interval), state(ended=1, reason=1, end_time=9000, trials=trials,
                                               objects=objects, samples=len(sizes)),
                 [slot(1, 100, trials, objects, 0)], [chunk.bytes(1)])


def write_trace(path, *arguments, **settings):
    with open(path, "wb") as file:
        file.write(sample_trace(*arguments, **settings))


@test
def a_profile():
    write_trace("app.bpt")
    data = json.loads(text("app.bpt", "--by", "size", "--json"))
    assert data["schema"] == "bytepoll-plan-profile-1" and data["interval"] == 65536, data
    assert data["metric"] == "live" and data["accuracy"] == .1, data
    rows = {row["name"]: row for row in data["rows"]}
    report = json.loads(subprocess.run([BYTEPOLL, "report", "--by", "size", "--json", "app.bpt"],
                                       capture_output=True, text=True, check=True).stdout)
    assert len(report["rows"]) == len(rows) == 3, report
    for row in report["rows"]:
        planned = rows[row["name"]]
        for key in ("estimate", "low", "high"):
            near(planned["bytes"][key], row["bytes"][key], 1e-6)
        estimate = row["bytes"]["estimate"]
        wide = max(1 - row["bytes"]["low"] / estimate, row["bytes"]["high"] / estimate - 1)
        near(planned["accuracy_now"], wide, 1e-4)
        near(planned["expected_samples"], data["samples"] * 65536 / planned["interval"], 1e-6)
        near(planned["trace_bytes"], 65536 + 40 * planned["expected_samples"], 1e-6)
    by_samples = {row["samples"]: row for row in data["rows"]}
    # 100 and 12 samples are some 110 and 16 of small objects; 441 are wanted.
    near(by_samples[100]["interval"], 65536 * 110 / 441, .1)
    near(by_samples[12]["interval"], 65536 * 16 / 441, .25)
    # Exact objects are within 10 % already: the same T keeps them so.
    assert by_samples[3]["accuracy_now"] < .1 and by_samples[3]["interval"] == 65536, data
    # Four times as accurate takes about sixteen times the samples.
    finer = json.loads(text("app.bpt", "--by", "size", "--json", "--accuracy", "2.5%"))
    fine = {row["samples"]: row["interval"] for row in finer["rows"]}
    near(by_samples[100]["interval"] / fine[100], 6386 / 441, .03)
    assert fine[3] < 65536, fine
    assert len(json.loads(text("app.bpt", "--by", "size", "--json", "-n", "1"))["rows"]) == 1
    shown = text("app.bpt", "--by", "size")
    assert "1,615 samples at T = 64 KiB" in shown and "bytepoll run --interval" in shown, shown
    rows = list(csv.DictReader(io.StringIO(text("app.bpt", "--by", "size", "--csv"))))
    assert [int(row["samples"]) for row in rows] == [row["samples"] for row in data["rows"]], rows


@test
def a_profile_of_every_object():
    """All is exact at T = 1, but not at any T: as if all were small, N bytes take N/441."""
    write_trace("app.bpt", interval=1)
    data = json.loads(text("app.bpt", "--by", "size", "--json"))
    allocated = sum([4096] * 100 + [30000] * 12 + [1 << 20] * 3 + [16]) * 100
    for row in data["rows"]:
        assert row["accuracy_now"] == 0 and row["equivalent_samples"] is None, row
        near(row["interval"], row["bytes"]["estimate"] / 441, .01)
        # Bytes, not objects, make the samples; but no more than objects.
        near(row["expected_samples"], min(data["samples"], allocated / row["interval"]), 1e-6)
    shown = text("app.bpt", "--by", "size")
    assert shown.count("exact ") == 3 and "any\n" not in shown, shown
    assert "bytepoll run --interval" in shown, shown
    counted = json.loads(text("app.bpt", "--by", "thread", "--metric", "allocated", "--json"))
    assert [row["interval"] for row in counted["rows"]] == [None], counted


@test
def a_profile_with_a_hostile_name():
    write_trace("bad.bpt", "/lib/<b>&\"'\x1b[2J,x\u202e\xff.so")
    shown = text("bad.bpt", "--by", "module")
    assert "\x1b" not in shown and "\u202e" not in shown, shown
    name = json.loads(text("bad.bpt", "--by", "module", "--json"))["rows"][0]["name"]
    assert "<b>&\"'\x1b[2J" in name, name
    rows = list(csv.reader(io.StringIO(text("bad.bpt", "--by", "module", "--csv"))))
    assert len(rows) == 2 and len(rows[1]) == len(rows[0]) and "<b>&\"'" in rows[1][0], rows


@test
def tables():
    data = json.loads(text("--table", "--json"))
    for name, readings in (("probability", {(512, 1): .00195, (512, 64): .1176, (512, 256): .3938,
                                            (65536, 65536): .6321, (512, 4194304): 1}),
                           ("error", {(512, 1): 511, (512, 16): 31.5, (512, 256): 1.54,
                                      (1024, 1): 1023, (512, 512): 0, (2097152, 4194304): 0})):
        points = {(series["interval"], size): value
                  for series in data[name] for size, value in series["points"]}
        assert len(points) == 13 * 23, len(points)
        for at, wanted in readings.items():
            near(points[at], wanted, .003)
    dotnet = {row["samples"]: (row["low"], row["high"]) for row in data["quantiles"]["rows"]}
    assert data["quantiles"]["interval"] == 102400, data["quantiles"]
    for samples, limits in {1: (2591, 377738), 2: (24800, 570531), 8: (353666, 1476870),
                            10: (491039, 1749469), 100: (8331581, 12342053),
                            1000: (96149867, 108842093),
                            10000: (1004017229, 1044156743)}.items():
        assert dotnet[samples] == limits, (samples, dotnet[samples])
    assert 100000 in dotnet
    rows = list(csv.DictReader(io.StringIO(text("--csv"))))
    values = {(row["chart"], int(row["interval_bytes"]), int(row["x"])): float(row["value"])
              for row in rows}
    assert values["quantile_low", 102400, 8] == 353666 and len(values) == 2 * 13 * 23 + 2 * 28
    near(values["error", 1024, 1], 1023, 1e-9)
    shown = text("--table", COLUMNS="100")
    assert "2,591" in shown and "T=512" in shown and "1,044,156,743" in shown, shown
    assert max(map(len, shown.splitlines())) <= 100, shown
    one = text("--chart", "quantiles", "--interval", "512K", "--confidence", "0.9")
    assert "T = 524288" in one and "T=512" not in one and "95 %" in one, one


@test
def charts():
    assert text("--svg", "charts.svg") == ""
    with open("charts.svg", encoding="utf-8") as file:
        drawing = file.read()
    root = xml.etree.ElementTree.fromstring(drawing)
    assert root.tag == SVG + "svg" and root.get("role") == "img", root.attrib
    assert root.find(SVG + "title").text and len(root.find(SVG + "desc").text) > 200
    assert len(list(root.iter(SVG + "polyline"))) == 13 + 13 + 3
    assert "prefers-color-scheme: dark" in drawing
    for word in ("<script", "href", "http://", "https://", "@import", "url("):
        allowed = {"http://": 1, "url(": 3}.get(word, 0)  # the namespace; the clip of each plot
        assert drawing.count(word) == allowed, (word, drawing.count(word))
    # Every class that is used is in the style sheet, in both of its halves.
    style = root.find(SVG + "style").text
    for element in root.iter():
        for name in (element.get("class") or "").split():
            assert name in ("label",) or f".{name} " in style or f".{name}," in style, name
    # Memray's reading, off the drawing: at T = 512, 1.5 KiB leave a sample with 95 %.
    curve = next(root.iter(SVG + "polyline"))
    points = [tuple(map(float, point.split(","))) for point in curve.get("points").split()]
    wanted = 640 * math.log2(1536) / 22
    at = min(points, key=lambda point: abs(point[0] - wanted))
    near(1 - at[1] / 330, .95, .02)
    one = xml.etree.ElementTree.fromstring(text("--chart", "quantiles", "--svg", "-"))
    assert len(list(one.iter(SVG + "polyline"))) == 3
    assert int(one.get("height")) * 3 == int(root.get("height"))


@test
def charts_replace_nothing():
    with open("there.svg", "w", encoding="utf-8") as file:
        file.write("precious")
    refuses(1, "there.svg exists", "--svg", "there.svg")
    with open("there.svg", encoding="utf-8") as file:
        assert file.read() == "precious"
    os.mkdir("folder.svg")
    refuses(1, "no regular file", "--force", "--svg", "folder.svg")
    os.symlink("there.svg", "link.svg")
    refuses(1, "no regular file", "--force", "--svg", "link.svg")
    refuses(1, "cannot be created", "--svg", "no/such/folder.svg")
    assert text("--force", "--svg", "there.svg") == ""
    xml.etree.ElementTree.parse("there.svg")
    refuses(1, "no regular file", "--svg", "/dev/full")


@test
def help_manual_and_completion():
    shown = text("--help")
    assert all(len(line) <= 110 for line in shown.splitlines()), shown
    assert "--accuracy PERCENT" in shown and "Exit status:" in shown, shown
    for words in (["manual", "plan"], ["completion", "bash"], ["--help"]):
        result = subprocess.run([BYTEPOLL, *words], capture_output=True, text=True, check=True)
        assert "plan" in result.stdout, words


@test
def wrong_uses():
    refuses(2, "--interval 1 records every object", "--limit", "live=1M", "--interval", "1")
    refuses(2, "is no size", "--heap", "many")
    refuses(2, "--heap 0: must be from 1", "--heap", "0")
    refuses(2, "write 10% or 0.1", "--accuracy", "5")
    refuses(2, "write 10% or 0.1", "--accuracy", "x")
    refuses(2, "must be from 0.05% to 1000%", "--accuracy", "0%")
    refuses(2, "must be from 0.05% to 1000%", "--accuracy", "nan%")
    refuses(2, "write 10%, -30% or a factor", "--change", "10")
    refuses(2, "at least 0.1%", "--change", "0%")
    refuses(2, "at least 0.1%", "--change", "-100%")
    refuses(2, "is a part of --heap", "--share", "5%")
    refuses(2, "give its --share too", "--counted", "--heap", "1G")
    refuses(2, "larger than --heap", "--size", "2G", "--heap", "1G")
    refuses(2, "give its --limit too", "--false-alarm", "0.1")
    refuses(2, "only limits in bytes", "--limit", "live.objects=10000")
    refuses(2, "only limits in bytes", "--limit", "live.objects:f*=10000")
    refuses(2, "leave --heap out", "--limit", "1G", "--heap", "1G")
    refuses(2, "leave --size out", "--change", "10%", "--size", "1K")
    refuses(2, "margin", "--limit", "1G", "--change", "-10%")
    refuses(2, "--limit many is no size", "--limit", "live=many")
    refuses(2, "--confidence", "--confidence", "1.5")
    refuses(2, "from 0.5 to", "--confidence", "0.1")
    refuses(2, "must be from 50% to", "--power", "10%", "--change", "10%")
    refuses(2, "must be one of probability|error|quantiles", "--chart", "pie")
    refuses(2, "--table and --heap: choose one", "--table", "--heap", "1G")
    refuses(2, "--json and --csv: choose one", "--json", "--csv")
    refuses(2, "--svg and --json: choose one", "--svg", "x.svg", "--json")
    refuses(2, "take --json", "--heap", "1G", "--csv")
    refuses(2, "needs a profile", "--by", "line")
    refuses(2, "--force replaces", "--force")
    refuses(2, "no table for that", "--table", "--interval", "1")
    refuses(2, "--heap and a profile", "--heap", "1G", "app.bpt")
    refuses(2, "--interval and a profile", "--interval", "1M", "app.bpt")
    refuses(1, "there is no such file", "no-such-file.bpt")


@test
def extremes_come_to_an_end():
    for words in (["--heap", "1"], ["--heap", "4095T", "--accuracy", "0.05%"],
                  ["--heap", "4095T", "--share", "0.0001%", "--counted"],
                  ["--heap", "1G", "--share", "99.9999%", "--counted", "--accuracy", "0.05%"],
                  ["--heap", "1G", "--size", "1G", "--interval", "1"],
                  ["--heap", "1G", "--size", "1", "--interval", "1T"],
                  ["--heap", "4095T", "--interval", "2"],
                  ["--accuracy", "1000%", "--confidence", "0.999999"],
                  ["--change", "0.1%", "--power", "99.99%", "--confidence", "0.999999"],
                  ["--change", "x1000000"], ["--change", "-99.9%"],
                  ["--limit", "1", "--false-alarm", "1e-9"], ["--limit", "4095T"]):
        data, _ = answers(*words)
        assert data["interval"] is None or 1 <= data["interval"] <= 2 ** 40, (words, data)
        shown = text(*words)
        for word in ("nan", "inf", "-0 "):
            assert word not in shown.replace("confidence", ""), (words, shown)


if __name__ == "__main__":
    sys.exit(cases.run())
