#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython's own tests under the recorder: each test of each module must end as it does without it.

    tests/real/cpython.py [--interval SIZE] [--only test_gc,...] [--jobs N] PYTHON ...

PYTHON is a program whose library has the package `test` (such as those of pyenv). A module runs alone, as
`PYTHON -m test -v MODULE`, first without the recorder and then below `bytepoll run --interval 4K`; every line that tells of
a test (`test_x (module.Class) ... ok`) counts, and so does the status. What differs is tried once more, both ways, since
some of these tests depend on time and load; what differs twice is a failure. The recording must be readable, with no
sample lost. BYTEPOLL_BUILD names the build. Not part of `make test`: a module takes up to some minutes.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402

MODULES = ("test_gc", "test_threading", "test_asyncio", "test_subprocess", "test_ctypes", "test_embed",
           "test_multiprocessing_fork", "test_multiprocessing_forkserver", "test_multiprocessing_spawn",
           "test_multiprocessing_main_handling", "test_capi", "test_memoryview", "test_dict", "test_descr")
OUTCOMES = ("ok", "skipped", "FAIL", "ERROR", "expected failure", "unexpected success")
LINE = re.compile(r"^(test\w+) \(([\w.]+)\)(?:\n[^\n]*)? \.\.\. (?:.*\n)*?(%s)" % "|".join(OUTCOMES), re.MULTILINE)
TIMEOUT_S = 1800


class Outcome(collections.namedtuple("Outcome", "status tests")):
    def differences(self, other):
        found = ["%s: %s, and with the recorder %s" % (name, self.tests.get(name), other.tests.get(name))
                 for name in sorted(set(self.tests) | set(other.tests))
                 if self.tests.get(name) != other.tests.get(name)]
        if (self.status == 0) != (other.status == 0):
            found.append("status %s, and with the recorder %s" % (self.status, other.status))
        return found


def run(command, folder):
    """The module's tests by name and outcome; in a session of its own, so that nothing is left."""
    with open(os.path.join(folder, "output"), "w+b") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   cwd=folder, env=profiled.environment(), start_new_session=True)
        try:
            status = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            status = "none in %d s" % TIMEOUT_S
        finally:
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass
            process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Outcome(status, {"%s.%s" % (where, name): outcome for name, where, outcome in LINE.findall(text)})


def both(python, module, interval):
    """(without, with, what is wrong with the recording)"""
    words = [python, "-m", "test", "-v", "--timeout=%d" % TIMEOUT_S, module]
    with tempfile.TemporaryDirectory(prefix="bytepoll-cpython-") as folder:
        plain = run(words, folder)
    with tempfile.TemporaryDirectory(prefix="bytepoll-cpython-") as folder:
        trace = os.path.join(folder, "trace.bpt")
        recorded = run([profiled.BYTEPOLL, "run", "--quiet", "--interval", interval, "-o", trace, "--", *words], folder)
        try:
            data = profiled.report(trace)
            lost = {name: count for name, count in data["losses"].items() if count and name != "free"}
            wrong = "lost %s" % lost if lost else None if data["samples"] > 100 else "%d samples" % data["samples"]
        except AssertionError as error:
            wrong = str(error)
    return plain, recorded, wrong


def check(python, module, interval):
    plain, recorded, wrong = both(python, module, interval)
    differences = plain.differences(recorded)
    if differences:
        plain, recorded, wrong = both(python, module, interval)
        again = plain.differences(recorded)
        differences = [line for line in differences if line in again]
    counts = collections.Counter(recorded.tests.values())
    if not plain.tests and not recorded.tests:  # not every Python comes with all of its tests
        return None, []
    return counts, differences + ([wrong] if wrong else []) + ([] if counts["ok"] else ["no test passed"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--interval", default="4K")
    parser.add_argument("--only", default=",".join(MODULES))
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [(python, module, pool.submit(check, python, module, arguments.interval))
                for python in arguments.pythons for module in arguments.only.split(",")]
        for python, module, job in jobs:
            counts, differences = job.result()
            if counts is None:
                print("-- %s %s: is not there, was not run" % (python, module), flush=True)
                continue
            failed += bool(differences)
            print("%s %s %s: %s" % ("not ok" if differences else "ok", python, module, ", ".join(
                "%d %s" % (count, outcome) for outcome, count in sorted(counts.items()))), flush=True)
            for line in differences:
                print("    " + line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
