#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The importer of Go's heap profiles in their text form: test_go_text.py made|truth|damaged.

made     files that tests/pprof/go_text_write.py makes: samples come back one for one, what is absent is refused,
         and what cannot be read or not be told is one clear line.
truth    what Go's own runtime wrote in both forms, one after the other, without a garbage collection that ended
         between them, so that both have the same samples: every figure is the same, and intervals cover what is true.
damaged  files that are cut off or changed, at places that a recorded seed chooses: a command reads them or refuses
         them in one line, and is never ended by a signal.

How often `truth` fails though all is well: it compares sixteen intervals of 95 % with what is true, and as many may
miss as a binomial law exceeds with probability 1e-6 / 5 at most (tests/pprof/test_pprof.py). The file is recorded, so
the rate is that of having chosen it.
"""
import gzip
import json
import os
import random
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "scenario"))

import go_text_write  # noqa: E402
import profiled  # noqa: E402
import test_pprof  # noqa: E402
from test_pprof import BUCKETS, DATA, expect_all_known, expect_equal, expect_snapshot, numbers, refused, write  # noqa: E402

TEXT = os.path.join(DATA, "go-1.26-text.txt")
BINARY = os.path.join(DATA, "go-1.26-text.pb.gz")
SEED = 20262
FLIPS, CUTS = 150, 40


def bucket_file(folder, name="made.txt", **settings):
    writer = go_text_write.Writer(**settings)
    for function, size, allocated, live in BUCKETS:
        writer.bucket((function, "main.run", "runtime.main"), size, allocated, live)
    return write(folder, writer.finish(), name)


# ---- made ----

def expect_samples(folder):
    for twice in (1048576, 8192, 2):
        path = bucket_file(folder, twice=twice)
        expect_equal(numbers(path, "allocated"), {b[0]: b[2] for b in BUCKETS}, "allocated")
        expect_equal({k: v for k, v in numbers(path, "live").items() if v},
                     {b[0]: b[3] for b in BUCKETS if b[3]}, "live")
        expect_equal(profiled.report(path)["intervals"], [twice // 2], "interval")


def expect_packed(folder):
    with open(bucket_file(folder), "rb") as file:
        path = write(folder, gzip.compress(file.read(), mtime=0), "packed.txt.gz")
    expect_equal(numbers(path, "allocated"), {b[0]: b[2] for b in BUCKETS}, "packed")


def stacks(path):
    return [[(frame["function"], frame["file"], frame["line"], frame["inlined"]) for frame in row["stack"]]
            for row in profiled.report(path, "--by", "stack", "--metric", "live")["rows"]]


def expect_inlined(folder):
    """Two stacks through one pc, of which one has an inlined call there; and a function that calls itself."""
    writer = go_text_write.Writer()
    line = "#\t0x401010\t%s+0x10\t/src/a.go:%d"
    writer.raw((2, 128, 2, 128), [0x401011], [line % ("in", 1), line % ("out", 2)])
    writer.raw((1, 64, 1, 64), [0x401011], [line % ("out", 2)])
    writer.raw((3, 192, 3, 192), [0x401011],
               [line % ("in", 1), line % ("again", 3), line % ("in", 1), line % ("again", 3)])
    places = {"in": ("in", "/src/a.go", 1, True), "out": ("out", "/src/a.go", 2, False),
              "again": ("again", "/src/a.go", 3, False)}
    expect_equal(stacks(write(folder, writer.finish())),
                 [[places["in"], places["again"]] * 2, [places["in"], places["out"]], [places["out"]]], "frames")


def expect_names(folder):
    """Names and files of any kind; lines without a name; a record without lines."""
    writer = go_text_write.Writer()
    writer.raw((4, 64, 4, 64), [0x1001],
               ["#\t0x1000\tmain.(*T[go.shape.struct { A int }]).f+0x2\t\t\tC:/a b/x:1:y.go:7"])
    writer.raw((3, 48, 3, 48), [0x2001], ["#\t0x2000\tmain.g+0x4\t/a.go"])
    writer.raw((2, 32, 2, 32), [0x3001], ["#\t0x3000"])
    writer.raw((1, 16, 1, 16), [0x4001], [])
    writer.raw((1, 8, 1, 8), [], [])
    found = stacks(write(folder, writer.finish()))
    expect_equal(found[:2], [[("main.(*T[go.shape.struct { A int }]).f", "C:/a b/x:1:y.go", 7, False)],
                             [("main.g", "/a.go", 0, False)]], "names")
    expect_equal([len(stack) for stack in found[2:]], [1, 1, 0], "frames")
    profiled.expect("3000" in found[2][0][0] and "400" in found[3][0][0], found[2:])


def expect_line_ends(folder):
    with open(bucket_file(folder), "rb") as file:
        path = write(folder, file.read().replace(b"\n", b"\r\n"), "crlf.txt")
    expect_equal(numbers(path, "allocated"), {b[0]: b[2] for b in BUCKETS}, "line ends")


def expect_interval(folder):
    """Sampling that was off at the end, and an interval that is not what samples were drawn with."""
    path = bucket_file(folder, twice=0)
    profiled.expect("--assume-interval" in refused(path), "interval 0")
    expect_equal(numbers(path, "allocated", "--assume-interval", "512k"), {b[0]: b[2] for b in BUCKETS}, "assumed")
    path = bucket_file(folder)
    once, again = (profiled.report(path, *options)["totals"]["live"]["bytes"]["estimate"]
                   for options in ((), ("--assume-interval", "4k")))
    profiled.expect(again < once / 2, "other interval: %s, %s" % (once, again))


def expect_lost(folder):
    """Records that are not of objects of one size, beside a good one; and none but such."""
    wrong = ((1, 10, 3, 32), (2, 32, 1, 16), (1, 17, 2, 32), (0, 0, 0, 16), (0, 0, 2, 0), (-1, -16, 1, 16),
             (0, 0, -1, -16), (1, 16, 0, 0), (2**62, 64, 2**62 + 1, 2**62 + 1))
    writer = go_text_write.Writer(mem_stats=False)
    writer.bucket(("good", "main"), 64, 10, 10)
    for figures in wrong:
        writer.raw(figures, [], [])
    data = profiled.report(write(folder, writer.finish()))
    expect_equal((data["losses"].get("buckets"), data["samples"]), (len(wrong), 10), "lost")
    for figures in wrong:
        writer = go_text_write.Writer()
        writer.raw(figures, [], [])
        line = refused(write(folder, writer.finish()))
        profiled.expect("of one size" in line, line)


def expect_time(folder):
    """The time of the last garbage collection, as of which the samples are."""
    result = profiled.run([profiled.BYTEPOLL, "export", "--to", "firefox", "-o", "-", bucket_file(folder)])
    expect_equal(json.loads(result.stdout)["meta"]["startTime"], 1700000000000, "time")


def expect_empty(folder):
    """A program that sampled nothing, and one of which all figures are 0."""
    path = write(folder, go_text_write.Writer().finish())
    expect_equal(profiled.report(path)["samples"], 0, "no records")
    writer = go_text_write.Writer()
    writer.bucket(("none", "main"), 64, 0, 0)
    expect_equal(profiled.report(write(folder, writer.finish()))["samples"], 0, "figures of 0")


def expect_twice(folder):
    path = bucket_file(folder)
    result = profiled.run([profiled.BYTEPOLL, "report", path, path])
    profiled.expect(result.status == 1 and b"name each file once" in result.stderr, result.stderr)


def expect_compared(folder):
    """Neither side tells the name of its program, which is then no difference."""
    one = bucket_file(folder, "one.txt")
    writer = go_text_write.Writer()
    writer.bucket(("small", "main.run", "runtime.main"), 16, 900, 900)
    two = write(folder, writer.finish(), "two.txt")
    for base in (one, BINARY):
        result = profiled.run([profiled.BYTEPOLL, "diff", base, two])
        profiled.expect(result.status == 0 and b"different names" not in result.stdout and
                        b"two.txt: 0 ms" in result.stdout, result.stdout + result.stderr)


def expect_refused(folder):
    for text in (b"heap_v2/524288\n", b"heap_v2/524288",
                 b"heap profile:    173:  36028608 [   698: 190418000] @ heapprofile\n",
                 b"heap profile: 1: 2 [1: 2] @ heapprofile\n     1:  2 [ 1: 2] @ 0x1 0x2\n",
                 b"heap profile: 1: 2 [ 1: 2] @ heap_v2/524288\n",
                 b"heap profile: 1: 2 [1: 2] @ heapz_v2/524288\n",
                 b"heap profile: 1: 2 [1: 2] @ heap/524288\n     1:  2 [ 1: 2] @ 0x1 0x2\n",
                 b"heap profile: 1: 2 [1: 2] @ heap/524288\n1: 2 [1: 2] @ 0x1 0x2\n\nMAPPED_LIBRARIES:\n"):
        line = refused(write(folder, text))
        profiled.expect("sums by stack" in line, "%r: %s" % (text, line))
    for text, words in ((b"goroutine profile: total 1\n1 @ 0x1\n", "no format known"),
                        (b"heap profile: 1: 2 [1:", "cut off"),
                        (b"heap profile: 1: 2 [1: 2] @ heap/1048576\n", "no whole record"),
                        (b"heap profile: 1: 2 [1: 2] @ heap/1048577\n", "line 1 "),
                        (b"heap profile: 1: 2 [1: 2] @ heap/99999999999999999998\n", "sums by stack"),
                        (b"heap profile: 1: 2 [1: 2] @ heap/9999999999999999998\n", "line 1 ")):
        line = refused(write(folder, text))
        profiled.expect(words in line and "made.pb.gz: " in line, "%r: %s" % (text, line))
    many = go_text_write.Writer(twice=2)
    many.bucket(("f",), 64, 5000000, 0)
    profiled.expect("more than 4000000 samples" in refused(write(folder, many.finish())), "many")


def expect_sums(folder):
    """A digit that is wrong, and a record that is missing, are seen by the sums of the first line."""
    with open(TEXT, "rb") as file:
        data = file.read()
    head, *records = data.split(b"\n\n")
    digits = removed = 0
    number = re.compile(rb"(?<=: )\d+(?=: \d+ \[)|(?<=\n)[1-9]\d*(?=: )|(?<=\[)\d+|(?<=: )\d+(?=\] @)")
    for found in number.finditer(data[:data.index(b"# runtime.MemStats")]):
        changed = data[:found.start()] + b"%d" % (int(found[0]) + 1) + data[found.end():]
        line = refused(write(folder, changed))
        profiled.expect("sums in its first line" in line, line)
        digits += 1
    for i in range(len(records) - 2):
        if b"0: 0 [0: 0]" in records[i]:
            continue
        line = refused(write(folder, b"\n\n".join([head, *records[:i], *records[i + 1:]])))
        profiled.expect("sums in its first line" in line, line)
        removed += 1
    profiled.expect(digits >= 20 and removed >= 4, "%d figures changed, %d records removed" % (digits, removed))


def test_made(tap):
    with profiled.directory() as folder:
        for name, action in (("samples", expect_samples), ("packed", expect_packed),
                             ("everything sampled", lambda place: expect_all_known(bucket_file(place, twice=2))),
                             ("absent", lambda place: expect_snapshot(bucket_file(place))),
                             ("inlined", expect_inlined), ("names", expect_names), ("line ends", expect_line_ends),
                             ("interval", expect_interval), ("lost records", expect_lost), ("time", expect_time),
                             ("nothing sampled", expect_empty), ("named twice", expect_twice),
                             ("compared", expect_compared), ("refused", expect_refused), ("sums", expect_sums)):
            tap.attempt(name, lambda: action(folder))


# ---- truth ----

def figures(path, *options):
    """What a report says, but for the file, the program and its modules, which the text form does not name."""
    data = profiled.report(path, "--rows", "1000", *options)
    for row in data["rows"]:
        for frame in row.get("stack", ()):
            frame.pop("module")
    return {key: data[key] for key in ("intervals", "law", "samples", "lost", "totals", "size_min", "losses",
                                       "rows", "warnings")}


def expect_same():
    for by in ("function", "line", "file", "size", "stack"):
        for metric in ("live", "allocated"):
            text, binary = (figures(path, "--by", by, "--metric", metric) for path in (TEXT, BINARY))
            profiled.expect(len(text["rows"]) > 0, "no rows by %s" % by)
            key = repr if by == "stack" else lambda row: row["name"]
            for data in (text, binary):
                data["rows"].sort(key=key)
            expect_equal(text, binary, "%s by %s" % (metric, by))


def expect_covers():
    with open(os.path.join(DATA, "go-1.26-text.truth.json")) as file:
        truth = {site["Function"]: (site["Size"], site["Objects"], site["Live"]) for site in json.load(file)}
    number = missed = 0
    for metric, column in (("allocated", 1), ("live", 2)):
        rows = [row for row in profiled.report(TEXT, "--metric", metric)["rows"] if row["name"] in truth]
        expect_equal(len(rows), len(truth), "sites")
        for found, wrong in test_pprof.misses(rows, truth, column).values():
            number += found
            missed += wrong
    test_pprof.expect_covers("text of Go", number, missed)


def expect_memory():
    """The figures of the runtime's memory are those of the file, and add up; owners are the rows of what lives."""
    with open(TEXT, encoding="ascii") as file:
        told = {name: int(value) for name, value in re.findall(r"^# (\w+) = (?:\d+ / )?(\d+)$", file.read(), re.M)}
    report = profiled.report(TEXT, "--resident")
    data = report["resident"]
    lines = {line["name"]: line["bytes"] for line in data["lines"]}
    profiled.expect(all(line["low"] == line["high"] == line["estimate"] for line in lines.values()), "%s" % lines)
    expect_equal({name: line["estimate"] for name, line in lines.items()}, {
        "objects, live or not swept yet": told["HeapAlloc"],
        "free in spans in use": told["HeapInuse"] - told["HeapAlloc"],
        "idle spans, not given back": told["HeapIdle"] - told["HeapReleased"],
        "stacks of goroutines and threads": told["Stack"], "descriptions of spans": told["MSpan"],
        "caches of processors": told["MCache"], "buckets of profiles": told["BuckHashSys"],
        "the collector's own": told["GCSys"], "other": told["OtherSys"]}, "lines")
    expect_equal((data["counted_by"], data["total_bytes"], data["given_back_bytes"], data["high_water_bytes"], "at" in data),
                 ("Go", told["Sys"] - told["HeapReleased"], told["HeapReleased"], told["MaxRSS"], False), "the rest")
    expect_equal(data["unexplained"]["estimate"], data["total_bytes"] - sum(line["estimate"] for line in lines.values()),
                 "what no line names")
    rows = profiled.report(TEXT, "--metric", "live", "--rows", "3")["rows"]
    expect_equal([(owner["name"], owner["bytes"]["estimate"]) for owner in data["lines"][0]["owners"]],
                 [(row["name"], row["bytes"]["estimate"]) for row in rows], "owners")
    text = profiled.run([profiled.BYTEPOLL, "report", "--resident", TEXT]).stdout.decode()
    profiled.expect("held by Go" in text and "ever had resident" in text, text)
    told_not = profiled.run([profiled.BYTEPOLL, "report", "--resident", BINARY])
    profiled.expect(told_not.status == 1 and b"heap?debug=1" in told_not.stderr, "%s" % (told_not,))


