#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages of `bytepoll html` that show other memory than malloc's, in a headless Chromium, against `bytepoll report --json`:
what a program mapped itself, alone and beside malloc, and what a runtime says of its own memory. Needs chromium.

Usage: test_memory.py [mapped | both | runtimes]...   (all without one)"""
import base64
import gzip
import json
import lzma
import os
import re
import sys

from test_page import bytepoll, compare, main, parse, picture
from browser import Browser
import profiled

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def mapped_rows(browser):
    rows = browser.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => {"
                            "const c = r.querySelector('[data-bytes]'); return [r.dataset.name, c.dataset.bytes, c.dataset.objects]; })")
    return {name: {"bytes": parse(bytes_), "objects": parse(objects)} for name, bytes_, objects in rows}


def edge_of(page, number):
    """The time of an edge, in full; the address has as many digits as tell it from the others."""
    with open(page, encoding="utf-8") as file:
        data = re.findall('id="bytepoll-head">([^<]*)<', file.read())
    return "%.9f" % json.loads(gzip.decompress(base64.b64decode(data[0])))["edges_s"][number]


def compare_mapped(browser, trace, *options):
    report = profiled.report(trace, *options, "--rows", "1000")
    rows = mapped_rows(browser)
    profiled.expect(len(rows) >= 3 and set(rows) == {row["name"] for row in report["rows"]}, "%s: %s" % (options, sorted(rows)))
    for row in report["rows"]:
        compare(rows[row["name"]], row, row["name"])


def mapped(tap, folder):
    """A page of what a program mapped itself says so, has the report's figures, and speaks of no estimate."""
    trace, page = os.path.join(folder, "mapped.bpt"), os.path.join(folder, "mapped.html")
    bytepoll("run", "--quiet", "--mapped", "-o", trace, "--", profiled.program("mapped_calls"), "1", "1")
    bytepoll("html", "--metric", "mapped", "-o", page, trace)
    browser = Browser(1400, 900)
    try:
        for width in (800, 390, 1400):
            browser.resize(width, 900)
            browser.open(page)
            picture(browser, "mapped-%d" % width, whole=True)
            tap.check(browser.evaluate("document.documentElement.scrollWidth") <= width, "mapped: as wide as %d pixels" % width)
        words = browser.evaluate("document.body.innerText")
        tap.check("address space" in browser.text("#mapped") and "every figure is exact" in browser.text("#mapped"), "mapped: it says what it shows",
                  browser.text("#mapped"))
        tap.check(not re.search(r"sample|estimate|±|≈|≤|\bband\b|allocated|\blive\b", words, re.I), "mapped: no word of estimates or of malloc", words)
        tap.attempt("mapped: rows", lambda: compare_mapped(browser, trace, "--metric", "mapped"))
        browser.click("[data-metric=peak]")
        tap.attempt("mapped: rows of the peak", lambda: compare_mapped(browser, trace, "--metric", "mapped-peak"))
        tap.check(browser.evaluate("location.hash") == "#metric=mapped-peak", "mapped: the link has the report's word",
                  browser.evaluate("location.hash"))
        browser.open(page, "metric=mapped-peak")
        tap.check(browser.text("[data-metric=peak][aria-pressed=true]") != "", "mapped: the link leads there")
        browser.open(page, "metric=peak")
        tap.check(browser.text("[data-metric=live][aria-pressed=true]") != "", "mapped: malloc's words lead nowhere")
        browser.open(page, "moment=60")
        tap.attempt("mapped: rows of a moment", lambda: compare_mapped(browser, trace, "--metric", "mapped", "--at", edge_of(page, 60)))
        browser.key("?")
        tap.check("Address space" in browser.text("#help"), "mapped: the help explains it")
        tap.check(not browser.errors and not browser.dialogs, "mapped: no error", str(browser.errors[:3]))
    finally:
        browser.close()


