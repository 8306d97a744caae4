#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a click on a row and a search select: the figure above the graph is the row's, to 1e-9, and its
estimate is the sum over the samples that are meant, made here by other means. Then names that are
shortened, entries of a menu that have one name, and resident memory, which is of one process alone. The
pages are made up (page_fixture.py), so that what is meant is known. Needs chromium.

Usage: test_rows.py [rows | searches | names | resident | looks]...   (all without one)"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402
from browser import Browser, find_chromium  # noqa: E402
import page_fixture  # noqa: E402
from test_page import near, parse, picture, table_rows  # noqa: E402

FUNCTIONS = ["main", "grow", "parse_input", "std::vector<int, std::allocator<int> >::push_back(int const&)",
             "operator new(unsigned long)", "worker_loop", "vector_of_parts"]
FILES = ["/src/app/main.c", "/usr/include/c++/12/bits/vector.tcc", "/src/app/parse.c"]
MODULES = ["/usr/bin/app", "/opt/app/app", "/usr/lib/libnew.so.6"]
# (function, file or None, line, module), by numbers: functions of several lines and lines of several functions.
FRAMES = [(0, 0, 10, 0), (0, 0, 20, 0), (1, 0, 30, 0), (1, 0, 31, 0), (2, 2, 5, 1), (2, 2, 6, 1), (3, 1, 453, 0),
          (3, 1, 460, 0), (4, None, 0, 2), (5, 0, 30, 0), (6, 2, 5, 1)]
STACKS = [[8, 6, 2, 0], [8, 6, 3, 0], [8, 7, 2, 1], [4, 0], [5, 4, 1], [8, 4, 9], [2, 0], [3, 2, 1], [10, 4, 9], [],
          [6, 10, 6, 2, 0]]
ROWS_CLICKED = 4
CELLS, RECORDS = page_fixture.made_up_cells(STACKS, cells_per_stack=4)


def attribution(stack):
    """Of stacks below operator new the caller counts."""
    return 1 if len(stack) > 1 and stack[0] == 8 else 0


def places(head):
    names = [""] + FUNCTIONS + FILES + MODULES
    file, module = len(FUNCTIONS) + 1, len(FUNCTIONS) + len(FILES) + 1
    head["names"] = names
    head["frames"] = [[0, 0, 0, 0, 0]] + [[f + 1, 0 if at is None else file + at, line, module + m, 0]
                                          for f, at, line, m in FRAMES]
    head["attribution"] = [attribution(stack) for stack in STACKS]
    head["threads"][1][3] = [2 ** 25, 2 ** 25, 4711, 4711]


def row_of(frame, by):
    function, file, line, module = FRAMES[frame]
    if by == "function" or (by == "line" and file is None):
        return FUNCTIONS[function]
    if by == "module":
        return MODULES[module]
    if file is None:
        return "(no source known: %s)" % os.path.basename(MODULES[module])
    return FILES[file] + (":%d" % line if by == "line" else "")


def total(meant):
    """Bytes of the cells of stacks that are meant."""
    return sum(RECORDS[c[1]][1] + RECORDS[c[1]][2] for c in CELLS if meant(STACKS[c[0]], c))


def truth(by, name, cumulative):
    def meant(stack, _):
        if not stack:
            return name == "(no stack recorded)" and not cumulative
        frames = stack if cumulative else [stack[attribution(stack)]]
        return any(row_of(frame, by) == name for frame in frames)
    return total(meant)


class Page:
    def __init__(self, folder, change=places, **options):
        self.path = os.path.join(folder, "page.html")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(page_fixture.synthetic(FUNCTIONS + [""] * (len(FRAMES) - len(FUNCTIONS)), STACKS, cells_per_stack=4,
                                              change=change, **options))
        self.browser = Browser(1280, 1000)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

    def open(self, fragment=""):
        self.browser.open(self.path, fragment)

    def matched(self, part):
        both = self.browser.evaluate("(() => { const e = document.querySelector('#matched-%s') || document.querySelector('#matched-own');"
                                     "return e && [e.dataset.bytes, e.dataset.objects]; })()" % part)
        return both and {"bytes": parse(both[0]), "objects": parse(both[1])}

    def click_row(self, number):
        self.browser.evaluate("document.querySelectorAll('#table .row-name')[%d].click()" % number)
        self.browser.settle()


