#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report --resident: a process with known parts, line by line against what it holds; that the lines add up to what the
kernel counts; that what malloc_trim gives back is what the table says before; another allocator; FILE.mappings that is
missing, damaged or of another run; the highest and the last look of a process that frees all in between; options that would change nothing. Sizes are known and the sampling is seeded: some
80 of the 20,000 objects are samples, which lie in the recorder's memory and not in the heap (.4 % of it)."""
import json
import os
import subprocess
import sys

import profiled
import schemas

MIB = 1 << 20
OBJECTS, CHUNK = 40000, 1008  # tests/scenario/programs/parts.c
FREE = OBJECTS // 2 * CHUNK
LIVE = OBJECTS // 2 * 1000 + 32 * MIB
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
# Since Linux 6.7 the kernel tells which pages are its page of zeros.
TELLS_ZEROS = tuple(int(number) for number in os.uname().release.split(".")[:2]) >= (6, 7)
expect = profiled.expect


def bytepoll(*words, status=0, preload=None):
    environment = profiled.environment(extra={"COLUMNS": "100"})
    if preload:
        environment["LD_PRELOAD"] = preload
    result = subprocess.run([profiled.BYTEPOLL, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                            env=environment)
    expect(result.returncode == status, "%s: status %s: %s" % (words, result.returncode, result.stderr.decode()[-500:]))
    return result


def near(value, truth, part, what):
    expect(abs(value - truth) <= part * abs(truth), "%s: %s, not %s" % (what, value, truth))


def record(folder, name, *words, options=(), preload=None):
    """(On a busy machine the last look may fail or be early: then the program waits longer.)"""
    trace = os.path.join(folder, name + ".bpt")
    for longer in (1, 3, 9):
        bytepoll("run", "-q", "-f", "--seed", "3", "-i", "256K", *options, "-o", trace, "--", profiled.program("parts"),
                 str(longer * int(words[0])), *words[1:], preload=preload)
        if preload or options == ["--no-resident"] or words[0] == "100" or (os.path.exists(trace + ".mappings") and is_ready(trace)):
            break
    return trace


def is_ready(trace):
    """Was the heap walked at the last look, and had the program done all that it does by then?"""
    with open(trace + ".mappings", encoding="utf-8") as file:
        last = file.read().rsplit("cut\t", 1)[1]
    return "known=1" in last and "parts-ready" in last


def parts(trace, *words):
    """The object `resident`, and the estimates of its lines by name."""
    data = json.loads(bytepoll("report", "--resident", "--json", *words, trace).stdout)
    schemas.validate(data, "report-1")
    resident = data["resident"]
    lines = {line["name"]: line["bytes"]["estimate"] for line in resident["lines"]}
    total = sum(lines.values()) + resident["unexplained"]["estimate"]
    expect(abs(total - resident["total_bytes"]) < 1, "lines add up to %s: %s" % (total, resident))
    expect(resident["total_bytes"] == resident["resident_bytes"] + resident["page_table_bytes"], str(resident))
    for line in resident["lines"]:
        low, high = line["bytes"]["low"], line["bytes"]["high"]
        expect(low <= line["bytes"]["estimate"] <= high, str(line))
    return resident, lines


def known_parts(folder):
    trace = record(folder, "known", "1000", "scattered")
    resident, lines = parts(trace)
    near(lines["free inside the heap"], FREE, .01, "free")
    near(lines["stacks of threads"], 2 * MIB, .05, "stack")
    near(lines["mapped by the program"], 16 * MIB, .02, "mapped")
    near(lines["of all this not resident"], -24 * MIB, .02, "not resident")
    live = resident["lines"][0]["bytes"]
    expect(live["low"] <= LIVE <= live["high"], "live: %s, not %s" % (live, LIVE))
    names = [owner["name"] for owner in resident["lines"][0]["owners"]]
    expect(names == ["make_block", "make_object"], str(names))
    # What the kernel counted at the last look of the status, by another of its counters.
    near(resident["resident_bytes"], resident["last"]["resident"], .03, "the kernel")
    wide = max(abs(resident["unexplained"]["low"]), abs(resident["unexplained"]["high"]))
    expect(abs(resident["unexplained"]["estimate"]) < .05 * resident["total_bytes"], str(resident["unexplained"]))
    expect(resident["unexplained"]["low"] <= 64 << 10 and wide < .1 * resident["total_bytes"], str(resident["unexplained"]))
    text = bytepoll("report", "--resident", trace).stdout.decode()
    for name, bytes_ in lines.items():
        expect(bytes_ == 0 or name in text, "%s is not in: %s" % (name, text))


def for_trim(resident):
    """What the table says that malloc_trim would give back."""
    line = next(line for line in resident["lines"] if line["name"] == "free inside the heap")
    return sum(owner["bytes"]["estimate"] for owner in line["owners"])


def trimmed(folder):
    """What is free inside and lies together, malloc_trim gives back: resident memory falls by what the table says."""
    before, lines = parts(record(folder, "together", "1000", "together"))
    after, trimmed_lines = parts(record(folder, "trimmed", "1000", "trim"))
    near(lines["free inside the heap"], FREE, .02, "free")
    near(trimmed_lines["free inside the heap"], FREE, .02, "free, trimmed")
    near(before["resident_bytes"] - after["resident_bytes"], for_trim(before), .02, "given back, with the heap's end")
    # A look while pages are given back reads some right after, and the kernel maps its page of zeros there.
    expect(for_trim(after) < 64 << 10 or not TELLS_ZEROS, "still to be given back: %s" % for_trim(after))
    expect(for_trim(parts(os.path.join(folder, "known.bpt"))[0]) < MIB, "scattered objects have no whole pages")
    near(lines["of all this not resident"] - trimmed_lines["of all this not resident"], FREE, .02, "not resident")


def read_only(folder):
    """Pages that were read and never written are not resident, for the kernel and for the lines, and of the block."""
    _, lines = parts(record(folder, "unread", "1000", "together", options=["--in-place"]))
    resident, read_lines = parts(record(folder, "read", "1000", "read", options=["--in-place"]))
    near(read_lines["of all this not resident"], lines["of all this not resident"], .02, "not resident")
    block = next(row["bytes"] for row in resident["not_resident"]["rows"] if row["name"] == "make_block")
    near(block["estimate"], 24 * MIB, .02, "not resident, of the block")


def in_fastbins(folder):
    """Freed objects that glibc keeps in fastbins are free inside the heap, and malloc_trim merges them and gives their
    pages back."""
    before, lines = parts(record(folder, "small", "1000", "small"))
    after, _ = parts(record(folder, "small-trimmed", "1000", "small-trim"))
    near(lines["free inside the heap"], OBJECTS * 10 // 2 * 112, .02, "free")
    expect(lines.get("free, kept by threads", 0) < 64 << 10, "kept by threads: %s" % lines)
    near(before["resident_bytes"] - after["resident_bytes"], for_trim(before), .02, "given back")


def ending(folder):
    """A program that gives its memory back to end is shown as it was before."""
    before, _ = parts(record(folder, "together2", "2000", "together"))
    shown, lines = parts(record(folder, "ending", "2000", "ending"))
    near(shown["resident_bytes"], before["resident_bytes"], .02, "resident")
    near(lines["free inside the heap"], FREE, .02, "free")


def in_place(folder):
    """Samples stay in the heap: every free block is one of the program's, to the byte but for what the C library
    itself frees; and the trace says by which form samples are known."""
    trace = record(folder, "in-place", "1000", "scattered", options=["--in-place"])
    resident, lines = parts(trace)
    near(lines["free inside the heap"], FREE, .0005, "free, in place")
    expect(abs(resident["unexplained"]["estimate"]) < .05 * resident["total_bytes"], str(resident["unexplained"]))
    with open(trace, "rb") as file:
        head = file.read(160)
    expect(int.from_bytes(head[156:160], "little") == 3, "the form is not the table")
    said = bytepoll("run", "--in-place", "--verify", "-o", os.path.join(folder, "x.bpt"), "--", "/bin/true", status=125)
    expect("--in-place" in said.stderr.decode(), said.stderr.decode())


def two_looks(folder):
    """What lived at the highest look and is gone at the last one. The peak would be shown by default; but the lines are of
    a look, and no word may say that they are of the peak."""
    trace = record(folder, "emptied", "2500", "emptied")
    (last, last_lines), (highest, lines) = parts(trace), parts(trace, "--metric", "peak")
    expect(highest["at"] < last["at"], "%s is not before %s" % (highest["at"], last["at"]))
    near(highest["total_bytes"] - last["total_bytes"], OBJECTS * CHUNK + 8 * MIB, .03, "gone")
    live = highest["lines"][0]["bytes"]
    expect(live["low"] <= OBJECTS * 1000 + 32 * MIB <= live["high"], "live at the highest look: %s" % live)
    expect(last["lines"][0]["bytes"]["estimate"] < MIB, "live at the last look: %s" % last["lines"][0])
    near(lines["of all this not resident"], -24 * MIB, .02, "not resident at the highest look")
    for both in (lines, last_lines):
        near(both["mapped by the program"], 16 * MIB, .02, "mapped")
    expect(lines["free inside the heap"] < MIB, "free at the highest look: %s" % lines)
    said = bytepoll("report", "--resident", trace).stdout.decode()
    asked = bytepoll("report", "--resident", "--metric", "peak", trace).stdout.decode()
    expect("of the peak" not in said and "add up" not in said + asked, said + asked)
    expect("peak" in bytepoll("report", trace).stdout.decode().split("Rows are of the", 1)[1][:20], "it is not shown by default")
    expect("of the last look alone" in asked and "of the last look alone" not in said, asked)
    refusal = bytepoll("report", "--pages", "--metric", "peak", trace, status=2).stderr.decode()
    expect("no pages are kept" in refusal and refusal.count("\n") <= 2, refusal)


def other_allocator(folder):
    resident, lines = parts(record(folder, "jemalloc", "1000", "scattered", preload=JEMALLOC))
    expect(not resident["heap_walked"] and "free inside the heap" not in lines, str(lines))
    # 16 MiB are mapped, 24 MiB of live memory are not touched; the rest is the allocator's.
    expect(-24 * MIB < lines["not told apart"] < 40 * MIB, str(lines))


def files(folder, trace):
    mappings = trace + ".mappings"
    with open(mappings, encoding="utf-8") as file:
        text = file.read()
    expect(os.stat(mappings).st_mode & 0o777 == 0o600, "its mode")
    highest, _ = parts(trace, "--metric", "peak")
    expect(highest["total_bytes"] > 0, "no highest look")
    for damaged in (text[:-4], text.replace("resident=", "resident=x", 1), text.replace("cut\t", "cut\tx=1\t", 1),
                    text.replace("trace_id=", "trace_id=0000", 1), text.replace("known=1", "known=2", 1), "", "x" * 5000):
        with open(mappings, "w", encoding="utf-8") as file:
            file.write(damaged)
        said = bytepoll("report", "--resident", trace, status=1).stderr.decode()
        expect("mappings" in said and "record" in said and said.count("\n") == 1, said)
    os.unlink(mappings)
    said = bytepoll("report", "--resident", trace, status=1).stderr.decode()
    expect("record them by bytepoll run" in said, said)
    none = record(folder, "none", "100", "scattered", options=["--no-resident"])
    expect(not os.path.exists(none + ".mappings"), "written in spite of --no-resident")
    with open(none + ".mappings", "w", encoding="utf-8") as file:
        file.write("mine\n")
    record(folder, "none", "100", "scattered")
    with open(none + ".mappings", encoding="utf-8") as file:
        expect(file.read() == "mine\n", "somebody else's file was replaced")


def refused(trace):
    for words in (["--at", "1"], ["--rows", "3"], ["--tree"], ["--summary"], ["--filter", "function=x"],
                  ["--metric", "allocated"], ["--csv"], ["--bytes", "usable"], ["--timeline"]):
        said = bytepoll("report", "--resident", *words, trace, status=2).stderr.decode()
        expect("--resident" in said, said)


def main():
    tap = profiled.Tap()
    with profiled.directory() as path:
        trace = os.path.join(path, "known.bpt")
        tap.attempt("known parts", lambda: known_parts(path))
        tap.attempt("malloc_trim", lambda: trimmed(path))
        if TELLS_ZEROS:
            tap.attempt("read, never written", lambda: read_only(path))
        else:
            tap.skip("read, never written", "Linux before 6.7 does not tell pages of zeros")
        tap.attempt("fastbins", lambda: in_fastbins(path))
        tap.attempt("a program that ends", lambda: ending(path))
        tap.attempt("in place", lambda: in_place(path))
        tap.attempt("the highest and the last look", lambda: two_looks(path))
        if os.path.exists(JEMALLOC):
            tap.attempt("another allocator", lambda: other_allocator(path))
        else:
            tap.skip("another allocator", "libjemalloc2 is not installed")
        tap.attempt("refused options", lambda: refused(trace))
        tap.attempt("files", lambda: files(path, trace))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
