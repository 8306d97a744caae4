#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The graph of `bytepoll diff --html`: its data against a second reckoning from `diff --json --by stack`, and
in a headless Chromium what is drawn, coloured, said and kept in the address. Then hostile names.
The browser's parts need chromium; BYTEPOLL_WEB_PICTURES=FOLDER keeps screenshots.

What did not change has the same samples on both sides, so that no seed decides about a verdict.

Usage: test_diff.py [data | graph | hostile]...   (all without one)"""
import base64
import gzip
import json
import os
import re
import sys

for folder in ("scenario", "pprof"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
import profiled  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402
import page_fixture  # noqa: E402
import pprof_write  # noqa: E402
from test_page import bytepoll, boxes, click_box, exported_texts, picture  # noqa: E402

# Innermost first; samples of 64 B in base and new.
STACKS = [(("alloc", "parse", "load", "main"), 120, 120), (("alloc", "lex", "parse", "load", "main"), 60, 60),
          (("alloc", "insert", "index", "main"), 60, 200), (("alloc", "split", "index", "main"), 90, 90),
          (("alloc", "put", "cache", "main"), 200, 70), (("alloc", "session", "main"), 0, 150),
          (("alloc", "old", "main"), 130, 0), (("alloc", "rare", "main"), 2, 3)]
VERDICTS = {"main/load": "unclear", "main/load/parse": "unclear", "main/index": "grew", "main/index/insert": "grew",
            "main/index/split": "unclear", "main/cache": "shrank", "main/cache/put/alloc": "shrank",
            "main/session": "new", "main/old": "gone", "main/rare": "unclear"}


def write_sides(folder):
    paths = []
    for side in (1, 2):
        writer = pprof_write.Writer()
        for stack in STACKS:
            if stack[side] > 0:
                writer.bucket(stack[0], 64, stack[side], stack[side])
        paths.append(os.path.join(folder, ("base", "new")[side - 1] + ".pb.gz"))
        with open(paths[-1], "wb") as file:
            file.write(writer.finish())
    return paths


def element(page, name):
    data = re.search(r'id="%s">([^<]*)<' % name, page).group(1)
    return json.loads(gzip.decompress(base64.b64decode(data)))


def make_page(folder, *options):
    sides = write_sides(folder)
    path = os.path.join(folder, "diff.html")
    bytepoll("diff", "--metric", "live", *options, "--force", "--html", path, *sides)
    with open(path, encoding="utf-8") as file:
        return path, element(file.read(), "bytepoll-paths"), sides


def name_of(paths, node):
    names = []
    while node > 0:
        names.append(paths["names"][paths["name"][node - 1]])
        node = paths["caller"][node - 1]
    return "/".join(reversed(names))


def by_name(paths):
    return {name_of(paths, node): node for node in range(1, len(paths["caller"]) + 1)}


def benjamini_hochberg(values):
    """{key: p} to {key: q}, written down from the definition."""
    ordered = sorted(values, key=values.get)
    q, least = {}, 1.0
    for rank in range(len(ordered), 0, -1):
        least = min(least, values[ordered[rank - 1]] * len(ordered) / rank)
        q[ordered[rank - 1]] = least
    return q


def near(a, b, tolerance=1e-8):
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-300)


def check_widths(paths, stacks):
    """Each path is as wide as all stacks that begin with it, on either side, by either unit."""
    nodes = by_name(paths)
    for side in ("base", "new"):
        for unit in ("bytes", "objects"):
            sums = {}
            for row in stacks["rows"]:
                names = [frame["function"] for frame in reversed(row["stack"])]
                for depth in range(1, len(names) + 1):
                    key = "/".join(names[:depth])
                    sums[key] = sums.get(key, 0) + row[side][unit]["estimate"]
            profiled.expect(set(sums) == set(nodes), "paths: %s" % sorted(set(sums) ^ set(nodes)))
            for name, node in nodes.items():
                profiled.expect(near(sums[name], paths[unit][side][node - 1], 1e-6) or sums[name] < 1e-6,
                                "%s of %s in %s: %s, not %s" % (unit, name, side, paths[unit][side][node - 1], sums[name]))


def check_rows(paths):
    """Every distinct set of samples is tested once; q is Benjamini and Hochberg's over these."""
    tested = {number: row["p"] for number, row in enumerate(paths["rows"]) if number > 0 and row["tested"]}
    profiled.expect(paths["left_out"] == 0 and paths["tested"] == len(tested), "%s tested" % paths["tested"])
    for number, q in benjamini_hochberg(tested).items():
        profiled.expect(near(q, paths["rows"][number]["q"]) or q < 1e-250,
                        "q %s, not %s" % (paths["rows"][number]["q"], q))
        profiled.expect(paths["rows"][number]["verdict"] == "unclear" or q <= 0.05, "a verdict at q = %s" % q)
    profiled.expect(all(row["verdict"] == "unclear" for row in paths["rows"][1:] if not row["tested"]), "untested")
    nodes, rows = by_name(paths), paths["rows"]
    verdicts = {name: rows[paths["row"][nodes[name] - 1]]["verdict"] for name in VERDICTS}
    profiled.expect(verdicts == VERDICTS, "verdicts %s" % verdicts)
    # Of the same samples: one row. The node with the callees of its own has another one.
    for chain in (("main/cache", "main/cache/put", "main/cache/put/alloc"), ("main/index/insert", "main/index/insert/alloc")):
        profiled.expect(len({paths["row"][nodes[name] - 1] for name in chain}) == 1, "rows of %s" % (chain,))
    profiled.expect(paths["row"][nodes["main/index"] - 1] != paths["row"][nodes["main/index/insert"] - 1], "one row of two")


