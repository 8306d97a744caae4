#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What can be done with a process that was attached to: `attach --duration` and all its ends; control, snapshots,
windows, check and live. The programs are those of test_attach.py, whose truth is held there."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import profiled
from attaching import as_user, command, compiled, copied_command, expect_done, expect_refused, running
from steered import Decoded, control

DETACHED, EXECUTED = 6, 5  # end_reason
THREADS = (profiled.program("attached"), "threads", "4")


def started(pid, trace, *options):
    """An attach that is under way."""
    return subprocess.Popen([profiled.BYTEPOLL, "attach", "-o", trace, *options, str(pid)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=profiled.environment())


def is_recorded(pid):
    return control(pid, "status").status == 0


def wait_until(what, condition):
    until = time.monotonic() + 60
    while not condition():
        profiled.expect(time.monotonic() < until, "not within a minute: " + what)
        time.sleep(.02)


def samples_so_far(pid):
    return int(re.search(rb"samples +([0-9,]+)", control(pid, "status").stdout).group(1).replace(b",", b""))


def end_of(attach):
    """What it said when it had ended well."""
    text = attach.communicate(timeout=60)[1].decode()
    profiled.expect(attach.returncode == 0, "status %s: %s" % (attach.returncode, text))
    return text


def expect_headline(text, trace):
    """What `run` says of its end: the last three lines, but for what was not seen after an exec."""
    lines = [line for line in text.splitlines() if "program was not seen" not in line][-3:]
    profiled.expect(re.match(r"bytepoll: [0-9,]+ samples of \S+ \(1 sample per .*\), 0 lost, in ", lines[0]), text)
    profiled.expect(re.match(r" +live at (the end|exit) .* peak .* allocated ", lines[1]), text)
    profiled.expect(re.match(r" +next: bytepoll report \S*%s$" % os.path.basename(trace), lines[2]), text)
    profiled.expect("sampling was off" not in text, text)


def lasts(path):
    """It returns when the time is over, detached; sampling was on all the while."""
    trace = os.path.join(path, "trace.bpt")
    with running(*THREADS) as process:
        began = time.monotonic()
        text = end_of(started(process.pid, trace, "--duration", "1.5s", "--interval", "4M"))
        profiled.expect(time.monotonic() - began >= 1.5, "it took %s s" % (time.monotonic() - began))
        profiled.expect("is recorded for 1.5s, in %s; Ctrl-C ends that early" % trace in text, text)
        expect_headline(text, trace)
        expect_refused(command("detach", process.pid), "is not attached")
        data = profiled.report(trace)
        profiled.expect(data["totals"]["allocated"]["bytes"]["low"] > 0, "nothing was allocated")
        profiled.expect(Decoded(trace).state["end_reason"] == DETACHED, "the end")
        quiet = started(process.pid, os.path.join(path, "quiet.bpt"), "--duration", "200ms", "--quiet")
        profiled.expect(end_of(quiet) == "", "--quiet")


def ends_early(path):
    """Ctrl-C, and what timeout(1) sends (the same signal twice): detached, and the same words."""
    with running(*THREADS) as process:
        for name, signals in (("int", [signal.SIGINT]), ("twice", [signal.SIGTERM] * 2), ("hup", [signal.SIGHUP])):
            trace = os.path.join(path, name + ".bpt")
            attach = started(process.pid, trace, "--duration", "600s", "--interval", "4M")
            wait_until("attached", lambda: is_recorded(process.pid))
            time.sleep(.3)
            for number in signals:
                attach.send_signal(number)
            expect_headline(end_of(attach), trace)
            profiled.expect(not is_recorded(process.pid), "it is still recorded")
            profiled.expect(Decoded(trace).state["end_reason"] == DETACHED, "the end")


def ends_with_the_trace(path):
    """The process ends, becomes another program, or is detached by another command."""
    def tried(name, words, act, *arguments):
        trace = os.path.join(path, name + ".bpt")
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, env=profiled.environment())
        try:
            process.stdout.readline()
            attach = started(process.pid, trace, "--duration", "600s", "--interval", "4K")
            wait_until("attached", lambda: is_recorded(process.pid))
            time.sleep(.2)
            act(process)
            text = end_of(attach)
            profiled.expect("process %d %s: it was recorded until then" % (process.pid, words) in text, text)
            expect_headline(text, trace)
        finally:
            process.kill()
            process.communicate()

    tried("term", "has ended", lambda process: process.send_signal(signal.SIGTERM), *THREADS)
    tried("kill", "has ended", lambda process: process.kill(), *THREADS)
    tried("detach", "was detached by another command",
          lambda process: expect_done(command("detach", process.pid)), *THREADS)
    becomes = compiled(path, "becomes", """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t asked;
static void ask(int number) { asked = number; }
int main(void) {
    signal(SIGUSR1, ask);
    puts("ready");
    fflush(stdout);
    while (!asked) { free(malloc(5000)); usleep(100); }
    return execlp("sleep", "sleep", "100", (char *)0);
}
""")
    tried("exec", "has started another program", lambda process: process.send_signal(signal.SIGUSR1), becomes)
    profiled.expect(Decoded(os.path.join(path, "exec.bpt")).state["end_reason"] == EXECUTED, "the end")


