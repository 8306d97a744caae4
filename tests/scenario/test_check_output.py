#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `bytepoll check` prints and returns: exit statuses, JSON, JUnit XML and GitHub annotations
read back by real parsers, with names that try to break each of them. Whether its verdicts are right
is the subject of test_check.py.
"""
import json
import os
import re
import shutil
import sys
import xml.etree.ElementTree

import profiled

INTERVAL = 2048
# Filters and file names that mean something to a terminal, XML, JSON or a workflow.
HOSTILE = "a\x1b[31m<&>\"'\n::error::x%0A,:]]>\u202e\u2028"
# One workflow command, as the runner reads it: properties end at ::, what follows is the message.
COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def check(trace, *options, **settings):
    words = [profiled.BYTEPOLL, "check", *(trace if isinstance(trace, list) else [trace]), *options]
    return profiled.run(words, **settings)


def expect_status(result, status):
    profiled.expect(result.status == status, "status %s instead of %s: %s%s" % (
        result.status, status, result.stdout.decode(errors="replace"),
        result.stderr.decode(errors="replace")))
    return result


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    profiled.expect(len(names) == len(set(names)), "a name stands twice: %s" % names)
    return dict(pairs)


def no_constant(name):
    raise AssertionError("not JSON: " + name)


def parse_json(result):
    return json.loads(result.stdout.decode("utf-8"), parse_constant=no_constant,
                      object_pairs_hook=no_duplicates)


def unescaped(text):
    return text.replace("%3A", ":").replace("%2C", ",").replace("%0A", "\n").replace(
        "%0D", "\r").replace("%25", "%")


def record(path, name="truth", seed=1, interval=INTERVAL):
    trace = os.path.join(path, "%s.%d.bpt" % (name, seed))
    result = profiled.run([profiled.program(name)], trace, interval, seed)
    profiled.expect(result.status == 0, "%s: status %s" % (name, result.status))
    return trace


def statuses(trace):
    """Exceeded wins over undecided, undecided over within."""
    within, exceeded, undecided = "live=1G", "allocated=1M", "live:site_small_mixed=383714"
    for limits, status in (([within], 0), ([exceeded], 1), ([undecided], 3),
                           ([within, within], 0), ([within, undecided], 3),
                           ([undecided, within], 3), ([undecided, exceeded, within], 1),
                           ([within, exceeded], 1)):
        options = [word for limit in limits for word in ("--limit", limit)]
        expect_status(check(trace, *options), status)
        for form in ("--json", "--github"):
            expect_status(check(trace, form, *options), status)
        expect_status(check(trace, "--allow-undecided", *options), 0 if status == 3 else status)
    expect_status(check([trace, trace], "--limit", within), 0)


def usage_errors(trace):
    cases = ((["--limit", "live=1M"], "no file given"),
             ([trace], "no limit given"),
             ([trace, "--limit", "live"], "write METRIC=SIZE"),
             ([trace, "--limit", "heap=1M"], "'heap' is no metric"),
             ([trace, "--limit", "live=much"], "is no size"),
             ([trace, "--limit", "live=1M", "--false-alarm", "0.5"], "below 0.5"),
             ([trace, "--limit", "live=1M", "--false-alarm", "0"], "--false-alarm"),
             ([trace, "--limit", "live=1M", "--against", trace], "needs a limit: --max-growth"),
             ([trace, "--max-growth", "5%"], "--against FILE"),
             ([trace, "--max-growth", "5", "--against", trace], "write"),
             ([trace, "--limit", "live=1M", "--metric", "peak"], "--metric is for"),
             ([trace, "--limit", "peak=1M", "--at", "1s"], "--at is for live"),
             ([trace, "--limit", "live=1M", "--json", "--github"], "choose one"),
             ([trace, "--limit", "live=1M", "--limits", "x"], "did you mean --limit"))
    for words, text in cases:
        result = expect_status(check(words), 2)
        lines = result.stderr.decode().splitlines()
        profiled.expect(len(lines) == 1 and lines[0].startswith("bytepoll: ") and text in lines[0],
                        "%s: %s" % (words, lines))
        profiled.expect(result.stdout == b"", "output in spite of an error")


def errors(trace, path):
    """An error is never taken for a finding: 2, not 1."""
    broken = os.path.join(path, "broken.bpt")
    with open(broken, "w", encoding="utf-8") as file:
        file.write("not a trace")
    expect_status(check(os.path.join(path, "missing.bpt"), "--limit", "live=1"), 2)
    expect_status(check(broken, "--limit", "live=1"), 2)
    expect_status(check([trace, broken], "--limit", "live=1"), 2)
    expect_status(check(trace, "--max-growth", "5%", "--against", broken), 2)
    expect_status(check(trace, "--limit", "live=1", "--junit", path), 2)
    growth = ("--max-growth", "5%")
    for new, base in (([trace, trace], [trace]), ([trace], [trace, trace])):
        against = [word for name in base for word in ("--against", name)]
        result = expect_status(check(new, *growth, *against), 2)
        profiled.expect(b"is the same run as" in result.stderr, str(result))
    with open(trace, "rb") as file:
        before = file.read()
    for name in (trace, os.path.join(path, "..", os.path.basename(path), os.path.basename(trace))):
        for force in ([], ["--force"]):
            expect_status(check(trace, "--limit", "live=1", "--junit", name, *force), 2)
    with open(trace, "rb") as file:
        profiled.expect(file.read() == before, "the trace was written over")
    expect_status(check(trace, "--limit", "live=1", "--junit", "/dev/full"), 2)
    expect_status(check(trace, "--limit", "live=1", "--pid", "1"), 2)
    for form in ([], ["--json"], ["--github"]):
        command = [profiled.BYTEPOLL, "check", trace, "--limit", "live=1", *form]
        full = profiled.run(["sh", "-c", '"$@" > /dev/full', "sh", *command])
        expect_status(full, 2)


def json_fields(trace):
    data = parse_json(expect_status(check(
        trace, "--json", "--limit", "allocated:site_small_mixed=10M", "--limit", "live=1M",
        "--limit", "live.objects:site_zero=5"), 1))
    profiled.expect(data["schema"] == "bytepoll-check-1", data["schema"])
    profiled.expect(data["verdict"] == "exceeded" and data["false_alarm"] == 0.01, str(data))
    profiled.expect(data["files"] == [trace] and data["against"] == [], str(data["files"]))
    names = [limit["limit"] for limit in data["limits"]]
    profiled.expect(names == ["allocated:site_small_mixed=10M", "live=1M",
                              "live.objects:site_zero=5"], str(names))
    for limit in data["limits"]:
        interval = limit["interval"]
        profiled.expect(abs(limit["false_alarm"] - .01 / 3) < 1e-9, str(limit))
        profiled.expect(abs(interval["confidence"] - (1 - .02 / 3)) < 1e-9, str(limit))
        profiled.expect(interval["low"] <= interval["estimate"] <= interval["high"], str(limit))
        profiled.expect(limit["sampling_interval"] == INTERVAL and limit["kind"] == "limit" and
                        limit["file"] == trace, str(limit))
        expected = ("exceeded" if interval["low"] > limit["bound"] else
                    "within" if interval["high"] <= limit["bound"] else "undecided")
        profiled.expect(limit["verdict"] == expected, str(limit))
        profiled.expect((limit["reason"] is None) == (expected != "undecided"), str(limit))
    first, last = data["limits"][0], data["limits"][2]
    profiled.expect(first["bound"] == 10 << 20 and first["unit"] == "bytes" and
                    first["filter"] == "function=site_small_mixed" and first["samples"] > 300,
                    str(first))
    profiled.expect(last["unit"] == "objects" and last["bound"] == 5, str(last))


def undecided_says_what_decides(trace, path):
    """... and the same program is decided by who follows its advice: an interval that decides in 80 % of runs if
    the figure is as estimated, which it is not quite; so the advice is followed up to three times."""
    limit = ["--limit", "live:site_small_mixed=345K"]
    status, seed = 3, 1
    while status == 3 and seed < 5:
        entry = parse_json(expect_status(check(trace, "--json", *limit), 3))["limits"][0]
        profiled.expect(entry["reason"] == "samples" and "--interval" in entry["advice"], str(entry))
        profiled.expect(entry["needs"]["samples"] > entry["needs"]["samples_now"], str(entry))
        seed += 1
        trace = record(path, seed=seed, interval=entry["needs"]["interval"])
        status = check(trace, *limit).status
    profiled.expect(status == 1, "status %d after %d runs" % (status, seed))


def junit(trace, path, file_name):
    limits = ["--limit", "live=1G", "--limit", "allocated=1M",
              "--limit", "live:site_small_mixed=383714", "--limit", "live:%s=1G" % HOSTILE]
    for options, faults in (([], ("failure", "error")),
                            (["--allow-undecided"], ("failure", "skipped"))):
        expect_status(check(trace, *limits, *options, "--force", "--junit", file_name), 1)
        suite = xml.etree.ElementTree.parse(file_name).getroot().find("testsuite")
        cases = suite.findall("testcase")
        profiled.expect(len(cases) == 4 == int(suite.get("tests")), "test cases")
        counts = {name: int(suite.get(name)) for name in ("failures", "errors", "skipped")}
        profiled.expect(counts == {"failures": 1, "errors": faults[1] == "error",
                                   "skipped": faults[1] == "skipped"}, str(counts))
        elements = [[child.tag for child in case if child.tag != "system-out"] for case in cases]
        profiled.expect(elements == [[], ["failure"], [faults[1]], []], str(elements))
        profiled.expect("over the limit" in cases[1].find("failure").get("message"), "message")
        name = cases[3].get("name")
        profiled.expect("<&>\"'" in name and "\\x1b" in name and "\\x0a" in name and
                        "\\u{202e}" in name, repr(name))
        profiled.expect(cases[0].get("name") == "live=1G", cases[0].get("name"))
    expect_status(check(trace, "--limit", "live=1G", "--junit", file_name, "--force"), 0)
    profiled.expect(len(xml.etree.ElementTree.parse(file_name).getroot().findall(
        "testsuite/testcase")) == 1, "the file of an earlier check is replaced")


def junit_file(trace, path):
    """Nothing is replaced unasked, a link never; a failure leaves nothing behind and what was there."""
    folder = os.path.join(path, "junit")
    os.mkdir(folder)
    there, link, new = (os.path.join(folder, name) for name in ("there", "link", "new"))
    with open(there, "w", encoding="utf-8") as file:
        file.write("mine")
    os.symlink(there, link)

    def untouched():
        with open(there, encoding="utf-8") as file:
            profiled.expect(file.read() == "mine", "what was there is gone")
        profiled.expect(sorted(os.listdir(folder)) == ["link", "there"], str(os.listdir(folder)))

    broken = os.path.join(path, "broken.bpt")
    limit = ("--limit", "live=1")
    for file, name, options, words in (
            (trace, there, [], b"exists: choose another --junit, or replace it by --force"),
            (trace, link, [], b"symbolic link"), (trace, link, ["--force"], b"symbolic link"),
            (trace, folder, ["--force"], b"is no regular file"),
            (trace, os.path.join(folder, "no", "x"), [], b"cannot be created"),
            (trace, "", [], b"--junit needs the name of a file"),
            (trace, "-", [], b"--junit -"),
            (broken, new, [], b"broken.bpt"), (broken, there, ["--force"], b"broken.bpt")):
        result = expect_status(check(file, *limit, "--junit", name, *options), 2)
        profiled.expect(words in result.stderr and result.stdout == b"", str(result))
        untouched()
    expect_status(check(trace, *limit, "--force"), 2)
    # What does not fit leaves nothing: a limit of 1 KiB, and SIGXFSZ ignored as Python has it.
    command = [profiled.BYTEPOLL, "check", trace, *limit * 60, "--junit", new]
    result = profiled.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "sh", *command])
    profiled.expect(result.status == 2 and b"cannot be written" in result.stderr, str(result))
    untouched()
    expect_status(check(trace, *limit, "--junit", new), 1)
    profiled.expect(sorted(os.listdir(folder)) == ["link", "new", "there"],
                    str(os.listdir(folder)))


def github(trace, path):
    limits = ["--limit", "live=1G", "--limit", "allocated=1M", "--limit",
              "live:site_small_mixed=383714", "--limit", "allocated:%s=1G" % HOSTILE,
              "--limit", "allocated:no_%_such,thing:=1G"]
    result = expect_status(check(trace, *limits, "--github"), 1)
    lines = [line for line in result.stdout.decode("utf-8").split("\n")
             if line.lstrip().startswith("::")]
    found = [COMMAND.fullmatch(line) for line in lines]
    profiled.expect(all(found) and len(found) == 4, str(lines))
    kinds = [match.group(1) for match in found]
    profiled.expect(kinds == ["error", "warning", "warning", "warning"], str(kinds))
    titles = [unescaped(match.group(2)) for match in found]
    profiled.expect(titles[0] == "bytepoll check exceeded: allocated=1M", titles[0])
    profiled.expect(titles[3] == "bytepoll check within: allocated:no_%_such,thing:=1G", titles[3])
    profiled.expect("no sample matches" in unescaped(found[3].group(3)), found[3].group(3))
    profiled.expect("no_%_such" in unescaped(found[3].group(3)), found[3].group(3))
    profiled.expect(b"\x1b" not in result.stdout and "\u202e" not in result.stdout.decode(),
                    "controls in the output")


def hostile_files(trace, path):
    """A file name of any bytes, in every form."""
    name = os.path.join(os.fsencode(path), HOSTILE.encode() + b"\xff\xfe.bpt")
    os.link(trace, name)
    for form in ([], ["--json"], ["--github"]):
        result = expect_status(check(name, "--limit", "live=1", *form), 1)
        text = result.stdout.decode("utf-8")  # strict
        profiled.expect("\x1b" not in text, "an escape sequence got through")
        profiled.expect(not any(line.startswith("::") and not COMMAND.fullmatch(line)
                                for line in text.split("\n")), text)
    data = parse_json(check(name, "--limit", "live=1", "--json"))
    profiled.expect(data["limits"][0]["file"].startswith(path), data["limits"][0]["file"])
    output = os.path.join(path, "hostile.xml")
    expect_status(check(name, "--limit", "live=1", "--junit", output), 1)
    case = xml.etree.ElementTree.parse(output).getroot().find("testsuite/testcase")
    profiled.expect(case.get("classname").endswith("\\xff\\xfe.bpt"), case.get("classname"))


def growth(traces):
    """Six runs. Threads make them differ even at one seed, so nothing here hangs on luck: with
    three runs a side and deviations of a few per cent the mean is known far better than to a factor
    of 4."""
    first, second, third, *base = traces
    against = [word for trace in base for word in ("--against", trace)]
    data = parse_json(expect_status(check(
        [first, second, third], "--json", *against, "--max-growth", "300%", "--metric",
        "allocated", "--metric", "live", "--metric", "peak"), 0))
    profiled.expect([limit["limit"] for limit in data["limits"]] ==
                    ["allocated=300%", "live=300%", "peak=300%"], str(data))
    profiled.expect(data["files"] == [first, second, third] and data["against"] == base, str(data))
    for limit in data["limits"]:
        interval = limit["interval"]
        profiled.expect(limit["kind"] == "growth" and limit["bound"] == 4, str(limit))
        profiled.expect(limit["base"]["runs"] == limit["new"]["runs"] == 3, str(limit))
        profiled.expect(.5 < interval["low"] <= interval["estimate"] <= interval["high"] < 2 and
                        abs(interval["estimate"] - 1) < .3, str(limit))
        profiled.expect(limit["note"] is None, str(limit))
    one = parse_json(check(first, "--json", "--against", second, "--max-growth",
                           "allocated:site_grow=1%"))["limits"][0]
    profiled.expect("one run on a side" in one["note"], str(one))
    # Counted to the byte: the same program with the same work has not grown.
    counted = parse_json(expect_status(check(first, "--json", "--against", second,
                                             "--max-growth", "0%"), 0))["limits"][0]
    profiled.expect(counted["interval"]["exact"] and counted["interval"]["high"] == 1, str(counted))


def nothing_unseen_is_within(path):
    """A program without glibc's malloc, a static one, and a static child."""
    folder = os.path.join(profiled.BUILD, "tests", "unit", "cli")
    cases = ((["fixture_malloc"], "unprofiled"), (["sh", "-c", "fixture_static; true"],
                                                 "processes-not-seen"))
    for number, (words, reason) in enumerate(cases):
        trace = os.path.join(path, "unseen.%d.bpt" % number)
        words = [words[0] if words[0] == "sh" else os.path.join(folder, words[0])] + words[1:]
        result = profiled.run([profiled.BYTEPOLL, "run", "-q", "-o", trace, "--", *words],
                              extra={"PATH": folder + ":" + os.environ["PATH"]})
        profiled.expect(os.path.exists(trace), "%s left no trace: %s" % (words, result))
        entry = parse_json(expect_status(check(
            trace, "--json", "--limit", "live=100G"), 3))["limits"][0]
        profiled.expect(entry["reason"] == reason and entry["interval"]["high"] is None, str(entry))
        expect_status(check(trace, "--limit", "live=100G", "--only-seen"),
                      3 if reason == "unprofiled" else 0)


