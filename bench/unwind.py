# SPDX-License-Identifier: MIT
"""What capturing a stack costs, by method: the recorder's unwinder, frame pointers, libgcc, libunwind."""
import json
import os
import platform
import subprocess

from harness import FLAGS, HERE, PROGRAMS, Failed, median, table, with_interval

SOURCE = os.path.join(HERE, "..", "src")
UNWINDER = ("stack", "stack_memory", "frame_rules", "frame_step", "frame_expression", "rule_cache", "arena",
            "machine_" + platform.machine())
METHODS = ("recorder", "frame-pointers", "libunwind", "libgcc")
# Depth below main, distinct paths, text.
CASES = ((7, 1, False, "10 frames, one stack"), (27, 1, False, "30 frames, one stack"),
         (27, 64, False, "30 frames, 64 stacks"), (57, 64, False, "60 frames, 64 stacks"),
         (27, 1, True, "30 frames, one stack, cold"), (27, 64, True, "30 frames, 64 stacks, cold"),
         (57, 64, True, "60 frames, 64 stacks, cold"))


def build(bench):
    """The program with and without frame pointers, beside the unwinder as a library of its own (it leaves
    out the frames of the object it lies in)."""
    library = os.path.join(bench.programs, "libunwinder.so")
    include = ["-I" + SOURCE, "-I" + os.path.join(SOURCE, "target"), "-I" + os.path.join(SOURCE, "..", "include")]
    subprocess.run(["gcc", *FLAGS, *include, "-fPIC", "-shared", "-o", library] +
                   [os.path.join(SOURCE, "target", "recorder", name + ".c") for name in UNWINDER], check=True)
    for name, flag in (("unwind", "-fomit-frame-pointer"), ("unwind-fp", "-fno-omit-frame-pointer")):
        subprocess.run(["gcc", *FLAGS, *include, flag, "-rdynamic", "-o", os.path.join(bench.programs, name),
                        os.path.join(PROGRAMS, "unwind.c"), library, "-ldl"], check=True)


def measure(bench, method, depth, paths, cold):
    """{'ns', 'frames', 'agree'} of one run, None if the method is not to be had."""
    name = "unwind-fp" if method == "frame-pointers" else "unwind"
    rounds = max(1, (200 if cold else 20000) // paths // (4 if bench.quick else 1))
    words = [os.path.join(bench.programs, name), method, str(depth), str(paths), str(rounds)]
    done = subprocess.run(["taskset", "-c", str(bench.cpu)] + words + (["cold"] if cold else []),
                          stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": bench.programs})
    if done.returncode == 3:
        return None
    if done.returncode != 0:
        raise Failed("unwind %s ended with %d" % (method, done.returncode))
    return json.loads(done.stdout)


def unwind(bench):
    """ns of a capture, warm and cold."""
    build(bench)
    rows = []
    for depth, paths, cold, text in CASES:
        cells, frames = [], 0
        for method in METHODS:
            values = []
            for _ in range(3 if bench.quick else bench.rounds):
                result = measure(bench, method, depth, paths, cold)
                empty = measure(bench, "nothing", depth, paths, cold)
                if result is None:
                    break
                if not result["agree"]:
                    raise Failed("the recorder's stacks are not libgcc's")
                values.append(result["ns"] - empty["ns"])
                frames = result["frames"] if method == "recorder" else frames
            cells.append("not installed" if not values else
                         with_interval(values, "%.0f") + " (%.1f)" % (median(values) / frames))
            bench.figures["unwind %s %s" % (method, text)] = values
        rows.append((text, frames, *cells))
    table("Capturing a stack, ns (a frame)", ("stack", "frames", *METHODS), rows,
          ("programs/unwind.c; median of single captures by the clock, less an empty one. Cold: 24 MiB read "
           "before each.",))
