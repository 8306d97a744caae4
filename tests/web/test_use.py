#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the page is used: chains of functions are one box and unfold at a click, the browser's Back button
undoes a step, the address holds times in seconds, a moment has one slider, `?` and `/` work, figures have
four digits, and rows much larger than the others do not press these to points. The pages are made up
(page_fixture.py). Needs chromium.

Usage: test_use.py [chains | history | moments | help | narrow | axis]...   (all without one)"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402
import page_fixture  # noqa: E402
from test_page import boxes, click_box, exported_texts, picture  # noqa: E402

# main calls two; each goes down a chain of its own, to what allocates.
LEFT = ["left_%d" % i for i in range(9)]
RIGHT = ["right_%d" % i for i in range(40)]
FUNCTIONS = ["_start", "main"] + LEFT + RIGHT + ["one", "two"]
NUMBER = {name: i for i, name in enumerate(FUNCTIONS)}


def stack(*names):
    """Outermost first, as numbers, innermost first."""
    return [NUMBER[name] for name in reversed(names)]


STACKS = [stack("_start", "main", *LEFT, "one"), stack("_start", "main", *LEFT, "two"), stack("_start", "main", *RIGHT)]
FOLDED = [["all"], ["_start"], ["main"], LEFT, RIGHT, ["one"], ["two"]]


class Page:
    def __init__(self, folder, text=None, **options):
        self.path = os.path.join(folder, "page.html")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text or page_fixture.synthetic(FUNCTIONS, STACKS, cells_per_stack=6, **options))
        self.browser = Browser(1280, 800)
        self.evaluate, self.text, self.click = self.browser.evaluate, self.browser.text, self.browser.click

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

    def open(self, fragment=""):
        self.browser.open(self.path, fragment)

    def fragment(self):
        return self.evaluate("location.hash")

    def chains(self):
        return [box["chain"] for box in boxes(self.browser)]

    def box(self, name):
        return [box for box in boxes(self.browser) if name in box["chain"]][0]

    def back(self):
        self.evaluate("history.back()")
        self.browser.settle()

    def pressed(self):
        """What is shown: the metric, whether it is a moment, what is zoomed to."""
        return self.evaluate("[document.querySelector('.controls [data-choice][aria-pressed=true]').dataset.choice,"
                             "(document.querySelector('#window-chip') || {textContent: ''}).textContent,"
                             "(document.querySelector('.path strong') || {textContent: ''}).textContent]")


def chains(tap, folder):
    with Page(folder) as page:
        page.open()
        tap.check(sorted(page.chains()) == sorted(FOLDED), "functions with one callee each are one box", page.chains())
        whole = sum(box["width"] for box in boxes(page.browser) if box["chain"] in (LEFT, RIGHT))
        tap.check(abs(whole - page.box("main")["width"]) < 0.1, "as wide as they are", whole)
        texts = exported_texts(page.browser)
        tap.check("left_0 › … › left_8 (9)" in texts and "right_0 › … › right_39 (40)" in texts, "both ends and the count are written", texts)
        click_box(page.browser, page.box("right_0"))
        picture(page.browser, "chain")
        tap.check(page.chains() == [[name] for name in RIGHT], "a click unfolds the chain, and zooms to it", page.chains())
        tap.check(page.text(".path") == "all › _start › main › right_0", "callers stand above the graph", page.text(".path"))
        top = page.evaluate("document.querySelector('#icicle').getBoundingClientRect().top")
        tap.check(0 < top < 800 and page.evaluate("document.querySelector('.canvas-holder').scrollTop") == 0, "in sight", top)
        click_box(page.browser, page.box("right_20"))
        path = page.text(".path")
        tap.check(path.startswith("all › _start › … 17 more › right_") and path.endswith("› right_20"), "a long path is cut", path)
        top = page.evaluate("document.querySelector('#icicle').getBoundingClientRect().top")
        tap.check(0 < top < 800, "what was zoomed to from far down is in sight", top)
        page.browser.evaluate("document.querySelector('#icicle').focus()")
        page.browser.key("Escape")
        tap.check(page.text(".path strong") == "right_0", "Escape goes out by a chain", page.text(".path"))
        page.evaluate("[...document.querySelectorAll('.crumb')].find(e => e.textContent === 'main').click()")
        page.browser.settle()
        tap.check(page.chains()[0] == ["main"] and LEFT in page.chains(), "a click on a caller goes there", page.chains()[:2])
        page.click("#zoom-out")
        page.click("#chains")
        tap.check(all(len(chain) == 1 for chain in page.chains()) and "chains=0" in page.fragment(), "without chains each function is a box")
        page.open("search=left_4")
        pixel = ("(() => { const c = document.querySelector('#icicle'), r = c.width / c.clientWidth;"
                 "return [...c.getContext('2d').getImageData(%f * r, %f * r, 1, 1).data]; })()")
        found, other = (page.evaluate(pixel % (page.box(name)["x"] + 2, page.box(name)["y"] + 3)) for name in ("left_4", "right_4"))
        tap.check(found[3] == 255 and other[3] < 128, "a chain is found by each of its functions", "%s %s" % (found, other))
        tap.check(not page.browser.errors, "chains: no error", str(page.browser.errors[:3]))

    def allocators(head):
        head["attribution"] = [0, 0, 2]

    with Page(folder, change=allocators) as page:
        page.open()
        texts = exported_texts(page.browser)
        tap.check("right_0 › … › right_37 (38)" in texts and RIGHT in page.chains(),
                  "a chain is named by the function that is charged, not by what allocates for it", texts)