def data(tap, folder):
    path, paths, sides = make_page(folder)
    stacks = json.loads(bytepoll("diff", "--json", "--metric", "live", "--by", "stack", *sides))
    tap.attempt("widths by a second reckoning", lambda: check_widths(paths, stacks))
    tap.attempt("rows, q and verdicts", lambda: check_rows(paths))
    callers = paths["caller"]
    tap.check(all(caller < node for node, caller in enumerate(callers, 1)), "callers stand before")
    for options in (("--by", "size"), ("--cumulative",), ("--by", "thread")):
        tap.check(make_page(folder, *options)[1] == paths, "the same graph with %s" % " ".join(options))
    for options, expected in ((("--cumulative", "--filter", "function=insert"), 4), (("--filter", "function=insert"), 0),
                              (("--filter", "function=alloc"), len(callers)), (("--by", "stack", "--filter", "stack=*split*"), 4)):
        tap.check(len(make_page(folder, *options)[1]["caller"]) == expected, "paths with " + " ".join(options))
    objects = make_page(folder, "--objects")[1]
    tap.check({row["verdict"] for row in objects["rows"]} >= {"grew", "shrank", "new", "gone"}, "verdicts by objects")
    first = open(path, "rb").read()
    make_page(folder, "--objects")
    tap.check(open(path, "rb").read() == first, "the same page again, byte for byte")


def hue(colour):
    """Red, blue or grey, of hsl(...)."""
    where, strength = re.match(r"hsl\((\d+) (\d+)%", colour).groups()
    return "grey" if int(strength) < 20 else "red" if int(where) < 40 else "blue"


EXPECTED_HUE = {"grew": "red", "new": "red", "shrank": "blue", "gone": "blue", "unclear": "grey"}


def pixel(browser, box):
    """What the canvas has near the right end of a box, where no text is."""
    return browser.evaluate(
        "(() => { const c = document.querySelector('#icicle'); const r = c.width / c.clientWidth;"
        "return [...c.getContext('2d').getImageData(%f * r, %f * r, 1, 1).data]; })()" % (box["x"] + box["width"] - 4, box["y"] + 4))


def hue_of_pixel(red, green, blue, _):
    if max(red, green, blue) - min(red, green, blue) < 24:
        return "grey"
    return "red" if red > blue else "blue"


