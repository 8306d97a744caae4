#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll live --by label:KEY`: the rows of the report, and what can be asked of such a row."""
import os
import re
import sys

import profiled
from test_live import live


def labels(tap):
    with profiled.directory() as path:
        trace = os.path.join(path, "tags.bpt")
        result = profiled.run([profiled.program("inprocess_tags")], trace, 1)
        profiled.expect(result.status == 0, "%s" % (result,))
        for key in ("label:phase", "label:tenant", "label"):
            def figures():
                options = ("--metric", "allocated", "--by", key)
                once = profiled.run([profiled.BYTEPOLL, "live", "--once", "--rows", "100", *options,
                                     trace], extra={"LC_ALL": "C.UTF-8"})
                profiled.expect(once.status == 0 and ("allocated by " + key).encode() in once.stdout,
                                "%s" % (once,))
                text = once.stdout.decode()
                report = profiled.report(trace, *options)
                profiled.expect(len(report["rows"]) > 2, "few rows")
                for row in report["rows"]:
                    profiled.expect(re.search(r"^[> ] %s " % re.escape(row["name"]), text, re.M),
                                    "no row %s: %s" % (row["name"], text))
            tap.attempt("--by %s" % key, figures)
        with live("--by", "label:phase", "--metric", "allocated", trace) as terminal:
            terminal.wait("allocated by label:phase")
            terminal.press("/parse\r")
            terminal.wait("only label:phase=*parse*")
            terminal.press("\r")
            terminal.wait("who calls whom")
            tap.attempt("a filter, and the tree below a row", lambda: terminal.wait(
                lambda t: re.search(r"5\.908 KiB +work ‹ .*main", t.text, re.M)))
            terminal.press("\x1b")
            terminal.wait("allocated by label:phase · by size")
            tap.attempt("other keys and back", lambda: (
                terminal.press("k"), terminal.wait("allocated by size"),
                terminal.press("K"), terminal.wait("allocated by label:phase")))
        with live("--by", "label", "--metric", "allocated", trace) as terminal:
            terminal.wait("allocated by label")
            terminal.press("\r")
            tap.attempt("no tree below a whole set", lambda: terminal.wait("--by label:KEY"))
        for word in ("label:", "label:a=b", "label:\x1b"):
            result = profiled.run([profiled.BYTEPOLL, "live", "--once", "--by", word, trace])
            tap.check(result.status == 2 and result.stderr.count(b"\n") == 1 and
                      b"\x1b" not in result.stderr, "--by %r" % word, result)


def main():
    tap = profiled.Tap()
    labels(tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
