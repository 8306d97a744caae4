#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`make soak`: servers under load for an hour, each beside a twin that is not profiled.

    bench/soak.py [BUILD] [--minutes N] [--only redis,postgres,threads] [--interval SIZE]

Each server runs twice, once below `bytepoll run` and once bare. Slices of the same work go to the one
and to the other in turn; the CPU time of a slice is that of the server and of every process that it
has waited for, and the ratio of two neighbouring slices is one value. A figure is the median of the
values with its interval by order statistics. Every minute a line says for each server: the work done,
resident memory of both twins, bytes and files of the recording, how long `report` and `live --once`
take, and what was lost. The status is 1 if a server failed, a sample was lost, or the recording cannot
be read at the end.

  redis     redis-server: SET, GET, LPUSH, LPOP and SADD over 100,000 keys; the unit is a request
  postgres  postgres: a connection, and so a process, for each query; the unit is a query
  threads   python3 -m http.server: a thread for each request; the unit is a request
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
READY_S = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fields(pid):
    """/proc/PID/stat behind the name: utime is 11, stime 12, cutime 13, cstime 14, rss 21."""
    text = pathlib.Path("/proc/%d/stat" % pid).read_text(encoding="ascii", errors="replace")
    return text.rsplit(")", 1)[1].split()


def children(pid):
    found = []
    for task in pathlib.Path("/proc/%d/task" % pid).glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text(encoding="ascii").split()]
    return found


def cpu_s(pid):
    """Of a process, its descendants, and those that they have waited for."""
    with contextlib.suppress(OSError):
        return sum(map(int, fields(pid)[11:15])) / TICKS + sum(map(cpu_s, children(pid)))
    return 0.0


def resident_mib(pid):
    with contextlib.suppress(OSError):
        return int(fields(pid)[21]) * PAGE / 2 ** 20
    return 0.0


