#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole test suites of other programs, unprofiled and under the recorder at T = 64 KiB.

    run.py [--folder FOLDER] [--prepare] [--again] [--keep] [--table] [NAME...]

Each suite runs twice, the second time under `bytepoll run --interval 64K` with everything it
starts; the list of what passed, failed and was skipped must be the same, the trace of the whole
tree must read, and nothing may be lost. A test whose outcome differs is run ten times more each
way: it counts as flaky if the unprofiled runs show the profiled outcome too. What differs otherwise
must be in the suite's `explained`, or the driver fails. What was done stays in FOLDER
(build/torture by default) and is not done again: builds and unprofiled runs until a pin or the
suite's file changes, profiled runs until the recorder does; --again forgets the runs.
--prepare only fetches and builds. --table prints the rows of docs/torture.md from what is there.
"""
import argparse
import fnmatch
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scenario")]
import profiled  # noqa: E402
from packages import Packages  # noqa: E402
from suite import PASSED  # noqa: E402

PROGRAMS = ("cpython", "glibc", "sqlite", "redis", "lua", "perl", "jemalloc", "mimalloc", "rust",
            "go", "nginx", "postgres")
INTERVAL = "64K"
REPETITIONS = 10
STATUS = "(exit status)"
TOOLS = ("bytepoll", "libbytepoll-recorder.so", "libbytepoll-recorder-verify.so")


class Tool:
    """A copy of what was built, so that a build meanwhile changes no run."""

    def __init__(self, build, folder):
        digest = hashlib.sha256()
        for name in TOOLS:
            with open(os.path.join(build, name), "rb") as file:
                digest.update(file.read())
        self.digest = digest.hexdigest()[:16]
        self.path = os.path.join(folder, "tool", self.digest)
        if not os.path.isdir(self.path):
            os.makedirs(self.path + ".new", exist_ok=True)
            for name in TOOLS:
                shutil.copy(os.path.join(build, name), self.path + ".new")
            os.rename(self.path + ".new", self.path)
        self.bytepoll = os.path.join(self.path, "bytepoll")


def environment(suite):
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8", "HOME": suite.folder, "TMPDIR": "/tmp", "USER": "root",
            "SHELL": "/bin/sh", "TERM": "dumb", **suite.extra_environment}


def plain_signals():
    """A suite tests what INT does: it shall not inherit that a shell ignores it for us."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(suite, argv):
    """Runs a command to its end or the suite's time limit: (status, output, CPU s, wall s)."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    log = os.path.join(os.path.dirname(suite.folder), suite.name + ".log")
    with open(log, "wb") as file:
        process = subprocess.Popen(argv, cwd=suite.directory(), env=environment(suite),
                                   stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                   start_new_session=True, preexec_fn=plain_signals)
        try:
            status = process.wait(suite.time_limit_s)
        except subprocess.TimeoutExpired:
            status = "time limit"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            suite.tidy()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, errors="replace") as file:
        output = file.read()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return status, output, cpu, time.monotonic() - began


def run_plain(suite, only=None):
    suite.fresh()
    status, output, cpu, wall = start(suite, suite.command(only))
    return {"status": status, "outcomes": suite.outcomes(output), "cpu_s": cpu, "wall_s": wall}


def read_trace(tool, trace):
    """What report says of the whole tree."""
    began = time.monotonic()
    result = subprocess.run([tool.bytepoll, "report", "--json", "--rows", "1", trace],
                            capture_output=True, check=False)
    if result.returncode != 0:
        return {"unreadable": result.stderr.decode(errors="replace").strip()[-500:]}
    data = json.loads(result.stdout)
    losses = data["losses"]
    if not isinstance(losses, dict):
        losses = {entry.get("reason", "?"): entry["count"] for entry in losses}
    return {"processes": len(data["processes"]), "samples": data["samples"], "lost": data["lost"],
            "losses": {reason: count for reason, count in losses.items() if count},
            "unprofiled": [process["program"] for process in data["processes"]
                           if not process["profiled"]],
            "read_s": time.monotonic() - began}


def run_profiled(suite, tool, keep=False, only=None):
    suite.fresh()
    path = os.path.join(os.path.dirname(suite.folder), suite.name + ".trace")
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    os.chmod(path, 0o1777)
    trace = os.path.join(path, "trace.bpt")
    status, output, cpu, wall = start(
        suite, [tool.bytepoll, "run", "--quiet", "--interval", INTERVAL, "-o", trace, "--",
                *suite.command(only)])
    result = {"status": status, "outcomes": suite.outcomes(output), "cpu_s": cpu, "wall_s": wall,
              "recorder": tool.digest, "trace": read_trace(tool, trace)}
    if not keep:
        shutil.rmtree(path, ignore_errors=True)
    return result


def differing(plain, other):
    """{test: (outcome unprofiled, outcome profiled)}"""
    names = plain["outcomes"].keys() | other["outcomes"].keys()
    found = {name: (plain["outcomes"].get(name, "absent"), other["outcomes"].get(name, "absent"))
             for name in sorted(names)
             if plain["outcomes"].get(name) != other["outcomes"].get(name)}
    if not found and plain["status"] != other["status"]:
        found[STATUS] = (plain["status"], other["status"])
    return found


def repeat(suite, tool, names, digest):
    """Ten more runs each way of the tests that differ: {test: {"plain": [...], ...}}."""
    only = None if STATUS in names else list(names)
    runs = {"plain": [run_plain(suite, only) for _ in range(REPETITIONS)],
            "profiled": [run_profiled(suite, tool, only=only) for _ in range(REPETITIONS)]}
    return {name: {"recorder": digest, **{
        way: [run["status"] if name == STATUS else run["outcomes"].get(name, "absent")
              for run in runs[way]] for way in runs}} for name in names}


def reason_of(patterns, name):
    return next((why for pattern, why in patterns.items() if fnmatch.fnmatchcase(name, pattern)),
                None)


def verdicts(suite, results):
    """{test: "flaky ...", "explained ..." or "DIFFERENT ..."}"""
    found = {}
    for name, (plain, other) in differing(results["plain"], results["profiled"]).items():
        runs = results["repeats"].get(name, {"plain": [], "profiled": []})
        times = "%s, under the recorder %s; again: %s, under the recorder %s" % (
            plain, other, ratio(runs["plain"], other), ratio(runs["profiled"], other))
        reason = reason_of(suite.explained, name)
        if other in runs["plain"] or (runs["profiled"] and other not in runs["profiled"]):
            found[name] = "flaky: " + times
        elif reason:
            found[name] = "explained: %s (%s)" % (reason, times)
        else:
            found[name] = "DIFFERENT: " + times
    return found


def ratio(runs, outcome):
    return "%d of %d %s" % (runs.count(outcome), len(runs), outcome)


class Record:
    """What is known of a suite, in a file that is written after every step."""

    def __init__(self, folder, suite):
        self.path = os.path.join(folder, "results", suite.name + ".json")
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.data = {}
        if os.path.exists(self.path):
            with open(self.path) as file:
                self.data = json.load(file)

    def put(self, **values):
        self.data.update(values)
        with open(self.path + ".new", "w") as file:
            json.dump(self.data, file, indent=1)
        os.replace(self.path + ".new", self.path)


def identity(suite):
    """Changes with a pin, with the suite's file and with its inputs."""
    digest = hashlib.sha256(repr((suite.sources, suite.binaries)).encode())
    for path in (sys.modules[type(suite).__module__].__file__,
                 *(os.path.join(HERE, "inputs", name) for name in suite.inputs)):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def prepare(suite, record):
    pins = repr((suite.sources, suite.binaries))
    absent = [tool for tool in suite.tools if not shutil.which(tool)]
    if absent:
        return "not installed: " + ", ".join(absent)
    try:
        suite.fetch()
        if record.data.get("built") != pins:
            suite.build()
            record.put(built=pins)
    except (OSError, subprocess.CalledProcessError) as error:
        return "cannot be built: %s" % error
    return None