def outlived(path):
    """The command is killed while it waits: the recorder stops sampling by itself, and can be detached."""
    with running(*THREADS) as process:
        attach = started(process.pid, os.path.join(path, "trace.bpt"), "--duration", "500ms", "--wait", "500ms")
        wait_until("attached", lambda: is_recorded(process.pid))
        attach.kill()
        attach.communicate()
        wait_until("sampling is off", lambda: re.search(rb"sampling +off", control(process.pid, "status").stdout))
        expect_done(command("detach", process.pid))


def steered(path):
    """control, and what was off is told."""
    trace = os.path.join(path, "trace.bpt")
    with running(*THREADS) as process:
        expect_done(command("attach", process.pid, "-o", trace, "--interval", "64K"))
        wait_until("samples at the first interval", lambda: samples_so_far(process.pid) > 0)
        for words in (["interval", "4K"], ["stop"], ["start"]):
            result = control(process.pid, "--wait", "20s", *words)
            profiled.expect(result.status == 0, "%s: %s" % (words, result.stderr))
            taken = samples_so_far(process.pid)
            if words != ["stop"]:
                wait_until("samples after %s" % words, lambda: samples_so_far(process.pid) > taken)
            time.sleep(.1)
        expect_done(command("detach", process.pid))
        expect_refused(control(process.pid, "stop"), "has no trace open")
    profiled.expect(profiled.report(trace)["sampling"]["changes"] == 3, "changes")
    data = profiled.report(trace)
    profiled.expect({sample.interval for sample in profiled.samples(trace)} == {4096, 65536}, "intervals")
    profiled.expect(data["sampling"]["off"]["duration_s"] > 0, "%s" % data["sampling"])


def looked_at(path):
    """Snapshots, which have the totals of a moment; a window of one; check; one frame of live."""
    trace = os.path.join(path, "trace.bpt")
    with running(*THREADS) as process:
        expect_done(command("attach", process.pid, "-o", trace, "--interval", "64K"))
        time.sleep(1)
        copy = os.path.join(path, "copy.bpt")
        result = control(process.pid, "snapshot", "-o", copy)
        profiled.expect(result.status == 0, "%s" % result.stderr)
        early = profiled.report(copy)
        profiled.expect(early["processes"][0]["attached"]["covered_objects"] > 1, "attached is not told")
        window = profiled.report(copy, "--from", "0.3", "--until", "0.6", "--metric", "allocated")
        whole = early["totals"]["allocated"]["bytes"]
        part = window["totals"]["allocated"]["bytes"]
        profiled.expect(0 < part["estimate"] < whole["high"], "%s of %s" % (part, whole))
        for limit, status in (("allocated=1K", 1), ("allocated=1000G", 0)):
            found = profiled.run([profiled.BYTEPOLL, "check", copy, "--limit", limit]).status
            profiled.expect(found == status, "%s: %s" % (limit, found))
        frame = profiled.run([profiled.BYTEPOLL, "live", "--once", str(process.pid)])
        profiled.expect(frame.status == 0 and b"put_and_take" in frame.stdout, "%s" % frame.stdout)
        expect_done(command("detach", process.pid))
        late = profiled.report(trace)["totals"]["allocated"]["bytes"]
        profiled.expect(late["low"] >= whole["low"], "%s, then %s" % (whole, late))
        # Not recorded any more: live offers what to do.
        expect_refused(profiled.run([profiled.BYTEPOLL, "live", "--once", str(process.pid)]),
                       "bytepoll attach %d records it" % process.pid)