def both(tap, folder):
    """A page of malloc that has what the program mapped beside it: a switch, the address and Back go from one to the other."""
    trace, page = os.path.join(folder, "both.bpt"), os.path.join(folder, "both.html")
    bytepoll("run", "--quiet", "--mapped", "-o", trace, "--", profiled.program("mapped_calls"), "1", "1")
    bytepoll("html", "--metric", "allocated", "-o", page, trace)
    browser = Browser(1400, 900)

    def expect(which, fragment, what):
        browser.settle()
        shown = "mapped" if browser.evaluate("document.querySelector('#mapped') !== null") else "malloc"
        pressed = browser.evaluate("document.querySelector('#memory [aria-pressed=true]').dataset.choice")
        tap.check((shown, pressed, browser.evaluate("location.hash")) == (which, which, fragment), "both: " + what,
                  "%s, %s pressed, %s" % (shown, pressed, browser.evaluate("location.hash")))

    try:
        browser.open(page)
        expect("malloc", "", "malloc first")
        malloc = mapped_rows(browser)
        browser.click("#memory [data-choice=mapped]")
        expect("mapped", "#memory=mapped", "the switch")
        tap.attempt("both: rows of what was mapped", lambda: compare_mapped(browser, trace, "--metric", "mapped"))
        browser.click("[data-metric=peak]")
        expect("mapped", "#memory=mapped&metric=mapped-peak", "a step there")
        for width in (390, 800):
            browser.resize(width, 900)
            browser.settle()
            tap.check(browser.evaluate("document.documentElement.scrollWidth") <= width, "both: as wide as %d pixels" % width)
            picture(browser, "both-%d" % width)
        browser.resize(1400, 900)
        browser.evaluate("history.back()")
        expect("mapped", "#memory=mapped", "Back undoes the step")
        browser.evaluate("history.back()")
        expect("malloc", "", "and then the switch")
        tap.check(mapped_rows(browser) == malloc, "both: malloc's rows are as before", str(mapped_rows(browser)))
        browser.evaluate("history.forward()")
        expect("mapped", "#memory=mapped", "Forward")
        browser.click("#memory [data-choice=malloc]")
        expect("malloc", "", "the switch back")
        # What means the same of both memories goes along: the moment within an edge of the page, and how rows are made.
        browser.open(page, "metric=live&moment=30&by=module&sort=name&row=1.2")
        browser.settle()
        begun = float(re.search(r"moment=([^s&]+)s", browser.evaluate("location.hash"))[1])
        browser.click("#memory [data-choice=mapped]")
        browser.settle()
        carried = re.fullmatch(r"#memory=mapped&moment=([^s&]+)s&by=module&sort=name", browser.evaluate("location.hash"))
        tap.check(carried is not None and abs(float(carried[1]) - begun) < .2 * begun + 1e-6, "both: the switch keeps the moment",
                  "%s, begun at %s" % (browser.evaluate("location.hash"), begun))
        browser.open(page, "memory=mapped&metric=mapped-peak")
        expect("mapped", "#memory=mapped&metric=mapped-peak", "a link")
        tap.attempt("both: rows of the peak", lambda: compare_mapped(browser, trace, "--metric", "mapped-peak"))
        tap.check(not browser.errors and not browser.dialogs, "both: no error", str(browser.errors[:3]))
    finally:
        browser.close()


def runtimes(tap, folder):
    """What a runtime says of its own memory: the lines that report --resident has, with their owners."""
    recording = os.path.join(folder, "heap.nettrace")
    with lzma.open(os.path.join(ROOT, "tests/data/dotnet/heap/server.nettrace.xz")) as packed, open(recording, "wb") as file:
        file.write(packed.read())
    browser = Browser(1400, 900)
    try:
        for path, looks, said in ((os.path.join(ROOT, "tests/data/pprof/go-1.26-text.txt"), (None,), "nothing was written there yet"),
                                  (recording, ("peak", None), "figures of .NET itself")):
            page = os.path.join(folder, os.path.basename(path) + ".html")
            bytepoll("html", "-o", page, path)
            browser.open(page)
            browser.wait_for("document.querySelector('#look-lines') !== null")
            rows = browser.evaluate("[...document.querySelectorAll('#look-lines tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
            for i, metric in enumerate(looks):
                told = profiled.report(path, "--resident", *(("--metric", metric) if metric else ()))["resident"]
                expected = {line["name"]: line["bytes"]["estimate"] for line in told["lines"] if line["bytes"]["estimate"] >= 1}
                shown = {row[0]: parse_bytes(row[1 + i]) for row in rows if row[1 + i] != ""}
                tap.check(set(shown) == set(expected) and all(abs(shown[name] - size) <= .005 * size for name, size in expected.items()),
                          "runtimes: %s, look %d" % (os.path.basename(path), i), "%s %s" % (shown, expected))
            browser.evaluate("document.querySelector('#look-lines button').click()")
            browser.settle()
            owners = browser.evaluate("[...document.querySelectorAll('.look-name')].map(e => e.textContent)")
            tap.check(owners == [owner["name"] for owner in told["lines"][0]["owners"]], "runtimes: owners", str(owners))
            tap.check(said in browser.text("#looks"), "runtimes: what these figures are", browser.text("#looks"))
            picture(browser, "runtime-%d" % len(looks), whole=True)
        tap.check(not browser.errors and not browser.dialogs, "runtimes: no error", str(browser.errors[:3]))
    finally:
        browser.close()


def parse_bytes(text):
    number, unit = text.split(" ")
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


if __name__ == "__main__":
    sys.exit(main({"mapped": mapped, "both": both, "runtimes": runtimes}))
