#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `bytepoll html` in a headless Chromium: it is clicked, dragged, typed into and read, and
what it shows is compared with `bytepoll report --json` of the same selection. Then hostile names, a
large page, and the page of a difference. Needs chromium; BYTEPOLL_WEB_PICTURES=FOLDER keeps screenshots.

Usage: test_page.py [values | fold | hostile | large | diff]...   (all without one)"""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

for folder in ("scenario", "pprof"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
import profiled  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402
import page_fixture  # noqa: E402
import pprof_write  # noqa: E402

TOLERANCE = 1e-9
PICTURES = os.environ.get("BYTEPOLL_WEB_PICTURES")
SQL = """CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x<%d)
INSERT INTO t SELECT x, hex(randomblob(20)), hex(randomblob(x%%200)) FROM n;
CREATE INDEX i ON t(b);
SELECT count(*), sum(length(c)) FROM (SELECT DISTINCT b, c FROM t ORDER BY c);
"""


def bytepoll(*arguments):
    result = profiled.run([profiled.BYTEPOLL, *arguments])
    if result.status != 0:
        raise AssertionError("%s: %s" % (arguments, result.stderr.decode(errors="replace").strip()))
    return result.stdout.decode()


def record(folder, name, rows, interval):
    trace = os.path.join(folder, name + ".bpt")
    script = os.path.join(folder, name + ".sql")
    with open(script, "w", encoding="ascii") as file:
        file.write(SQL % rows)
    fixed = () if interval is None else ("--interval", str(interval))
    bytepoll("run", "--quiet", "--seed", "7", *fixed, "-o", trace, "--",
             "sqlite3", ":memory:", ".read " + script)
    return trace


def exported_texts(browser):
    """The names in the graph as the page exports it, which is well-formed SVG."""
    svg = browser.evaluate(
        "new Promise((good) => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => {"
        "blob.text().then(good); URL.createObjectURL = make; return make(blob); };"
        "document.querySelector('#export-svg').click(); })")
    return [e.text for e in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def picture(browser, name, **options):
    if PICTURES:
        os.makedirs(PICTURES, exist_ok=True)
        browser.screenshot(os.path.join(PICTURES, name + ".png"), **options)


# What is read from the page.

def parse(text):
    return [float(part) if part else None for part in text.split(" ")]


def table_rows(browser):
    rows = browser.evaluate(
        "[...document.querySelectorAll('#table tbody tr')].map(r => { const c = r.querySelector('[data-bytes]');"
        "return c === null ? null : [r.dataset.name, c.dataset.bytes, c.dataset.objects, +r.lastChild.textContent]; })")
    return {row[0]: {"bytes": parse(row[1]), "objects": parse(row[2]), "samples": row[3]} for row in rows if row}


def card(browser, metric):
    both = browser.evaluate("(() => { const c = document.querySelector('[data-metric=%s]');"
                            "return [c.dataset.bytes, c.dataset.objects]; })()" % metric)
    return {"bytes": parse(both[0]), "objects": parse(both[1])}


def figure(data):
    return [data["estimate"], data["low"], data["high"]]


def near(mine, theirs, tolerance=TOLERANCE):
    if mine is None or theirs is None:
        return mine is None and theirs is None
    return abs(mine - theirs) <= tolerance * max(abs(mine), abs(theirs), 1)


def compare(mine, row, what):
    """(The JSON of reports has 10 digits or so: that is the tolerance against it.)"""
    for kind in ("bytes", "objects"):
        for a, b in zip(mine[kind], figure(row[kind])):
            profiled.expect(near(a, b), "%s, %s: page %s, report %s" % (what, kind, mine[kind], figure(row[kind])))


def compare_rows(browser, report, key="name"):
    rows = table_rows(browser)
    seen = 0
    for row in report["rows"]:
        if row[key] in rows and row["samples"] > 0:
            compare(rows[row[key]], row, row[key])
            profiled.expect(rows[row[key]]["samples"] == row["samples"], "samples of %s" % row[key])
            seen += 1
    profiled.expect(seen >= min(len(report["rows"]), 2), "only %d rows of %d found: %s" % (
        seen, len(report["rows"]), list(rows)[:5]))


def boxes(browser):
    return browser.evaluate("document.querySelector('#icicle').bytepoll_boxes()")


def click_box(browser, box, modifiers=0):
    x, y, _, _ = browser.place_of("#icicle")
    browser.evaluate("document.querySelector('#icicle').scrollIntoView({block: 'start'})")
    x, y = browser.evaluate("(() => { const r = document.querySelector('#icicle').getBoundingClientRect(); return [r.left, r.top]; })()")
    browser.click_at(x + box["x"] + min(box["width"] / 2, 40), y + box["y"] + 10, modifiers)


class Use:
    """One recording, one page, one browser; each method is a test."""

    def __init__(self, folder):
        self.trace = record(folder, "sqlite", 60000, 65536)
        self.page = os.path.join(folder, "page.html")
        bytepoll("html", "-o", self.page, self.trace)
        self.browser = Browser(1280, 1000)

    def report(self, *options):
        return profiled.report(self.trace, *options, "--rows", "1000")

    def open(self, fragment=""):
        self.browser.open(self.page, fragment)

    def click(self, selector):
        self.browser.click(selector)

    def edges(self):
        maximum = int(self.browser.evaluate("document.querySelector('#window-to').max"))
        return maximum

    # Values.

    def totals(self):
        self.open()
        totals = self.report()["totals"]
        for metric in ("live", "peak", "allocated", "temporary"):
            compare(card(self.browser, metric), totals[metric], metric)
        # The peak is spelled as on a terminal: its limits, and the estimate of its moment beside them.
        shown = self.browser.evaluate("document.querySelector('[data-metric=peak] .value').textContent")
        lines = bytepoll("report", "--metric", "peak", self.trace).splitlines()
        profiled.expect(any(re.match(" *peak +" + re.escape(shown) + "(  |$)", line) for line in lines), (shown, lines[:8]))

    def rows_of_metric(self, metric):
        self.open("metric=" + metric)
        compare_rows(self.browser, self.report("--metric", metric))

    def rows_by(self, key):
        self.open("metric=allocated")
        self.click("#rows [data-choice=%s]" % key)
        compare_rows(self.browser, self.report("--metric", "allocated", "--by", key))

    def cumulative(self):
        self.open("metric=allocated")
        self.click("#cumulative")
        compare_rows(self.browser, self.report("--metric", "allocated", "--cumulative"))

    def window(self):
        """Drag over the plot; then the same window by its times."""
        self.open("metric=temporary")
        self.browser.drag("#timeline .u-over", 0.25, 0.7)
        fragment = self.browser.evaluate("location.hash")
        profiled.expect("window=" in fragment, "no window in " + fragment)
        head = self.head()
        first, last = (self.edge(head, part) for part in fragment.split("window=")[1].split("&")[0].split("-"))
        profiled.expect(0 < first < last < len(head["edges_s"]) - 1, "an odd window %d-%d" % (first, last))
        times = ["%.9f" % head["edges_s"][edge] for edge in (first, last)]
        for metric in ("temporary", "allocated"):
            self.click(".controls [data-choice=%s]" % metric)
            compare_rows(self.browser, self.report("--metric", metric, "--from", times[0], "--to", times[1]))
        self.click(".controls [data-choice=live]")
        compare_rows(self.browser, self.report("--metric", "live", "--at", times[1]))
        profiled.expect(self.browser.evaluate("document.querySelector('[data-metric=peak]').disabled"),
                        "the peak is offered for a window")
        picture(self.browser, "window")
        self.click("#clear-window")
        profiled.expect("window" not in self.browser.evaluate("location.hash"), "the window stays")

    def moment(self):
        self.open()
        x, y, width, height = self.browser.place_of("#timeline .u-over")
        self.browser.click_at(x + width * 0.5, y + height / 2)
        fragment = self.browser.evaluate("location.hash")
        profiled.expect("moment=" in fragment, "a click gave " + fragment)
        at = "%.9f" % self.head()["edges_s"][self.edge(self.head(), fragment.split("moment=")[1].split("&")[0])]
        report = self.report("--metric", "live", "--at", at)
        self.click(".controls [data-choice=live]")
        compare_rows(self.browser, report)
        compare(card(self.browser, "live"), report["totals"]["live"], "live at " + at)

    @staticmethod
    def edge(head, text):
        """Which one is meant by seconds of a fragment ("0.407s"): the nearest."""
        profiled.expect(text.endswith("s"), text)
        return min(range(len(head["edges_s"])), key=lambda edge: abs(head["edges_s"][edge] - float(text[:-1])))

    def moments(self):
        """Live at several edges, where objects come and where they go."""
        edges = self.head()["edges_s"]
        for share in (0.05, 0.1, 0.15, 0.2, 0.3, 0.93, 0.96, 0.98):
            edge = max(int(share * (len(edges) - 1)), 1)
            self.open("metric=live&window=%d-%d" % (edge, edge))
            report = self.report("--metric", "live", "--at", "%.9f" % edges[edge])
            compare(card(self.browser, "live"), report["totals"]["live"], "live at edge %d" % edge)

    def head(self):
        import base64
        import gzip
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        start = text.index('id="bytepoll-head">') + len('id="bytepoll-head">')
        return json.loads(gzip.decompress(base64.b64decode(text[start:text.index("<", start)])))

    # Use.

    def zoom(self):
        self.open("metric=allocated")
        whole = boxes(self.browser)
        wide = [b for b in whole if 100 < b["width"] < 0.8 * whole[0]["width"]]
        click_box(self.browser, wide[0])
        zoomed = boxes(self.browser)
        target = [b for b in zoomed if b["name"] == wide[0]["name"]]
        profiled.expect(target and target[0]["y"] == 0 and target[0]["width"] > 2 * wide[0]["width"] * 0.6, "the box did not grow")
        fragment = self.browser.evaluate("location.hash")
        profiled.expect("zoom=" in fragment, "no zoom in the fragment")
        picture(self.browser, "zoomed")
        self.open(fragment[1:])
        profiled.expect([b["name"] for b in boxes(self.browser)] == [b["name"] for b in zoomed],
                        "the fragment did not restore the zoom")
        self.click("#zoom-out")
        profiled.expect(len(boxes(self.browser)) == len(whole), "not the whole graph again")

    def keyboard(self):
        self.open("metric=allocated")
        self.browser.evaluate("document.querySelector('#icicle').focus()")
        for _ in range(3):
            self.browser.key("ArrowDown")
        said = self.browser.text("#graph .aloud")
        profiled.expect("between" in said or "exact" in said, "nothing is said: " + said)
        self.browser.key("Enter")
        profiled.expect("zoom=" in self.browser.evaluate("location.hash"), "Enter does not zoom")
        self.browser.key("Escape")
        self.browser.settle()

    def graph_peak(self):
        """What stands on all stacks has the samples of all that was live at the named moment."""
        self.open("metric=peak")
        self.browser.evaluate("document.querySelector('#icicle').focus()")
        self.browser.key("ArrowDown")
        row = [r for r in self.report("--metric", "peak", "--cumulative")["rows"]][0]
        said = self.browser.text("#graph .aloud")
        profiled.expect(row["samples"] == self.report("--metric", "peak")["totals"]["peak"]["samples"], "the first row is not all")
        profiled.expect(", %d samples" % row["samples"] in said, "%d samples, but: %s" % (row["samples"], said))

    def search(self):
        self.open("metric=allocated")
        name = max(table_rows(self.browser).items(), key=lambda row: row[1]["samples"])[0]
        self.browser.type_into("#search", name)
        for options, selector in (((), "#matched-own"), (("--cumulative",), "#matched")):
            matched = self.browser.evaluate("document.querySelector('%s').dataset.bytes" % selector)
            row = [r for r in self.report("--metric", "allocated", *options)["rows"] if r["name"] == name][0]
            compare({"bytes": parse(matched), "objects": figure(row["objects"])}, row, "matched %s" % list(options))
        profiled.expect(list(table_rows(self.browser))[0] == name, "the table is not searched")
        picture(self.browser, "search")
        self.browser.type_into("#search", "no such function")
        profiled.expect(table_rows(self.browser) == {}, "rows match what is not there")
        self.browser.type_into("#search", "")

    def invert(self):
        self.open("metric=allocated")
        self.click("#graph [data-choice=callees]")
        second = [b["name"] for b in boxes(self.browser) if b["y"] == 23]
        by_function = list(table_rows(self.browser))
        profiled.expect(second[0] == by_function[0], "%s is not first, but %s" % (by_function[0], second[0]))

    def filter_size(self):
        self.open("metric=temporary&size=12")
        report = self.report("--metric", "temporary", "--filter", "size=4096..8191")
        compare_rows(self.browser, report)
        compare(card(self.browser, "temporary"), report["totals"]["temporary"], "temporary of 4K")

    def filter_module(self):
        self.open("metric=allocated&by=module")
        rows = table_rows(self.browser)
        profiled.expect(len(rows) >= 1, "no module")
        name = list(rows)[0]
        self.click("#rows tbody tr .row-name")
        profiled.expect("module=" in self.browser.evaluate("location.hash"), "no filter after a click on a module")
        report = self.report("--metric", "allocated", "--filter", "module=" + name)
        self.click("#rows [data-choice=function]")
        compare_rows(self.browser, report)

    def butterfly(self):
        self.open("metric=allocated")
        row = [r for r in self.report("--metric", "allocated", "--cumulative")["rows"]][0]
        self.click("#cumulative")
        self.click("#rows tbody tr .row-name")
        profiled.expect(self.browser.text("#butterfly h2") == list(table_rows(self.browser))[0], "another function")
        profiled.expect(row["name"] in table_rows(self.browser), row["name"])
        self.browser.evaluate("document.querySelector('#butterfly').scrollIntoView()")
        picture(self.browser, "butterfly")

    def sort(self):
        self.open("metric=allocated&by=stack")
        for column, ascending in (("samples", False), ("samples", True)):
            self.click("#table [data-sort=%s]" % column)
            values = [row["samples"] for row in table_rows(self.browser).values()]
            self.browser.settle()
        listed = self.browser.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => +r.lastChild.textContent)")
        profiled.expect(listed == sorted(listed), "not sorted: %s" % listed[:10])
        profiled.expect(values, "no rows")

    def unit_and_fragment(self):
        self.open("metric=temporary&unit=objects&by=stack&search=sqlite&sort=samples&ascending=1&callees=1&nonsense=%E0%A4%A&window=99999-3")
        state = self.browser.evaluate(
            "[document.querySelector('#search').value, document.querySelector('[data-metric=temporary]').getAttribute('aria-pressed'),"
            "document.querySelector('.controls [data-choice=objects]').getAttribute('aria-pressed'),"
            "document.querySelector('#rows [data-choice=stack]').getAttribute('aria-pressed')]")
        profiled.expect(state == ["sqlite", "true", "true", "true"], "not restored: %s" % state)

    def export(self):
        self.open("metric=allocated")
        texts = exported_texts(self.browser)
        profiled.expect("all" in texts and len(texts) > 5, "texts of the export: %s" % texts[:5])

    def quiet(self):
        """After all this: no error, no dialog, and nothing but the page itself was ever asked for."""
        profiled.expect(not self.browser.errors, "errors: %s" % self.browser.errors[:3])
        profiled.expect(not self.browser.dialogs, "dialogs: %s" % self.browser.dialogs)
        asked = [url for url in self.browser.requests if not url.startswith(("file://", "blob:", "about:"))]
        profiled.expect(not asked, "requests: %s" % asked)

    def looks(self):
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            self.open("metric=allocated")
            picture(self.browser, scheme, whole=True)
        self.browser.resize(400, 900)
        self.open("metric=allocated")
        wide = self.browser.evaluate("document.documentElement.scrollWidth")
        picture(self.browser, "narrow", whole=True)
        self.browser.resize(1280, 1000)
        self.browser.scheme("light")
        profiled.expect(wide <= 400, "at 400 pixels the page is %d wide" % wide)


def values(tap, folder):
    use = Use(folder)
    try:
        tap.attempt("totals", use.totals)
        for metric in ("peak", "allocated", "temporary"):
            tap.attempt("rows of " + metric, lambda metric=metric: use.rows_of_metric(metric))
        for key in ("module", "thread", "line", "file"):
            tap.attempt("rows by " + key, lambda key=key: use.rows_by(key))
        for name in ("cumulative", "window", "moment", "moments", "filter_size", "filter_module", "search", "invert", "zoom",
                     "keyboard", "graph_peak", "butterfly", "sort", "unit_and_fragment", "export", "looks", "quiet"):
            tap.attempt(name.replace("_", " "), getattr(use, name))
    finally:
        use.browser.close()


def recursive_page(folder):
    """Stacks with towers of one function, of two that call each other, and one without."""
    writer = pprof_write.Writer(period=1)
    for stack, count in ((("leaf",) + ("down",) * 300 + ("main",), 3), (("leaf",) + ("odd", "even") * 50 + ("main",), 2),
                         (("flat", "main"), 1)):
        writer.bucket(stack, 64, count, count)
    path, page = os.path.join(folder, "towers.pb.gz"), os.path.join(folder, "towers.html")
    with open(path, "wb") as file:
        file.write(writer.finish())
    bytepoll("html", "-o", page, path)
    return page


def fold(tap, folder):
    """A recursion is folded to one round, figures stay, and the page says so; undone it is as before."""
    browser = Browser(1280, 1000)
    try:
        browser.open(recursive_page(folder), "chains=0")
        tower, total = boxes(browser), card(browser, "live")
        browser.click("#fold")
        folded, text = boxes(browser), browser.evaluate("document.querySelector('#folded').textContent")
        picture(browser, "folded")
        tap.check(sorted(b["name"] for b in folded) == ["all", "down", "even", "flat", "leaf", "leaf", "main", "odd"],
                  "one round of each recursion", str([b["name"] for b in folded]))
        tap.check(len(tower) > 300, "towers without it", str(len(tower)))
        tap.check("of 2 stacks 397 repeated frames" in text, "what is folded is said", text)
        tap.check(card(browser, "live") == total, "figures stay")
        tap.check(abs(sum(b["width"] for b in folded if b["name"] == "leaf") / folded[0]["width"] - 5 / 6) < 0.02,
                  "widths stay", str(folded))
        tap.check("folded=1" in browser.evaluate("new Promise(r => setTimeout(() => r(location.hash), 200))"), "a link keeps it")
        browser.click("#fold")
        tap.check(len(boxes(browser)) == len(tower), "and back")
        browser.click("#rows [data-choice=stack]")
        lines = "[...document.querySelectorAll('#table .frames')].map(e => [e.children.length, e.scrollHeight - e.clientHeight])"
        first = browser.evaluate(lines)
        browser.click("#table .more-frames")
        tap.check(first[0] == [8, 0] and browser.evaluate(lines)[0] == [208, 0], "stacks are listed in whole lines, more at a click", str(first))
        tap.check(not browser.errors, "folding: no error", str(browser.errors[:3]))
    finally:
        browser.close()


def hostile(tap, folder):
    path = os.path.join(folder, "hostile.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page_fixture.hostile())
    browser = Browser(1280, 1000)
    try:
        browser.open(path, "by=stack&search=%3Cimg%20src%3Dx%20onerror%3Dalert(9)%3E")
        browser.open(path)
        browser.click("#rows tbody tr .row-name")
        browser.click("#graph [data-choice=callees]")
        browser.click("#rows [data-choice=stack]")
        browser.type_into("#search", "<svg onload=alert(8)>")
        browser.type_into("#search", "script")
        text = browser.evaluate("document.body.innerText")
        picture(browser, "hostile", whole=True)
        tap.check(not browser.dialogs, "hostile names: no dialog", str(browser.dialogs))
        tap.check(not browser.errors, "hostile names: no error", str(browser.errors[:3]))
        tap.check(all(url.startswith("file://") for url in browser.requests) and len(browser.requests) == 1,
                  "hostile names: no request but the page itself", str(browser.requests))
        tap.check(browser.evaluate("document.querySelectorAll('#page img, #page script, #page svg[onload], #page iframe').length") == 0,
                  "hostile names: no element is made of them")
        browser.type_into("#search", "")
        text = browser.evaluate("document.documentElement.textContent")
        tap.check(not any(c in text for c in "\u202e\x07\x1b\u200b\ufeff"), "controls and bidi marks are shown as escapes")
        tap.check("\\u{202e}" in text and "<script>alert(1)</script>" in text, "names are shown as they are otherwise")
    finally:
        browser.close()


def large(tap, folder):
    """From when the data are unpacked (base64, gzip, JSON) to the end of the first painting on the canvas: the tree, its
    weights, the layout, all of it. The rest of the page comes after that; pages are opened in new browsers."""
    path = os.path.join(folder, "large.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page_fixture.large(50000))
    times, errors = [], []
    for _ in range(5):
        browser = Browser(1280, 1000)
        try:
            browser.open(path, "chains=0")
            marks = browser.evaluate("performance.getEntries().filter(e => e.name.startsWith('bytepoll:'))"
                                     ".map(e => [e.name, e.startTime, e.duration])")
            times.append([[m for m in marks if m[0] == "bytepoll:" + name][0][2] for name in ("first-draw", "draw")])
            drawn = len(boxes(browser))
            errors += browser.errors
        finally:
            browser.close()
    times.sort()
    tap.note("50,000 frames: from data to the first drawing %.0f ms (median of 5: %.0f), of which painting %.0f ms (load of the machine %.1f)"
             % (times[0][0], times[2][0], times[0][1], os.getloadavg()[0]))
    tap.check(not errors and drawn > 5000, "50,000 frames are drawn", "%d boxes, %s" % (drawn, errors[:3]))
    # A loaded machine must not make it fail: the budget is 100 ms on an idle one.
    tap.check(times[0][0] < 100 * max(5, 2 * os.getloadavg()[0]), "in time: %.0f ms" % times[0][0])


def diff(tap, folder):
    old, new = record(folder, "old", 40000, 65536), record(folder, "new", 60000, None)
    data = json.loads(bytepoll("diff", "--json", "--metric", "allocated", "--by", "size", old, new))
    tap.check(len({row["verdict"] for row in data["rows"]}) >= 2, "diff: rows with and without a verdict",
              str([row["verdict"] for row in data["rows"]]))
    path = os.path.join(folder, "diff.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page_fixture.put_together(page_fixture.element("bytepoll-diff", json.dumps(data).encode())))
    browser = Browser(1280, 800)
    try:
        browser.open(path)
        shown = browser.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => [r.dataset.name, r.dataset.verdict])")
        expected = {row["name"]: row["verdict"] for row in data["rows"]}
        tap.check(len(shown) == min(len(data["rows"]), 60) and all(expected[n] == v for n, v in shown), "diff: rows and verdicts",
                  "%s against %s" % (shown[:3], list(expected.items())[:3]))
        # One of them has one interval, the other a range: in the words of the terminal.
        said = re.findall("1 sample per [^,]*", bytepoll("diff", "--metric", "allocated", old, new))[:2]
        runs = browser.evaluate("[...document.querySelectorAll('.run .label')].map(e => e.textContent)")
        tap.check(" to " in said[1] and [text.split(" · ")[1] for text in runs] == said, "diff: sampling intervals", "%s, not %s" % (runs, said))
        colours = browser.evaluate(
            "[...document.querySelectorAll('#table tbody tr')].map(r => [r.dataset.verdict, getComputedStyle(r.querySelector('.mark, .range') || r).backgroundColor])")
        grey = browser.evaluate("(() => { const e = document.createElement('i'); e.style.color = 'var(--soft)'; document.body.append(e); return getComputedStyle(e).color; })()")
        tap.check(all((colour == grey) == (verdict == "unclear") for verdict, colour in colours if "rgba" not in colour),
                  "diff: colour only where there is a verdict", str(colours[:5]))
        axis = browser.evaluate("[...document.querySelectorAll('.change-axis span')].map(e => e.textContent)")
        tap.check(len(axis) >= 3 and axis[0][0] == "−" and axis[-1][0] == "+" and any(t[0] == "0" for t in axis), "diff: the axis has numbers", str(axis))
        feet = browser.evaluate("[...document.querySelectorAll('#table th button, #table th .heading')].map(e => e.getBoundingClientRect().bottom)")
        tap.check(max(feet) - min(feet) < 1, "diff: headings stand in one line", str(feet))
        picture(browser, "diff", whole=True)
        browser.type_into("#search", "no such function")
        tap.check(browser.evaluate("document.querySelectorAll('#table tbody tr').length") == 0, "diff: search")
        tap.check("search=" in browser.evaluate("location.hash"), "diff: the fragment holds the search")
        tap.check(not browser.errors and not browser.dialogs, "diff: no error", str(browser.errors[:3]))
    finally:
        browser.close()


def main(parts):
    """Runs those of {name: a test of a tap and a folder} that the command line names, or all."""
    tap = profiled.Tap()
    if find_chromium() is None:
        tap.skip("the page in a browser", "needs chromium")
        return tap.finish()
    for name in sys.argv[1:] or parts:
        with profiled.directory() as folder:
            try:
                parts[name](tap, folder)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                tap.check(False, name, error)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main({"values": values, "fold": fold, "hostile": hostile, "large": large, "diff": diff}))
