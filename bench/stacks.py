# SPDX-License-Identifier: MIT
"""What a sample with a new stack costs, by how many stacks there are already."""
from harness import ASLEEP, median, table

COUNTS = (10000, 30000, 100000, 300000, 600000)
T = 1


def measure(bench, interval):
    """{count: ns of an object with its free}"""
    words = [bench.program("stacks")] + [str(count) for count in COUNTS[:2 if bench.quick else None]]
    return bench.run(words, "recorder", interval).figures()


def stacks(bench):
    """Prints the table."""
    rounds = bench.rounds_of((T, ASLEEP), lambda interval: measure(bench, interval))
    rows = []
    for count in rounds[T][0]:
        each = [a[count] - b[count] for a, b in zip(rounds[T], rounds[ASLEEP])]
        bench.figures["new stack at " + count] = {"ns": each}
        rows.append(("{:,}".format(int(count)), "%.2f [%.2f, %.2f]" % (
            median(each) / 1000, min(each) / 1000, max(each) / 1000)))
    table("One sample with a new stack and its free, us, by the stacks there are", ("up to", "us: median [least, most]"),
          rows, ("programs/stacks.c: stacks of some 45 frames, T = 1, minus the same program with the sampler asleep; "
                 "the table of stacks is three quarters full at some 640,000 of them, and then T doubles.",))
