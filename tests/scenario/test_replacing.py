#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What --force replaces: no file that the command reads, by whatever name; no recording by anything but a recording
of its own kind; nothing by a recording but recordings; and an earlier recording only when there is another to come.
"""
import os
import signal
import subprocess
import sys
import time

import profiled
from profiled import expect

CHURN = profiled.program("churn")


def bytepoll(*words, **more):
    return profiled.run([profiled.BYTEPOLL, *words], **more)


# Enough objects that come and go in the first process that there is something to fold, and a child.
PROGRAM = ("/usr/bin/python3", "-S", "-c", "import os, sys\nfor _ in range(40000):\n    bytearray(600)\n"
           "os.system(sys.argv[1])", CHURN + " 1 2000; true")


def record(path, *options):
    result = bytepoll("run", "-q", "-i", "512", *options, "-o", path, "--", *PROGRAM)
    expect(result.status == 0, result)
    return path


def contents(folder):
    """Every file below a folder, with its bytes."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[path] = (os.path.islink(path), file.read())
    return found


def refuses(status, text, result):
    expect(result.status == status and text in result.stderr.decode(), "not refused: %s" % (result,))
    expect(not result.stdout and result.stderr.count(b"\n") == 1, "no single line: %s" % (result,))


def names_of(folder, trace, child):
    """Every name of a file that belongs to the recording, and names that would, were there such a file."""
    os.symlink(trace, os.path.join(folder, "symbolic"))
    for name, target in (("hard", trace), ("hard.child", child), ("hard.fold", trace + ".fold")):
        os.link(target, os.path.join(folder, name))
    return ([trace, "./%s" % os.path.relpath(trace), child, trace + ".d/new.txt", trace + ".fold", trace + ".resident",
             trace + ".mappings", trace + ".pages"] +
            [os.path.join(folder, name) for name in ("symbolic", "hard", "hard.child", "hard.fold")])


def spares_what_is_read(folder):
    trace = record(os.path.join(folder, "read.bpt"))
    expect(bytepoll("fold", "-q", trace).status == 0, "fold")
    other = record(os.path.join(folder, "other.bpt"))
    child = os.path.join(trace + ".d", next(name for name in os.listdir(trace + ".d") if name.endswith(".bpt")))
    names = names_of(folder, trace, child)
    expect(all(os.path.exists(trace + end) for end in (".d", ".fold", ".resident")), os.listdir(folder))
    before = contents(folder)
    for name in names:
        for command in (("export", trace, "--to", "pprof", "-o"), ("export", trace, "--to", "json", "-o"),
                        ("html", trace, "-o"), ("diff", trace, other, "--html"), ("diff", other, trace, "--html"),
                        ("diff", "--at", "0", "--at", "1", trace, "--html"),
                        ("export", child, "--to", "csv", "-o"),
                        ("check", trace, "--limit", "peak=1T", "--junit"),
                        ("check", other, "--against", trace, "--max-growth", "900%", "--junit")):
            result = bytepoll(*command, name, "--force")
            refuses(2 if command[0] == "check" else 1, "choose another", result)
    # The same without --force where there is no file yet: it would be read as a part of the recording.
    os.unlink(other + ".resident")
    for name in (other + ".fold", other + ".resident", other + ".d/new.bpt"):
        refuses(1, "belongs to", bytepoll("export", other, "--to", "json", "-o", name))
    before.pop(other + ".resident")
    expect(contents(folder) == before, "something was written")
    # Through a link, too, and beside it.
    refuses(1, "to be read", bytepoll("html", os.path.join(folder, "symbolic"), "-f", "-o", trace))
    expect(contents(folder) == before, "something was written")


