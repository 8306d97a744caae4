#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""redis-server, built from Debian's source package with MALLOC=libc, profiled and unprofiled.

    redis.py FOLDER [--table]      (sources and the build are kept there; needs the network once)

The same commands are sent to both (a deterministic script of strings, lists, hashes, sorted sets,
expiry, Lua and a background save, then redis-benchmark); the digest of the whole data set, every
reply, what INFO says of keys, and the exit status after SHUTDOWN must be the same. At T of 1, 64,
4 KiB, 64 KiB and 512 KiB resident memory after the script may exceed the unprofiled server's by no
more than 4 MiB + 256 bytes per live sample + its distinct stacks; used_memory, which redis computes
from malloc_usable_size, may differ by 2 %. Not part of `make test`.
"""
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402
import test_memory  # noqa: E402
from debian_source import Sources  # noqa: E402

INTERVALS = (1, 64, 4096, 65536, 524288)


def build(sources):
    tree = sources.unpack("redis")
    if not os.path.exists(os.path.join(tree, "src", "redis-server")):
        subprocess.run(["make", "-s", "-j2", "MALLOC=libc", "CFLAGS=-g -O2", "BUILD_TLS=no"],
                       cwd=tree, check=True)
    return os.path.join(tree, "src")


class Client:
    """Just enough of the protocol."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(200):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        self.stream = self.socket.makefile("rb")

    def send(self, *words):
        parts = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(
            b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))

    def reply(self):
        line = self.stream.readline()
        kind, rest = line[:1], line[1:].strip()
        if kind in b"+-":
            return line.decode().strip()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if int(rest) < 0:
                return None
            return self.stream.read(int(rest) + 2)[:-2].decode()
        return [self.reply() for _ in range(int(rest))] if int(rest) >= 0 else None

    def ask(self, *words):
        self.send(*words)
        return self.reply()


def script():
    for i in range(20000):
        yield "SET", "key:%d" % (i % 12000), "v" * (i * 37 % 900)
    for i in range(8000):
        yield "RPUSH", "list:%d" % (i % 40), "element %d" % i
        yield "HSET", "hash:%d" % (i % 300), "field%d" % i, "x" * (i % 100)
        yield "ZADD", "zset:%d" % (i % 20), i * 7919 % 1000, "member%d" % i
    for i in range(0, 12000, 3):
        yield "DEL", "key:%d" % i
    for i in range(2000):
        yield "APPEND", "long:%d" % (i % 5), "y" * 200
    yield ("EVAL", "local t = {} for i = 1, 1000 do t[i] = redis.call('GET', 'key:' .. i) or '' "
           "end return #table.concat(t)", 0)
    yield "SORT", "list:1", "ALPHA", "LIMIT", 0, 5
    yield "DEBUG", "DIGEST"
    yield ("DBSIZE",)


class Outcome:
    """One server through the script and redis-benchmark."""

    def __init__(self, binaries, path, trace=None, interval=None):
        address = os.path.join(path, "socket")
        command = [os.path.join(binaries, "redis-server"), "--port", "0", "--unixsocket", address,
                   "--save", "", "--dir", path, "--logfile", os.path.join(path, "log"),
                   "--enable-debug-command", "yes", "--appendonly", "no"]
        if trace:
            command = [profiled.BYTEPOLL, "run", "--quiet", "-o", trace,
                       "--interval", str(interval), "--", *command]
        server = subprocess.Popen(command, env=profiled.environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        client = Client(address)
        self.pid = int(self.info(client, "server", "process_id"))
        words = list(script())
        self.replies = []
        for start in range(0, len(words), 500):
            for command in words[start:start + 500]:
                client.send(*command)
            self.replies += [client.reply() for _ in words[start:start + 500]]
        self.resident_bytes = self.status("VmRSS")
        self.used_bytes = int(self.info(client, "memory", "used_memory"))
        benchmark = subprocess.run(
            [os.path.join(binaries, "redis-benchmark"), "-s", address, "-n", "20000", "-r", "5000",
             "-q", "-t", "set,get,lpush,lrange_100,hset,zadd"], capture_output=True, check=False)
        self.benchmark_status = benchmark.returncode
        client.ask("FLUSHALL")
        self.replies.append(client.ask("BGSAVE"))
        while self.info(client, "persistence", "rdb_bgsave_in_progress") != "0":
            time.sleep(0.02)
        self.replies.append(self.info(client, "persistence", "rdb_last_bgsave_status"))
        client.send("SHUTDOWN", "NOSAVE")
        self.stdout, self.stderr = server.communicate(timeout=60)
        self.exit_status = server.returncode

    @staticmethod
    def info(client, section, field):
        text = client.ask("INFO", section)
        return next(line.split(":", 1)[1] for line in text.splitlines()
                    if line.startswith(field + ":"))

    def status(self, field):
        with open("/proc/%d/status" % self.pid) as file:
            return int(next(line for line in file if line.startswith(field)).split()[1]) * 1024


def judge(tap, binaries, plain, interval, rows):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        other = Outcome(binaries, path, trace, interval)
        for what in ("replies", "exit_status", "benchmark_status", "stdout", "stderr"):
            profiled.expect(getattr(plain, what) == getattr(other, what), "%s differs" % what)
        off = abs(other.used_bytes / plain.used_bytes - 1)
        profiled.expect(off < 0.02, "used_memory is off by %.1f %%" % (100 * off))
        samples = profiled.samples(trace)
        live = test_memory.live_samples(samples)[0]
        allowed = (test_memory.FIXED_BYTES + test_memory.SAMPLE_BYTES * live +
                   test_memory.stack_bytes(samples))
        added = other.resident_bytes - plain.resident_bytes
        rows.append((interval, len(samples), "%.1f" % (plain.resident_bytes / 2 ** 20),
                     "%+.2f" % (added / 2 ** 20), "%.2f" % (allowed / 2 ** 20)))
        tap.note(rows[-1])
        profiled.expect(added <= allowed, "resident memory %+.2f MiB, allowed %.2f" % (
            added / 2 ** 20, allowed / 2 ** 20))


def main():
    folders = [word for word in sys.argv[1:] if word != "--table"]
    if len(folders) != 1:
        sys.exit("usage: redis.py FOLDER [--table]")
    binaries, tap, rows = build(Sources(folders[0])), profiled.Tap(), []
    with profiled.directory() as path:
        plain = Outcome(binaries, path)
    for interval in INTERVALS:
        tap.attempt("redis at T = %d" % interval,
                    lambda: judge(tap, binaries, plain, interval, rows))
    if "--table" in sys.argv:
        for row in rows:
            print("| " + " | ".join(map(str, row)) + " |")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
