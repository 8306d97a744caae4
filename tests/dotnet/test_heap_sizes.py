#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sizes of .NET's heap that its trace tells: test_heap_sizes.py real|made|damage.

real    the files of tests/data/dotnet/heap: the importer against the decoder of tools/, which finds
        the figures that belong together by time over all threads and not thread by thread; and the
        last collection against the mappings of the process just after it and what the program kept.
made    files of tests/dotnet/nettrace_write.py: kinds of collections, versions, payloads that are
        short, strange or absurd, events out of order, lost events, more collections than are kept.
damage  such a file cut at every byte, and with lengths that lie.
"""
import glob
import json
import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "tests", "scenario")]
sys.dont_write_bytecode = True
import nettrace_decode  # noqa: E402
import nettrace_write  # noqa: E402
import profiled  # noqa: E402
import test_nettrace  # noqa: E402

DATA = os.path.join(ROOT, "tests", "data", "dotnet", "heap")
HELD, TOTAL = 0, 2  # of enum bp_runtime_part_kind
GENERATIONS = ("generation 0", "generation 1", "generation 2", "large objects", "pinned objects")
BEYOND, FREE, OWN = "committed and in use beyond these", "free, kept", "the collector's own"
ADDRESSES = 1 << 57  # larger figures are not believed
MOMENTS_MAX = 1024
MIB = 1 << 20


# ---- what is expected, and what is there


def parts_of(generations, committed=None):
    """The parts of one moment: (kind, name, bytes). `committed`: in use, to be given back, free,
    free of no heap, the collector's tables."""
    out = [(HELD, name, size) for name, size in zip(GENERATIONS, generations)]
    if committed is not None:
        in_use, decommit, free, global_free, own = committed
        out += [(HELD, BEYOND, in_use - sum(generations)),
                (HELD, FREE, decommit + free + global_free), (HELD, OWN, own),
                (TOTAL, "committed", sum(committed))]
    return out


def moments_of(path):
    """[(time in ns, its parts)], as the importer gives them."""
    result = profiled.run([test_nettrace.program("nettrace_lines"), path])
    profiled.expect(result.status == 0, result.stderr.decode(errors="replace"))
    moments, runtime = [], None
    for line in result.stdout.decode().splitlines():
        word, *rest = line.split("\t")
        if word == "runtime":
            runtime = rest[0]
        if word != "part":
            continue
        kind, time, size, has_live, name = rest
        profiled.expect(has_live == "0", "a part has live objects: " + line)
        if not moments or moments[-1][0] != int(time):
            moments.append((int(time), []))
        moments[-1][1].append((int(kind), name, int(size)))
    profiled.expect(runtime == (".NET" if moments else None), "the runtime is %s" % runtime)
    profiled.expect(moments == sorted(moments, key=lambda moment: moment[0]), "times descend")
    for _, parts in moments:
        total = [size for kind, _, size in parts if kind == TOTAL]
        held = sum(size for kind, _, size in parts if kind == HELD)
        profiled.expect(not total or total == [held], "%s is not the sum of its parts" % parts)
    return moments


def expect_moments(path, expected):
    seen = moments_of(path)
    profiled.expect(seen == expected, "%d moments, not %d: %s, not %s" % (
        len(seen), len(expected), [m for m in seen if m not in expected][:1],
        [m for m in expected if m not in seen][:1]))


# ---- real


def from_decoder(decoded):
    moments = []
    for moment in decoded["heap"]:
        committed = moment["committed"]
        if committed is not None:
            committed = [committed[name] for name in nettrace_decode.COMMITTED]
        moments.append((moment["time"] * 10**9 // decoded["qpc_frequency"],
                        parts_of(moment["generations"], committed)))
    return moments