def spares_other_recordings(folder):
    trace, other = record(os.path.join(folder, "a.bpt")), record(os.path.join(folder, "b.bpt"))
    net, notes = os.path.join(folder, "net"), os.path.join(folder, "notes.txt")
    for path, text in ((net, "Nettrace\x14"), (notes, "mine")):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    before = contents(folder)
    for name in (other, net):
        for words in (("export", trace, "--to", "json", "-o", name), ("html", trace, "-o", name),
                      ("plan", "--svg", name), ("diff", trace, trace, "--html", name)):
            refuses(1, "is a recording", bytepoll(*words, "--force"))
            refuses(1, "is a recording", bytepoll(*words))
    expect(contents(folder) == before, "something was written")
    result = bytepoll("export", trace, "--to", "json", "--force", "-o", notes)
    expect(result.status == 0 and contents(folder)[notes][1][:1] == b"{", "--force replaces other files: %s" % (result,))


def is_no_eraser(folder):
    """run and control snapshot replace what they made, and nothing else."""
    trace = os.path.join(folder, "t.bpt")
    notes, ran = os.path.join(folder, "notes.txt"), os.path.join(folder, "ran")
    with open(notes, "w", encoding="ascii") as file:
        file.write("mine")
    for options in ((), ("--force",)):
        refuses(125, "no recording of bytepoll", bytepoll("run", *options, "-o", notes, "--", "touch", ran))
    record(trace)
    for name in ("mine.txt", "mine.bpt"):
        stranger = os.path.join(trace + ".d", name)
        with open(stranger, "w", encoding="ascii") as file:
            file.write("mine, and long enough for a magic")
        before = contents(folder)
        refuses(125, name, bytepoll("run", "-f", "-o", trace, "--", "touch", ran))
        expect(contents(folder) == before, "%s: something was removed" % name)
        os.unlink(stranger)
    with open(trace + ".fold", "w", encoding="ascii") as file:
        file.write("no folded part")
    refuses(125, "t.bpt.fold exists", bytepoll("run", "-f", "-o", trace, "--", "touch", ran))
    os.unlink(trace + ".fold")
    expect(not os.path.exists(ran), "the program ran")
    expect(bytepoll("dotnet", "-f", "-o", notes, "--", "touch", ran).status == 125, "dotnet")
    expect(contents(folder)[notes][1] == b"mine", "notes")
    # Empty files, as of mktemp, hold nothing to be lost.
    empty = os.path.join(folder, "empty")
    with open(empty, "w", encoding="ascii"):
        pass
    record(empty, "-f")
    before = contents(trace + ".d")
    record(trace, "-f")
    expect(contents(trace + ".d").keys() != before.keys(), "not replaced")
    expect(not [name for name in os.listdir(folder) if name.endswith(".old")], os.listdir(folder))


def keeps_a_recording_if_no_program_starts(folder):
    trace = record(os.path.join(folder, "t.bpt"))
    expect(bytepoll("fold", "-q", trace).status == 0, "fold")
    program = os.path.join(folder, "program")
    with open(program, "w", encoding="ascii") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod(program, 0o755)
    before = contents(folder)
    refuses(127, "interpreter", bytepoll("run", "-f", "-o", trace, "--", program))
    expect(contents(folder) == before, "an earlier recording is gone, or not as it was")
    with open(program, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n")
    result = profiled.run(["prlimit", "--fsize=0:0", profiled.BYTEPOLL, "dotnet", "-f", "-o", trace, "--", "true"])
    expect(result.status == 125 and contents(folder).keys() == before.keys(), result)


def keeps_a_recording_if_nothing_is_recorded(folder):
    """A static program runs, and makes no trace."""
    trace = record(os.path.join(folder, "t.bpt"))
    before = contents(folder)
    result = bytepoll("run", "-f", "-o", trace, "--", os.path.join(profiled.BUILD, "tests/unit/cli/fixture_static"))
    expect(result.status == 0 and b"still the earlier recording" in result.stderr, result)
    expect(contents(folder) == before, "an earlier recording is gone, or not as it was")


def what_was_set_aside_is_not_mixed(folder):
    """A run that was killed left a part of its recording aside; a later one has the same pid (containers)."""
    trace = record(os.path.join(folder, "t.bpt"))
    with open(trace + ".fold", "wb") as file:  # only a part: FILE.d cannot be set aside, so that all is undone
        file.write(b"")
    script = ("mkdir %s.$$.old.d; echo x >%s.$$.old.d/stale; rm -r %s.d; touch %s.$$.old; "
              "exec %s run -f -o %s -- true" % (trace, trace, trace, trace, profiled.BYTEPOLL, trace))
    result = profiled.run(["sh", "-c", script])
    expect(result.status == 125 and b"cannot be replaced" in result.stderr, result)
    expect(not os.path.exists(trace + ".d"), "parts of another recording were taken for this one's")


def snapshots_spare_a_running_recording(folder):
    one, other = os.path.join(folder, "one.bpt"), os.path.join(folder, "other.bpt")
    runs = [subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "-i", "512", "-o", trace, "--", "sh", "-c",
                              CHURN + " 1 2000; read line; true"], stdin=subprocess.PIPE) for trace in (one, other)]
    try:
        deadline = time.monotonic() + 30
        while not (os.path.exists(one) and os.path.exists(other)) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        refuses(1, "writes to", bytepoll("control", "-f", "-o", other, one, "snapshot"))
        expect(os.path.exists(other), "a recording of a running program is gone")
    finally:
        for process in runs:
            process.communicate(b"\n", timeout=60)


