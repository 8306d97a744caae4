# SPDX-License-Identifier: MIT
"""Writes heap profiles in the text form of Go's runtime (debug=1): figures are not scaled."""

# As one program had them, in the order of the runtime.
MEM_STATS = (("Alloc", 118556696), ("TotalAlloc", 508273176), ("Sys", 364988760), ("Lookups", 0),
             ("HeapAlloc", 118556696), ("HeapSys", 356220928), ("HeapIdle", 161112064),
             ("HeapInuse", 195108864), ("HeapReleased", 101670912), ("HeapObjects", 517200),
             ("Stack", (294912, 294912)), ("MSpan", (2842560, 2872320)), ("MCache", (4592, 16072)),
             ("BuckHashSys", 1444392), ("GCSys", 3194176), ("OtherSys", 945960),
             ("NextGC", 161112064), ("LastGC", 1700000000 * 10**9), ("DebugGC", "false"),
             ("MaxRSS", 172498944))


class Writer:
    """`twice`: what stands behind heap/, 2 * MemProfileRate. `mem_stats`: changes of MEM_STATS by name, None
    for a line that is left out; False: without that part of the file."""

    def __init__(self, twice=1048576, mem_stats=()):
        self.twice, self.mem_stats = twice, mem_stats
        self.records, self.sums = [], [0, 0, 0, 0]
        self.pcs = {}

    def frame(self, name, begin=None):
        """The line of a function of that name: (pc, line). `begin`: of the function that it was inlined into."""
        index = self.pcs.setdefault(name, len(self.pcs) + 1)
        begin = 0x400000 + 4096 * index if begin is None else begin
        pc = begin + 16 * index
        return pc, "#\t%#x\t%s+%#x\t\t/src/%s.go:%d" % (pc, name, pc - begin, name, 10 + index)

    def raw(self, figures, pcs, lines):
        """A record of live objects and bytes, allocated objects and bytes."""
        self.sums = [a + b for a, b in zip(self.sums, figures)]
        head = "%d: %d [%d: %d] @" % tuple(figures) + "".join(" %#x" % pc for pc in pcs)
        self.records.append("\n".join([head, *lines, "", ""]))

    def bucket(self, stack, size, allocated, live, inlined=False):
        """A record of samples; the stack is one of names, innermost first; all but the last are inlined."""
        begin = 0x900000 + 4096 * len(self.records) if inlined else None
        frames = [self.frame(name, begin) for name in stack]
        self.raw((live, live * size, allocated, allocated * size),
                 [0x480000] + [pc + 1 for pc, _ in frames], [line for _, line in frames])

    def memory(self):
        changes = dict(self.mem_stats)
        lines = ["", "# runtime.MemStats"]
        for name, value in MEM_STATS:
            value = changes.get(name, value)
            if value is not None:
                lines.append("# %s = %s" % (name, "%s / %s" % value if isinstance(value, tuple) else value))
        return "\n".join(lines) + "\n"

    def finish(self):
        sums = list(self.sums)
        sums[3] += sums[1] == sums[3]
        head = "heap profile: %d: %d [%d: %d] @ heap/%s\n" % (*sums, self.twice)
        return (head + "".join(self.records) + (self.memory() if self.mem_stats is not False else "")).encode()
