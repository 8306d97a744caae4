#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers under load that are attached to and detached, again and again, by their own user: no answer differs, no
request fails, and nothing of memory, descriptors and mappings is left beyond what is stated at LEFT.

redis under redis-benchmark, a postmaster that forks for each connection, a backend under pgbench, a worker of nginx
that compresses pages, the JVM with threads that allocate, and sqlite3 that answers the same queries. Each has 3 cycles; BYTEPOLL_LONG_TESTS=1: CYCLES_LONG, or as
many as BYTEPOLL_ATTACH_CYCLES says."""
import contextlib
import gzip
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import profiled
from attaching import as_user, copied_command, expect_done, run_tests, running

CYCLES_LONG = 1000
CYCLES = int(os.environ.get("BYTEPOLL_ATTACH_CYCLES", CYCLES_LONG)) if profiled.LONG else 3
POSTGRES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
# Beyond the first cycle's: mappings of the process's own doing (its heap's arenas, stacks of threads), and memory by
# which a heap that is used goes on to grow.
LEFT_MAPPINGS, LEFT_RESIDENT_KIB = 12, 24 << 10


def as_owner(*arguments):
    """Root runs servers as a user without rights; anybody else as himself."""
    return as_user(*arguments) if profiled.is_root() else list(arguments)


def left_of(pid):
    """(mappings, descriptors, KiB of anonymous resident memory) of a process now: pages of shared memory and of files come
    with the work that it does."""
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as file:
        mappings = len(file.readlines())
    with open("/proc/%d/status" % pid, encoding="utf-8") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))
    return mappings, len(os.listdir("/proc/%d/fd" % pid)), resident


def attach_and_detach(bytepoll, path, pid, count):
    """Returns the stop times, in milliseconds. What was recorded is read now and then: something, but where the load
    was just between two of its commands."""
    stops, looks, empty = [], 0, 0
    for i in range(count):
        trace = os.path.join(path, "%d.bpt" % i)
        for arguments in (["attach", "-o", trace, "--interval", "16K"], ["detach"]):
            stops.append(expect_done(profiled.run(as_owner(bytepoll, *arguments, str(pid)))))
            time.sleep(.02)
        if i % 20 == 0:
            data = profiled.report(trace)
            looks += 1
            empty += data["totals"]["allocated"]["bytes"]["high"] == 0
            lost = sum(data["losses"].values()) - data["losses"]["free"]
            profiled.expect(lost == 0, "lost %s" % data["losses"])
        os.remove(trace)
        shutil.rmtree(trace + ".d", ignore_errors=True)
    profiled.expect(empty <= looks // 10, "nothing was allocated in %d of %d" % (empty, looks))
    return stops


def cycles(path, pid, name, quiet=contextlib.nullcontext):
    """`quiet`: within it the server is in a state in which what it holds can be compared."""
    bytepoll = copied_command(path)
    stops = attach_and_detach(bytepoll, path, pid, 1)
    with quiet():
        before = left_of(pid)
    stops += attach_and_detach(bytepoll, path, pid, CYCLES - 1)
    with quiet():
        after = left_of(pid)
    stops.sort()
    profiled.Tap.note("%s: %d cycles, stops of a thread: median %.2f ms, longest %.2f ms; mappings, descriptors, "
                      "resident KiB: %s, then %s" % (name, CYCLES, stops[len(stops) // 2], stops[-1], before, after))
    profiled.expect(after[0] <= before[0] + LEFT_MAPPINGS, "mappings: %s, then %s" % (before, after))
    profiled.expect(after[1] <= before[1], "descriptors: %s, then %s" % (before, after))
    profiled.expect(after[2] <= before[2] + LEFT_RESIDENT_KIB, "resident: %s, then %s" % (before, after))


@contextlib.contextmanager
def served(arguments, cwd):
    """A server in a session of its own, which is told to end and must end well."""
    process = subprocess.Popen(as_owner(*arguments), cwd=cwd, env=profiled.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
        profiled.expect(process.poll() is None, "it has ended: %s" % process.returncode)
        process.send_signal(signal.SIGINT)
        profiled.expect(process.wait(60) == 0, "status %s" % process.returncode)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Load:
    """A command that is run over and over until it is told to stop; each time it must succeed, and say no word of
    failures."""

    def __init__(self, arguments, wrong):
        self.arguments, self.wrong, self.failures, self.runs, self.over = arguments, wrong, [], 0, False
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.over:
            result = profiled.run(as_owner(*self.arguments))
            text = (result.stdout + result.stderr).decode(errors="replace")
            if result.status != 0 or any(word in text for word in self.wrong):
                self.failures.append("status %s: %s" % (result.status, text[-300:]))
            self.runs += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        profiled.expect(not self.failures and self.runs > 0, "%d of %d failed: %s" % (
            len(self.failures), self.runs, self.failures[:1]))


def wait_until(what, condition):
    until = time.monotonic() + 60
    while not condition():
        profiled.expect(time.monotonic() < until, "not within a minute: " + what)
        time.sleep(.05)


def redis(path):
    socket = os.path.join(path, "redis.sock")

    def ask(*words):
        return profiled.run(["redis-cli", "-s", socket, *words]).stdout.decode().strip()

    with served(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--unixsocketperm", "777"],
                path) as process:
        wait_until("redis answers", lambda: ask("ping") == "PONG")
        ask("set", "known", "x" * 5000)
        with Load(["redis-benchmark", "-s", socket, "-n", "20000", "-r", "1000", "-d", "300", "-q", "-t",
                   "set,get,lpush,lpop,sadd,hset"], ("ERR", "Error", "rror:")):
            cycles(path, process.pid, "redis under redis-benchmark")
        profiled.expect(ask("get", "known") == "x" * 5000, "another answer")


@contextlib.contextmanager
def database(path):
    """(the postmaster, arguments of clients)"""
    folder = POSTGRES[-1].parent
    data = os.path.join(path, "data")
    result = profiled.run(as_owner(str(folder / "initdb"), "-D", data, "-U", "tester", "--no-sync", "--auth=trust"))
    profiled.expect(result.status == 0, "initdb: %s" % result.stderr[-300:])
    clients = ["-h", path, "-U", "tester"]
    with served([str(folder / "postgres"), "-D", data, "-k", path, "-c", "listen_addresses=", "-c", "fsync=off"],
                path) as process:
        wait_until("postgres answers", lambda: profiled.run([str(folder / "pg_isready"), "-q", *clients]).status == 0)
        result = profiled.run([str(folder / "pgbench"), "-i", "-q", "-s", "1", *clients, "postgres"])
        profiled.expect(result.status == 0, "pgbench -i: %s" % result.stderr[-300:])
        yield process, str(folder / "pgbench"), clients


FAILED = ("failed", "aborted", "ERROR", "FATAL", "PANIC")


def postmaster(path):
    """Which forks for each connection, and so has children in FILE.d."""
    with database(path) as (process, pgbench, clients):
        with Load([pgbench, "-n", "-C", "-c", "4", "-t", "40", "-S", *clients, "postgres"], FAILED[1:]):
            cycles(path, process.pid, "a postmaster under pgbench -C")


def backend(path):
    with database(path) as (process, pgbench, clients):
        load = subprocess.Popen([pgbench, "-n", "-c", "2", "-T", "100000", *clients, "postgres"],
                                env=profiled.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def backends():
            found = profiled.run(["pgrep", "-P", str(process.pid), "-f", r"postgres: tester postgres \[local\]"])
            return sorted(map(int, found.stdout.split()))
        try:
            wait_until("two backends", lambda: len(backends()) == 2)
            cycles(path, backends()[0], "a backend under pgbench")
            load.send_signal(signal.SIGINT)
            load.communicate(timeout=60)
            with Load([pgbench, "-n", "-c", "2", "-t", "50", *clients, "postgres"], FAILED[1:]):
                pass
        finally:
            load.kill()
            load.communicate()


NGINX = """
daemon off;
worker_processes 1;
pid nginx.pid;
error_log errors.log info;
events { }
http {
    access_log off;
    client_body_temp_path bodies;
    proxy_temp_path proxied;
    fastcgi_temp_path fast;
    uwsgi_temp_path u;
    scgi_temp_path s;
    gzip on;
    gzip_types text/plain;
    server {
        listen unix:nginx.sock;
        default_type text/plain;
        root pages;
    }
}
"""


class Browser(threading.Thread):
    """Asks for a page without pause until it is told to stop, plain and compressed, five times a connection; `wrong` has
    every answer that is not the file's bytes. (A command that is started anew for its requests would leave times in which
    nobody asks.)"""

    def __init__(self, path, page):
        super().__init__()
        self.path, self.wrong, self.answers, self.over = path, [], 0, False
        self.paused, self.connected = False, threading.Lock()
        with open(page, "rb") as file:
            self.expected = file.read()

    def ask_five(self):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(60)
        connection.sock.connect(self.path)
        for i in range(5):
            packs = i % 2 == 0
            connection.request("GET", "/page", headers={"Accept-Encoding": "gzip"} if packs else {})
            answer = connection.getresponse()
            body = answer.read()
            packed = answer.getheader("Content-Encoding") == "gzip"
            if answer.status != 200 or packed != packs or (gzip.decompress(body) if packed else body) != self.expected:
                self.wrong.append("status %d, %d bytes" % (answer.status, len(body)))
            self.answers += 1
        connection.close()

    def run(self):
        while not self.over:
            if self.paused:
                time.sleep(.01)
                continue
            try:
                with self.connected:
                    self.ask_five()
            except (OSError, EOFError, http.client.HTTPException) as error:
                self.wrong.append(repr(error))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()
        profiled.Tap.note("%d answers" % self.answers)
        profiled.expect(not self.wrong and self.answers > 0, "%d of %d failed: %s" % (
            len(self.wrong), self.answers, self.wrong[:1]))


def connections(pid, name):
    """The lines of /proc/net/unix of accepted connections to the socket of that name which the process has."""
    sockets = set()
    for descriptor in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(FileNotFoundError):
            sockets.add(os.readlink("/proc/%d/fd/%s" % (pid, descriptor)))
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        # Number, references, protocol, flags (a listener has ACC_CON), type, state, inode, path.
        lines = [line.split() for line in file][1:]
    return [line for line in lines if os.path.basename(line[-1]) == name and line[3] == "00000000" and
            "socket:[%s]" % line[6] in sockets]


def nginx(path):
    """The worker that answers; it must be the same one at the end, since the master would start another silently."""
    page = os.path.join(path, "pages", "page")
    os.mkdir(os.path.dirname(page))
    with open(page, "w", encoding="ascii") as file:
        file.write("".join("%d, %d\n" % (i, i * i % 9973) for i in range(4000)))
    with open(os.path.join(path, "nginx.conf"), "w", encoding="ascii") as file:
        file.write(NGINX)

    socket_path = os.path.join(path, "nginx.sock")

    def workers():
        return profiled.run(["pgrep", "-P", str(process.pid)]).stdout.split()
    with served(["nginx", "-p", path, "-c", "nginx.conf", "-e", "errors.log"], path) as process:
        wait_until("a worker of nginx", lambda: len(workers()) == 1)
        worker = workers()
        with Browser(socket_path, page) as browser:
            wait_until("the first answers", lambda: browser.answers >= 5)

            @contextlib.contextmanager
            def quiet():
                """Without a connection, which has a descriptor. (The worker closes it after we do.)"""
                browser.paused = True
                with browser.connected:
                    wait_until("no connection is left", lambda: not connections(int(worker[0]), "nginx.sock"))
                    yield
                browser.paused = False
            cycles(path, int(worker[0]), "a worker of nginx", quiet)
        profiled.expect(workers() == worker, "another worker: %s, then %s" % (worker, workers()))
    with open(os.path.join(path, "errors.log"), encoding="utf-8") as file:
        wrong = [line for line in file if any(word in line for word in ("[alert]", "[crit]", "[emerg]", "[error]"))]
    profiled.expect(not wrong, "nginx says %s" % wrong[:3])


JAVA = """
import java.util.*;
public class Busy {
    static volatile boolean over;
    public static void main(String[] arguments) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                java.util.zip.CRC32 expected = new java.util.zip.CRC32();
                expected.update(new byte[20000]);
                while (!over) {
                    java.util.zip.Deflater deflater = new java.util.zip.Deflater();
                    deflater.setInput(new byte[20000]);
                    deflater.finish();
                    byte[] out = new byte[1000];
                    if (deflater.deflate(out) > 200) Runtime.getRuntime().halt(9);
                    deflater.end();
                }
            });
            thread.start();
            threads.add(thread);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            over = true;
            try { for (Thread thread : threads) thread.join(); } catch (InterruptedException e) { }
            System.out.println("well");
            System.out.flush();
            Runtime.getRuntime().halt(0);
        }));
        System.out.println("ready");
    }
}
"""


def java(path):
    source = os.path.join(path, "Busy.java")
    with open(source, "w", encoding="ascii") as file:
        file.write(JAVA)
    profiled.expect(profiled.run(["javac", "-d", path, source]).status == 0, "javac")
    with running(*as_owner("java", "-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-cp", path, "Busy")) as process:
        cycles(path, process.pid, "a JVM with four threads")


QUERY = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) " \
    "select count(*), sum(length(printf('%08d', i * 7))), group_concat(i % 10, '') from n group by i % 3;\n"


def sqlite(path):
    process = subprocess.Popen(as_owner("sqlite3", ":memory:"), env=profiled.environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    answers, over = set(), threading.Event()

    def ask():
        while not over.is_set():
            process.stdin.write(QUERY)
            process.stdin.flush()
            answers.add("".join(process.stdout.readline() for _ in range(3)))
    asker = threading.Thread(target=ask)
    try:
        asker.start()
        wait_until("the first answer", lambda: answers)
        cycles(path, process.pid, "sqlite3")
        over.set()
        asker.join()
        profiled.expect(len(answers) == 1, "%d different answers" % len(answers))
        process.stdin.close()
        profiled.expect(process.wait(60) == 0, "status %s" % process.returncode)
    finally:
        over.set()
        process.kill()
        process.wait()


def needs(*programs):
    absent = [name for name in programs if shutil.which(name) is None]
    return "needs " + absent[0] if absent else None


TESTS = {"redis": ("redis under load", redis, needs("redis-server", "redis-benchmark")),
         "postmaster": ("a postmaster", postmaster, None if POSTGRES else "needs postgres"),
         "backend": ("a backend of postgres", backend, None if POSTGRES else "needs postgres"),
         "nginx": ("a worker of nginx", nginx, needs("nginx")),
         "java": ("a JVM", java, needs("java", "javac")),
         "sqlite": ("sqlite3", sqlite, needs("sqlite3"))}


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, 0o777))
