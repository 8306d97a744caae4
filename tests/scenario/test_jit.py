#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names of code made at run time: a program that makes code and knows which of it allocated, Node.js, which files are
believed, what FILE.jit holds by the words of docs/trace-format.md, section 8, and that hostile names do nothing.

The program is counted at T = 1: nothing here fails by chance.

Usage: test_jit.py     (BYTEPOLL_BUILD; prints TAP)
"""

import contextlib
import os
import re
import signal
import subprocess
import sys

import profiled
from profiled import expect
from terminal import Terminal

SCRIPT = """
function makeBuffers(n) { const a = []; for (let i = 0; i < n; i++) a.push(Buffer.alloc(20000, i & 255)); return a; }
function outer(k) { let t = 0; for (let i = 0; i < k; i++) t += makeBuffers(40).length; return t; }
console.log(outer(100));
"""


def decoded(path):
    """FILE.jit by its specification: names by trace id."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        lines = file.read().split("\n")
    expect(lines[0] == "bytepoll jit 1" and lines[-1] == "", "begin or end: %r" % lines[:1])
    found, at = {}, 1
    while not lines[at].startswith("end "):
        fields = dict(field.split("=", 1) for field in lines[at].split("\t"))
        count = int(fields["names"])
        names = [line.split("\t", 3) for line in lines[at + 1:at + 1 + count]]
        found[fields["trace_id"]] = [(int(start, 16), int(size, 16), int(time), name)
                                     for start, size, time, name in names]
        at += 1 + count
    expect(lines[at] == "end %d" % len(found) and at == len(lines) - 2, "end: %r" % lines[at])
    return found


def forget(pid):
    """Removes the map that a program left."""
    with contextlib.suppress(OSError):
        os.unlink("/tmp/perf-%s.map" % pid)


