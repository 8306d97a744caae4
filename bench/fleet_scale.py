#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What questions to a large store cost: `bench/fleet_scale.py BUILD [SAMPLES...]`, by hand, no part of `make bench`.

A store is made of a thousand hosts (--hosts N) that run for 24 hours each, with SAMPLES samples in all (1e6 1e7): four
real programs are recorded and exported, and DuckDB writes each host's tables from one of them, with the columns of the
export. A host repeats its program all day: its samples, frees, counters and readings are moved in time, and what lived
at the end of one repetition is freed with it, but for the last. How often is drawn for each host, from a lognormal
distribution of mean 1 and variation .3 (seeded), so that hosts differ as hosts do. Every tenth host has release 2.

Before anything is measured the store is tried: the samples and the counted total of the first host, which repeats its
program a whole number of times, are those of the recording so many times.

Measured are: bytes of each table by sample, what pushing takes by sample (`push` of a real recording), and for each
question the processor time of `bytepoll fleet` and DuckDB together, the largest resident memory of the larger one of
the two, and the time that it took, which the load of the machine lengthens. Slopes are those of log time over log
samples, from the smallest to the largest store. A store is removed before the next one is made (10^7
samples take 0.3 GB).

With --clickhouse PYTHON, a Python that has chdb (the engine of ClickHouse as a library), the same store is put into
ClickHouse's tables and the same questions are asked of them, by the server that tests use; its time is that of `bytepoll`
and the server together, its memory the server's.
"""
import argparse
import glob
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "scenario"))
import clickhouse_engine  # noqa: E402  # pylint: disable=wrong-import-position

SEED, DAY_NS, START_NS, VARIATION = 41, 86400 * 10 ** 9, 1769817600 * 10 ** 9, .3
TABLES = ("samples", "stacks", "frames", "threads", "counters", "readings", "intervals", "pauses", "processes")
COPIED = ("stacks", "frames", "pauses")
MEGABYTE = 1e6
# Names and T.
PROGRAMS = (("shop", 256 << 10), ("words", 8192), ("python", 512 << 10), ("threads", 256 << 10))


def run(words, **others):
    done = subprocess.run(words, capture_output=True, check=False, **others)
    if done.returncode != 0:
        sys.exit("%s failed: %s" % (" ".join(words[:6]), done.stderr.decode(errors="replace")[:600]))
    return done.stdout


def measured(words):
    """Seconds of the processor, MiB and seconds of a command with what it starts, and what it printed."""
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - began
        output.seek(0)
        text = output.read().decode(errors="replace")
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, wall_s, text


def query(sql, folder):
    with open(os.path.join(folder, "script.sql"), "w", encoding="utf-8") as file:
        file.write(sql)
    with open(file.name, encoding="utf-8") as file:
        return run(["duckdb", "-init", "/dev/null", "-batch", "-bail", "-csv", "-noheader"], stdin=file).decode()


class Program:
    """One that was recorded: its tables, how long it took and how many samples it has."""

    def __init__(self, build, root, folder, name, interval):
        self.name, self.tables = name, os.path.join(folder, name)
        self.trace = self.tables + ".bpt"
        bytepoll = os.path.join(build, "bytepoll")
        run([bytepoll, "run", "-q", "--seed", "1", "--interval", str(interval), "-o", self.trace, "--",
             *self.command(build, root, folder)])
        run([bytepoll, "export", self.trace, "--to", "parquet", "-o", self.tables])
        told = json.loads(run([bytepoll, "report", "--json", "--metric", "allocated", self.trace]))
        self.samples, self.allocated = told["samples"], told["totals"]["allocated"]["bytes"]["estimate"]
        self.length_ns = int(query("SELECT 1 + greatest(max(time_ns), max(freed_ns), (SELECT max(time_ns) FROM '%s')) FROM '%s'"
                                   % (self.table("readings"), self.table("samples")), folder))
        if int(query("SELECT count(*) FROM '%s'" % self.table("processes"), folder)) != 1:
            sys.exit("%s: several processes" % name)

    def command(self, build, root, folder):
        examples = os.path.join(root, "examples")
        if self.name in ("shop", "words"):
            program = os.path.join(folder, self.name + ".program")
            source = os.path.join(examples, self.name + (".cpp" if self.name == "shop" else ".c"))
            run(["g++" if self.name == "shop" else "gcc", "-g", "-O1", "-o", program, source])
            return [program, *(sorted(glob.glob(os.path.join(root, "src/tool/*/*.c"))) if self.name == "words" else [])]
        if self.name == "python":
            return ["/usr/bin/python3", os.path.join(examples, "records.py")]
        return [os.path.join(build, "tests/scenario/churn"), "4", "40000"]

    def table(self, name):
        return os.path.join(self.tables, name + ".parquet")


class Host:
    """The tables of one host, in SQL. `times`: how often its program runs in the day."""

    def __init__(self, number, program, times):
        self.number, self.program, self.times = number, program, times
        self.process = "%032x" % (number + 1)
        self.period_ns = DAY_NS / times

    def moment(self, column, repetition="r"):
        return "((%s + %s / %d.0) * %r)::BIGINT" % (repetition, column, self.program.length_ns, self.period_ns)

    def repeated(self, table, column):
        """Rows of a table and the repetition, r, up to the end of the day."""
        return "FROM '%s' t, range(%d) AS n(r) WHERE r + t.%s / %d.0 < %r" % (
            self.program.table(table), math.ceil(self.times), column, self.program.length_ns, self.times)

    def selects(self):
        same = "'%s' AS process" % self.process
        end = "coalesce(t.freed_ns / %d.0, 1) + r" % self.program.length_ns
        lives = "%s >= %r" % (end, self.times)
        counters = ", ".join("t.{0} + r * (SELECT max({0}) FROM '{1}' o WHERE o.thread = t.thread) AS {0}".format(
            column, self.program.table("readings")) for column in ("allocated_bytes", "allocated_objects"))
        yield "samples", ("SELECT t.* REPLACE (%s, %s AS time_ns, CASE WHEN %s THEN NULL ELSE least(%s, %d) END AS freed_ns, %s AS live) "
                          "%s ORDER BY time_ns" % (same, self.moment("t.time_ns"), lives, "((%s) * %r)::BIGINT" % (end, self.period_ns),
                                                   DAY_NS, lives, self.repeated("samples", "time_ns")))
        yield "readings", "SELECT t.* REPLACE (%s, %s AS time_ns, %s) %s ORDER BY thread, time_ns" % (
            same, self.moment("t.time_ns"), counters, self.repeated("readings", "time_ns"))
        read = "(SELECT max(o.{0}) FROM readings o WHERE o.thread = t.thread AND o.bound <> 2)"
        pairs = ["coalesce(%s, 0) AS %s%s" % (read.format(name), name, high) for name in ("allocated_bytes", "allocated_objects")
                 for high in ("", "_high")]
        yield "threads", "SELECT t.* REPLACE (%s, %s) FROM '%s' t" % (same, ", ".join(pairs), self.program.table("threads"))
        yield "intervals", "SELECT t.* REPLACE (%s, ceil(t.trials * %r)::BIGINT AS trials) FROM '%s' t" % (
            same, self.times, self.program.table("intervals"))
        total = "(SELECT sum({0})::BIGINT FROM threads)"
        sums = ["%s AS %s%s" % (total.format(name), name, high) for name in ("allocated_bytes", "allocated_objects")
                for high in ("", "_high")]
        whole = ", ".join("(t.%s * %r)::BIGINT AS %s" % (name, self.times, name) for name in ("unoffered_bytes", "unoffered_objects"))
        # (The totals of a second, for those who draw them; the last line is that of the end.)
        yield "counters", "SELECT %s, %d AS time_ns, %s" % (same, DAY_NS, ", ".join(sums))
        yield "processes", ("SELECT t.* REPLACE (%s, '%s' AS run, '' AS parent, 'shop%d' AS service, '%d' AS release, 'host%05d' AS host, "
                            "%d AS start_unix_ns, (10 ** 12)::BIGINT AS start_clock_ns, (10 ** 12)::BIGINT + %d AS end_clock_ns, %s, %s, "
                            "(SELECT sum(samples)::BIGINT FROM samples) AS samples, (SELECT sum(size)::BIGINT FROM samples) AS sampled_bytes) "
                            "FROM '%s' t" % (same, self.process, self.number % 4, 2 if self.number % 10 == 9 else 1, self.number, START_NS,
                                             DAY_NS, ", ".join(sums), whole, self.program.table("processes")))

    def script(self, store):
        folder = os.path.join(store, "host%05d" % self.number)
        os.mkdir(folder)
        for name in COPIED:
            shutil.copy(self.program.table(name), folder)
        lines = []
        for name, select in self.selects():
            lines.append("CREATE OR REPLACE TEMP TABLE %s AS %s;" % (name, select))
            lines.append("COPY %s TO '%s/%s.parquet' (FORMAT parquet, COMPRESSION zstd);" % (name, folder, name))
        return "\n".join(lines)


def make_store(folder, programs, hosts, samples):
    """The store, and the number of samples that it has."""
    draw, store = random.Random(SEED), os.path.join(folder, "store")
    os.mkdir(store)
    square = math.log1p(VARIATION ** 2)
    parts, first = [], None
    for number in range(hosts):
        program = programs[number % len(programs)]
        factor = math.exp(draw.gauss(0, math.sqrt(square)) - square / 2)
        times = max(1e-3, factor * samples / hosts / program.samples)
        host = Host(number, program, float(max(1, round(times))) if number == 0 else times)
        first = first or host
        parts.append(host.script(store))
    query("SET threads = 2;\n" + "\n".join(parts), folder)
    made = int(query("SELECT sum(samples) FROM read_parquet('%s/*/samples.parquet')" % store, folder))
    return store, made, first


def try_store(bytepoll, store, first):
    told = json.loads(run([bytepoll, "fleet", "top", os.path.join(store, "host00000"), "--metric", "allocated", "--json"]))
    wanted = first.program.samples * first.times, first.program.allocated * first.times
    got = told["samples"], told["totals"]["allocated"]["bytes"]["estimate"]
    if got[0] != wanted[0] or abs(got[1] - wanted[1]) > 1e-9 * wanted[1]:
        sys.exit("host 0 has %s samples and bytes, not %s" % (got, wanted))


QUESTIONS = (
    ("top, all hosts", ["top"]),
    ("top of one service", ["top", "--service", "shop1"]),
    ("top of one host", ["top", "--host", "host00005"]),
    ("top, allocated", ["top", "--metric", "allocated"]),
    ("top, an hour of each run", ["top", "--metric", "allocated", "--from", "10h", "--until", "11h"]),
    ("top, an hour of the day", ["top", "--metric", "allocated", "--from", "2026-01-31T10:00", "--until", "2026-01-31T11:00"]),
    ("tree", ["tree"]),
    ("growth, 6 h to 18 h", ["growth", "--from", "6h", "--until", "18h"]),
    ("diff of two releases", ["diff", "--base", "1", "--new", "2", "--metric", "live"]),
    ("check", ["check", "--limit", "live=1TiB"]),
    ("top, hosts are a sample", ["top", "--hosts", "sample"]),
    ("tree, hosts are a sample", ["tree", "--hosts", "sample"]),
    ("diff, hosts are a sample", ["diff", "--hosts", "sample", "--base", "1", "--new", "2", "--metric", "live"]),
)


def one_question(bytepoll, store, name, words):
    """Processor seconds, MiB and seconds."""
    status, cpu_s, mib, wall_s, text = measured([bytepoll, "fleet", words[0], store, *words[1:]])
    if status != 0 and not (words[0] == "check" and status in (1, 3)):
        sys.exit("%s: %s" % (name, text[:400]))
    return cpu_s, mib, wall_s


def ask(bytepoll, store, folder, root, questions):
    """Each question's processor seconds, MiB and seconds; one of SQL, too."""
    answers = {}
    for name, words in questions:
        answers[name] = one_question(bytepoll, store, name, words)
    path = os.path.join(folder, "macro.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write(".read '%s'\nSELECT * FROM bytepoll_top('%s') LIMIT 20;\n" % (
            os.path.join(root, "src/tool/fleet/sql/duckdb.sql"), store))
    status, cpu_s, mib, wall_s, text = measured(["duckdb", "-init", "/dev/null", "-batch", "-bail", "-f", path])
    if status != 0:
        sys.exit("bytepoll_top: %s" % text[:400])
    answers["SQL: bytepoll_top"] = (cpu_s, mib, wall_s)
    return answers