def test_truth(tap):
    tap.attempt("both forms say the same", expect_same)
    tap.attempt("recorded by Go", expect_covers)
    tap.attempt("the runtime's memory", expect_memory)


# ---- damaged ----

def tried(folder, data):
    """The report of a file: read, or refused in one line; its JSON or None."""
    result = profiled.run([profiled.BYTEPOLL, "report", "--json", write(folder, data, "damaged.txt")])
    lines = result.stderr.decode(errors="replace").splitlines()
    good = (result.status == 0 and not lines) or (result.status == 1 and len(lines) == 1 and not result.stdout)
    profiled.expect(good, "status %s, %s, of %r" % (result.status, lines[:3], data[:200]))
    return json.loads(result.stdout) if result.status == 0 else None


def read_text():
    with open(TEXT, "rb") as file:
        return file.read()


def expect_cut(folder):
    """Cut anywhere, a file has the samples of its whole records, and says that it is cut off."""
    data = read_text()
    places = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    places += random.Random(SEED).sample(range(1, len(data)), CUTS)
    memory = data.index(b"# runtime.MemStats\n") + len(b"# runtime.MemStats\n")
    all_samples = profiled.report(TEXT)["samples"]
    most = 0
    for place in sorted(places):
        report = tried(folder, data[:place])
        if report is None:
            profiled.expect(most == 0, "refused at %d, and read before" % place)
            continue
        samples = report["samples"]
        profiled.expect(most <= samples <= all_samples, "%d samples at %d" % (samples, place))
        most = samples
        cut = any("cut off" in warning for warning in report["warnings"])
        expect_equal(cut, place < memory, "cut off at %d" % place)
        if place >= memory:
            expect_equal(samples, all_samples, "samples at %d" % place)
    expect_equal(most, all_samples, "samples of the whole file")