def torture(suite, tool, record, arguments):
    """All steps that are not done yet."""
    now = identity(suite)
    if arguments.again or record.data.get("identity") != now:
        record.put(identity=now, plain=None, profiled=None, repeats={})
    data = record.data
    if not data["plain"]:
        record.put(plain=run_plain(suite))
    if not data["profiled"] or data["profiled"]["recorder"] != tool.digest:
        record.put(profiled=run_profiled(suite, tool, arguments.keep), repeats={})
    names = [name for name in differing(data["plain"], data["profiled"])
             if name not in data["repeats"]]
    if names:
        record.put(repeats={**data["repeats"], **repeat(suite, tool, names, tool.digest)})


def problems(suite, data):
    """What fails the driver."""
    trace = data["profiled"]["trace"]
    found = ["%s: %s" % (name, text) for name, text in verdicts(suite, data).items()
             if text.startswith("DIFFERENT")]
    if "unreadable" in trace:
        return found + ["trace: " + trace["unreadable"]]
    found += ["lost: %d %s" % (count, reason) for reason, count in trace["losses"].items()
              if not reason_of(suite.losses, reason)]
    if not any(outcome == PASSED for outcome in data["plain"]["outcomes"].values()):
        found.append("no test passed unprofiled")
    return found


def row(suite, data):
    """A row of the table in docs/torture.md."""
    plain, other = data["plain"], data["profiled"]
    trace, texts = other["trace"], verdicts(suite, data).values()

    def passed(run):
        return sum(outcome == PASSED for outcome in run["outcomes"].values())
    return (suite.name, suite.version, len(plain["outcomes"]), passed(plain), passed(other),
            sum(text.startswith("flaky") for text in texts),
            sum(not text.startswith("flaky") for text in texts),
            trace.get("processes", "?"), trace.get("samples", "?"), trace.get("lost", "?"),
            "%.0f s" % plain["cpu_s"], "%.2f" % (other["cpu_s"] / max(plain["cpu_s"], 0.01)))