def history(tap, folder):
    with Page(folder) as page:
        page.open()
        states = [page.pressed()]
        steps = (lambda: click_box(page.browser, page.box("left_0")), lambda: page.click(".controls [data-choice=allocated]"),
                 lambda: page.click("#timeline .u-over"), lambda: page.click("#zoom-out"))
        for step in steps:
            step()
            states.append(page.pressed())
        tap.check(len({tuple(state) for state in states}) == 5, "five states", str(states))
        length = page.evaluate("history.length")
        page.browser.type_into("#search", "left")
        tap.check(page.evaluate("history.length") == length and "search=left" in page.fragment(), "typing a search makes no step")
        for state in reversed(states[:-1]):
            page.back()
            tap.check(page.pressed() == state, "Back: %s" % state, str(page.pressed()))
        tap.check(page.evaluate("location.pathname").endswith("page.html"), "and it is still this page")
        page.evaluate("history.go(3)")
        page.browser.settle()
        tap.check(page.pressed() == states[3], "and forwards again", str(page.pressed()))
        length = page.evaluate("history.length")
        page.evaluate("(() => { const e = document.querySelector('#window-moment'); for (const v of [9, 10, 11]) {"
                      "e.value = v; e.dispatchEvent(new Event('change', {bubbles: true})); } })()")
        page.browser.settle()
        tap.check("moment=2.75s" in page.fragment() and page.evaluate("history.length") <= length + 1,
                  "a slider that is moved by keys is one step", page.fragment())
        tap.check(not page.browser.errors, "history: no error", str(page.browser.errors[:3]))


def moments(tap, folder):
    """(An edge every .25 s.)"""
    with Page(folder) as page:
        for fragment, chip in (("metric=live&moment=2.5s", "at 2.50 s ×"), ("metric=allocated&moment=2.5s", "until 2.50 s ×"),
                               ("metric=temporary&moment=2.51s", "until 2.50 s ×"), ("metric=allocated&window=2.5s-4s", "2.50 s to 4.00 s ×"),
                               ("metric=live&window=10-10", "at 2.50 s ×"), ("metric=allocated&window=10-16", "2.50 s to 4.00 s ×")):
            page.open(fragment)
            shown = page.text("#window-chip")
            sliders = page.evaluate("[...document.querySelectorAll('.window-field')].map(e => e.textContent)")
            tap.check(shown == chip and len(sliders) == (2 if " to " in chip else 1), fragment, "%s %s" % (shown, sliders))
        page.open("metric=allocated&moment=2.5s")
        tap.check(page.text("[data-metric=allocated] .label") == "allocated, until 2.50 s", "its card says so", page.text("[data-metric=allocated]"))
        tap.check(page.text("[data-metric=live] .label") == "live at 2.50 s", "what is live is at it")
        page.evaluate("location.hash = 'metric=live&moment=1.5s'")
        page.browser.settle()
        tap.check(page.text("#window-chip") == "at 1.50 s ×", "an address typed in")
        for nonsense in ("window=9s-2s", "window=4s-", "moment=s", "moment=1e999s", "window=1s-2s-3s", "window=-1", "moment=99999"):
            page.open(nonsense)
            tap.check(page.text("#window-chip") in ("", "at 10.0 s ×") and not page.browser.errors, nonsense, page.text("#window-chip"))


