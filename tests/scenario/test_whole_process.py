#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose memory is mostly not malloc's: what run, report, the summary, JSON, the page and check say first, and
why; limits on what the kernel counts; what is left of FILE.resident when `run` is killed. And that nothing of it is
said of a program whose memory is malloc's. Sizes are known and the sampling is seeded: nothing here fails by chance."""
import base64
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time

import profiled

MIB = 1 << 20
PYTHON = "/usr/bin/python3"
ARENAS = "kept = [[i, str(i), (i,)] for i in range(700000)]"


def bytepoll(*words, status=0):
    result = subprocess.run([profiled.BYTEPOLL, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                            env=profiled.environment(extra={"COLUMNS": "100"}))
    profiled.expect(result.returncode == status, "%s: status %s: %s%s" % (
        words, result.returncode, result.stdout.decode()[-500:], result.stderr.decode()[-500:]))
    return result


def has(text, *parts):
    text = " ".join(text.split())
    for part in parts:
        profiled.expect(part in text, "no %r in: %s" % (part, text[:1500]))


class Runs:
    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, "mapped"), "wb") as out:
            out.write(b"x" * MIB)

    def record(self, name, *words, python="all"):
        trace = os.path.join(self.path, name + ".bpt")
        said = bytepoll("run", "-f", "--seed", "5", "-i", "256K", "--python", python, "-o", trace,
                        "--", *words).stderr.decode()
        return trace, said

    def held(self, name, *amounts):
        """malloc'ed and touched, malloc'ed and not touched, mapped, on the stack: MiB."""
        return self.record(name, profiled.program("resident"), *map(str, amounts), os.path.join(self.path, "mapped"),
                           "400")

    def said_everywhere(self, trace, said, cause, *parts):
        """The same words at the top of everything."""
        data = json.loads(bytepoll("report", "--json", trace).stdout)["resident"]["explained"]
        profiled.expect(data["little"] and data["cause"] == cause, str(data))
        words = " ".join(data["text"].split())
        has(words, *parts)
        for text in (said, bytepoll("report", trace).stdout.decode(),
                     bytepoll("report", "--summary", trace).stdout.decode()):
            # What the page and JSON say in full words may be broken into lines, and a terminal's ± differ.
            has(text, words, data["advice"][:60])
            first = " ".join(text.split())
            profiled.expect(first.index("malloc explains") < first.index("peak "), "not first: " + first[:600])
        page = os.path.join(self.path, "page.html")
        bytepoll("html", "--force", trace, "-o", page)
        with open(page, "rb") as file:
            packed = re.search(rb'id="bytepoll-head">([A-Za-z0-9+/=]*)<', file.read()).group(1)
        head = json.loads(gzip.decompress(base64.b64decode(packed)))
        profiled.expect(head["explained"] == {"text": data["text"], "advice": data["advice"]}, str(head["explained"]))
        has(bytepoll("live", "--once", trace).stdout.decode().split("\n")[1], "process at its highest", "malloc explains")
        checked = bytepoll("check", trace, "--limit", "peak=100M", status=0).stdout.decode()
        has(checked, words)
        profiled.expect(checked.index("malloc explains") < checked.index("peak=100M"), "check says it later")
        return data

    def mapped(self):
        trace, said = self.held("mapped", 8, 0, 200, 0)
        data = self.said_everywhere(trace, said, "mapped", "process at its highest 2", "malloc then", "malloc explains")
        share = data["share"]
        profiled.expect(share["low"] <= 8 / 210 <= share["high"] * 1.05, str(share))
        has(data["advice"], "mmap")

    def python(self):
        trace, said = self.record("arenas", PYTHON, "-S", "-c", ARENAS, python="off")
        data = self.said_everywhere(trace, said, "python", "malloc explains")
        has(data["advice"], "--python all", "PYTHONMALLOC=malloc")
        text = bytepoll("report", "--summary", trace).stdout.decode()
        has(text, "memory mapped without malloc (Python's arenas among it)")

        # Where its objects are recorded, they are explained like malloc's.
        trace, said = self.record("arenas", PYTHON, "-S", "-c", ARENAS)
        profiled.expect("malloc explains" not in said, said)
        data = json.loads(bytepoll("report", "--json", trace).stdout)
        profiled.expect(not data["resident"]["explained"]["little"], str(data["resident"]))
        profiled.expect(data["processes"][0]["python"]["objects"] == "recorded", str(data["processes"]))

    def plain(self):
        """Of a program whose memory is malloc's nothing is said."""
        trace, said = self.held("plain", 100, 0, 8, 0)
        profiled.expect("malloc explains" not in said, said)
        data = json.loads(bytepoll("report", "--json", trace).stdout)["resident"]["explained"]
        profiled.expect(not data["little"] and data["cause"] is data["text"] is None, str(data))
        for words in (["report"], ["live", "--once"]):
            profiled.expect("malloc explains" not in bytepoll(*words, trace).stdout.decode(), "%s says it" % words[0])

    def untouched(self):
        """A peak beyond all that was ever resident: by how much, from its lower limit and the kernel's figure."""
        trace, said = self.held("untouched", 8, 100, 0, 0)
        data = json.loads(bytepoll("report", "--json", trace).stdout)
        beyond = data["resident"]["explained"]["peak_beyond_bytes"]
        profiled.expect(60 * MIB < beyond <= 100 * MIB, "%d bytes" % beyond)
        for text in (said, bytepoll("report", trace).stdout.decode(), bytepoll("report", "--summary", trace).stdout.decode()):
            has(text, "the peak is what was asked of malloc: at least %.*f MiB of it were resident at no time" % (
                2 if beyond < 99.995 * MIB else 1, beyond / MIB))
        has(bytepoll("report", "--metric", "live", trace).stdout.decode(), "of the live objects at least", "not resident;")
        trace, said = self.held("touched", 108, 0, 0, 0)
        data = json.loads(bytepoll("report", "--json", trace).stdout)
        profiled.expect(data["resident"]["explained"]["peak_beyond_bytes"] == 0, str(data["resident"]["explained"]))
        profiled.expect("resident at no time" not in said, said)

    def limits(self):
        trace, _ = self.held("limited", 8, 0, 200, 0)
        said = bytepoll("check", trace, "-l", "peak-resident=1G", "-l", "resident=1G", "-l", "swap=1G").stdout.decode()
        has(said, "within peak-resident=1G", "within resident=1G", "within swap=1G")
        said = bytepoll("check", trace, "-l", "peak-resident=100M", status=1).stdout.decode()
        has(said, "exceeded peak-resident=100M", "over the limit")
        said = bytepoll("check", trace, "-l", "peak=100M").stdout.decode()
        has(said, "within peak=100M", "peak=100M is a limit on what malloc gave; the process itself had up to 2",
            "--limit peak-resident=SIZE is on that")
        said = bytepoll("check", "--github", trace, "-l", "peak=100M").stdout.decode()
        has(said, "::warning title=bytepoll check::" + trace + ": process at its highest")
        said = bytepoll("check", trace, "-l", "peak=1G").stdout.decode()
        profiled.expect("is a limit on what malloc gave" not in said, said)
        data = json.loads(bytepoll("check", "--json", trace, "-l", "peak-resident=100M", status=1).stdout)
        profiled.expect(data["limits"][0]["metric"] == "peak-resident" and
                        data["limits"][0]["verdict"] == "exceeded", str(data["limits"]))
        os.remove(trace + ".resident")
        said = bytepoll("check", trace, "-l", "peak-resident=1G", status=3).stdout.decode()
        has(said, "undecided peak-resident=1G", "not known", "resident memory was not recorded")
        for words, part in (("resident:main=1G", "has no filter"), ("resident.objects=5", "is no metric")):
            has(bytepoll("check", trace, "-l", words, status=2).stderr.decode(), part)
        has(bytepoll("check", trace, "-a", trace, "-g", "swap=5%", status=2).stderr.decode(), "growth is judged of")

    def several(self):
        trace, _ = self.record("several", "/bin/sh", "-c", "%s -c pass; true" % PYTHON)
        has(bytepoll("check", trace, "-l", "peak-resident=1G", status=3).stdout.decode(), "of the first process alone")
        bytepoll("check", trace, "-l", "peak-resident=1G", "--only-seen")

    def killed(self):
        """`run` is killed: what it saw until then stays, and is not taken for the end."""
        trace = os.path.join(self.path, "killed.bpt")
        run = subprocess.Popen([profiled.BYTEPOLL, "run", "-f", "--seed", "5", "-o", trace, "--",
                                profiled.program("resident"), "8", "0", "100", "0",
                                os.path.join(self.path, "mapped"), "60000"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                               env=profiled.environment())
        try:
            limit = time.monotonic() + 30
            while not (os.path.exists(trace + ".resident") and self.highest(trace) > 100 * MIB):
                profiled.expect(time.monotonic() < limit, "nothing is recorded while it runs")
                time.sleep(.05)
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
        finally:
            os.killpg(run.pid, signal.SIGKILL)
        said = bytepoll("check", trace, "-l", "peak-resident=90M", status=1).stdout.decode()
        has(said, "exceeded peak-resident=90M")
        said = bytepoll("check", trace, "-l", "peak-resident=1G", status=3).stdout.decode()
        has(said, "undecided", "or not to the end")
        profiled.expect(not os.path.exists(trace + ".resident.new"), "a torn file is left")

    @staticmethod
    def highest(trace):
        with open(trace + ".resident", encoding="ascii") as file:
            lines = file.read().split("\n")
        profiled.expect(lines[-2].startswith("end "), "it is torn")
        return max((sum(map(int, line.split("\t")[1:4])) for line in lines[3:-2]), default=0)

    def foreign(self):
        """A file of that name that is not ours stays as it is."""
        trace = os.path.join(self.path, "theirs.bpt")
        with open(trace + ".resident", "w", encoding="ascii") as file:
            file.write("precious\n")
        said = bytepoll("run", "-i", "256K", "-o", trace, "--", profiled.program("resident"), "8", "0", "8", "0",
                        os.path.join(self.path, "mapped"), "400").stderr.decode()
        has(said, "theirs.bpt.resident cannot be written")
        with open(trace + ".resident", encoding="ascii") as file:
            profiled.expect(file.read() == "precious\n", "it was replaced")


def stopped(path):
    """A program that is ended by a signal: said as what it is, and not as a fault."""
    trace = os.path.join(path, "stopped.bpt")
    result = subprocess.run([profiled.BYTEPOLL, "run", "-o", trace, "--", PYTHON, "-S", "-c",
                             "import os\nkept = [bytes(5000) for i in range(20000)]\nos.kill(os.getpid(), 15)"],
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
                            env=profiled.environment())
    profiled.expect(result.returncode == -signal.SIGTERM, str(result))
    has(result.stderr.decode(), "it was ended by SIGTERM: what it allocated is known within limits")
    data = json.loads(bytepoll("report", "--json", trace).stdout)
    said = " ".join(data["warnings"])
    has(said, "was ended by SIGTERM: its counted totals are limits")
    profiled.expect("did not end in order" not in said, said)
    profiled.expect(data["processes"][0]["end_signal"] == signal.SIGTERM, str(data["processes"]))


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        runs = Runs(path)
        for name in ("mapped", "python", "plain", "untouched", "limits", "several", "killed", "foreign"):
            tap.attempt(name, getattr(runs, name))
        tap.attempt("stopped by a signal", lambda: stopped(path))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
