#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`python -m bytepoll`, sizes, the kernel for Jupyter and the magic, each against the native program or
against what it is to do. The magic runs under IPython where an interpreter has it; a stand-in with the
three functions that the magic calls is tried everywhere."""
import json
import os
import re
import sys
import tempfile

import package
import profiled
from bytepoll import __main__ as words
from bytepoll import native, sizes
from profiled import expect

SIZES = ["4096", "24MB", "24 MB", "24mb", "24M", "24Mi", "24 MiB", "1 GiB", "1.5G", ".5K", "100 KiB",
         "7B", "2gb", "1tb", "3kB", "3KB"]
NO_SIZES = ["", "MB", "-1", "1.5", "1e3", "0x10", "24 MX", "24 MiBs", "1 2", "9999999 TiB", "nan", "\u0663"]
SCRIPT = """
import json, os, sys
data = [bytes(1000) for _ in range(3000)]
print(json.dumps([sys.argv, sys.executable, __name__, os.environ.get("LD_LIBRARY_PATH")]))
sys.exit(7)
"""
# What the magic calls of a shell and of IPython.display.
STAND_IN = """
import sys, types, bytepoll
shown = []
class Shell:
    magics = {}
    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function
    def run_cell(self, cell):
        exec(cell, names)
names, shell = {}, Shell()
display = types.ModuleType("IPython.display")
display.HTML, display.display = (lambda text: text), shown.append
sys.modules["IPython"], sys.modules["IPython.display"] = types.ModuleType("IPython"), display
bytepoll.load_ipython_extension(shell)
shell.magics["cell", "bytepoll"]("load", "x = [bytes(1000) for _ in range(5000)]")
"""
SHOWN = """
import html, json, re
text = re.search('srcdoc="([^"]*)"', shown[0]).group(1)
print(json.dumps([len(names["x"]), shown[0][:15], html.unescape(text)[:15].lower(), len(text)]))
"""
IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "bytepoll")
shell.run_cell_magic("bytepoll", "load", "x = [bytes(1000) for _ in range(5000)]")
print(len(shell.user_ns["x"]))
"""


def good_sizes(folder):
    """Each size is the limit that `bytepoll check` makes of it."""
    trace = os.path.join(folder, "any.bpt")
    done = package.run("-m", "bytepoll", "run", "-q", "-o", trace, "/bin/true")
    expect(done.status == 0, done.stderr)
    for text in SIZES:
        told = json.loads(native.output("check", "--json", "--only-seen", "--limit", "allocated=" +
                                        text.replace(" ", ""), trace, good=(0, 1, 3)))
        expect(sizes.parse(text) == told["limits"][0]["bound"], "%s: %s" % (text, told["limits"]))
    expect(sizes.parse(5) == 5 and sizes.parse(5.0) == 5, "numbers")


def bad_sizes():
    for text in NO_SIZES + [-1, 1.5, None, True, float("inf"), float("nan")]:
        try:
            found = sizes.parse(text)
        except ValueError:
            continue
        raise AssertionError("%r became %r" % (text, found))


def options():
    """The options with a value are those that the help of `run` shows with one."""
    told = native.output("help", "run").decode()
    found = re.findall(r"^ {2,6}(?:-(\w), )?(--[\w-]+) [A-Z]+\b", told, re.MULTILINE)
    expect({name for _, name in found} == words.NAMES_WITH_VALUE, str(found))
    expect({letter for letter, _ in found if letter} == set(words.LETTERS_WITH_VALUE), str(found))
    python = sys.executable
    for given, meant in [("-q a.py b", ["-q", "--", python, "a.py", "b"]),
                         ("-qo a.py -i 1K -m x -o y", ["-qo", "a.py", "-i", "1K", "--", python, "-m", "x",
                                                       "-o", "y"]),
                         ("--output a.py -- ./b -m c", ["--output", "a.py", "--", "./b", "-m", "c"]),
                         ("--seed=7 -- a.py", ["--seed=7", "--", python, "a.py"]),
                         ("-o", ["-o"]), ("", [])]:
        expect(words.run_words(given.split()) == meant, "%s: %s" % (given, words.run_words(given.split())))