def help_panel(tap, folder):
    def precise(head):
        for metric in ("live", "temporary"):
            head["totals"][metric]["bytes"] = {"estimate": 35.75687 * 2 ** 30, "low": 35.75679 * 2 ** 30, "high": 35.75701 * 2 ** 30}
        head["command_line"] = "program '' last"

    with Page(folder, change=precise) as page:
        page.open()
        opened = "document.querySelector('#help').open"
        figure = page.text("[data-metric=live] .value")
        tap.check(figure == "≈ 35.76 GiB", "four digits of a figure", figure)
        facts = page.text(".facts")
        tap.check("1 sample per 512 KiB" in facts and "T =" not in page.evaluate("document.body.innerText"), "T is said in words", facts)
        command = page.evaluate("document.querySelector('.command').innerText")
        tap.check(command == "program '' last", "the command line as it is", command)
        page.browser.key("?")
        tap.check(page.evaluate(opened), "? opens the help")
        text = page.evaluate("document.querySelector('#help').innerText")
        for word in ("1 sample per 512 KiB", "soft end", "few samples", "their intervals overlap", "hollow dot", "whisker", "adjusted for that",
                     "Back button", "in 95 % of runs", "fold recursion"):
            tap.check(word.lower() in text.lower(), "help: " + word, text[:300])
        picture(page.browser, "help")
        page.evaluate("document.querySelector('#help details').open = true")
        notices = page.text("#notices")
        tap.check("Copyright (c) 2015-present Jason Miller" in notices and "Copyright (c) 2022 Leon Sorokin" in notices and
                  "Permission is hereby granted" in notices and "Sun Microsystems" in notices, "the licences are in the page", notices[:200])
        page.browser.key("Escape")
        tap.check(not page.evaluate(opened), "Escape closes it")
        page.click("#help-button")
        tap.check(page.evaluate(opened), "a button opens it")
        page.click("#help-close")
        tap.check(not page.evaluate(opened), "another closes it")
        page.evaluate("document.body.focus()")
        page.browser.key("/")
        tap.check(page.evaluate("document.activeElement.id") == "search", "/ goes to the search")
        page.browser.key("?")
        tap.check(not page.evaluate(opened) and page.evaluate("document.querySelector('#search').value") == "?", "there ? is a letter")
        tap.check(not page.browser.errors and len(page.browser.requests) == 1, "help: no error, no request",
                  "%s %s" % (page.browser.errors[:3], page.browser.requests))


def difference(sizes):
    """The page of a difference without a graph; rows changed by so many MiB."""
    rows = []
    for number, size in enumerate(sizes):
        change = {"estimate": size * 2 ** 20, "low": 0.9 * size * 2 ** 20, "high": 1.1 * size * 2 ** 20}
        row = {**page_fixture.difference_row(0), "name": "a::function::with::a::name_%02d" % number}
        row["change"] = {"bytes": dict(sorted(change.items())), "objects": change}
        rows.append(row)
    run = {"file": "a.bpt", "program": "/bin/a", "name": "a", "pid": 1, "duration_s": 1, "interval": 4096, "intervals": [4096], "law": "exact", "samples": 5,
           "lost": 0, "work": None, "scale": 1}
    data = {"schema": "bytepoll-diff-1", "metric": "live", "by": "function", "cumulative": False, "bytes": "requested", "unit": "bytes",
            "confidence": 0.95, "fdr": 0.05, "filters": [], "at": None, "moments": None, "normalize": None,
            "variation_between_runs": False, "base": {"runs": [run]}, "new": {"runs": [run]}, "total": page_fixture.difference_row(0),
            "keys": len(rows), "tested": len(rows), "verdicts": {"grew": len(rows)}, "rows": rows, "rest": None, "rows_left_out": 0, "warnings": []}
    return page_fixture.put_together(page_fixture.element("bytepoll-diff", json.dumps(data).encode()))


