#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll dotnet` on a real .NET program: its start, the middle of its run, a hundred starts and stops,
bytepoll killed at random moments, and what recording costs.

    dotnet.py --data FOLDER [PART...]     (`make live-dotnet DOTNET_DATA=FOLDER`; BYTEPOLL_BUILD: the build tree)

FOLDER holds alloctruth-linux-x64.tar.xz, a self-contained program of .NET 10 that counts what it allocates
(source and build script beside it). It is no part of `make test`, which needs no runtime; without the
program it says loudly that nothing was tested, and fails.

What must hold: output and exit status of the program are the same with and without recording; an estimate is
within 6 standard errors of the program's own count (false alarm 2e-9 for each, ten at most); whatever
happened to bytepoll, the program ends as it should, and a session afterwards has every sample.
"""
import json
import math
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "cli"))
import cases  # noqa: E402

BUILD = os.environ.get("BYTEPOLL_BUILD", "build")
BYTEPOLL = os.path.abspath(os.path.join(BUILD, "bytepoll"))
SEED = 20260211
INTERVAL = 102400
LIMIT_S = 120
SESSIONS_MAX = 64  # of a runtime: more than that many left behind and none can begin
PARTS = []


def part(function):
    PARTS.append(function)
    return function


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("DOTNET_")}


def note(text):
    print("# " + text, flush=True)


class Target:
    """The program in the background, its output in files: a pipe would outlive a test that fails."""

    def __init__(self, program, name, *words):
        self.truth = os.path.abspath(name + ".json")
        self.error = open(name + ".stderr", "wb")
        self.process = subprocess.Popen([program, *words, "--out", self.truth], env=environment(),
                                        stdin=subprocess.DEVNULL, stdout=self.error,
                                        stderr=self.error)
        self.pid = self.process.pid
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            ticks = file.read().rsplit(")", 1)[1].split()[19]
        self.socket = f"{os.environ.get('TMPDIR') or '/tmp'}/dotnet-diagnostic-{self.pid}-{ticks}-socket"
        wait_for(lambda: os.path.exists(self.socket))

    def finish(self):
        status = self.process.wait(timeout=LIMIT_S)
        self.error.close()
        with open(self.error.name, "rb") as file:
            assert (status, file.read()) == (0, b""), status
        return load(self.truth)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            os.unlink(self.socket)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def wait_for(what):
    end = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def run(words, name):
    """Status and standard error; everything goes by files."""
    with open(name + ".out", "wb") as output, open(name + ".err", "wb") as error:
        status = subprocess.run(words, env=environment(), stdin=subprocess.DEVNULL, stdout=output,
                                stderr=error, timeout=LIMIT_S, check=False).returncode
    with open(name + ".err", encoding="utf-8") as file:
        return status, file.read()


def record(name, *words):
    status, said = run([BYTEPOLL, "dotnet", "--force", "-o", name + ".nettrace", *words], name)
    assert status == 0, (status, said)
    return said


def allocated(name):
    """Estimate and samples of a trace."""
    result = subprocess.run([BYTEPOLL, "report", "--json", name + ".nettrace"], capture_output=True,
                            text=True, timeout=LIMIT_S, check=True)
    data = json.loads(result.stdout)
    return data["totals"]["allocated"]["bytes"]["estimate"], data["samples"]


def compare(truth, estimate, what):
    """Small objects: the variance of the estimate is its value times the interval."""
    z = (estimate - truth) / math.sqrt(truth * INTERVAL)
    note(f"{what}: {estimate / 2**20:.1f} MiB estimated, {truth / 2**20:.1f} MiB counted, z = {z:+.2f}")
    assert abs(z) < 6, z


def counts(truth):
    return truth["types"], truth["sites"]


SMALL = ("--scenario", "1", "--count", "400000")
LONG = ("--scenario", "1", "--count", "2000", "--pause", "5", "--loop")


@part
def suspended_start(program):
    """Nothing is missed, output and status are the same."""
    assert run([program, *SMALL, "--out", "plain.json"], "plain") == (0, "")
    record("start", "--", program, *SMALL, "--out", "start.json")
    plain, truth = load("plain.json"), load("start.json")
    assert counts(plain) == counts(truth)
    compare(truth["total_allocated_bytes"]["at_exit"], allocated("start")[0], "from the start")
    for options in (("--no-rundown",), ("--buffer", "64")):
        record("start", *options, "--", program, *SMALL, "--out", "start.json")
        compare(load("start.json")["total_allocated_bytes"]["at_exit"], allocated("start")[0],
                " ".join(options))
    status, said = run([BYTEPOLL, "dotnet", "-q", "--", program, "--no-such-option"], "wrong")
    assert status == run([program, "--no-such-option"], "wrong")[0] != 0, (status, said)


@part
def a_duration_of_a_started_program(program):
    said = record("while", "--duration", "300ms", "--", program, *LONG, "3", "--out", "while.json")
    assert "lost" in said and os.path.exists("while.json"), said
    note("300 ms of 3 s: %.1f MiB, %d samples" % (allocated("while")[0] / 2**20,
                                                allocated("while")[1]))


@part
def joining_in_mid_run(program):
    target = Target(program, "middle", *LONG, "6")
    try:
        record("middle", "--duration", "2s", str(target.pid))
        estimate, samples = allocated("middle")
        truth = target.finish()
        assert samples > 30 and estimate < truth["total_allocated_bytes"]["at_exit"] * 1.2, samples
        note(f"2 s of {samples} samples; the program's own total "
             f"{truth['total_allocated_bytes']['at_exit'] / 2**20:.0f} MiB")
    finally:
        target.kill()


@part
def until_the_program_ends(program):
    target = Target(program, "end", *LONG, "2")
    try:
        record("end", str(target.pid))
        target.finish()
        assert allocated("end")[1] > 10
    finally:
        target.kill()


@part
def a_hundred_starts_and_stops(program):
    random_ms = random.Random(SEED)
    target = Target(program, "hundred", *LONG, "600")
    try:
        for number in range(100):
            how = number % 4
            name = f"hundred{how}"
            words = [BYTEPOLL, "dotnet", "-q", "--force", "-o", name + ".nettrace"]
            if how < 3:
                status, said = run([*words, "--duration", f"{random_ms.randint(1, 60)}ms",
                                    *(["--no-rundown"] if how == 1 else []), str(target.pid)], name)
                assert (status, said) == (0, ""), (number, status, said)
                continue
            with open(name + ".err", "wb") as error:
                recording = subprocess.Popen([*words, str(target.pid)], stderr=error,
                                             env=environment(), stdin=subprocess.DEVNULL)
                wait_for(lambda: os.path.exists(name + ".nettrace") and
                         os.path.getsize(name + ".nettrace") > 0)
                recording.send_signal(signal.SIGINT)
                assert recording.wait(timeout=LIMIT_S) == 0, number
            os.unlink(name + ".nettrace")
        assert target.process.poll() is None, "the program has ended"
        session_has_all(target, "after 100 sessions")
    finally:
        target.kill()


def session_has_all(target, what):
    """Two sessions at once see the same samples, give or take one at each end: none is missing."""
    with open("other.err", "wb") as error:
        other = subprocess.Popen([BYTEPOLL, "dotnet", "-q", "--force", "-o", "other.nettrace",
                                  str(target.pid)], stderr=error, env=environment(),
                                 stdin=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists("other.nettrace") and os.path.getsize("other.nettrace") > 0)
    record("last", "--duration", "1s", str(target.pid))
    other.send_signal(signal.SIGINT)
    assert other.wait(timeout=LIMIT_S) == 0
    one, two = allocated("last")[1], allocated("other")[1]
    note(f"{what}: {one} samples in one second, {two} in a session around it")
    assert 5 < one <= two, (one, two)


@part
def killed_in_the_middle_of_a_run(program):
    """More often than a runtime could bear if sessions were left behind."""
    random_s = random.Random(SEED + 1)
    target = Target(program, "killed", *LONG, "600")
    try:
        for number in range(SESSIONS_MAX + 16):
            with open("killed.err", "wb") as error:
                recording = subprocess.Popen([BYTEPOLL, "dotnet", "-q", "--force", "-o", "k.nettrace",
                                              str(target.pid)], stderr=error, env=environment(),
                                             stdin=subprocess.DEVNULL)
            time.sleep(random_s.random() * 0.08)
            recording.kill()
            recording.wait()
            assert target.process.poll() is None, number
        # A runtime notices that a reader has gone when it next writes to it.
        end = time.monotonic() + 10
        while run([BYTEPOLL, "dotnet", "-q", "--force", "-o", "k.nettrace", "--duration", "10ms",
                   str(target.pid)], "k")[0] != 0:
            assert time.monotonic() < end, "sessions are left behind"
        session_has_all(target, f"after {SESSIONS_MAX + 16} kills")
    finally:
        target.kill()


@part
def killed_at_the_start(program):
    """The program is let go, and ends as it does alone."""
    random_s = random.Random(SEED + 2)
    words = ("--scenario", "1", "--count", "20000")
    assert run([program, *words, "--out", "plain.json"], "plain") == (0, "")
    plain = counts(load("plain.json"))
    began = 0
    for number in range(50):
        name = f"late{number}"
        with open(name + ".err", "wb") as error:
            recording = subprocess.Popen(
                [BYTEPOLL, "dotnet", "-q", "--force", "-o", "k.nettrace", "--", "sh", "-c",
                 'echo began > "$0.began"; "$1" --scenario 1 --count 20000 --out "$0.json"; '
                 'echo $? > "$0.status"', name, program],
                stdout=error, stderr=error, env=environment(), stdin=subprocess.DEVNULL)
            time.sleep(random_s.random() * 0.25)
            recording.kill()
            recording.wait()
        # If it was killed before the fork there is no program.
        time.sleep(0.05)
        if not os.path.exists(name + ".began"):
            continue
        began += 1
        wait_for(lambda: os.path.exists(name + ".status") and os.path.getsize(name + ".status") > 0)
        with open(name + ".status", encoding="utf-8") as file:
            assert file.read() == "0\n", name
        assert counts(load(name + ".json")) == plain
        assert os.path.getsize(name + ".err") == 0, name
    note(f"{began} of 50 programs had begun; all of them ended as they do alone")
    assert began >= 25
    wait_for(lambda: not [name for name in os.listdir(os.environ.get("TMPDIR") or "/tmp")
                          if name.startswith("bytepoll.")])


def cost_s(words):
    """User and system time of a command and all that it has waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    status, said = run(words, "cost")
    assert status == 0, said
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            time.monotonic() - start)