def a_file_without_its_tree(path):
    """A shell that became the program: its own file, copied alone, is no profile of the program."""
    trace, copy = os.path.join(path, "tree.bpt"), os.path.join(path, "alone.bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "-q", "-o", trace, "--", "sh", "-c",
                           'exec "$0"', profiled.program("truth")])
    profiled.expect(result.status == 0, str(result))
    expect_status(check(trace, "--limit", "allocated=1G"), 0)
    expect_status(check(trace, "--limit", "allocated=10M"), 1)
    shutil.copy(trace, copy)
    for limit in ("allocated=1G", "allocated=10M"):
        entry = parse_json(expect_status(check(copy, "--json", "--limit", limit), 3))["limits"][0]
        profiled.expect(entry["reason"] == "unprofiled" and "FILE.d" in entry["advice"],
                        str(entry))


def children_left_behind(path):
    """A program that forked: its own file, copied alone, does not tell of the children."""
    trace, copy = os.path.join(path, "forks.bpt"), os.path.join(path, "no_forks.bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "-q", "-o", trace, "--", "bash", "-c",
                           '"$0" > /dev/null; true', profiled.program("truth")])
    profiled.expect(result.status == 0, str(result))
    expect_status(check(trace, "--limit", "allocated=1G"), 0)
    shutil.copy(trace, copy)
    entry = parse_json(expect_status(
        check(copy, "--json", "--limit", "allocated=1G"), 3))["limits"][0]
    profiled.expect(entry["reason"] == "processes-not-seen" and "FILE.d" in entry["advice"],
                    str(entry))
    expect_status(check(copy, "--limit", "allocated=1G", "--only-seen"), 0)


