#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a process allocates after it was attached to, from outside and in the middle of its allocations, against its
own count for each site; over glibc's malloc, jemalloc, tcmalloc and mimalloc, where objects from before are freed
while it is recorded.

Seeds are the kernel's, since threads and moments are not the same twice. Of one attach the six sites' intervals miss
nearly independently, each with a probability of at most 5.5 % (two tails of 2.75 %), so that N intervals with more misses
than the limit below, which a binomial variable exceeds with a probability under 1e-6, are a fault. The totals must be
exact and hold the count without an error."""
import glob
import mmap
import os
import struct
import subprocess
import sys
import time

import profiled
from attaching import command, expect_done

ATTACHES = 200 if profiled.LONG else 15
ATTACHES_FOREIGN = 30 if profiled.LONG else 4
SITES = 6
MISS = .055
ALARM = 1e-6
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc*.so.4", "mimalloc": "libmimalloc.so.*"}


def misses_allowed(count):
    """The smallest number that Binomial(count, MISS) exceeds with a probability below ALARM."""
    mass, below, k = (1 - MISS) ** count, 0., 0
    while below + mass < 1 - ALARM:
        below += mass
        mass *= (count - k) / (k + 1) * MISS / (1 - MISS)
        k += 1
    return k


class Counting:
    """programs/attach_truth.c and its page."""

    def __init__(self, path, preload=None):
        name = os.path.join(path, "page")
        with open(name, "wb") as file:
            file.truncate(4096)
        with open(name, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 4096)
        self.threads = 4
        extra = {"LD_PRELOAD": preload} if preload else None
        self.process = subprocess.Popen([profiled.program("attach_truth"), name, str(self.threads)],
                                        env=profiled.environment(extra=extra), stdout=subprocess.PIPE)
        profiled.expect(self.process.stdout.readline() == b"ready\n", "it does not begin")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def word(self, number):
        return struct.unpack_from("Q", self.page, 8 * number)[0]

    def ask(self, what):
        """Until every thread does it: a thread finishes what it was at before it says so."""
        struct.pack_into("Q", self.page, 0, what)
        until = time.monotonic() + 60
        while any(self.word(1 + i) != what for i in range(self.threads)):
            profiled.expect(self.process.poll() is None, "it has ended: %s" % self.process.returncode)
            profiled.expect(time.monotonic() < until, "a thread does not follow")
            time.sleep(.001)

    def counted(self):
        return [(self.word(64 + i), self.word(80 + i)) for i in range(SITES)]

    def end(self):
        self.ask(2)
        profiled.expect(self.process.wait(60) == 0, "status %s" % self.process.returncode)


def one_attach(counting, trace, tally):
    """Attached, and only then counted; not counted any more, and only then detached."""
    before = counting.counted()
    expect_done(command("attach", counting.process.pid, "-o", trace, "--interval", "64K"))
    counting.ask(1)
    time.sleep(.05)
    counting.ask(0)
    after = counting.counted()
    expect_done(command("detach", counting.process.pid))
    data = profiled.report(trace, "--metric", "allocated", "--rows", "100")
    os.remove(trace)
    total = data["totals"]["allocated"]
    truth = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(before, after)]
    profiled.expect(sum(size for size, _ in truth) > 1 << 20, "too little: %s" % truth)
    profiled.expect(total["bytes"]["low"] >= sum(size for size, _ in truth), "%s: %s" % (total, truth))
    lost = sum(data["losses"].values()) - data["losses"]["free"]
    profiled.expect(lost == 0, "lost %s" % data["losses"])
    rows = {row["name"]: row for row in data["rows"]}
    for site, (size, _) in enumerate(truth):
        row = rows.get("site_%d" % site)
        tally["sites"] += 1
        if row is None or not row["bytes"]["low"] <= size <= row["bytes"]["high"]:
            tally["missed"] += 1


def holds(path, attaches, preload=None):
    tally = {"sites": 0, "missed": 0}
    with Counting(path, preload) as counting:
        for i in range(attaches):
            one_attach(counting, os.path.join(path, "%d.bpt" % i), tally)
        counting.end()
    allowed = misses_allowed(tally["sites"])
    profiled.Tap.note("%s: %d attaches; of %d intervals %d miss the count, %.1f %% (limit %d)" % (
        os.path.basename(preload or "glibc"), attaches, tally["sites"], tally["missed"],
        100 * tally["missed"] / tally["sites"], allowed))
    profiled.expect(tally["missed"] <= allowed, "%s, allowed %d" % (tally, allowed))


def over(name):
    found = sorted(glob.glob("/usr/lib/x86_64-linux-gnu/" + ALLOCATORS[name]))
    return found[0] if found else None


def main():
    tap = profiled.Tap()
    wanted = sys.argv[1:] or ["glibc", *ALLOCATORS]
    for name in wanted:
        preload = None if name == "glibc" else over(name)
        if name != "glibc" and preload is None:
            tap.skip("attached over " + name, "needs " + name)
            continue
        with profiled.directory() as path:
            count = ATTACHES if name == "glibc" else ATTACHES_FOREIGN
            tap.attempt("attached over " + name,
                        lambda path=path, count=count, preload=preload: holds(path, count, preload))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