HOLDS = """
import os, time
before = [bytes(20000) for _ in range(4000)]
print("ready", flush=True)
since = []
while True:
    since.append(bytes(20000))
    time.sleep(.001)
    if len(since) > 300:
        since, child = [], os.fork()
        if child == 0:
            since = [bytes(20000) for _ in range(1000)]
            os._exit(0)
        os.waitpid(child, 0)
"""


def resident_memory(path):
    """Looked at meanwhile; of 80 MB from before nobody says that malloc does not explain them. As root: the files belong
    to the owner of the process."""
    os.chmod(path, 0o777)
    bytepoll = copied_command(path)
    trace = os.path.join(path, "trace.bpt")
    program = ["/usr/bin/python3", "-c", HOLDS]
    process = subprocess.Popen(as_user(*program) if profiled.is_root() else program, env=profiled.environment(),
                               stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        attach = subprocess.Popen([bytepoll, "attach", "-o", trace, "--duration", "2s", "--interval", "64K",
                                   str(process.pid)], stderr=subprocess.PIPE, env=profiled.environment())
        wait_until("the first looks", lambda: os.path.exists(trace + ".resident"))
        frame = profiled.run([bytepoll, "live", "--once", str(process.pid)]).stdout.decode()
        profiled.expect("what it held before is not known" in frame and "explains" not in frame, frame)
        text = end_of(attach)
        profiled.expect("since it was attached to, it held" in text and "explains" not in text, text)
        profiled.expect(os.path.isdir(trace + ".d") and "nothing was changed" not in text, text)
        data = profiled.report(trace)
        explained = data["resident"]["explained"]
        profiled.expect(explained["little"] and explained["cause"] == "attached", "%s" % explained)
        profiled.expect(80e6 < data["resident"]["last"]["resident"] < 200e6, "%s" % data["resident"])
        parts = profiled.run([bytepoll, "report", "--resident", trace]).stdout.decode()
        profiled.expect("from before attaching" in " ".join(parts.split()) and "explains" not in parts, parts)
        owners = {os.stat(os.path.join(path, name)).st_uid for name in os.listdir(path) if name.startswith("trace.bpt")}
        profiled.expect(owners == {os.stat("/proc/%d" % process.pid).st_uid}, "owners: %s" % owners)
    finally:
        process.kill()
        process.communicate()


SERVICE = """
import sys, threading, time
made = [0, 0]
def leaf(size):
    made[0] += 1
    return bytes(size)
def middle(kept):
    kept.append(leaf(30000))
async def answer():
    made[1] += 1
    return bytearray(20000)
def others():
    while True:
        try:
            answer().send(None)
        except StopIteration:
            time.sleep(.0005)
threading.Thread(target=others, daemon=True).start()
print("ready", flush=True)
kept = []
while True:
    middle(kept)
    del kept[:-100]
    time.sleep(.0002)
"""


def functions_of_python(path):
    """Of a Python that was attached to, twice: its functions, of each thread, in their order."""
    script = os.path.join(path, "service.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(SERVICE)
    process = subprocess.Popen(["/usr/bin/python3", script], env=profiled.environment(), stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        for name in ("first", "second"):
            trace = os.path.join(path, name + ".bpt")
            end_of(started(process.pid, trace, "--duration", "1s", "--interval", "16K"))
            data = profiled.report(trace, "--metric", "allocated", "--filter", "size=20000..31000")
            rows = {row["name"]: row["samples"] for row in data["rows"]}
            # All objects above T are recorded.
            profiled.expect(set(rows) == {"service.leaf", "service.answer"} and min(rows.values()) > 100, "%s" % rows)
            stacks = profiled.run([profiled.BYTEPOLL, "export", "--to", "collapsed", "-o", "-", "--metric", "allocated",
                                   "--frames", "python", "--filter", "size=20000..31000", trace]).stdout.decode()
            ends = {line.rsplit(" ", 1)[0].split(";", 1)[1] for line in stacks.splitlines()}
            profiled.expect(any(end.endswith("service.middle;service.leaf") for end in ends) and
                            any(end.endswith("service.others;service.answer") for end in ends), stacks)
            states = data["processes"][0]["python"]
            profiled.expect(states["frames"] == "recorded" and states["objects"] == "recorded", "%s" % states)
    finally:
        process.kill()
        process.communicate()


TREE = """
import os, signal, sys, time
over = []
signal.signal(signal.SIGTERM, lambda *_: over.append(1))
children, main = [], os.getpid()
for i in range(3):
    child = os.fork()
    if child == 0:
        children = []
        break
    children.append(child)
if os.getpid() == main:
    static = os.fork()
    if static == 0:
        os.execl(sys.argv[1], sys.argv[1])
    children.append(static)
    time.sleep(.5)
    print("ready", *children, flush=True)
kept, late = [], 0
while not over:
    kept.append(bytes(20000))
    time.sleep(.001)
    if len(kept) > 300:
        kept = []
        if os.getpid() == main and late == 0:
            late = os.fork()
            children += [late] if late else []
if os.getpid() == main:
    for child in children:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    print("well")
"""


def whole_tree(path):
    """Descendants that exist, one of which cannot be attached to; one that is forked later; all of them detached."""
    static = compiled(path, "static", "#include <unistd.h>\nint main(void) { return (int)sleep(100); }\n", "-static")
    trace = os.path.join(path, "trace.bpt")
    process = subprocess.Popen(["/usr/bin/python3", "-c", TREE, static], env=profiled.environment(),
                               stdout=subprocess.PIPE, start_new_session=True)
    try:
        children = list(map(int, process.stdout.readline().split()[1:]))
        result = command("attach", process.pid, "-o", trace, "--interval", "64K", "--tree")
        expect_done(result)
        text = result.stderr.decode()
        profiled.expect("in %s and %s.d (3 more processes)" % (trace, trace) in text, text)
        profiled.expect("not recorded: process %d cannot be attached to: its program is statically linked" %
                        children[3] in text, text)
        expect_refused(command("attach", process.pid, "-o", trace + "2", "--tree"), "is being recorded already")
        wait_until("a late child", lambda: len(os.listdir(trace + ".d")) == 4)
        time.sleep(.3)
        result = command("detach", process.pid, "--tree")
        expect_done(result)
        profiled.expect(b"5 processes are not recorded any more" in result.stderr, "%s" % result.stderr)
        data = profiled.report(trace)
        found = {entry["pid"]: entry for entry in data["processes"]}
        profiled.expect({process.pid, *children[:3]} < set(found) and len(found) == 5, "%s" % sorted(found))
        for entry in found.values():
            profiled.expect(entry["samples"] > 0 and "attached" in entry, "%s" % entry)
            profiled.expect(entry["attached"]["covered_objects"] > 1, "%s" % entry)
            profiled.expect(entry["bytes_allocated"].get("exact"), "%s" % entry)
        # Once more, for a time.
        again = os.path.join(path, "again.bpt")
        text = end_of(started(process.pid, again, "--duration", "1s", "--interval", "64K", "--tree"))
        expect_headline(text, again)
        profiled.expect("5 recordings, one for" in text and "still run" not in text, text)
        expect_refused(command("detach", process.pid, "--tree"), "has no trace open")
        process.terminate()
        profiled.expect(process.communicate(timeout=60)[0].split()[-1:] == [b"well"], "it did not end well")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


TESTS = {"tree": ("--tree", whole_tree),
         "lasts": ("--duration waits, detaches and prints", lasts), "early": ("Ctrl-C ends it early", ends_early),
         "trace": ("the trace ends in another way", ends_with_the_trace),
         "outlived": ("the command is killed while it waits", outlived),
         "python": ("functions of Python", functions_of_python),
         "resident": ("resident memory meanwhile", resident_memory),
         "steered": ("control of an attached process", steered),
         "looked": ("snapshots, windows, check and live", looked_at)}


def main():
    tap = profiled.Tap()
    for name in sys.argv[1:] or TESTS:
        title, test = TESTS[name]
        with profiled.directory() as path:
            tap.attempt(title, lambda test=test, path=path: test(path))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
