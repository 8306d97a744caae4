# SPDX-License-Identifier: MIT
"""Huge pages of a large heap: glibc asks the kernel for them where GLIBC_TUNABLES says so
(glibc.malloc.hugetlb=1). A profiler that breaks the heap up, or moves much of it elsewhere, loses them."""
from harness import DEFAULT, Failed, median, table, verdict

VARIANTS = ("unprofiled", "recorder")
INTERVALS = ((DEFAULT, "512 KiB"), (4096, "4 KiB"))
KEPT = 0.97  # of what the program has unprofiled: the edges of a heap come and go
PROGRAM = """
import re
kept = [bytes(900 + i % 300) for i in range(300000)]
with open("/proc/self/smaps_rollup", encoding="ascii") as file:
    text = file.read()
print(re.search(r"AnonHugePages: +([0-9]+)", text).group(1), re.search(r"Rss: +([0-9]+)", text).group(1))
"""
VARIABLES = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def held(bench, variant, interval):
    """(KiB of huge pages, KiB resident) when the heap is full"""
    text = bench.run(["/usr/bin/python3", "-S", "-c", PROGRAM], variant, interval, extra=VARIABLES).text
    return tuple(int(word) for word in text.split())


def huge_pages(bench):
    """One row per interval."""
    rounds = 3 if bench.quick else 7
    rows = []
    for interval, text in INTERVALS:
        values = bench.rounds_of(VARIANTS, lambda variant, t=interval: held(bench, variant, t), rounds)
        plain, ours = (median([huge for huge, _ in values[variant]]) for variant in VARIANTS)
        if plain == 0:
            raise Failed("no huge pages here: /sys/kernel/mm/transparent_hugepage/enabled says never")
        resident = median([all_ for _, all_ in values["recorder"]])
        rows.append((text, "%.0f" % (plain / 1024), "%.0f" % (ours / 1024), "%.0f" % (resident / 1024),
                     "%.3f" % (ours / plain), *((">= %.2f" % KEPT, verdict(-ours / plain, -KEPT))
                                                if interval == DEFAULT else ("", ""))))
        bench.figures["huge pages " + text] = values
    table("Huge pages of a heap of 300 MB, MiB (glibc.malloc.hugetlb=1)",
          ("T", "unprofiled", "recorder", "resident", "ratio", "budget", "verdict"), rows,
          ("python3 with 300,000 objects of 900 to 1200 bytes; %d interleaved rounds, medians. At 4 KiB a "
           "quarter of the objects are samples, which lie in slots of the recorder's." % rounds,))