class Use:
    """One page, one browser; each method is a test."""

    def __init__(self, folder):
        self.page, self.paths, _ = make_page(folder)
        self.nodes = by_name(self.paths)
        self.browser = Browser(1280, 1000)

    def row(self, name):
        return self.paths["rows"][self.paths["row"][self.nodes[name] - 1]]

    def open(self, fragment=""):
        self.browser.open(self.page, fragment)

    def box(self, name):
        found = [b for b in boxes(self.browser) if b["node"] == self.nodes[name]]
        profiled.expect(len(found) == 1, "boxes of %s: %s" % (name, found))
        return found[0]

    def widths(self):
        for fragment, side, absent in (("", "new", "main/old"), ("width=base", "base", "main/session")):
            self.open(fragment)
            shown = {b["node"]: b for b in boxes(self.browser) if b["node"] > 0}
            whole = self.box("main")["width"] / self.paths["bytes"][side][self.nodes["main"] - 1]
            for node, box in shown.items():
                profiled.expect(abs(box["width"] - whole * self.paths["bytes"][side][node - 1]) < 0.01, "width of %s" % box)
            profiled.expect(self.nodes[absent] not in shown and len(shown) >= 15, "%s in %s" % (absent, side))

    def colours(self):
        for scheme in ("light", "dark"):
            self.browser.scheme(scheme)
            for fragment in ("", "width=base"):
                self.open(fragment)
                for box in boxes(self.browser):
                    verdict = box["verdict"]
                    wanted = EXPECTED_HUE[verdict]
                    profiled.expect(hue(box["colour"]) == wanted, "%s is %s: %s" % (box["name"], verdict, box["colour"]))
                    if box["width"] > 40:
                        seen = hue_of_pixel(*pixel(self.browser, box))
                        profiled.expect(seen == wanted, "%s is %s and looks %s" % (box["name"], verdict, seen))
            picture(self.browser, "diff-" + scheme, whole=True)
        self.browser.scheme("light")

    def tip(self):
        self.open()
        box = self.box("main/index/insert")
        x, y, _, _ = self.browser.place_of("#icicle")
        self.browser.mouse("mouseMoved", x + box["x"] + 20, y + box["y"] + 10, "none")
        self.browser.settle()
        text = self.browser.text(".tip")
        picture(self.browser, "diff-tip")
        row = self.row("main/index/insert")
        profiled.expect("insert" in text and "grew" in text and "60 and 200" in text and "q < 0.0001" in text, text)
        for side in ("base", "new"):
            figure = "%.2f MiB" % (row[side]["bytes"]["estimate"] / 2**20)
            profiled.expect(figure[:4] in text, "%s in %s" % (figure, text))
        profiled.expect(re.search(r"change\+\d+\.?\d* MiB ±\d+", text) and "[+" in text, "the change and its limits: " + text)

    def zoom(self):
        self.open()
        click_box(self.browser, self.box("main/index"))
        hash_ = self.browser.evaluate("location.hash")
        profiled.expect("zoom=%d" % self.nodes["main/index"] in hash_, hash_)
        self.open(hash_[1:])
        profiled.expect(abs(self.box("main/index")["width"] - boxes(self.browser)[0]["width"]) < 1, "a link does not restore it")
        profiled.expect(self.browser.text(".path") == "all › main › index", self.browser.text(".path"))
        self.browser.click("#zoom-out")
        profiled.expect(self.box("main/index")["width"] < boxes(self.browser)[0]["width"] / 2, "not the whole")
        self.browser.evaluate("location.hash = 'zoom=%d'" % self.nodes["main/cache"])
        self.browser.settle()
        profiled.expect(abs(self.box("main/cache")["width"] - boxes(self.browser)[0]["width"]) < 1, "an address typed in")
        for nonsense in ("zoom=999999999&width=none&rows=%E0%A4%A", "zoom=-1&__proto__=1&unit=constructor", "width=base&width"):
            self.open(nonsense)
            profiled.expect(len(boxes(self.browser)) > 15, "nothing is drawn with " + nonsense)

    def keyboard(self):
        self.open()
        self.browser.evaluate("document.querySelector('#icicle').focus()")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            self.browser.key(key)
        said = self.browser.text("#graph .aloud")
        second = [b for b in boxes(self.browser) if b["y"] == 46][1]
        profiled.expect(said.startswith(second["name"] + ": " + second["verdict"]) and "change" in said and "base" in said, said)
        self.browser.key("Enter")
        profiled.expect("zoom=%d" % second["node"] in self.browser.evaluate("location.hash"), "Enter does not zoom")
        self.browser.key("Escape")
        profiled.expect("zoom=%d" % self.nodes["main"] in self.browser.evaluate("location.hash"), "Escape does not")

    def search(self):
        self.open()
        self.browser.type_into("#search", "insert")
        profiled.expect("1 call path" in self.browser.text("#matched"), self.browser.text("#matched"))
        faint, strong = (hue_of_pixel(*pixel(self.browser, self.box(name))) for name in ("main/cache", "main/index/insert"))
        profiled.expect(strong == "red" and faint != "red", "%s %s" % (faint, strong))
        self.browser.click("#rows [data-choice=paths]")
        names = self.browser.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => r.dataset.name)")
        profiled.expect(names == ["insert"], names)
        self.open("search=insert&rows=paths")
        profiled.expect(self.browser.evaluate("document.querySelectorAll('#table tbody tr').length") == 1, "a link does not restore it")

    def twin(self):
        """The table by call path has a row for every box, with its verdict, and leads to it."""
        self.open("rows=paths")
        rows = self.browser.evaluate(
            "[...document.querySelectorAll('#table tbody tr')].map(r => [+r.dataset.node, r.dataset.verdict, r.querySelector('.badge').textContent])")
        profiled.expect(sorted(row[0] for row in rows) == list(range(1, len(self.paths["caller"]) + 1)), "rows %s" % rows[:3])
        for node, verdict, badge in rows:
            profiled.expect(verdict == badge == self.paths["rows"][self.paths["row"][node - 1]]["verdict"], "row %d" % node)
        picture(self.browser, "diff-paths", whole=True)
        self.browser.click("#table tr[data-node='%d'] .row-name" % self.nodes["main/index"])
        profiled.expect("zoom=%d" % self.nodes["main/index"] in self.browser.evaluate("location.hash"), "a row does not zoom")
        self.browser.click("#rows [data-choice=asked]")
        profiled.expect(self.browser.evaluate("document.querySelector('#table tbody tr').dataset.name") == "alloc", "rows by function")

    def units(self):
        self.open("unit=objects")
        text = self.browser.text("#path-facts")
        profiled.expect("(objects)" in text and "Colours are about bytes" in text, text)
        whole = self.box("main")["width"] / self.paths["objects"]["new"][self.nodes["main"] - 1]
        node = self.nodes["main/load"]
        profiled.expect(abs(self.box("main/load")["width"] - whole * self.paths["objects"]["new"][node - 1]) < 0.01, "widths")

    def export(self):
        self.open()
        texts = exported_texts(self.browser)
        profiled.expect("all" in texts and "insert" in texts, "texts of the export: %s" % texts[:5])

    def narrow(self):
        self.browser.resize(400, 900)
        self.open()
        wide = self.browser.evaluate("document.documentElement.scrollWidth")
        picture(self.browser, "diff-narrow", whole=True)
        self.browser.resize(1280, 1000)
        profiled.expect(wide <= 400, "at 400 pixels the page is %d wide" % wide)

    def quiet(self):
        profiled.expect(not self.browser.errors and not self.browser.dialogs, "%s %s" % (self.browser.errors[:3], self.browser.dialogs))
        asked = [url for url in self.browser.requests if not url.startswith(("file://", "blob:", "about:"))]
        profiled.expect(not asked, "requests: %s" % asked)