@part
def cost(program):
    """Paired, interleaved; figures, not a limit: a loaded machine has none."""
    work = [program, "--scenario", "1", "--count", "6000000", "--out", "cost.json"]
    recording = [BYTEPOLL, "dotnet", "-q", "--force", "-o", "cost.nettrace"]
    rows = {"": [], "--no-rundown": []}
    for _ in range(9):
        plain = cost_s(work)
        for option, row in rows.items():
            other = cost_s([*recording, *([option] if option else []), "--", *work])
            row.append((plain[0], other[0] - plain[0], other[1] - plain[1]))
    allocated_bytes = load("cost.json")["total_allocated_bytes"]["at_exit"]
    for option, row in rows.items():
        plain, more, wall = (statistics.median(column) for column in zip(*row))
        note(f"cost, {option or 'with rundown'}: {plain:.2f} s of processor time alone "
             f"({allocated_bytes / 2**20:.0f} MiB), {more:+.3f} s recorded, {wall:+.3f} s of wall time "
             f"(medians of {len(row)} pairs)")


def find_program(data, folder):
    archive = os.path.join(data, "alloctruth-linux-x64.tar.xz")
    if not os.path.exists(archive):
        return None
    with tarfile.open(archive) as file:
        file.extractall(folder)
    for path, _, names in os.walk(folder):
        if "alloctruth" in names:
            return os.path.join(path, "alloctruth")
    return None


def main():
    words = sys.argv[1:]
    if len(words) < 2 or words[0] != "--data":
        print(__doc__)
        return 2
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else
                      signal.default_int_handler)
    chosen = [function for function in PARTS if not words[2:] or function.__name__ in words[2:]]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="live-dotnet-") as folder:
        program = find_program(os.path.abspath(words[1]), folder)
        if program is None:
            print(f"\n*** THE LIVE .NET SUITE DID NOT RUN: {words[1]} has no "
                  "alloctruth-linux-x64.tar.xz ***\n", file=sys.stderr)
            return 1
        os.chdir(folder)
        print(f"1..{len(chosen)}")
        for number, function in enumerate(chosen, 1):
            failed += not cases.tell(number, function.__name__, lambda: function(program))
        os.chdir("/")
    print(f"# {len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