def show(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def suites(packages, folder, names):
    found = [suite for name in PROGRAMS
             for suite in importlib.import_module(name).suites(packages, folder)]
    unknown = [name for name in names
               if not any(fnmatch.fnmatchcase(suite.name, name) for suite in found)]
    if unknown:
        sys.exit("run.py: no suite %s; there are %s" % (
            ", ".join(unknown), " ".join(suite.name for suite in found)))
    return [suite for suite in found
            if not names or any(fnmatch.fnmatchcase(suite.name, name) for name in names)]


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--prepare", "--again", "--keep", "--table"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--folder", default=os.path.join(profiled.BUILD, "torture"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    folder = os.path.abspath(arguments.folder)
    os.makedirs(os.path.join(folder, "run"), exist_ok=True)
    packages, failures = Packages(os.path.join(folder, "packages")), 0
    tool = Tool(profiled.BUILD, folder)
    for suite in suites(packages, folder, arguments.names):
        record = Record(folder, suite)
        if arguments.table:
            if record.data.get("profiled"):
                show(row(suite, record.data))
            continue
        trouble = prepare(suite, record)
        if trouble:
            print("%s: %s" % (suite.name, trouble), flush=True)
            failures += 1
        if trouble or arguments.prepare:
            continue
        torture(suite, tool, record, arguments)
        show(row(suite, record.data))
        for name, text in verdicts(suite, record.data).items():
            print("  %s: %s" % (name, text), flush=True)
        found = problems(suite, record.data)
        failures += bool(found)
        for text in found:
            print("  problem: " + text, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