def same(mine, row):
    return all(near(a, b) for kind in ("bytes", "objects") for a, b in zip(mine[kind], row[kind]))


def click_and_compare(page, by, cumulative):
    """The first rows of the table are clicked; returns how many."""
    fragment = "metric=allocated&by=" + by + ("&cumulative=1" if cumulative else "")
    page.open(fragment)
    names = page.browser.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => r.dataset.name)")
    for number, name in enumerate(names[:ROWS_CLICKED]):
        page.click_row(number)
        shown = table_rows(page.browser)[name] if by != "stack" else None
        mine = page.matched("under" if cumulative else "own")
        profiled.expect(mine is not None, "%s: nothing is said" % name)
        current = page.browser.evaluate("[...document.querySelectorAll('#table [aria-current]')].map(r => r.dataset.name)")
        profiled.expect(current == [name], "%s: marked are %s" % (name, current))
        if by == "stack":
            cell = page.browser.evaluate("document.querySelector('#table [aria-current] [data-bytes]').dataset.bytes")
            profiled.expect(all(near(a, b) for a, b in zip(mine["bytes"], parse(cell))), "%s: %s, row %s" % (name, mine, cell))
        else:
            profiled.expect(same(mine, shown), "%s: %s, row %s" % (name, mine, shown))
            profiled.expect(near(mine["bytes"][0], truth(by, name, cumulative)),
                            "%s: %s instead of %s" % (name, mine["bytes"], truth(by, name, cumulative)))
        link = page.browser.evaluate("location.hash")
        if number == 1:
            page.open("")
            page.open(link[1:])
            profiled.expect(same(page.matched("under" if cumulative else "own"), mine), "a link does not restore it: " + link)
        if number == 0:
            page.browser.click("#clear-row")
        else:
            page.click_row(number)
        profiled.expect(page.matched("own") is None, "%s: a second click leaves it" % name)
    return len(names)


def filter_and_compare(page, by):
    """(Of the main thread the row has what it counted itself.)"""
    page.open("metric=allocated&by=" + by)
    for number, (name, row) in enumerate(list(table_rows(page.browser).items())[:3]):
        page.open("metric=allocated&by=" + by)
        page.click_row(number)
        card = page.browser.evaluate("document.querySelector('[data-metric=allocated]').dataset.bytes")
        shown = parse(card) if name != "(no stack recorded)" else page.matched("own")["bytes"]
        profiled.expect(all(near(a, b) for a, b in zip(shown, row["bytes"])), "%s: %s, row %s" % (name, shown, row))
        profiled.expect(not name.startswith("main") or parse(card)[0] == 2 ** 25, "%s: not what was counted" % name)


def heaviest_place(name):
    """Of a function's lines, the one with most bytes."""
    of = [i for i in range(len(FRAMES)) if FUNCTIONS[FRAMES[i][0]] == name]
    frame = max(of, key=lambda i: total(lambda stack, _: stack and stack[attribution(stack)] == i))
    return row_of(frame, "line") if FRAMES[frame][1] is not None else os.path.basename(MODULES[FRAMES[frame][3]])


def places_are_of_most_bytes(page):
    page.open("metric=allocated&by=function")
    found = page.browser.evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => [r.dataset.name, "
                                  "r.querySelector('.place')?.textContent])")
    for name, place in found:
        expected = heaviest_place(name) if name in FUNCTIONS else None
        profiled.expect(place == expected, "%s: %s instead of %s" % (name, place, expected))
    profiled.expect(len(found) > 4, "%s" % found)