class Runs:
    def __init__(self, path):
        self.path = path

    def record(self, name, *words, extra=None, force=True, program=None, interval="1", status=0):
        trace = os.path.join(self.path, name + ".bpt")
        run = profiled.run([profiled.BYTEPOLL, "run", "-q", *(["-f"] if force else []), "-i", interval, "-o", trace, "--",
                            *(program or [profiled.program("jitted")]), *words], cwd=self.path, extra=extra)
        expect(run.status == status, "%s" % (run,))
        return trace, run

    def jitted(self, name, *words, extra=None, folder=None):
        trace, run = self.record(name, words[0], folder or self.path, *words[1:], extra=extra)
        pid = run.stdout.decode().strip()
        forget(pid)
        return trace, run

    def callers(self, trace):
        """Objects of 1000 bytes by the caller of malloc."""
        found = {}
        data = profiled.report(trace, "--metric", "allocated", "--by", "stack", "--filter", "size=1000")
        for row in data["rows"]:
            names = [frame["function"] for frame in row["stack"]]
            names = [name for name in names if name not in ("malloc", "allocate", "main") and not
                     name.startswith(("__libc_start", "_start"))]
            caller = re.sub("0x[0-9a-f]+", "address", names[0])
            found[caller] = found.get(caller, 0) + row["objects"]["estimate"]
        return found

    def dump_tells_times(self):
        trace, _ = self.jitted("dump", "dump")
        expect(self.callers(trace) == {"alpha": 100, "beta": 50}, self.callers(trace))
        names = list(decoded(trace + ".jit").values())[0]
        expect([name for *_, name in names] == ["alpha", "beta"] and 0 < names[0][2] < names[1][2], names)
        expect(os.stat(trace + ".jit").st_mode & 0o777 == 0o600, "mode")
        data = profiled.report(trace, "--metric", "allocated", "--by", "module", "--filter", "size=1000")
        expect([row["name"] for row in data["rows"]][:1] == ["[jit]"], data["rows"])

    def map_tells_none(self):
        """The code of both lies at one place: which it was is not known, and is not said."""
        trace, _ = self.jitted("map", "map")
        expect(self.callers(trace) == {"beta or alpha": 150}, self.callers(trace))

    def nothing_to_keep(self):
        """And what an earlier run kept goes with it."""
        trace, _ = self.jitted("map", "nothing")
        expect(not os.path.exists(trace + ".jit"), "a FILE.jit of an earlier run, or of nothing")
        expect(self.callers(trace) == {"address": 150}, self.callers(trace))

    def exports_and_pages(self):
        trace, _ = self.jitted("dump", "dump")
        out = os.path.join(self.path, "folded")
        result = profiled.run([profiled.BYTEPOLL, "export", "--to", "collapsed", "--force", "-o", out, "--metric", "allocated",
                               trace])
        expect(result.status == 0, "%s" % (result,))
        with open(out, encoding="utf-8") as file:
            text = file.read()
        expect(re.search(r"main;allocate;alpha[; ]", text) and re.search(r"main;allocate;beta[; ]", text), text)
        page = os.path.join(self.path, "page.html")
        result = profiled.run([profiled.BYTEPOLL, "html", "--force", "-o", page, trace])
        expect(result.status == 0 and os.path.getsize(page) > 10000, "%s" % (result,))

    def verified(self):
        trace = os.path.join(self.path, "verify.bpt")
        result = profiled.run([profiled.BYTEPOLL, "run", "-q", "-f", "--verify", "-i", "64", "-o", trace, "--",
                               profiled.program("jitted"), "dump", self.path])
        expect(result.status == 0, "%s" % (result,))
        result = profiled.run([profiled.BYTEPOLL, "verify", trace])
        expect(result.status == 0, "%s" % (result,))

    def hostile_names(self):
        trace, _ = self.jitted("hostile", "dump", "\x1b]0;owned\x07<script>alert(1)</script>\n\tx")
        for words in (["report", "--by", "stack"], ["report", "--tree"], ["report", "--csv"], ["report", "--json"]):
            result = profiled.run([profiled.BYTEPOLL, *words, "--metric", "allocated", trace])
            expect(result.status == 0 and b"\x1b" not in result.stdout and b"\x07" not in result.stdout,
                   "%s: %r" % (words, result.stdout))
        page = os.path.join(self.path, "page.html")
        result = profiled.run([profiled.BYTEPOLL, "html", "--force", "-o", page, trace])
        expect(result.status == 0, "%s" % (result,))
        with open(page, "rb") as file:
            expect(b"<script>alert" not in file.read(), "a name runs in the page")

    def unbelieved_maps(self):
        """By what lies in /tmp when `run` looks: a program that leaves it, in the place of its own map."""
        shell = "/bin/sh"
        jitted = profiled.program("jitted")

        def names_after(command, name):
            trace, run = self.record(name, "-c", command, program=[shell])
            for pid in set(re.findall(rb"\d+", run.stdout)):
                forget(pid.decode())
            return os.path.exists(trace + ".jit") and any(
                text == "alpha" for names in decoded(trace + ".jit").values() for *_, text in names)
        begin = "p=$(%s map %s); echo $p; m=/tmp/perf-$p.map; " % (jitted, self.path)
        expect(names_after(begin, "believed"), "a map is not believed at all")
        expect(not names_after(begin + "touch -d 2001-01-01 $m", "old"), "an old map is believed")
        expect(not names_after(begin + "touch -d 'now + 1 hour' $m", "later"), "a later process's map is believed")
        expect(not names_after(begin + "mv $m %s/moved; ln -s %s/moved $m" % (self.path, self.path), "link"),
               "a link is believed")
        expect(not names_after(begin + "mv $m $m.x; mkfifo $m; rm -f $m.x", "fifo"), "a FIFO is believed")
        if profiled.is_root():
            expect(not names_after(begin + "chown 65534 $m", "owner"), "another user's map is believed")

    def somebody_elses_file(self):
        trace = os.path.join(self.path, "theirs.bpt")
        with open(trace + ".jit", "w", encoding="ascii") as out:
            out.write("notes\n")
        result = profiled.run([profiled.BYTEPOLL, "run", "-q", "-i", "1", "-o", trace, "--", profiled.program("jitted"),
                               "map", self.path])
        forget(result.stdout.decode().strip())
        expect(result.status == 0 and b"theirs.bpt.jit cannot be written, names of code made at run time are not kept" in
               result.stderr and result.stderr.count(b"\n") == 1, "%s" % (result,))
        with open(trace + ".jit", encoding="ascii") as file:
            expect(file.read() == "notes\n", "somebody's file was replaced")
        result = profiled.run([profiled.BYTEPOLL, "report", trace])
        expect(result.status == 0 and b"theirs.bpt.jit is torn or damaged" in result.stdout + result.stderr, "%s" % (result,))

    def no_input_is_replaced(self):
        trace, _ = self.jitted("dump", "dump")
        result = profiled.run([profiled.BYTEPOLL, "html", "--force", "-o", trace + ".jit", trace])
        expect(result.status != 0 and result.stderr.count(b"\n") == 1, "%s" % (result,))
        decoded(trace + ".jit")

    def children(self):
        """A dump of a child in the folder of the run, and one where the agent for Java puts it."""
        home = os.path.join(self.path, "home")
        os.makedirs(home + "/.debug/jit/java-1", exist_ok=True)
        jitted = profiled.program("jitted")
        trace, _ = self.record("family", "-c", "%s dump %s; %s dump %s/.debug/jit/java-1; true" % (
            jitted, self.path, jitted, home), program=["/bin/sh"], extra={"HOME": home})
        expect(self.callers(trace) == {"alpha": 200, "beta": 100}, self.callers(trace))
        expect(len(decoded(trace + ".jit")) == 2, "processes")

    def node(self):
        script = os.path.join(self.path, "script.js")
        with open(script, "w", encoding="ascii") as out:
            out.write(SCRIPT)
        trace, run = self.record("node", "--perf-basic-prof", "--interpreted-frames-native-stack", script, program=["node"],
                                 interval="64K")
        expect(run.stdout == b"4000\n", "%s" % (run,))
        data = profiled.report(trace, "--metric", "allocated", "--by", "stack", "--rows", "1000")
        bytes_of = 0
        for row in data["rows"]:
            frames = [(frame["function"], frame["file"]) for frame in row["stack"]]
            if ("makeBuffers", script) in frames and ("outer", script) in frames:
                expect(frames.index(("makeBuffers", script)) < frames.index(("outer", script)), frames)
                bytes_of += row["bytes"]["estimate"]
        expect(bytes_of > 40e6, "buffers of 80 MB under makeBuffers: %.1f MB" % (bytes_of / 1e6))
        (names,) = decoded(trace + ".jit").values()
        pid = data["processes"][0]["pid"]
        with open("/tmp/perf-%d.map" % pid, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n").split(" ", 2) for line in file]
        forget(pid)
        expect([(int(start, 16), int(size, 16), 0, name) for start, size, name in lines] == names, "not what the map has")


    def lives(self):
        """Names are read while the program writes them, and stay when it has ended; by PID and by file. A map tells no
        times, so that what was one name's is two names' when the place is used again."""
        trace = os.path.join(self.path, "lives.bpt")
        environment = profiled.environment(extra={"TERM": "xterm-256color"})
        environment.pop("COLUMNS", None)
        with subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "-i", "1", "-o", trace, "--", profiled.program("jitted"), "map",
                               self.path, "beta", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=profiled.environment(), cwd=self.path) as process:
            pid = process.stdout.readline().decode().strip()
            try:
                views = [Terminal([profiled.BYTEPOLL, "live", "--delay", "0.2", "--metric", "allocated", "--filter",
                                   "size=1000", operand], environment, 110, 24) for operand in (pid, trace)]
                with views[0], views[1]:
                    for view in views:
                        view.wait(re.compile(r"alpha .*97\.66 KiB"))
                        expect("beta" not in view.text, view.text)
                    process.stdin.write(b"\n")
                    process.stdin.flush()
                    process.stdout.readline()
                    for view in views:
                        view.wait(re.compile(r"beta or alpha .*146\.5 KiB"))
                    process.stdin.close()
                    expect(process.wait() == 0, "it does not end")
                    for view in views:
                        view.wait("ended")
                        view.wait_frames(2)
                        expect(re.search(r"beta or alpha .*146\.5 KiB", view.text), view.text)
            finally:
                forget(pid)

    def lives_unbelieved(self):
        with subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "-f", "-i", "1", "-o", os.path.join(self.path, "lives.bpt"), "--",
                               profiled.program("jitted"), "map", self.path, "beta", "wait"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=profiled.environment(), cwd=self.path) as process:
            pid = process.stdout.readline().decode().strip()

            def shows_alpha():
                result = profiled.run([profiled.BYTEPOLL, "live", "--once", "--metric", "allocated", "--filter", "size=1000", pid])
                expect(result.status == 0, "%s" % (result,))
                return b" alpha " in result.stdout
            try:
                expect(shows_alpha(), "a map is not believed at all")
                os.chown("/tmp/perf-%s.map" % pid, 65534, 65534)
                expect(not shows_alpha(), "another user's map is believed")
            finally:
                process.stdin.close()
                process.wait()
                forget(pid)

    def snapshot(self):
        """Of a program that runs: its map goes on, and the copy has what it said then."""
        script = os.path.join(self.path, "server.js")
        with open(script, "w", encoding="ascii") as out:
            out.write(SCRIPT.replace("console.log(outer(100));", "outer(100); console.log(1); setInterval(() => 0, 50);"))
        trace, copy = os.path.join(self.path, "server.bpt"), os.path.join(self.path, "copy.bpt")
        with subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "-o", trace, "--", "node", "--perf-basic-prof",
                               "--interpreted-frames-native-stack", script], stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, env=profiled.environment(), cwd=self.path) as process:
            try:
                expect(process.stdout.readline() == b"1\n", "it did not start")
                result = profiled.run([profiled.BYTEPOLL, "control", trace, "snapshot", "-q", "-o", copy])
                expect(result == (0, b"", b""), "%s" % (result,))
                result = profiled.run([profiled.BYTEPOLL, "live", "--once", "--cumulative", "--metric", "allocated", "--rows", "100", trace])
                expect(result.status == 0 and b"(anonymous server.js:" in result.stdout, "%s" % (result,))
            finally:
                with open(trace, "rb") as file:
                    pid = int.from_bytes(file.read(96)[92:], "little")
                os.kill(pid, signal.SIGTERM)
        forget(pid)
        data = profiled.report(copy, "--metric", "allocated", "--by", "stack", "--rows", "1000")
        expect(any(frame["function"] == "makeBuffers" for row in data["rows"] for frame in row["stack"]),
               "the copy has no names")


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        runs = Runs(path)
        tap.attempt("a dump names code as of the time", runs.dump_tells_times)
        tap.attempt("a map does not guess", runs.map_tells_none)
        tap.attempt("where there is nothing", runs.nothing_to_keep)
        tap.attempt("export and html", runs.exports_and_pages)
        tap.attempt("verify", runs.verified)
        tap.attempt("hostile names", runs.hostile_names)
        tap.attempt("maps that are not believed", runs.unbelieved_maps)
        tap.attempt("a file of somebody else's", runs.somebody_elses_file)
        tap.attempt("FILE.jit is never replaced by an output", runs.no_input_is_replaced)
        tap.attempt("children, and folders of dumps", runs.children)
        tap.attempt("Node.js", runs.node)
        tap.attempt("a snapshot of Node.js, and live", runs.snapshot)
        tap.attempt("live", runs.lives)
        if profiled.is_root():
            tap.attempt("live, another user's map", runs.lives_unbelieved)
        else:
            tap.skip("live, another user's map", "only root gives a file away")
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