def graph(tap, folder):
    use = Use(folder)
    try:
        for name in ("widths", "colours", "tip", "zoom", "keyboard", "search", "twin", "units", "export", "narrow", "quiet"):
            tap.attempt(name, getattr(use, name))
    finally:
        use.browser.close()


def hostile(tap, folder):
    path = os.path.join(folder, "hostile.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page_fixture.hostile_difference())
    browser = Browser(1280, 1000)
    try:
        browser.open(path, "rows=paths&search=%3Cimg%20src%3Dx%20onerror%3Dalert(9)%3E")
        browser.open(path, "rows=paths&zoom=3")
        browser.click("#table .row-name")
        browser.click("#rows [data-choice=asked]")
        browser.type_into("#search", "<svg onload=alert(8)>")
        x, y, width, _ = browser.place_of("#icicle")
        browser.mouse("mouseMoved", x + width / 3, y + 34, "none")
        browser.type_into("#search", "")
        browser.open(path, "rows=paths")
        picture(browser, "diff-hostile", whole=True)
        text = browser.evaluate("document.documentElement.textContent")
        tap.check(not browser.dialogs and not browser.errors, "hostile names: quiet", "%s %s" % (browser.dialogs, browser.errors[:3]))
        tap.check(all(url.startswith("file://") for url in browser.requests) and len(browser.requests) == 1,
                  "hostile names: no request but the page itself", str(browser.requests))
        tap.check(browser.evaluate("document.querySelectorAll('#page img, #page script, #page svg[onload], #page iframe').length") == 0,
                  "hostile names: no element is made of them")
        tap.check(not any(c in text for c in "\u202e\x07\x1b\u200b\ufeff"), "controls and bidi marks are shown as escapes")
        tap.check("\\u{202e}" in text and "<script>alert(1)</script>" in text, "names are shown as they are otherwise")
    finally:
        browser.close()


def main():
    tap = profiled.Tap()
    parts = {"data": data, "graph": graph, "hostile": hostile}
    for name in sys.argv[1:] or parts:
        if name != "data" and find_chromium() is None:
            tap.skip("the graph of a difference in a browser", "needs chromium")
            continue
        with profiled.directory() as folder:
            tap.attempt(name, lambda: parts[name](tap, folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
