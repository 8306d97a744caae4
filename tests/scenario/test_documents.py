#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documents: their links, and the commands of the README and of the users' pages, run as a reader would run them.

    test_documents.py            compares what the documents quote with what the commands print
    test_documents.py --write    puts the figures of this run into the documents

A block that begins with ```console holds commands, behind `$ `, each with the output that the document
quotes. The blocks of all documents run in their order in one folder, which has the examples and the build: a recording
that the README makes is the one that the other pages read. A quoted line must be in the output, behind the
quoted line before it; a line `...` stands for any number of lines that are left out, and without it nothing may be left
out. Figures are compared as figures: their values change from machine to machine, and what is compared is
that a figure, an interval or a limit stands there, and every word around it. Commands without quoted output
have to end with status 0. docs/fleet.md needs DuckDB's program, and is left out where that is not on PATH.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import profiled

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DOCUMENTS = ["README.md", "docs/report.md", "docs/diff.md", "docs/check.md", "docs/plan.md", "docs/verify.md",
             "docs/terminal.md", "docs/hosts.md",
             "docs/python.md"]
OMITTED = "..."
FIGURE = re.compile(r"[(\[≤±≥+-]*\d[\d.,e+-]*[\])]*[,:;]?")
UNITS = {"B", "KiB", "MiB", "GiB", "B/s", "KiB/s", "MiB/s", "k", "M", "%", "ns", "us", "µs", "ms", "s", "±", "≤"}
BAR = re.compile("[·━●○■]+")


def words_of(line):
    """A line with each figure, and what belongs to it, as `#`, each bar as `|`, and single spaces."""
    words = []
    for word in line.split():
        if BAR.fullmatch(word):
            words.append("|")
        elif FIGURE.fullmatch(word) or word.strip("(),:;") in UNITS:
            if words[-1:] != ["#"]:
                words.append("#")
        else:
            words.append(word)
    return " ".join(words)


class Command:
    """A command of a document, the lines it quotes, and where these stand."""

    def __init__(self, text, line):
        self.text, self.line, self.quoted = text, line, []


def commands_of(text):
    commands, inside = [], False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            commands.append(Command(line[2:], number))
        elif inside:
            commands[-1].quoted.append(line)
    return commands


def match(quoted, output):
    """For each quoted line its line of the output, or a ValueError that names the first that is not there."""
    found, place, gap = [], 0, False
    for line in quoted:
        if line == OMITTED:
            gap = True
            found.append(line)
            continue
        wanted = words_of(line)
        at = next((i for i in range(place, len(output)) if words_of(output[i]) == wanted), None)
        if at is None or (at > place and not gap):
            raise ValueError("quoted: %s\n  read as: %s\nprinted:\n%s" % (line, wanted, "\n".join(
                words_of(shown) for shown in output[place:])))
        found.append(output[at])
        place, gap = at + 1, False
    if place < len(output) and not gap:
        raise ValueError("left out without a mark: %s" % output[place])
    return found


def run(command, folder):
    environment = profiled.environment(extra={
        "PATH": profiled.BUILD + ":" + os.environ["PATH"], "COLUMNS": "80", "PAGER": "cat"})
    result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return result.returncode, result.stdout.decode().rstrip("\n").split("\n")


def check(document, folder, write):
    path = os.path.join(ROOT, document)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines, commands = text.split("\n"), commands_of(text)
    profiled.expect(commands, "no command was found")
    for command in commands:
        status, output = run(command.text, folder)
        try:
            if not command.quoted:
                profiled.expect(status == 0, "status %d: %s" % (status, output))
                continue
            found = match(command.quoted, output)
        except ValueError as difference:
            raise AssertionError("$ %s\n%s" % (command.text, difference)) from None
        lines[command.line + 1:command.line + 1 + len(found)] = found
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def expectations():
    """What the comparison lets pass, and what it does not."""
    same = [("peak  23 MiB ±5, at least 17.62 MiB", "peak  22.6 MiB [17.9, 27.1], at least 9 KiB"),
            ("log_in()  ··━━●━━  18.9 MiB ±3.1  19.9 ±3.5 k  200", "log_in()  ··━●━  [1, 9] MiB  ≤ 3.3 k  20")]
    other = [("log_in()  18.9 MiB", "log_out()  18.9 MiB"), ("within  peak=15M", "exceeded  peak=15M"),
             ("live at exit  19 MiB", "live at exit")]
    for first, second in same:
        profiled.expect(words_of(first) == words_of(second), "%s | %s" % (words_of(first), words_of(second)))
    for first, second in other:
        profiled.expect(words_of(first) != words_of(second), words_of(first))
    for quoted in (["b", "a"], ["a", "c"], ["a"], ["a", OMITTED, "d"]):
        try:
            match(quoted, ["a", "b", "c"])
        except ValueError:
            continue
        raise AssertionError("%s was found in a, b, c" % quoted)
    profiled.expect(match(["a", OMITTED, "c"], ["a", "b", "c"]) == ["a", OMITTED, "c"], "a gap that is marked")


def documents():
    """README, CONTRIBUTING and every page under docs."""
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".md"))
    yield from (os.path.join(ROOT, name) for name in ("README.md", "CONTRIBUTING.md"))


def links():
    """Every file that a page links to is there, and so is every page that a source, a test or a page names."""
    for path in documents():
        with open(path, encoding="utf-8") as file:
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read()):
                profiled.expect(os.path.exists(os.path.join(os.path.dirname(path), target)),
                                "%s links to %s" % (os.path.relpath(path, ROOT), target))
    naming = list(documents())
    for top in ("bench", "bindings", "examples", "fuzz", "include", "scripts", "src", "tests", "tools"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            naming += [os.path.join(folder, name) for name in names]
    for path in naming:
        with open(path, encoding="utf-8", errors="replace") as file:
            for page in re.findall(r"(?<![\w/.-])docs/(?!design/)[\w/-]+\.(?:md|5\.scd)", file.read()):
                profiled.expect(os.path.exists(os.path.join(ROOT, page)),
                                "%s names %s" % (os.path.relpath(path, ROOT), page))


def main():
    write = "--write" in sys.argv
    tap = profiled.Tap()
    tap.attempt("the comparison can fail", expectations)
    tap.attempt("what pages link to and sources name is there", links)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
        os.symlink(profiled.BUILD, os.path.join(folder, "build"))
        for document in DOCUMENTS + ["docs/fleet.md"]:
            if document == "docs/fleet.md" and shutil.which("duckdb") is None:
                tap.skip(document, "duckdb is not on PATH (pip install duckdb-cli)")
                continue
            tap.attempt(document, lambda name=document: check(name, folder, write))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
