#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the allocation context adds to a collector (examples/gc): nothing where nothing is sampled.

The same sources are built with bytepoll's allocation context and with the plain one. The fast path is
compared byte for byte, relocations included, by both compilers at three levels; a fast path with one more
question in it must be found. Then gc-churn and gc-churn-plain, which allocate the same, are counted under
callgrind, and their difference per refill is laid to functions: none but those of the slow path may
differ. No chance is involved: seeds are fixed, and what is asserted are equalities.

    BYTEPOLL_BUILD=build tests/scenario/test_gc_path.py
"""
import os
import re
import shutil
import subprocess

import profiled

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "gc")
BUILT = os.path.join(profiled.BUILD, "examples", "gc")
SIDES = ("without_sampling", "with_sampling")
COUNT, OBJECTS_A_ROUND, BYTES_A_ROUND = 20000, 5, 328
CONTEXT_BYTES = 8192
# Of the slow path: they may take more, and are named with what they take.
SLOW = re.compile(r"^(gc_allocate_slow|tell|gc_refill|gc_context_refill|gc_samples_\w+|bp_\w+"
                  r"|charge|take_up|set_countdown|trials_left|decide_crossed|countdown|next_gap|draw|arm"
                  r"|take_over|twice_artanh(_small)?)(\.[\w.]+)?$")


def run(*words):
    """The output of a command that must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise AssertionError("%s: %s" % (" ".join(words), done.stdout))
    return done.stdout


# ---- the bytes ----

def code(compiler, level, side, source, directory):
    """The machine code of allocate.c and its relocations, built for one side."""
    target = os.path.join(directory, "%s-%s.o" % (os.path.basename(compiler), side))
    run(compiler, "-std=gnu11", level, "-c", "-I", EXAMPLE, "-I", os.path.join(EXAMPLE, side),
        "-I", os.path.join(ROOT, "include"), source, "-o", target)
    raw = target + ".raw"
    run("objcopy", "-O", "binary", "-j", ".text", target, raw)
    relocations = [line.split()[1:] for line in
                   run("objdump", "-r", "-j", ".text", target).splitlines()
                   if re.match(r"^[0-9a-f]+ R_", line)]
    with open(raw, "rb") as file:
        return file.read(), relocations


def check_bytes(tap, directory):
    with open(os.path.join(EXAMPLE, "allocate.c"), encoding="utf-8") as file:
        text = file.read()
    slower = os.path.join(directory, "allocate.c")
    planted = text.replace("if (bytes >", "if (thread->depth != 0 || bytes >")
    profiled.expect(planted != text, "the fast path has changed: plant anew")
    with open(slower, "w", encoding="utf-8") as file:
        file.write(planted)
    for compiler in ("gcc", "clang"):
        if shutil.which(compiler) is None:
            tap.check(False, "the fast path by " + compiler, "not installed: scripts/install-deps")
            continue
        for level in ("-O1", "-O2", "-Os"):
            sides = [code(compiler, level, side, os.path.join(EXAMPLE, "allocate.c"), directory)
                     for side in SIDES]
            tap.check(sides[0] == sides[1] and len(sides[0][0]) > 16,
                      "the fast path by %s %s is the same, byte for byte" % (compiler, level))
            tap.note("%d bytes, relocations %s" % (len(sides[0][0]), sides[0][1]))
            other = code(compiler, level, SIDES[1], slower, directory)
            tap.check(other != sides[0], "one more question by %s %s is found" % (compiler, level))


def disassembly(program, function):
    """The instructions of a function as linked: addresses and targets of jumps are left out."""
    text = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function, program)
    rows = re.findall(r"^ +[0-9a-f]+:[ \t]+(\S+)[ \t]*(.*)$", text, re.MULTILINE)
    return [(name, "" if name.startswith(("j", "call")) else re.sub(r"\s*#.*|<.*", "", operands).strip())
            for name, operands in rows if not name.startswith(("nop", "xchg", "cs", "data16"))]


def check_linked(tap):
    sides = [disassembly(os.path.join(BUILT, name), "gc_allocate")
             for name in ("gc-churn-plain", "gc-churn")]
    tap.check(sides[0] == sides[1] and len(sides[0]) >= 6, "as linked, it has the same instructions",
              str(sides))
    tap.note("; ".join(" ".join(row).strip() for row in sides[0]))


# ---- the instructions ----