def text_for_people(trace):
    limits = ["live=1G", "allocated=1M", "live:site_small_mixed=383714"]
    options = [word for limit in limits for word in ("--limit", limit)]
    text = check(trace, *options).stdout.decode()
    for verdict, limit in zip(("within", "exceeded", "undecided"), limits):
        lines = [line for line in text.splitlines() if line.split()[:2] == [verdict, limit]]
        profiled.expect(len(lines) == 1, text)
    profiled.expect("bytepoll run --interval" in text.replace("\n    ", " ") or
                    "leave more room" in text, text)
    profiled.expect(text.rstrip().endswith("check: exceeded"), text)
    ascii_only = check(trace, *options, extra={"LC_ALL": "C"}).stdout
    profiled.expect(all(byte < 0x80 for byte in ascii_only), "not ASCII under LC_ALL=C")


def filters_of_limits(path):
    """A limit has each filter that a report has: of labels and of times, too, which are no names of functions."""
    trace = record(path, "inprocess_tags", interval=1)
    (first, *_) = [row["name"] for row in profiled.report(trace, "--metric", "allocated", "--by", "label:tenant")["rows"]
                   if "(" not in row["name"]]
    half = "%.6f" % (profiled.report(trace)["duration_s"] / 2)
    for text in ("label:tenant=" + first, "time=..%s" % half, "time=%s.." % half, "function=work", "work"):
        words = text if "=" in text else "function=" + text
        wanted = profiled.report(trace, "--metric", "allocated", "--filter", words)["totals"]["allocated"]["bytes"]["estimate"]
        seen = parse_json(expect_status(check(trace, "--json", "--limit", "allocated:%s=1G" % text), 0))["limits"][0]["interval"]
        profiled.expect(wanted > 0 and seen["estimate"] == wanted, "%s: %s instead of %s" % (text, seen, wanted))
        expect_status(check(trace, "--limit", "allocated:%s=%d" % (text, wanted - 1)), 1)


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        traces = [record(path, seed=seed) for seed in (1, 11, 12, 13, 14, 15)]
        trace = traces[0]
        for name, action in (
                ("exit statuses", lambda: statuses(trace)),
                ("usage errors", lambda: usage_errors(trace)),
                ("errors are no findings", lambda: errors(trace, path)),
                ("JSON", lambda: json_fields(trace)),
                ("undecided says what decides", lambda: undecided_says_what_decides(trace, path)),
                ("JUnit", lambda: junit(trace, path, os.path.join(path, "out.xml"))),
                ("the file of --junit", lambda: junit_file(trace, path)),
                ("GitHub", lambda: github(trace, path)),
                ("file names of any bytes", lambda: hostile_files(trace, path)),
                ("growth", lambda: growth(traces)),
                ("what was not seen is not within", lambda: nothing_unseen_is_within(path)),
                ("a file without its tree", lambda: a_file_without_its_tree(path)),
                ("children left behind", lambda: children_left_behind(path)),
                ("filters of limits", lambda: filters_of_limits(path)),
                ("text", lambda: text_for_people(trace))):
            tap.attempt(name, action)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