def rows(tap, folder):
    with Page(folder) as page:
        tap.attempt("rows: the place of a function is its line with most bytes", lambda: places_are_of_most_bytes(page))
        for by, cumulative in (("function", False), ("function", True), ("line", False), ("line", True), ("file", False),
                               ("file", True), ("module", True), ("stack", False)):
            def attempt(by=by, cumulative=cumulative):
                profiled.expect(click_and_compare(page, by, cumulative) >= 2, "hardly a row")
            tap.attempt("a row by %s%s" % (by, ", with what it calls" if cumulative else ""), attempt)
        picture(page.browser, "row")
        for by in ("module", "thread", "size"):
            tap.attempt("a row by %s filters" % by, lambda by=by: filter_and_compare(page, by))
        for row in ("line.99999", "line.-2", "stack.-1", "stack.11", "size.1", "function.1e1", "%00", "line."):
            page.open("row=" + row)
            tap.check(page.matched("own") is None, "row=%s is nothing" % row)
        tap.check(not page.browser.errors, "rows: no error", str(page.browser.errors[:3]))


FRAGMENTS = ("by=function", "by=line&callees=1", "by=file&cumulative=1&folded=1", "by=size")


def searches(tap, folder):
    def of(test):
        def own(stack, _):
            return bool(stack) and test(FRAMES[stack[attribution(stack)]])
        return total(own), total(lambda stack, _: any(test(FRAMES[frame]) for frame in stack))
    cases = {
        "vector.tcc": lambda f: f[1] == 1,
        "VECTOR.TCC:453": lambda f: f[1] == 1 and f[2] == 453,
        "libnew": lambda f: f[3] == 2,
        "/opt/app": lambda f: f[3] == 1,
        "grow": lambda f: f[0] == 1,
        "vector": lambda f: f[0] in (3, 6) or f[1] == 1,
        "/^worker/": lambda f: f[0] == 5,
        "nothing of this name": lambda f: False,
    }
    with Page(folder) as page:
        for number, (words, test) in enumerate(cases.items()):
            for fragment in FRAGMENTS[number % 2::2]:
                page.open("metric=allocated&" + fragment)
                page.browser.type_into("#search", words)
                mine = [page.matched(part)["bytes"][0] or 0 for part in ("own", "under")]
                tap.check(all(near(a, b) for a, b in zip(mine, of(test))), "search %s, %s" % (words, fragment),
                          "%s instead of %s" % (mine, of(test)))
        page.open("metric=allocated&by=file&search=vector.tcc")
        tap.check(list(table_rows(page.browser)) == [FILES[1]], "rows that match", str(list(table_rows(page.browser))))
        page.open("metric=allocated&by=thread&search=worker%20(")
        worker = total(lambda _, cell: cell[2] == 2)
        tap.check(near(page.matched("own")["bytes"][0], worker) and len(table_rows(page.browser)) == 1, "a thread by its name")
        lit = page.browser.evaluate("document.querySelector('#matched').textContent")
        tap.check("thread" in lit, "that threads are meant is said", lit)
        page.open("metric=allocated&by=line&search=grow&row=line.7")
        tap.check(near(page.matched("own")["bytes"][0], truth("line", FILES[1] + ":453", False)), "a chosen row comes before a search")
        menu = page.browser.evaluate("[...document.querySelectorAll('#filter-module option')].map(o => o.textContent)")
        tap.check("bin/app" in menu and "app/app" in menu and "(no module)" in menu, "two files of one name in a menu", str(menu))
        tap.check(not page.browser.errors, "searches: no error", str(page.browser.errors[:3]))