class ClickHouse(clickhouse_engine.Engine):
    """The engine of ClickHouse with the tables of a store."""
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.finish()

    def cpu_s(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def most_mib(self):
        """The largest resident size since the last call."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024
        with open("/proc/%d/clear_refs" % self.process.pid, "w", encoding="ascii") as file:
            file.write("5")
        return most

    def load(self, store):
        """Puts the store's tables into the engine's, each host as an attempt of push. Seconds of the processor, and bytes."""
        began = self.cpu_s()
        for table in TABLES:
            columns = [name for name, in self.sql("SELECT name FROM system.columns WHERE database = 'db' AND table = '%s' "
                                                  "ORDER BY position" % table) if not name.startswith("push")]
            added = ", '1'" if table == "processes" else ""
            self.sql("INSERT INTO {0} ({1}, push{2}) SELECT {1}, extract(_path, 'host[0-9]+'){3} FROM file('{4}/*/{0}.parquet')".format(
                table, ", ".join("`%s`" % name for name in columns), ", push_rows" if added else "", added, store))
        taken = self.cpu_s() - began
        return taken, int(self.sql("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'db'")[0][0])

    def ask(self, bytepoll, questions):
        answers = {}
        self.most_mib()
        for name, words in questions:
            began = self.cpu_s()
            cpu_s, _, wall_s = one_question(bytepoll, self.address, name, words)
            answers[name] = (cpu_s + self.cpu_s() - began, self.most_mib(), wall_s)
        began, clock = self.cpu_s(), time.monotonic()
        self.sql("SELECT * FROM bytepoll_top LIMIT 20")
        answers["SQL: bytepoll_top"] = (self.cpu_s() - began, self.most_mib(), time.monotonic() - clock)
        return answers


def same_totals(bytepoll, store, address):
    """Both engines give the same figures."""
    first, second = (json.loads(run([bytepoll, "fleet", "top", where, "--metric", "allocated", "--json"])) for where in (store, address))
    one, two = (told["totals"]["allocated"]["bytes"]["estimate"] for told in (first, second))
    if first["samples"] != second["samples"] or abs(one - two) > 1e-9 * one:
        sys.exit("ClickHouse: %s samples and %r bytes, not %s and %r" % (second["samples"], two, first["samples"], one))


def sizes(store):
    """Bytes of each table."""
    return {name: sum(os.path.getsize(path) for path in glob.glob(os.path.join(store, "*", name + ".parquet")))
            for name in TABLES}


def pushing(build, root, folder):
    """Samples, seconds of the processor, MiB, bytes of samples and readings of a push of one long recording."""
    trace, store = os.path.join(folder, "long.bpt"), os.path.join(folder, "pushed")
    bytepoll = os.path.join(build, "bytepoll")
    run([bytepoll, "run", "-q", "--seed", "1", "--interval", "256", "-o", trace, "--",
         os.path.join(build, "tests/scenario/churn"), "4", "200000"])
    samples = json.loads(run([bytepoll, "report", "--json", trace]))["samples"]
    _, cpu_s, mib, _, _ = measured([bytepoll, "push", trace, "--to", store])
    found = sizes(store)
    shutil.rmtree(store)
    return samples, cpu_s, mib, found["samples"] / samples, found["readings"] / samples, os.path.getsize(trace) / samples


def table(stores):
    """The rows, and how the time of each rises from the first store to the last."""
    print("| question |" + "".join(" %.2g samples: s, MiB |" % made for made, _, _ in stores) + " slope |")
    print("|---|" + "---:|" * (len(stores) + 1))
    (least, first, _), (most, last, _) = stores[0], stores[-1]
    for name in last:
        cells = ["%.1f, %.0f" % answers[name][:2] if name in answers else "" for _, answers, _ in stores]
        slope = "%.2f" % (math.log(last[name][0] / first[name][0]) / math.log(most / least)) \
            if name in first and len(stores) > 1 else ""
        print("| %s | %s | %s |" % (name, " | ".join(cells), slope))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("samples", nargs="*", type=float, default=[1e6, 1e7])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--clickhouse", metavar="PYTHON", help="a Python that has chdb: ask that engine, too")
    parser.add_argument("--folder", help="where stores are made (default: a temporary one)")
    given = parser.parse_args()
    if given.hosts < 20:
        parser.error("--hosts: 20 at least, so that each release has two")
    root, build = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.abspath(given.build)
    bytepoll, stores, others = os.path.join(build, "bytepoll"), [], []
    with tempfile.TemporaryDirectory(prefix="bytepoll-fleet-", dir=given.folder) as folder:
        programs = [Program(build, root, folder, name, interval) for name, interval in PROGRAMS]
        print("programs: " + ", ".join("%s %d samples" % (p.name, p.samples) for p in programs), file=sys.stderr)
        samples, cpu_s, mib, of_samples, of_readings, of_trace = pushing(build, root, folder)
        print("Push of a recording of %d samples: %.2f s of the processor for 10^6 samples, %.0f MiB; bytes a sample: trace %.1f, "
              "samples %.1f, readings %.1f.\n" % (samples, cpu_s / samples * 1e6, mib, of_trace, of_samples, of_readings))
        for wanted in given.samples:
            began = time.monotonic()
            store, made, first = make_store(folder, programs, given.hosts, wanted)
            try_store(bytepoll, store, first)
            print("%d samples made in %.0f s" % (made, time.monotonic() - began), file=sys.stderr)
            found = sizes(store)
            answers = ask(bytepoll, store, folder, root, QUESTIONS)
            stores.append((made, answers, found))
            print("%d hosts, %d samples: %.1f MB; bytes a sample: samples %.1f, readings %.1f, all others %.1f; times with the "
                  "load of the machine %s" % (
                      given.hosts, made, sum(found.values()) / MEGABYTE, found["samples"] / made, found["readings"] / made,
                      (sum(found.values()) - found["samples"] - found["readings"]) / made,
                      ", ".join("%s %.0f s" % (name, answer[2]) for name, answer in answers.items())), flush=True)
            if given.clickhouse:
                with ClickHouse(given.clickhouse) as engine:
                    load_s, size = engine.load(store)
                    same_totals(bytepoll, store, engine.address)
                    others.append((made, engine.ask(bytepoll, QUESTIONS), found))
                    print("ClickHouse: %.2f s of the processor for 10^6 samples to take them, %.1f bytes a sample; times with the load "
                          "of the machine %s" % (load_s / made * 1e6, size / made, ", ".join(
                              "%s %.0f s" % (name, answer[2]) for name, answer in others[-1][1].items())), flush=True)
            shutil.rmtree(store)
        for rows in filter(None, (stores, others)):
            print()
            table(rows)
        print("\n`bench/fleet_scale.py %s --hosts %d`: %s, load %.1f" % (
            " ".join("%.0e" % wanted for wanted in given.samples), given.hosts, time.strftime("%Y-%m-%d"), os.getloadavg()[0]))


if __name__ == "__main__":
    main()