def expect_flipped(folder):
    data, choice = read_text(), random.Random(SEED)
    read = 0
    for _ in range(FLIPS):
        changed = bytearray(data)
        for _ in range(choice.choice((1, 1, 5))):
            changed[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
        read += tried(folder, bytes(changed)) is not None
    profiled.expect(0 < read < FLIPS, "%d of %d were read" % (read, FLIPS))


def expect_hostile(folder):
    big, digits = b"x" * (1 << 20), b"9" * (1 << 20)
    head = b"heap profile: 1: 16 [1: 17] @ heap/1048576\n"
    record, end = b"1: 16 [1: 16] @ 0x1\n", b"\n\n# runtime.MemStats\n# Sys = 5\n"
    frame = b"#\t0x10\tf+0x1\t/a.go:1\n"
    for body in (record + b"#\t0x10\t" + big + b"+0x1\t/" + big + b":1\n", record + b"#" + big + b"\n",
                 record + b"#\t0x" + digits + b"\n", record + b"#\t0x10\tf+0x" + digits + b"\t/a.go:" + digits + b"\n",
                 b"1: 16 [1: 16] @" + b" 0x1" * (1 << 18) + b"\n", record + frame * 20000,
                 record + b"#\t0x0\tf+0x1\t/a:99999999999\n#\t0xffffffffffffffff\tg+0x0\t\n#\t0x8001000000000001\n",
                 b"1: 16 [1: 16] @ 0xffffffffffffffff 0x8001000000000000\n",
                 record + b"#\t0x10\t+0x1\t:1\n#\t0x10\t\t\n#\t\n#\n#\t0x\n",
                 record + b"#\t0x10\t\xff\0\x1b[31m+0x1\t\x80:1\n",
                 b"\n\n\n" + record + frame, frame + record, record):
        profiled.expect(tried(folder, head + body + end) is not None, "refused: %r" % body[:80])
    for body in (digits + b": 16 [1: 16] @ 0x1\n", b"1: 16 [1: 16] @ 0x1 zero\n", b"1: 16 [1: 16]\n", big + b"\n",
                 b"1: 16 [1: 9223372036854775808] @\n", b"- 1: 16 [1: 16] @\n", b"\0\n",
                 b"1: 16 [1: 16] @ 0x" + digits + b"\n"):
        profiled.expect(tried(folder, head + record + frame + b"\n" + body + end) is None, "read: %r" % body[:80])
    huge = b"9223372036854775807"
    for changed in (b"heap profile: %s: %s [%s: %s] @ heap/1048576\n" % (huge, huge, huge, huge),
                    b"heap profile: 0: 0 [0: 0] @ heap/9223372036854775806\n"):
        tried(folder, changed + b"%s: %s [%s: %s] @\n" % (huge, huge, huge, huge) + frame + end)
        tried(folder, changed + b"1: %s [1: %s] @\n" % (huge, huge) * 9 + frame)


def test_damaged(tap):
    with profiled.directory() as folder:
        for name, action in (("cut off", expect_cut), ("flipped bits", expect_flipped), ("hostile", expect_hostile)):
            tap.attempt(name, lambda: action(folder))


def main():
    tap = profiled.Tap()
    {"made": test_made, "truth": test_truth, "damaged": test_damaged}[sys.argv[1]](tap)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