LONG = "ns::Table<a_name_that_takes_long_to_read, another_name_that_takes_long_to_read, a_third_one_of_the_same_kind>"
NAMES = {
    "void %s::_M_insert<std::string const&>(std::string const&, std::pair<int, int>, %s const&)" % (LONG, LONG):
        "void ns::Table<…>::_M_insert<…>(…)",
    "bool ns::operator< <%s, int>(%s const&, int)" % (LONG, LONG):
        "bool ns::operator< <ns::Table<…>, int>(ns::Table<…> const&, int)",
    "ns::Functor<%s>::operator()(%s&, long) const" % (LONG, LONG): "ns::Functor<ns::Table<…>>::operator()(ns::Table<…>&, long) const",
    "%s::operator->() const [with a tail]" % LONG: "ns::Table<…>::operator->() const [with a tail]",
    "ns::fill(int, long)::{lambda(%s const&)#1}::operator()(%s const&) const" % (LONG, LONG):
        "ns::fill(int, long)::{lambda(ns::Table<…> const&)#1}::operator()(ns::Table<…> const&) const",
    "(anonymous namespace)::Parser::parse(unsigned long, char const*, char const*, std::string const&, std::string const&, int)":
        "(anonymous namespace)::Parser::parse(…)",
    "<alloc::vec::Vec<%s> as core::iter::FromIterator<T>>::from_iter" % LONG: "<alloc::vec::Vec<…> as core::iter::FromIterator<T>>::from_iter",
    "server::" + "deep::" * 30 + "run::{{closure}}": None,  # below: as much as fits
    "broken<name(of" + "<" * 200 + "everything": None,
    "x" * 60 + "::" + "y" * 300: None,
}


def names(tap, folder):
    whole = list(NAMES)
    for part in (whole[:7], whole[3:]):
        def change(head, part=part):
            places(head)
            head["names"][1:len(FUNCTIONS) + 1] = part
        with Page(folder, change=change) as page:
            page.open("metric=allocated&cumulative=1")
            shown = dict(page.browser.evaluate("[...document.querySelectorAll('#table .row-name')].map(e => [e.title, e.textContent])"))
            picture(page.browser, "names", whole=True)
            for name in part:
                got = shown.get(name, "")
                if NAMES[name] is not None:
                    tap.check(got == NAMES[name], "short: " + NAMES[name], "%s for %s" % (got, name))
                else:
                    tap.check(0 < len(got) <= 110 and "…" in got and got[-5:] == name[-5:], "short, its end stays: " + name[-12:], got)
            page.browser.type_into("#search", "a_third_one_of_the")
            tap.check(len(table_rows(page.browser)) > 1, "whole names are searched")
            tap.check(not page.browser.errors, "names: no error", str(page.browser.errors[:3]))


def parts(pid, at, resident, live):
    return {"at_s": at, "resident": resident, "file": 2 << 20, "shared": 0, "swapped": 0, "recorder_most": 1 << 20,
            "stack_most": 1 << 17, "live": {"estimate": live, "low": live * 0.8, "high": live * 1.2}, "rest": [-2 << 20, 4 << 20]}