def snapshots(folder):
    trace, notes = os.path.join(folder, "t.bpt"), os.path.join(folder, "notes.txt")
    out = os.path.join(folder, "out.bpt")
    with open(notes, "w", encoding="ascii") as file:
        file.write("mine")
    with subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "-i", "512", "-o", trace, "--", "sh", "-c",
                           CHURN + " 1 2000; read line; true"], stdin=subprocess.PIPE, start_new_session=True,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)) as process:
        deadline = time.monotonic() + 30
        while len(contents(folder)) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        child = os.path.join(trace + ".d", os.listdir(trace + ".d")[0])
        linked = os.path.join(folder, "linked")
        os.link(child, linked)
        kept = contents(trace + ".d")
        for name, text in ((notes, "no recording"), (child, "belongs to"), (linked, "belongs to"),
                           (trace + ".fold", "belongs to"), (trace + ".d/new", "belongs to"), (trace, "writes to")):
            for tree in ((), ("--tree",)):
                refuses(1, text, bytepoll("control", *tree, "-f", "-o", name, trace, "snapshot"))
        expect(contents(trace + ".d") == kept and contents(folder)[notes][1] == b"mine", "something was written")
        for _ in range(2):
            result = bytepoll("control", "--tree", "-f", "-o", out, trace, "snapshot")
            expect(result.status == 0 and os.path.isdir(out + ".d"), result)
        process.communicate(b"\n", timeout=60)


def is_one_run_at_a_time(folder):
    """Of runs into one file that begin together each is recorded alone, or says why it is not started."""
    trace = os.path.join(folder, "t.bpt")
    ran = refused = 0
    for _ in range(8):
        runs = [subprocess.Popen([profiled.BYTEPOLL, "run", "-q", "-f", "-i", "64", "-o", trace, "--", "sh", "-c",
                                  "echo ran; sleep 0.2; %s 1 200; true" % CHURN], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True) for _ in range(3)]
        for process in runs:
            out, text = process.communicate(timeout=60)
            if process.returncode == 125:
                expect(not out and b"of another run writes to" in text and text.count(b"\n") == 1, text)
                refused += 1
            else:
                expect(process.returncode == 0 and out == b"ran\n", (process.returncode, text))
                ran += 1
        children = [name for name in os.listdir(trace + ".d") if name.endswith(".bpt")]
        expect(len(children) == 2, "a mixture: %s" % children)
        result = bytepoll("report", "--no-pager", trace)
        expect(result.status == 0 and b"another run" not in result.stderr, result)
    expect(ran >= 8 and refused > 0, "%d ran, %d refused" % (ran, refused))


def main():
    tap = profiled.Tap()
    for action in (spares_what_is_read, spares_other_recordings, is_no_eraser, keeps_a_recording_if_no_program_starts,
                   keeps_a_recording_if_nothing_is_recorded, what_was_set_aside_is_not_mixed, snapshots,
                   snapshots_spare_a_running_recording, is_one_run_at_a_time):
        with profiled.directory() as folder:
            tap.attempt(action.__name__.replace("_", " "), lambda: action(folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