def runs(folder):
    script = os.path.join(folder, "script.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    for operand, name in (([script], script), (["-m", "script"], script)):
        trace = os.path.join(folder, "run.bpt")
        done = package.run("-m", "bytepoll", "run", "-q", "-f", "-o", trace, *operand, "a b", "-c",
                           cwd=folder)
        expect(done.status == 7, str(done))
        expect(json.loads(done.stdout) == [[name, "a b", "-c"], sys.executable, "__main__", None], str(done))
        rows = package.run("-m", "bytepoll", "report", "--by", "line", trace).stdout.decode()
        expect("script.py:3" in rows, rows)
    version = package.run("-m", "bytepoll", "--version").stdout
    expect(version.startswith(b"bytepoll "), version)


def not_found(folder):
    """A console script of the same name on PATH is not the program."""
    with open(os.path.join(folder, "bytepoll"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexec false\n")
    os.chmod(file.name, 0o755)
    done = package.run("-m", "bytepoll", "run", "x.py", PATH=folder, BYTEPOLL_BINARY="")
    expect(done.status == 125 and done.stderr.count(b"\n") == 1 and b"BYTEPOLL_BINARY" in done.stderr,
           str(done))
    done = package.run("-m", "bytepoll", "run", "x.py", BYTEPOLL_BINARY="/nowhere")
    expect(done.status == 125 and b"/nowhere is no native program" in done.stderr, str(done))
    found = os.path.dirname(profiled.BYTEPOLL)
    done = package.run("-m", "bytepoll", "--version", PATH=folder + ":" + found, BYTEPOLL_BINARY="")
    expect(done.status == 0, str(done))


def kernelspec(folder):
    done = package.run("-m", "bytepoll", "kernelspec", "--folder", folder, HOME=folder, XDG_CACHE_HOME="")
    expect(done.status == 0, str(done))
    with open(os.path.join(folder, "kernels", "bytepoll-python3", "kernel.json"), encoding="utf-8") as file:
        argv = json.load(file)["argv"]
    expect(argv[:3] == [profiled.BYTEPOLL, "run", "-q"], str(argv))
    # The kernel's own words but for the module: what it starts is recorded, where it says.
    at = argv.index("-m")
    started = argv[:at] + ["-c", "import bytepoll\nwith bytepoll.window() as w: pass\nprint(w.path)"]
    done = profiled.run(started, extra=package.setting())
    expect(done.status == 0 and done.stdout.decode().startswith(folder + "/.cache/bytepoll/kernels/"),
           str(done))


def magic(folder):
    script = os.path.join(folder, "magic.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(STAND_IN + SHOWN)
    done = package.run("-m", "bytepoll", "run", "-q", "-f", "-i", "16K", "-o", script + ".bpt", script)
    expect(done.status == 0, str(done))
    headline, told = done.stdout.decode().splitlines()
    expect(headline.startswith("load: allocated 5."), headline)
    expect(json.loads(told)[:3] == [5000, "<div><iframe sr", "<!doctype html>"], told)
    expect(json.loads(told)[3] > 100000, told)
    done = package.run("-c", STAND_IN + "print(len(names['x']), shown)")
    expect(done.status == 0 and done.stdout.decode().splitlines()[1] == "5000 []" and
           b"python -m bytepoll kernelspec" in done.stdout.splitlines()[0], str(done))


def magic_in_ipython(folder, python):
    script = os.path.join(folder, "ipython.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(IPYTHON)
    done = package.run("-m", "bytepoll", "run", "-q", "-f", "-o", script + ".bpt", script, python=python,
                       IPYTHONDIR=folder)
    expect(done.status == 0 and b"\n5000\n" in done.stdout and not done.stderr and
           re.match(rb"load: allocated [56]\.\d+ MiB; peak ", done.stdout),
           str(done))


def main():
    tap = profiled.Tap()
    with tempfile.TemporaryDirectory() as folder:
        tap.attempt("sizes are those of the program", lambda: good_sizes(folder))
        tap.attempt("what is no size is refused", bad_sizes)
        tap.attempt("options of run", options)
        tap.attempt("run: scripts and modules", lambda: runs(folder))
        tap.attempt("the native program is missing", lambda: not_found(folder))
        tap.attempt("kernelspec", lambda: kernelspec(folder))
        tap.attempt("the magic", lambda: magic(folder))
        python = package.python_with("IPython")
        if python is None:
            tap.skip("the magic in IPython", "no Python on this machine has IPython")
        else:
            tap.attempt("the magic in IPython", lambda: magic_in_ipython(folder, python))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