def resident(tap, folder):
    def one(head):
        places(head)
        head["resident"] = [[0.1, 5 << 20], [4.0, 9 << 20], [9.9, 8 << 20]]
        head["resident_pid"] = 4711
        head["resident_most"] = [10 << 20, 10 << 20]
        head["resident_parts"] = {"highest": parts(4711, 4.0, 9 << 20, 4 << 20), "last": parts(4711, 9.9, 8 << 20, 3 << 20)}

    def tree(head):
        one(head)
        head["processes"].append(["/usr/bin/child", 4800, None])
        head["threads"][2][2] = 2

    def texts(page):
        card = page.browser.text(".resident")
        legend = page.browser.text("#timeline .card-head")
        return card, legend

    with Page(folder, change=one, program="/usr/bin/first") as page:
        page.open()
        card, legend = texts(page)
        tap.check("8 MiB" in card and "3.0 MiB" in card and "[−2.0, +4.0] MiB" in card and "≤ 1.125 MiB" in card, "what it is made of", card)
        tap.check("first process" not in card + legend and "dashed: resident memory" in legend, "one process is not named", card + legend)
        page.open("metric=peak")
        tap.check("9 MiB" in texts(page)[0] and "highest" in texts(page)[0] and "the kernel's high-water mark 10 MiB" in texts(page)[0],
                  "the highest with the peak", texts(page)[0])
        page.open("window=10-16")
        tap.check("live heap is" in texts(page)[0] and "9 MiB" in texts(page)[0], "at a moment", texts(page)[0])
        page.open("window=10-16&module=%d" % (len(FUNCTIONS) + len(FILES) + 1))
        tap.check("live heap is" not in texts(page)[0] and "whole process" in texts(page)[0], "no share of what is filtered", texts(page)[0])
        page.open("unit=objects")
        tap.check("dashed" not in texts(page)[1], "none beside objects", texts(page)[1])
        labels = page.browser.evaluate("[...document.querySelectorAll('#sizes .bin rect.hit')].map(r => r.getBoundingClientRect().right)")
        right = page.browser.evaluate("document.querySelector('#sizes .scroller').getBoundingClientRect().right")
        tap.check(right - 20 < max(labels) <= right, "sizes take the width there is", "%s of %s" % (max(labels), right))
    with Page(folder, change=tree, program="/usr/bin/first") as page:
        page.open()
        card, legend = texts(page)
        tap.check("of the first process, first (pid 4711)" in card and "3.0 MiB" in card, "the process is named", card)
        tap.check("first process alone, first (pid 4711)" in legend, "beside the curve of all of them, too", legend)
        page.open("window=10-16")
        tap.check("live heap" not in texts(page)[0], "no share of what is live in all", texts(page)[0])
        page.open("process=2")
        card, legend = texts(page)
        picture(page.browser, "resident")
        tap.check("not known" in card and "dashed" not in legend, "of another process nothing is known", card + legend)
        page.open("process=1")
        tap.check("dashed" in texts(page)[1] and "8 MiB" in texts(page)[0], "of the first it is", str(texts(page)))
        tap.check(not page.browser.errors, "resident: no error", str(page.browser.errors[:3]))


def interval(estimate, low=None, high=None):
    return {"estimate": estimate, "low": estimate if low is None else low, "high": estimate if high is None else high}


def look(at, live, owners):
    lines = [("live objects, as requested", interval(live, live * 0.9, live * 1.1), owners), ("free inside the heap", interval(4 << 20), []),
             ("of all this not resident", interval(-2 << 20), []), ("code and its data", interval(1 << 20), ["/lib/libc.so.6"]),
             ("shared memory", interval(0), [])]
    unexplained = interval(1 << 20, -1 << 20, 2 << 20)
    total = int(sum(line[1]["estimate"] for line in lines) + unexplained["estimate"])
    return {"at_s": at, "total_bytes": total, "resident_bytes": total - 4096, "page_table_bytes": 4096, "swapped_bytes": 0, "heap_walked": True,
            "lines": [{"name": name, "bytes": size, "owners": [{"name": owner, "bytes": interval(1 << 20)} for owner in names]}
                      for name, size, names in lines], "unexplained": unexplained}


