#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What reports choose where nobody said (docs/defaults.md), on real recordings: the moment, the function
that is charged, the name of a process; and that processes which are not here are told."""
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import export_read
import profiled
from profiled import expect

LIBRARY = """
#include <stdlib.h>
void *relative_site(size_t bytes) { void *p = malloc(bytes); __asm__ volatile("" ::"r"(p) : "memory"); return p; }
"""
# The library lies in er/; nothing of it is sampled before the program has gone elsewhere.
OPENS = """
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>
int main(void)
{
	void *library = dlopen("er/l0.so", RTLD_NOW);
	void *(*site)(size_t) = library == NULL ? NULL : (void *(*)(size_t))dlsym(library, "relative_site");
	if (site == NULL || chdir("/") != 0)
		return 1;
	for (int i = 0; i < 100; i++)
		(void)site(5000);
	return 0;
}
"""
# Wrappers of common names around malloc, one of nobody's, and a peak of which little is left. The
# last argument says how many of the thousand blocks stay.
WRAPPERS = r"""
#include <stdlib.h>
#define OWN __attribute__((noinline))
static void *kept[1000];
OWN void *xmalloc(size_t bytes) { void *p = malloc(bytes); __asm__ volatile("" ::"r"(p) : "memory"); return p; }
OWN void *zmalloc_usable(size_t bytes) { void *p = xmalloc(bytes); __asm__ volatile("" ::"r"(p) : "memory"); return p; }
OWN void *arena_get(size_t bytes) { void *p = zmalloc_usable(bytes); __asm__ volatile("" ::"r"(p) : "memory"); return p; }
OWN void *site_first(void) { void *p = arena_get(1000); __asm__ volatile("" ::"r"(p) : "memory"); return p; }
OWN void *site_second(void) { void *p = xmalloc(3000); __asm__ volatile("" ::"r"(p) : "memory"); return p; }
int main(int count, char **words)
{
	int stay = count > 1 ? atoi(words[1]) : 0;
	for (int i = 0; i < 1000; i++)
		kept[i] = i % 2 ? site_first() : site_second();
	for (int i = stay; i < 1000; i++)
		free(kept[i]);
	return 0;
}
"""


def build(folder):
    source, program = os.path.join(folder, "wrappers.c"), os.path.join(folder, "wrappers")
    with open(source, "w", encoding="ascii") as file:
        file.write(WRAPPERS)
    built = profiled.run(["cc", "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", program, source])
    expect(built.status == 0, built.stderr.decode())
    return program


def record(folder, name, words, interval=1, law="exact"):
    trace = os.path.join(folder, name + ".bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--force", "--interval", str(interval), "--seed", "3",
                           "--law", law, "-o", trace, "--", *words])
    expect(result.status == 0, result.stderr.decode())
    return trace


def said(*words, status=0):
    result = profiled.run([profiled.BYTEPOLL, *words])
    expect(result.status == status, "%s: %s %s" % (words, result.status, result.stderr.decode()))
    return result.stdout.decode(), result.stderr.decode()


def flat(trace, *options):
    return {row["name"]: row["bytes"]["estimate"] for row in profiled.report(trace, "--metric", "peak", *options)["rows"]}


def check_allocators(folder, program):
    trace = record(folder, "wrapped", [program])
    whole = {"arena_get": 500000, "site_second": 1500000}
    expect(flat(trace) == whole, flat(trace))
    expect(flat(trace, "--allocators", "arena_.*|nobody") == {"site_first": 500000, "site_second": 1500000}, "one more")
    expect(flat(trace, "--allocators", "rena_.*") == whole, "part of a name")
    expect(flat(trace, "--allocators", "none") == {"xmalloc": 2000000}, "none")
    text = said("report", trace)[0]
    expect("charged to their callers: xmalloc, zmalloc_usable (--allocators none" in re.sub(r"\s+", " ", text), text)
    expect("charged" not in said("report", "--allocators", "none", trace)[0], "said of nobody")
    expect("charged" not in said("report", "--by", "stack", trace)[0], "said of stacks")
    for wrong, word in ((["("], "is no regular expression"), (["none", "x"], "stands alone"), ([""], "empty")):
        options = [part for text in wrong for part in ("--allocators", text)]
        expect(word in said("report", *options, trace, status=2)[1], wrong)
    out = os.path.join(folder, "out.pb.gz")
    for options, held in (((), "xmalloc"), (("--allocators", "arena_get"), "(arena_get)")):
        said("export", trace, "--to", "pprof", "-o", out, "--force", *options)
        expect(held in export_read.Pprof(out).drop_frames, held)
    said("export", trace, "--to", "pprof", "-o", out, "--force", "--allocators", "none")
    expect(export_read.Pprof(out).drop_frames == "", "none")
    said("html", "--allocators", "arena_get", "-o", out + ".html", trace)
    with open(out + ".html", "rb") as file:
        head = re.search(rb'id="bytepoll-head">([^<]*)<', file.read()).group(1)
    head = json.loads(gzip.decompress(base64.b64decode(head)))
    expect({row["name"] for row in head["functions"]["peak"]} == {"site_first", "site_second"}, "page")


def shown(trace, folder):
    """What every command shows first."""
    page = os.path.join(folder, "page.html")
    said("html", "--force", "-o", page, trace)
    with open(page, "rb") as file:
        head = re.search(rb'id="bytepoll-head">([^<]*)<', file.read()).group(1)
    metrics = {"report": re.search(r"(\w+) by function", said("report", trace)[0]).group(1),
               "summary": re.search(r"(\w+) by function", said("report", "--summary", trace)[0]).group(1),
               "html": json.loads(gzip.decompress(base64.b64decode(head)))["metric"],
               "live": re.search(r"(\w+) by function", said("live", "--once", trace)[0]).group(1),
               "plan": json.loads(said("plan", "--json", trace)[0])["metric"],
               "json": profiled.report(trace)["metric"],
               "diff": json.loads(said("diff", "--json", trace, trace + ".2")[0])["metric"]}
    total = sum(value for _, value in export_read.collapsed_text(said("export", trace, "--to", "collapsed", "-o", "-")[0]))
    totals = profiled.report(trace)["totals"]
    metrics["export"] = next((name for name in ("live", "peak") if totals[name]["bytes"]["estimate"] == total), total)
    return metrics


def check_moment(folder, program):
    for stay, metric in ((0, "peak"), (8, "peak"), (240, "peak"), (260, "live"), (500, "live")):
        trace = record(folder, "left%d" % stay, [program, str(stay)])
        os.replace(record(folder, "again", [program, str(stay)]), trace + ".2")
        metrics = shown(trace, folder)
        expect(metrics.pop("json") == "live", "what programs read")
        expect(set(metrics.values()) == {metric}, "%d of 1000 left: %s" % (stay, metrics))
        asked = said("report", "--metric", "live", trace)[0]
        expect(("live by function" if stay else "no samples of this metric") in asked, "what was asked")


def check_name(folder):
    link = os.path.join(folder, "my-server")
    os.symlink(profiled.program("truth"), link)
    trace = record(folder, "named", [link, "x"], 4096)
    data = profiled.report(trace, "--by", "process")
    expect(data["name"] == "my-server" == data["processes"][0]["name"], data["name"])
    expect(data["program"].endswith("/truth") and data["rows"][0]["name"].startswith("my-server (pid "), data["rows"])
    expect(profiled.report(trace, "--filter", "process=my-server")["totals"]["live"]["samples"] ==
           data["totals"]["live"]["samples"] > 0, "filter")
    for words in (["report"], ["report", "--summary"], ["live", "--once"], ["report", "--growth"]):
        text = said(*words, trace)[0]
        expect(text.startswith("my-server"), "%s: %s" % (words, text[:80]))


def check_weights(folder):
    """docs/trace-format.md 3.1 and a decoder are enough for the estimates of all that was allocated, and of live."""
    for law in ("exact", "bernoulli"):
        trace = record(folder, "weights-" + law, [profiled.program("truth")], 2048, law=law)
        decoded = profiled.run([sys.executable, os.path.join(os.path.dirname(__file__), "../../tools/trace_decode.py"), trace])
        lines = [json.loads(line) for line in decoded.stdout.splitlines()]
        charge = next(line["charge_bytes"] for line in lines if line["line"] == "header")
        freed = {line["sample_sequence"] for line in lines if line["line"] == "free"}
        sums = {"allocated": [0, 0], "live": [0, 0]}
        for line in lines:
            if line["line"] != "sample":
                continue
            trials, certain = line["size"] + charge, line["exact"]
            expect(certain == (law == "exact" and trials >= line["interval"]), line)
            weight = 1 if certain else 1 / (1 - (1 - 1 / line["interval"]) ** trials)
            for metric in ("allocated", "live")[:1 if line["sequence"] in freed else 2]:
                sums[metric][0] += weight * line["size"]
                sums[metric][1] += weight
        for metric, (size, objects) in sums.items():
            rows = profiled.report(trace, "--metric", metric, "--estimator", "ht", "--rows", "1000000")["rows"]
            for unit, own in (("bytes", size), ("objects", objects)):
                shown = sum(row[unit]["estimate"] for row in rows)
                expect(abs(shown - own) <= 1e-9 * own, "%s: %s of %s: %s, not %s" % (law, unit, metric, shown, own))


def check_page_name(folder):
    """A page is called after the recording, whatever the program is called."""
    trace = record(folder, "named", [profiled.program("truth"), "x"], 4096)
    for name, page in (("app.bpt", "bytepoll.app.html"), ("bytepoll.app.17.bpt", "bytepoll.app.17.html"),
                       ("bytepoll.bpt", "bytepoll.bytepoll.html"), (".b\x1b$(c).bpt", "bytepoll._b___c_.html"),
                       ("now", "bytepoll.now.html"), ("a.pb.gz", "bytepoll.a.html")):
        copy = os.path.join(folder, name)
        shutil.copy(trace, copy)
        result = profiled.run([profiled.BYTEPOLL, "html", copy], cwd=folder)
        expect(result.status == 0 and os.path.exists(os.path.join(folder, page)), "%s: %s" % (name, result.stderr))


def check_children(folder):
    """Processes whose files are not here: those of fork are counted, those of vfork and posix_spawn nearly."""
    for name, about, least in (("fork_storm", False, 1), ("spawn", True, 10), ("vfork_exec", True, 20)):
        trace = record(folder, name, [profiled.program(name)], 1 << 20)
        expect("not here" not in said("report", trace)[0], name + ": nothing is missing")
        alone = os.path.join(folder, "alone.bpt")
        os.replace(trace, alone)
        text = re.sub(r"\s+", " ", said("report", alone)[0])
        told = re.search(r"(about )?(\d+) child process(?:es)? (?:is|are) not here", text)
        expect(told is not None and (told.group(1) is not None) == about and int(told.group(2)) >= least,
               "%s: %s" % (name, told))
    trace = record(folder, "none", [profiled.program("churn"), "1", "1000"], 1)
    os.replace(trace, alone)
    expect("not here" not in said("report", alone)[0], "children of one that has none")


def check_relative_library(folder):
    """A library that is opened by a path that is relative to the working directory, which changes afterwards, has its
    names wherever the report is made."""
    deep = os.path.join(folder, "deep", "er")
    os.makedirs(deep)
    for name, source, options in (("l0.so", LIBRARY, ["-shared", "-fPIC"]), ("opens", OPENS, [])):
        path = os.path.join(deep, name)
        with open(path + ".c", "w", encoding="ascii") as file:
            file.write(source)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", *options, "-o", path, path + ".c"], check=True)
    trace = os.path.join(folder, "opens.bpt")
    result = profiled.run([profiled.BYTEPOLL, "run", "-q", "-i", "1", "-o", trace, "--", os.path.join(deep, "opens")],
                          cwd=os.path.join(folder, "deep"))
    expect(result.status == 0, result)
    for where in (folder, "/"):
        text = profiled.run([profiled.BYTEPOLL, "report", trace], cwd=where).stdout.decode()
        expect("relative_site" in text and "l0.so+0x" not in text, text)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        program = build(folder)
        tap.attempt("allocation functions", lambda: check_allocators(folder, program))
        tap.attempt("little is live", lambda: check_moment(folder, program))
        tap.attempt("weights of samples", lambda: check_weights(folder))
        tap.attempt("the name of a page", lambda: check_page_name(folder))
        tap.attempt("a program started by a link", lambda: check_name(folder))
        tap.attempt("children that are not here", lambda: check_children(folder))
        tap.attempt("a library opened by a relative path", lambda: check_relative_library(folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