# How far from the middle the marks are, as a part of the half of the axis; which bars go beyond it.
MARKS = ("[...document.querySelectorAll('#table .change-bar')].map(e => { const m = e.querySelector('.mark');"
         "return [m === null ? null : Math.abs(parseFloat(m.style.left) - 50) / 50, e.querySelectorAll('.beyond').length]; })")


def axis(tap, folder):
    with Page(folder, text=difference([900] + [5 - 0.3 * i for i in range(11)])) as page:
        page.open()
        marks = page.evaluate(MARKS)
        picture(page.browser, "diff-axis")
        tap.check(marks[0] == [None, 1] and all(count == 0 for _, count in marks[1:]), "one bar goes beyond the axis, and is marked", str(marks))
        tap.check(marks[1][0] > 0.5 and marks[-1][0] > 0.1, "the others are not pressed to points", str(marks))
        tap.check("arrow: the bar goes beyond the axis" in page.text("#rows .card-head"), "and the page says so", page.text("#rows .card-head"))
        widths = page.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => r.querySelector('.name').getBoundingClientRect().width)")
        lines = page.evaluate("[...document.querySelectorAll('#table .row-text')].map(e => e.getClientRects().length)")
        tap.check(min(widths) > 330 and max(lines) == 1, "names have room", "%s %s" % (widths[:2], lines[:3]))
        page.browser.key("?")
        text = page.evaluate("document.querySelector('#help').innerText")
        tap.check("1 sample per 4 KiB" in text and "chance of error" in text and "beyond the axis" in text, "q and bars are explained", text[:300])
        page.browser.key("Escape")
        length = page.evaluate("history.length")
        page.click(".controls [data-choice=objects]")
        tap.check(page.evaluate("history.length") == length + 1 and "unit=objects" in page.fragment(), "a step of the history")
        page.back()
        tap.check(page.evaluate("document.querySelector('.controls [data-choice=bytes]').getAttribute('aria-pressed')") == "true", "Back undoes it")
        tap.check(not page.browser.errors, "axis: no error", str(page.browser.errors[:3]))
        for width in (800, 390):
            page.browser.resize(width, 900)
            page.open()
            tap.check(page.evaluate("document.documentElement.scrollWidth") <= width, "as wide as %d pixels" % width)
            lines = page.evaluate("[...document.querySelectorAll('#table .row-text')].map(e => e.getClientRects().length)")
            tap.check(max(lines) == 1, "names have room at %d pixels" % width, str(lines))
    with Page(folder, text=difference([8, 6, 5, 4, 4, 3, 2, 2])) as page:
        page.open()
        tap.check(all(count == 0 for _, count in page.evaluate(MARKS)), "without an outlier the axis holds all", str(page.evaluate(MARKS)))


def narrow(tap, folder):
    with Page(folder) as page:
        for width in (1400, 800, 390):
            for fragment in ("", "metric=allocated&moment=2.5s", "by=stack"):
                page.browser.resize(width, 900)
                page.open(fragment)
                tap.check(page.evaluate("document.documentElement.scrollWidth") <= width, "as wide as %d pixels: %s" % (width, fragment))
        room = page.evaluate("(() => { const r = document.querySelector('#table td.name').getBoundingClientRect(); return r.width; })()")
        tap.check(room > 300, "at 390 pixels a name has a line of its own", room)
        page.browser.key("?")
        tap.check(page.evaluate("(() => { const r = document.querySelector('#help').getBoundingClientRect(); return r.left >= 0 && r.right <= 390; })()"),
                  "the help fits")
        tap.check(not page.browser.errors, "narrow: no error", str(page.browser.errors[:3]))


def main():
    tap = profiled.Tap()
    parts = {"chains": chains, "history": history, "moments": moments, "help": help_panel, "narrow": narrow, "axis": axis}
    if find_chromium() is None:
        tap.skip("the page in a browser", "needs chromium")
        return tap.finish()
    for name in sys.argv[1:] or parts:
        with profiled.directory() as folder:
            tap.attempt(name, lambda: parts[name](tap, folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