def looks(tap, folder):
    """Resident memory by kinds, and line by line at two looks: what is shown, by mouse and keyboard; names stay text."""
    def one(head):
        places(head)
        head["resident"] = [[0.1, 5 << 20], [4.0, 9 << 20], [9.9, 8 << 20]]
        head["resident_pid"] = 4711
        head["resident_kinds"] = [[4 << 20, 1 << 20, 0, 0], [8 << 20, 1 << 20, 0, 0], [5 << 20, 3 << 20, 0, 2 << 20]]
        head["resident_lines"] = {"pid": 4711, "attached": False, "highest": look(4.0, 10 << 20, page_fixture.HOSTILE[:3]),
                                  "last": look(9.9, 5 << 20, ["last_owner"])}

    def cells(page):
        rows = page.browser.evaluate("[...document.querySelectorAll('#look-lines tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        return {row[0]: row[1:] for row in rows}

    with Page(folder, change=lambda head: (places(head), head.update(resident=None))) as page:
        page.open()
        tap.check(page.browser.evaluate("document.querySelector('#looks')") is None, "nothing where nothing is known")
    with Page(folder, change=one) as page:
        page.open()
        page.browser.wait_for("document.querySelector('#look-lines') !== null")
        shown = cells(page)
        tap.check(shown == {"live objects, as requested": ["10.0 MiB ±1.0", "5.0 MiB ±0.5"], "free inside the heap": ["4 MiB", "4 MiB"],
                            "of all this not resident": ["−2 MiB", "−2 MiB"], "code and its data": ["1 MiB", "1 MiB"],
                            "unexplained": ["[−1.0, +2.0] MiB"] * 2}, "the lines of both looks", str(shown))
        tap.check(list(shown)[-1] == "unexplained" and "shared memory" not in shown, "unexplained is last, and nothing is left out", str(list(shown)))
        widths = page.browser.evaluate("[...document.querySelectorAll('.look-bar')].map(b => [...b.querySelectorAll('.look-part')].map(p =>"
                                       " p.getBoundingClientRect().width / b.getBoundingClientRect().width))")
        # 10 + 4 + 1 + 1 MiB are the longer bar; the total is 2 MiB less.
        tap.check(all(abs(w - m / 16) < 0.003 for w, m in zip(sum(widths, []), [10, 4, 1, 1, 5, 4, 1, 1])), "widths", str(widths))
        places_ = page.browser.evaluate("[...document.querySelectorAll('.look-total')].map(t => parseFloat(t.style.left))")
        tap.check(all(abs(a - b) < 0.01 for a, b in zip(places_, [87.5, 56.25])), "marks at the totals", str(places_))
        page.browser.evaluate("document.querySelector('.look-bar').scrollIntoView({block: 'center'})")
        page.browser.click(".look-part.k-live")
        owners = page.browser.evaluate("[...document.querySelectorAll('.look-name')].map(e => e.textContent)")
        tap.check(owners == page_fixture.HOSTILE[:3] + ["last_owner"], "a click on a bar shows owners, as text", str(owners))
        tap.check(page.browser.evaluate("document.querySelectorAll('#looks script, #looks img').length") == 0, "no markup comes of a name")
        page.browser.evaluate("[...document.querySelectorAll('#look-lines button')].find(b => b.textContent.startsWith('code')).focus()")
        page.browser.key(" ")
        tap.check("/lib/libc.so.6" in page.browser.text(".look-owners"), "and the keyboard does", page.browser.text(".look-owners"))
        tap.check("9.90 s: anonymous 5 MiB, files 3 MiB, shared 0 B, swapped out 2 MiB" == page.browser.text("#kinds-words"), "the last look's kinds",
                  page.browser.text("#kinds-words"))
        page.browser.evaluate("document.querySelector('#kinds').focus()")
        page.browser.key("ArrowLeft")
        tap.check(page.browser.text("#kinds-words").startswith("4.00 s: anonymous 8 MiB"), "an arrow goes to the look before", page.browser.text("#kinds-words"))
        picture(page.browser, "looks", whole=True)
        for width in (800, 390):
            page.browser.resize(width, 900)
            page.browser.settle()
            sticks = page.browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            table = page.browser.evaluate("(s => s.scrollWidth - s.clientWidth)(document.querySelector('#look-lines').parentElement)")
            tap.check(sticks <= 0 and table <= 1, "it fits %d" % width, "%s, %s" % (sticks, table))
        tap.check(not page.browser.errors and not page.browser.dialogs, "looks: no error", str(page.browser.errors[:3]))


def main():
    tap = profiled.Tap()
    tests = {"rows": rows, "searches": searches, "names": names, "resident": resident, "looks": looks}
    if find_chromium() is None:
        tap.skip("rows in a browser", "needs chromium")
        return tap.finish()
    for name in sys.argv[1:] or tests:
        with profiled.directory() as folder:
            try:
                tests[name](tap, folder)
            except (AssertionError, OSError) as error:
                tap.check(False, name, error)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