class Redis:
    """One thread that allocates with each request."""

    unit, units = "request", 100000
    needs = ("redis-server", "redis-benchmark")
    user = None

    def __init__(self, folder):
        self.socket = os.path.join(folder, "redis.sock")
        self.command = ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                        "--dir", folder]

    def ready(self):
        return os.path.exists(self.socket)

    def load(self):
        subprocess.run(["redis-benchmark", "-s", self.socket, "-n", str(self.units // 5), "-r", "100000",
                        "-d", "200", "-c", "20", "-q", "-t", "set,get,lpush,lpop,sadd"], check=True,
                       stdout=subprocess.DEVNULL)


class Postgres:
    """A process for each connection, and a connection for each query."""

    unit, units = "query", 200
    needs = ("pgbench",)

    def __init__(self, folder):
        self.folder = folder
        self.user = "nobody" if os.geteuid() == 0 else None
        initdb = shutil.which("initdb") or next(
            (str(path) for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")), "initdb")
        data = os.path.join(folder, "data")
        if self.user:
            shutil.chown(folder, self.user)
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        subprocess.run([*as_user(self.user), initdb, "-D", data, "-U", "bench", "--no-sync", "-A", "trust"],
                       **quiet)
        self.command = [initdb.replace("initdb", "postgres"), "-D", data, "-k", folder, "-h", "",
                        "-c", "fsync=off"]
        self.client = ["pgbench", "-h", folder, "-U", "bench", "postgres"]
        self.filled = False

    def ready(self):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
        if not self.filled:
            self.filled = subprocess.run([*self.client, "-i", "-s", "1"], **quiet).returncode == 0
        return self.filled

    def load(self):
        subprocess.run([*self.client, "-C", "-S", "-n", "-c", "2", "-t", str(self.units // 2)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Threads:
    """A thread for each request, in a server that nobody here wrote."""

    unit, units = "request", 600
    needs = ()
    user = None

    def __init__(self, folder):
        self.port = free_port()
        pages = os.path.join(folder, "pages")
        os.mkdir(pages)
        for number in range(20):
            with open(os.path.join(pages, "%d.html" % number), "w", encoding="ascii") as page:
                page.write("<p>%d</p>" % number * 2000)
        self.command = ["/usr/bin/python3", "-m", "http.server", str(self.port), "--bind", "127.0.0.1",
                        "--directory", pages]

    def ready(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def load(self):
        for number in range(self.units):
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            client.request("GET", "/%d.html" % (number % 20))
            client.getresponse().read()
            client.close()


KINDS = {"redis": Redis, "postgres": Postgres, "threads": Threads}


def as_user(user):
    return ["setpriv", "--reuid=" + user, "--clear-groups"] if user else []


class Twin:
    """A running server; `bytepoll` is None for the bare one."""

    def __init__(self, kind, parent, bytepoll, interval):
        self.folder = os.path.join(parent, "profiled" if bytepoll else "bare")
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o755)
        self.server = kind(self.folder)
        self.bytepoll = bytepoll
        self.trace = os.path.join(self.folder, "soak.bpt")
        options = ["--interval", interval] if interval else []
        before = [bytepoll, "run", "-o", self.trace, *options, "--"] if bytepoll else []
        with open(os.path.join(self.folder, "log"), "wb") as log:
            # A session of its own, so that ^C ends the soak and not the servers before their twins.
            self.process = subprocess.Popen(
                [*as_user(self.server.user), *before, *self.server.command], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True)
        deadline = time.monotonic() + READY_S
        while not self.server.ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise harness.Failed("%s does not start: see %s" % (self.server.command[0], self.folder))
            time.sleep(0.1)
        self.pid = self.process.pid
        if bytepoll:
            self.pid = next(pid for pid in children(self.process.pid) if os.path.basename(
                os.readlink("/proc/%d/exe" % pid)) != "bytepoll")

    def slice(self):
        """CPU seconds of the server for one slice of work."""
        before = cpu_s(self.pid)
        self.server.load()
        return cpu_s(self.pid) - before

    def recording(self):
        """(bytes on disk, files) of FILE and FILE.d."""
        size = files = 0
        for path in [pathlib.Path(self.trace), *pathlib.Path(self.trace + ".d").glob("*")]:
            with contextlib.suppress(OSError):
                size += path.stat().st_blocks * 512
                files += 1
        return size, files

    def timed(self, *words):
        began = time.monotonic()
        result = subprocess.run([self.bytepoll, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0:
            raise harness.Failed("bytepoll %s: %s" % (" ".join(words), result.stderr.strip()))
        return time.monotonic() - began, result.stdout

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Pair:
    """A server and its twin, and what was seen of them."""

    def __init__(self, name, parent, bytepoll, interval):
        self.name, self.kind = name, KINDS[name]
        folder = os.path.join(parent, name)
        os.mkdir(folder)
        os.chmod(folder, 0o755)
        self.twins = [Twin(self.kind, folder, bytepoll, interval), Twin(self.kind, folder, None, None)]
        self.ratios, self.minutes, self.units, self.cpu = [], [], 0, [0.0, 0.0]
        self.tool_s = 0.0
        for twin in self.twins:  # caches, and the fine start, which is over after some hundred MiB
            twin.server.load()

    def step(self):
        """Two slices of the same work, the one that goes first taking turns."""
        order = (0, 1) if len(self.ratios) % 2 == 0 else (1, 0)
        spent = [0.0, 0.0]
        for which in order:
            spent[which] = self.twins[which].slice()
            self.cpu[which] += spent[which]
        if spent[1] > 0:
            self.ratios.append(spent[0] / spent[1])
        self.units += self.kind.units

    def minute(self, number):
        """A line of the state now; the recorder is not stopped for it."""
        profiled, bare = self.twins
        size, files = profiled.recording()
        report_s, text = profiled.timed("report", "--json", profiled.trace)
        live_s, _ = profiled.timed("live", "--once", profiled.trace)
        report = json.loads(text)
        self.tool_s = sum(map(int, fields(profiled.process.pid)[11:13])) / TICKS
        self.minutes.append((number, self.units, resident_mib(profiled.pid), resident_mib(bare.pid),
                             size / 2 ** 20, files, report_s, live_s, report["samples"], report["lost"]))

    def summary(self):
        first = next((line for line in self.minutes if line[0] >= 5), self.minutes[0])
        last = self.minutes[-1]
        per_unit = [1e6 * spent / self.units for spent in self.cpu]
        units = {"query": "queries"}.get(self.kind.unit, self.kind.unit + "s")
        return (self.name, "%d %s" % (self.units, units), "%.1f / %.1f" % tuple(per_unit),
                harness.with_interval(self.ratios), "%.2f s" % self.tool_s,
                "%.1f to %.1f" % (first[2], last[2]), "%.1f to %.1f" % (first[3], last[3]),
                "%.1f MiB, %d" % (last[4], last[5]), last[8], last[9],
                "%.2f to %.2f" % (first[6], last[6]), "%.2f to %.2f" % (first[7], last[7]))


def end(pairs):
    """Stops all servers; problems of the recordings, as words."""
    problems = []
    for pair in pairs:
        for twin in pair.twins:
            twin.stop()
        profiled = pair.twins[0]
        try:
            report = json.loads(profiled.timed("report", "--json", profiled.trace)[1])
        except harness.Failed as error:
            problems.append("%s: %s" % (pair.name, error))
            continue
        if report["lost"] != 0:
            problems.append("%s: %d lost: %s" % (pair.name, report["lost"], report["losses"]))
    return problems


def show(pairs, minutes, interval):
    harness.table("A soak of %g minutes" % minutes,
                  ("server", "work", "CPU per unit, profiled / bare, µs", "ratio of neighbouring slices",
                   "`run` itself", "resident, MiB", "the twin's", "recording, files", "samples", "lost",
                   "`report`, s", "`live --once`, s"),
                  [pair.summary() for pair in pairs],
                  ("T is %s. Resident memory and times are those of the first minute from the fifth on, "
                   "and of the last. A profiled server and its bare twin get the same work in turn, in "
                   "slices of about a second; CPU is that of the server and of all that it has waited for."
                   % (interval or "the default"), harness.machine()))


def main():
    parser = argparse.ArgumentParser(description="servers under load beside twins that are not profiled")
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--interval", help="the fixed interval of the profiled twins (default: bytepoll's default)")
    given = parser.parse_args()
    bytepoll = os.path.abspath(os.path.join(given.build, "bytepoll"))
    pairs, missing = [], []
    folder = tempfile.mkdtemp(prefix="bytepoll-soak-", dir="/var/tmp")
    os.chmod(folder, 0o755)
    problems = []
    try:
        for name in given.only.split(","):
            absent = [need for need in KINDS[name].needs if not shutil.which(need)]
            if absent:
                missing.append("%s: %s is not installed" % (name, absent[0]))
            else:
                pairs.append(Pair(name, folder, bytepoll, given.interval))
        began = time.monotonic()
        number = 0
        while time.monotonic() - began < 60 * given.minutes:
            for pair in pairs:
                pair.step()
            if time.monotonic() - began >= 60 * (number + 1):
                number = int((time.monotonic() - began) / 60)
                for pair in pairs:
                    pair.minute(number)
                    print("%3d min %-9s %9d units, resident %6.1f (twin %6.1f) MiB, recording %6.1f MiB in "
                          "%d files, report %.2f s, live %.2f s, %d samples, %d lost; CPU %s"
                          % (number, pair.name, *pair.minutes[-1][1:],
                             harness.with_interval(pair.ratios)), flush=True)
        for pair in pairs:
            pair.minute(number)
        show(pairs, given.minutes, given.interval)
    except (harness.Failed, subprocess.CalledProcessError, OSError) as error:
        problems.append(str(error))
    finally:
        problems += end(pairs)
        shutil.rmtree(folder, ignore_errors=True)
    for problem in problems + missing:
        print("soak: " + problem, file=sys.stderr)
    return 1 if problems or not pairs else 0


if __name__ == "__main__":
    sys.exit(main())
