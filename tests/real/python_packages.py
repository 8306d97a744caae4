#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packages that people use, under the recorder: the same output, and the small objects counted.

    tests/real/python_packages.py [--suites] PYTHON ...

PYTHON is that of a virtual environment. Each script of tests/real/packages whose package is in there runs without the
recorder, then below `bytepoll run` at the default interval and at T = 4 KiB: standard output, standard error and status
must be the same, a sample must not be lost, and the heaviest rows must have a function of the script's own file or of the
package's. `--suites` runs the tests that numpy, pandas and scipy install with themselves, by pytest, both ways, each test
by its outcome, and once more with the plugin's `--bytepoll`. BYTEPOLL_BUILD names the build. Not part of `make test`:
the packages come from an index. Prints the rows of the tables in docs/real-programs.md.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scenario"))
import profiled  # noqa: E402

INTERVALS = (None, "4K")
TIMEOUT_S = 1800
# What of a package's own tests is run: enough to take minutes, not hours.
SUITES = {"numpy": ["numpy.linalg", "numpy.ma", "numpy.random"],
          "pandas": ["pandas.tests.reshape"],
          "scipy": ["scipy.interpolate"]}
BINDING = os.path.join(HERE, "..", "..", "bindings", "python")


def execute(command, folder, variables=()):
    environment = profiled.environment()
    environment.update({"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}, **dict(variables))
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment, timeout=TIMEOUT_S)
    return done.returncode, done.stdout, done.stderr


def recorded(command, folder, interval, variables=()):
    """What the command says below `bytepoll run`, and the path of its trace."""
    trace = os.path.join(folder, "trace.bpt")
    options = ["--interval", interval] if interval else []
    return execute([profiled.BYTEPOLL, "run", "--quiet", "--force", *options, "-o", trace, "--", *command],
                   folder, variables), trace


def script(python, path):
    """(what is wrong, samples, small objects) of a script at each interval"""
    name = os.path.splitext(os.path.basename(path))[0]
    wrong, cells = [], []
    with tempfile.TemporaryDirectory(prefix="bytepoll-package-") as folder:
        plain = execute([python, path], folder)
        if plain[0] or not plain[1]:
            wrong.append("without the recorder: status %d, %s" % (plain[0], plain[2].decode()[-300:]))
        for interval in INTERVALS:
            under, trace = recorded([python, path], folder, interval)
            if under != plain:
                wrong.append("T = %s: %r instead of %r" % (interval, under, plain))
                continue
            data = profiled.report(trace)
            lost = {loss: count for loss, count in data["losses"].items() if count and loss != "free"}
            if lost:
                wrong.append("T = %s: lost %s" % (interval, lost))
            kinds = {row["name"]: row for row in profiled.report(trace, "--by", "kind", "--metric", "allocated")["rows"]}
            if "Python object" not in kinds:
                wrong.append("T = %s: no small object of Python" % interval)
            files = [row["name"] for row in profiled.report(trace, "--by", "file", "--metric", "allocated", "-c")["rows"]]
            if not any(os.path.basename(file) == name + ".py" for file in files):
                wrong.append("T = %s: no row of the script's own file" % interval)
            cells += ["%d" % data["samples"]]
    return wrong, cells


OUTCOME = re.compile(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", re.MULTILINE)


def suite(python, package):
    """(what is wrong, number of tests by outcome) of a package's own tests"""
    words = [python, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:randomly", "--pyargs", *SUITES[package]]
    wrong = []
    with tempfile.TemporaryDirectory(prefix="bytepoll-package-") as folder:
        plain = dict(OUTCOME.findall(execute(words, folder)[1].decode(errors="replace")))
        under, trace = recorded(words, folder, None)
        under = dict(OUTCOME.findall(under[1].decode(errors="replace")))
        lost = {loss: count for loss, count in profiled.report(trace)["losses"].items() if count and loss != "free"}
        limited = execute([*words, "-p", "bytepoll.pytest_plugin", "--bytepoll"], folder,
                          {"PYTHONPATH": BINDING, "BYTEPOLL_BINARY": profiled.BYTEPOLL}.items())
        plugin = dict(OUTCOME.findall(limited[1].decode(errors="replace")))
    for way, found in (("run", under), ("the plugin", plugin)):
        different = sorted(name for name in set(plain) | set(found) if plain.get(name) != found.get(name))
        wrong += ["%s: %s: %s instead of %s" % (way, name, found.get(name), plain.get(name)) for name in different[:10]]
    if lost:
        wrong.append("lost %s" % lost)
    if len(plain) < 100:
        wrong.append("%d tests" % len(plain))
    if b"bytepoll" not in limited[1]:
        wrong.append("the plugin printed no table: %s" % limited[2].decode(errors="replace")[-300:])
    counts = {}
    for outcome in plain.values():
        counts[outcome.lower()] = counts.get(outcome.lower(), 0) + 1
    return wrong, ["%d %s" % (count, outcome) for outcome, count in sorted(counts.items())]


def version(python, package):
    done = subprocess.run([python, "-c", "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))", package],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() or None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--suites", action="store_true")
    parser.add_argument("--only", help="these scripts or packages, with commas between them")
    arguments = parser.parse_args()
    failed = tried = 0
    names = {"sklearn": "scikit-learn"}
    jobs = [(package, None) for package in SUITES] if arguments.suites else [
        (os.path.basename(path).split("_")[0], path) for path in sorted(glob.glob(os.path.join(HERE, "packages", "*.py")))]
    for python in arguments.pythons:
        for package, path in jobs:
            if arguments.only and package not in arguments.only.split(","):
                continue
            found = version(python, names.get(package, package))
            if not found:
                print("-- %s: no %s, was not run" % (python, package), flush=True)
                continue
            wrong, cells = script(python, path) if path else suite(python, package)
            tried += 1
            failed += bool(wrong)
            print("%s | %s %s | %s |" % ("not ok" if wrong else "ok", names.get(package, package), found, " | ".join(cells)),
                  flush=True)
            for line in wrong:
                print("    " + line[:2000])
    print("%d tried, %d failed" % (tried, failed))
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