def functions(path):
    """{function: its own instructions} of a callgrind profile."""
    found = {}
    for line in run("callgrind_annotate", "--auto=no", "--tree=none", "--threshold=100",
                    "--show-percs=no", path).splitlines():
        match = re.match(r"^\s*([\d,]+)\s+\S*?:(\S+)", line)
        if match and match.group(1).replace(",", "").isdigit():
            name = match.group(2).split("'")[0]
            found[name] = found.get(name, 0) + int(match.group(1).replace(",", ""))
    return found


def churn(program, rounds, interval, directory):
    """(what it printed, {function: instructions}, all instructions) of one run."""
    output = os.path.join(directory, "callgrind.out")
    environment = dict(profiled.environment(), BYTEPOLL_INTERVAL=str(interval))
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + output,
         os.path.join(BUILT, program), str(rounds), str(CONTEXT_BYTES)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        raise AssertionError("%s under callgrind: %s" % (program, done.stderr))
    refills, _, samples = map(int, re.findall(r"\d+", done.stdout))
    return refills, samples, functions(output), int(collected.group(1))


def slope(program, interval, directory):
    """What COUNT more rounds took: (refills, samples, {function: instructions}, all)."""
    runs = [churn(program, rounds, interval, directory) for rounds in (COUNT, 2 * COUNT)]
    each = {name: runs[1][2].get(name, 0) - runs[0][2].get(name, 0)
            for name in set(runs[0][2]) | set(runs[1][2])}
    return runs[1][0] - runs[0][0], runs[1][1] - runs[0][1], each, runs[1][3] - runs[0][3]


def check_slow_path(tap, name, plain, sampled):
    """Functions that differ are of the slow path, and make up the whole difference."""
    added = {function: sampled[2].get(function, 0) - plain[2].get(function, 0)
             for function in set(plain[2]) | set(sampled[2])}
    added = {function: value for function, value in added.items() if value != 0}
    others = {function: value for function, value in added.items()
              if not SLOW.match(function) and function != "gc_allocate"}
    whole = sampled[3] - plain[3]
    # The loader and printf work with addresses and numbers of other lengths: a few instructions a run.
    tap.check(sum(map(abs, others.values())) < 300 and abs(whole - sum(added.values())) < 300,
              "%s: what is added is the slow path's" % name, "%s; others %s" % (added, others))
    tap.note("%s: %+.1f instructions a refill (%d refills, %d samples), %+.4f an object: %s" % (
        name, whole / plain[0], plain[0], sampled[1], whole / (COUNT * OBJECTS_A_ROUND),
        ", ".join("%s %+.1f" % (function, value / plain[0])
                  for function, value in sorted(added.items(), key=lambda item: -item[1]))))


def check_instructions(tap, directory):
    if shutil.which("valgrind") is None:
        tap.check(False, "instructions", "valgrind is not installed: run scripts/install-deps")
        return
    plain = slope("gc-churn-plain", 0, directory)
    objects = COUNT * OBJECTS_A_ROUND
    tap.note("gc_allocate: %.3f instructions an object, slow path begun once in %.1f objects" % (
        plain[2]["gc_allocate"] / objects, objects / plain[0]))
    tap.check(abs(plain[0] - COUNT * BYTES_A_ROUND / CONTEXT_BYTES) < 0.05 * plain[0],
              "a refill for every context", str(plain[0]))
    for name, interval in (("off", 0), ("T = 10^12", 10 ** 12), ("T = 100 KiB", 102400)):
        sampled = slope("gc-churn", interval, directory)
        difference = sampled[2]["gc_allocate"] - plain[2]["gc_allocate"]
        if interval == 0:
            tap.check(difference == 0 and sampled[0] == plain[0],
                      "off: gc_allocate takes 0 instructions more", str(difference))
        else:
            # Who leaves for the slow path does not finish the fast one. A look every MiB, or a sample.
            looks = sampled[1] + COUNT * BYTES_A_ROUND // (1 << 20) + 2
            tap.check(-8 * looks <= difference <= 0,
                      "%s: gc_allocate takes 0 instructions more" % name, str(difference))
        tap.check(interval != 102400 or sampled[1] > 30, "%s: samples" % name, str(sampled[1]))
        check_slow_path(tap, name, plain, sampled)


def main():
    tap = profiled.Tap()
    with profiled.directory() as directory:
        for part in (check_bytes, check_instructions):
            try:
                part(tap, directory)
            except AssertionError as error:
                tap.check(False, part.__name__, str(error))
    try:
        check_linked(tap)
    except AssertionError as error:
        tap.check(False, "as linked", str(error))
    return tap.finish()


if __name__ == "__main__":
    raise SystemExit(main())