def expect_truth(path, truth):
    """The last collection was forced, and the mappings were looked at after it."""
    last = {name: size for _, name, size in moments_of(path)[-1][1]}
    heap = sum(last[name] for name in (*GENERATIONS, BEYOND, FREE))
    profiled.expect(heap == truth["heap_mapped_bytes"], "heap %d" % heap)
    profiled.expect(last[OWN] == truth["tables_mapped_bytes"], "tables %d" % last[OWN])
    # What holds objects was written; what is committed beyond need not be resident.
    sizes = sum(last[name] for name in GENERATIONS)
    profiled.expect(sizes <= truth["heap_resident_bytes"] + MIB, "sizes %d" % sizes)
    if "kept_small_bytes" in truth:
        small = sum(last[name] for name in GENERATIONS[:3])
        profiled.expect(0 <= small - truth["kept_small_bytes"] < MIB // 2, "small %d" % small)
        # Nothing is moved there: two arrays that are dropped are holes.
        large = last["large objects"] - truth["arrays"] * truth["kept_array_bytes"]
        profiled.expect(0 <= large < 4096, "large %d" % large)


def expect_reported(path):
    """`report --resident` has the last collection with a total, and with --metric peak the one with the highest."""
    whole = [(time, parts) for time, parts in moments_of(path) if any(kind == TOTAL for kind, _, _ in parts)]
    highest = max(whole, key=lambda moment: moment[1][-1][2])
    first = min(whole, key=lambda moment: (moment[1][-1][2] != highest[1][-1][2], moment[0]))
    for options, (_, parts) in (((), whole[-1]), (("--metric", "peak"), first)):
        report = profiled.report(path, "--resident", *options)
        data = report["resident"]
        lines = [(HELD, line["name"], line["bytes"]["estimate"]) for line in data["lines"]]
        profiled.expect(lines == parts[:-1] and data["total_bytes"] == parts[-1][2] and data["counted_by"] == ".NET" and
                        data["unexplained"]["estimate"] == 0 and 0 < data["at"] < 60, "%s: %s" % (options, data))
        text = profiled.run([profiled.BYTEPOLL, "report", "--resident", *options, path])
        profiled.expect(text.status == 0 and b"held by .NET at" in text.stdout, "%s" % (text,))


def expect_not_reported(path):
    result = profiled.run([profiled.BYTEPOLL, "report", "--resident", path])
    profiled.expect(result.status == 1 and result.stdout == b"" and b"bytepoll dotnet" in result.stderr, "%s" % (result,))


def test_real(tap):
    names = sorted(os.path.basename(path)[:-len(".nettrace.xz")]
                   for path in glob.glob(os.path.join(DATA, "*.nettrace.xz")))
    tap.check(names == ["kept", "server", "workstation"], "the files are there", str(names))
    with profiled.directory() as folder:
        for name in names:
            data = nettrace_decode.load(os.path.join(DATA, name + ".nettrace.xz"))
            path = test_nettrace.write(folder, name + ".nettrace", data)
            decoded = nettrace_decode.decode(data, True)
            with open(os.path.join(DATA, name + ".truth.json"), encoding="utf-8") as file:
                truth = json.load(file)
            tap.check(len(decoded["heap"]) >= 4, name + ": there are collections")
            tap.attempt(name + ": importer and decoder",
                        lambda: expect_moments(path, from_decoder(decoded)))
            tap.attempt(name + ": samples", lambda: test_nettrace.expect_equal(path, decoded))
            tap.attempt(name + ": truth", lambda: expect_truth(path, truth))
            tap.attempt(name + ": report", lambda: expect_reported(path))
        path = test_nettrace.unpack("small-and-big", folder)
        tap.attempt("a trace without figures", lambda: expect_moments(path, []))
        tap.attempt("and what is said of it", lambda: expect_not_reported(path))


# ---- made


class Trace:
    """A file of collections: times are in ticks, and count up by themselves."""

    def __init__(self, form="4", pointer=8, frequency=10**9, block_events=100):
        self.writer = nettrace_write.Writer(form, pointer, frequency, block_events=block_events)
        self.time, self.number, self.frequency, self.expected = 0, 0, frequency, []

    def next(self):
        self.time += 10
        return self.time

    def expect(self, generations, committed=None):
        """As of the last event."""
        self.expected.append((self.time * 10**9 // self.frequency,
                              parts_of(generations, committed)))

    def start(self, thread, committed=(99 * MIB, 0, 0, 0, 0)):
        self.number += 1
        self.writer.gc_start(self.number, thread=thread, time=self.next())
        self.writer.gc_dynamic(nettrace_write.committed(*committed), thread=thread,
                               time=self.next())

    def end(self, thread, generations, committed=None, version=2):
        if committed is not None:
            self.writer.gc_dynamic(nettrace_write.committed(*committed), thread=thread,
                                   time=self.next())
        self.writer.gc_end(self.number, thread=thread, time=self.next())
        self.writer.gc_stats(nettrace_write.heap_stats(generations, version), version,
                             thread=thread, time=self.next())

    def blocking(self, generations, committed, thread=7):
        self.start(thread)
        self.end(thread, generations, committed)
        self.expect(generations, committed)

    def sample(self, thread=7):
        self.writer.sample(16, "T", 64, 8, thread=thread, time=self.next())

    def finish(self, folder, name="made"):
        return test_nettrace.write(folder, name + ".nettrace", self.writer.finish())


SIZES = (1, 200, 3000, 40000, 500000)
USED = (MIB, 3, 50, 700, 9000)


def expect_kinds(folder, form, pointer, frequency):
    trace = Trace(form, pointer, frequency, block_events=5)
    trace.blocking(SIZES, USED)
    trace.sample()
    trace.blocking((0, 0, 0, 0, 0), (0, 0, 0, 0, 0))
    # A background collection, asked for by one thread and ended by another, and one in between.
    trace.start(7)
    trace.blocking(SIZES[::-1], USED)
    trace.end(8, SIZES)
    trace.expect(SIZES)
    # Server GC: it may begin on one thread and end on another that has begun one before.
    trace.start(8)
    trace.start(7)
    trace.end(8, SIZES, USED)
    trace.expect(SIZES, USED)
    # A background collection that ends on a thread that has ended another one.
    trace.start(7)
    trace.end(8, SIZES)
    trace.expect(SIZES)
    # The collector's tuning speaks in between.
    trace.start(7)
    for name in ("SizeAdaptationSample", "CommittedUsage2", "CommittedUsag", ""):
        trace.writer.gc_dynamic(nettrace_write.dynamic(name, bytes(42)), thread=7,
                                time=trace.next())
    trace.end(7, SIZES, USED)
    trace.expect(SIZES, USED)
    expect_moments(trace.finish(folder), trace.expected)


def expect_versions(folder):
    trace = Trace()
    for version in (0, 1):
        trace.start(7)
        trace.end(7, SIZES[:4], version=version)
        trace.expect(SIZES[:4])
    trace.start(7)  # a version that is not known
    trace.end(7, SIZES, USED, version=3)
    trace.start(7)
    trace.writer.gc_dynamic(nettrace_write.committed(*USED, version=2), thread=7,
                            time=trace.next())
    trace.end(7, SIZES)
    trace.expect(SIZES)
    expect_moments(trace.finish(folder), trace.expected)


def expect_short(folder):
    """Payloads of every length; what is too long is a later version's."""
    trace = Trace(block_events=50)
    stats, used = nettrace_write.heap_stats(SIZES), nettrace_write.committed(*USED)
    trace.sample()
    for length in range(len(stats) + 3):
        trace.writer.gc_stats((stats + bytes(3))[:length], thread=7, time=trace.next())
        if length >= len(stats):
            trace.expect(SIZES)
    for length in range(len(used) + 3):
        trace.writer.gc_dynamic((used + bytes(3))[:length], thread=7, time=trace.next())
        trace.end(7, SIZES)
        # The instance of the runtime, the last two bytes, is not needed.
        trace.expect(SIZES, USED if length >= len(used) - 2 else None)
    path = trace.finish(folder)
    expect_moments(path, trace.expected)
    report = profiled.report(path)
    profiled.expect((report["samples"], report["lost"]) == (1, 0), "samples %s, lost %s" % (
        report["samples"], report["lost"]))
    profiled.expect("lower_bound" not in report["totals"]["allocated"]["bytes"], "a lower bound")


def expect_absurd(folder):
    trace = Trace(block_events=50)
    for absurd in (ADDRESSES + 1, 1 << 63, (1 << 64) - 1):
        for i in range(5):
            strange = [*SIZES[:i], absurd, *SIZES[i + 1:]]
            trace.start(7)
            trace.end(7, strange, USED)
            strange = [*USED[:i], absurd, *USED[i + 1:]]
            trace.start(7)
            trace.end(7, SIZES, strange)
            trace.expect(SIZES)
    # The largest that are believed: sums have room.
    trace.blocking((0, 0, 0, 0, ADDRESSES), [ADDRESSES] * 5)
    trace.start(7)
    trace.end(7, [ADDRESSES] * 5, [ADDRESSES] * 5)
    trace.expect([ADDRESSES] * 5)
    # More in generations than is in use: figures of two moments.
    trace.start(7)
    trace.end(7, SIZES, (sum(SIZES) - 1, *USED[1:]))
    trace.expect(SIZES)
    trace.blocking(SIZES, (sum(SIZES), *USED[1:]))
    expect_moments(trace.finish(folder), trace.expected)


def expect_order(folder, form):
    """Each thread's events ascend; those of several threads come one thread after the other."""
    choice = random.Random(3)
    threads = [100 + i % 5 for i in range(60)]
    choice.shuffle(threads)
    trace, expected = Trace(form, block_events=7), []
    for thread in (103, 100, 104, 101, 102):
        for i in range(60):
            if threads[i] == thread:
                trace.time = 1000 * i
                trace.blocking((i, *SIZES[1:]), USED, thread)
    expected = sorted(trace.expected, key=lambda moment: moment[0])
    profiled.expect(trace.expected != expected, "the events are in order")
    expect_moments(trace.finish(folder), expected)


def expect_lost(folder):
    """Of a collection some events are lost: what is told at its start is not taken for its end."""
    trace = Trace()
    generations, used = SIZES, USED
    for lost in range(1 << 5):
        trace.number += 1
        events = ((trace.writer.gc_start, (trace.number,)),
                  (trace.writer.gc_dynamic, (nettrace_write.committed(99 * MIB),)),
                  (trace.writer.gc_dynamic, (nettrace_write.committed(*used),)),
                  (trace.writer.gc_end, (trace.number,)),
                  (trace.writer.gc_stats, (nettrace_write.heap_stats(generations),)))
        for i, (write, words) in enumerate(events):
            write(*words, thread=1000 + lost, time=trace.next(), lost=lost >> i & 1)
        has = [not lost >> i & 1 for i in range(5)]
        if has[4]:
            # With the start's first event lost, and the end's figures too, nothing tells the two
            # apart.
            told = used if has[2] and has[3] and (has[1] or not has[0]) else None
            if not has[0] and has[1] and not has[2] and has[3]:
                told = (99 * MIB, 0, 0, 0, 0)
            trace.expect(generations, told)
    expect_moments(trace.finish(folder), trace.expected)


def expect_thinned(folder, count, highest):
    """`highest`: the number of the collection with the highest total."""
    trace = Trace(block_events=1000)
    for i in range(count):
        trace.blocking((i, 0, 0, 0, 0), (MIB + 7 * (i == highest), 0, 0, 0, 0))
    seen = moments_of(trace.finish(folder))
    numbers = [parts[0][2] for _, parts in seen]
    profiled.expect(all(moment in trace.expected for moment in seen), "a moment is made up")
    profiled.expect(len(set(numbers)) == len(numbers) <= MOMENTS_MAX, "%d kept" % len(numbers))
    profiled.expect({0, highest, count - 1} <= set(numbers), "one is missing of %d" % len(numbers))
    if count <= MOMENTS_MAX - 2:
        profiled.expect(len(numbers) == count, "%d kept of %d" % (len(numbers), count))
        return
    profiled.expect(len(numbers) >= MOMENTS_MAX // 2 - 2, "only %d kept" % len(numbers))
    regular = sorted(set(numbers) - {highest, count - 1})
    stride = min(b - a for a, b in zip(regular, regular[1:]))
    profiled.expect(all(number % stride == 0 for number in regular), "not regular: %s" % numbers[:20])
    steps = [b - a for a, b in zip(numbers, numbers[1:])]
    profiled.expect(max(steps) <= stride, "a hole of %d, stride %d" % (max(steps), stride))


def expect_latest(folder):
    """The latest one stands before others in the file, and is none of those that are kept anyway."""
    trace = Trace(block_events=1000)
    for i in range(2000):
        trace.blocking((i, 0, 0, 0, 0), (MIB, 0, 0, 0, 0))
        if i == 1200:
            latest = trace.time + 10**6
            trace.writer.gc_end(1, thread=8, time=latest - 10)
            trace.writer.gc_stats(nettrace_write.heap_stats(SIZES), thread=8, time=latest)
    seen = moments_of(trace.finish(folder))
    profiled.expect(seen[-1] == (latest, parts_of(SIZES)), "the last one is %s" % (seen[-1],))
    profiled.expect(len(seen) <= MOMENTS_MAX, "%d kept" % len(seen))


def expect_same_time(folder):
    """Of collections at one time, as a coarse clock has them, the last one counts, and sums of absurd ones stay what they are."""
    trace = Trace(frequency=100)  # ten events are a second
    trace.blocking(SIZES, USED)
    for i in range(300):
        moment = trace.time
        trace.blocking((ADDRESSES - i, 0, 0, 0, i), (ADDRESSES, 0, 0, 0, MIB + i))
        trace.expected.pop()
        trace.time = moment
    trace.time += 10
    trace.writer.gc_end(trace.number, thread=9, time=trace.time)
    trace.blocking(SIZES[::-1], USED)
    path = trace.finish(folder)
    seen = moments_of(path)
    profiled.expect(len(seen) == 3 and seen[0] == trace.expected[0] and seen[-1] == trace.expected[-1] and
                    len(seen[1][1]) == len(parts_of(SIZES, USED)), "%d moments: %s" % (len(seen), seen[:3]))
    data = profiled.report(path, "--resident", "--metric", "peak")["resident"]
    profiled.expect(data["total_bytes"] == seen[1][1][-1][2] and data["total_bytes"] > ADDRESSES and
                    data["unexplained"]["estimate"] == 0, "%s" % data["total_bytes"])


def expect_no_samples(folder):
    """As of a runtime before .NET 10: figures, and no sample."""
    trace = Trace()
    trace.blocking(SIZES, USED)
    path = trace.finish(folder)
    expect_moments(path, trace.expected)
    profiled.expect(profiled.report(path)["samples"] == 0, "samples")


def test_made(tap):
    with profiled.directory() as folder:
        for form in nettrace_write.FORMS:
            for pointer, frequency in ((8, 10**9), (4, 10**7), (8, 3124099)):
                tap.attempt("kinds of collections, form %s, %d bits, %d ticks a second" % (
                    form, 8 * pointer, frequency),
                    lambda: expect_kinds(folder, form, pointer, frequency))
            tap.attempt("threads in any order, form " + form, lambda: expect_order(folder, form))
        tap.attempt("versions", lambda: expect_versions(folder))
        tap.attempt("short payloads", lambda: expect_short(folder))
        tap.attempt("absurd figures", lambda: expect_absurd(folder))
        tap.attempt("lost events", lambda: expect_lost(folder))
        tap.attempt("the latest", lambda: expect_latest(folder))
        tap.attempt("several at one time", lambda: expect_same_time(folder))
        tap.attempt("no samples", lambda: expect_no_samples(folder))
        for count, highest in ((1, 0), (2, 0), (1021, 3), (1022, 1021), (1023, 1), (1024, 5),
                               (1025, 1023), (2045, 777), (5001, 4999), (9000, 8999)):
            tap.attempt("%d collections" % count, lambda: expect_thinned(folder, count, highest))


# ---- damage


def test_damage(tap):
    with profiled.directory() as folder:
        for form in nettrace_write.FORMS:
            trace = Trace(form, block_events=6)
            for _ in range(3):
                trace.sample()
                trace.blocking(SIZES, USED)
            path = trace.finish(folder, "damage-" + form)
            tap.attempt("form %s: cut at every byte" % form,
                        lambda: test_nettrace.expect_cuts(path))
            tap.attempt("form %s: hostile lengths" % form,
                        lambda: test_nettrace.damage("lengths", path))


def main():
    tap = profiled.Tap()
    {"real": test_real, "made": test_made, "damage": test_damage}[sys.argv[1]](tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
