# SPDX-License-Identifier: MIT
"""The fine start against the default interval throughout: samples, the width of the peak, and the CPU time of the
programs with their long and their short input, of a server with a process for each connection, and of make."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from harness import DEFAULT, Failed, interval_of_median, median, table, verdict, with_interval
from workloads import PROGRAMS

INTERVALS = {"fixed": DEFAULT, "fine": None, "again": DEFAULT}
MOST_MS = 10.0  # once per process
MOST_SHARE = 0.01  # of its CPU time
FILES = 12


def peak(bench, trace):
    """Samples, and the half width of the peak's interval as a part of its estimate."""
    data = json.loads(subprocess.run([bench.bytepoll, "report", trace, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    total = data["totals"]["peak"]["bytes"]
    width = (total["high"] - total["low"]) / 2 / total["estimate"] if total["estimate"] else 0
    return data["samples"], width


def added_ms(runs, variant):
    """Milliseconds of CPU time that a run took beyond its neighbour at the default interval."""
    return [1000 * (a.cpu_s - b.cpu_s) for a, b in zip(runs[variant], runs["fixed"])]


def judged(milliseconds, cpu_s, processes=1):
    """Both limits: each process may take 10 ms once, and a part of its CPU time."""
    bound = max(MOST_MS * processes, 1000 * MOST_SHARE * cpu_s)
    return "%.1f" % bound, verdict(median(milliseconds), bound, interval_of_median(milliseconds))


def row_of(bench, program, short, rounds):
    """One program with one of its inputs."""
    program.run(bench, "unprofiled", short=short)  # makes its input
    figures = {}
    bench.seed = 1
    for variant in ("fixed", "fine"):
        kept = program.run(bench, "recorder", INTERVALS[variant], short=short, keep=True)
        figures[variant] = peak(bench, kept.trace)
        bench.drop(kept)
    runs = {variant: [] for variant in INTERVALS}
    for bench.seed in range(1, rounds + 1):  # what is sampled moves what the program has in its caches
        for variant, ran in bench.side_by_side(tuple(INTERVALS), lambda variant: program.run(
                bench, "recorder", INTERVALS[variant], short=short), 1).items():
            runs[variant] += ran
    bench.seed = 1
    cpu_s = median([run.cpu_s for run in runs["fixed"]])
    added = added_ms(runs, "fine")
    name = program.name + (", short" if short else "")
    bench.figures["fine start " + name] = {variant: [run.cpu_s for run in all_] for variant, all_ in runs.items()}
    return (name, "%d" % figures["fixed"][0], "%d" % figures["fine"][0], "%.1f %%" % (100 * figures["fixed"][1]),
            "%.1f %%" % (100 * figures["fine"][1]), "%.3f" % cpu_s, with_interval(added, "%+.1f"),
            *judged(added, cpu_s), with_interval(added_ms(runs, "again"), "%+.1f"))


def fine_start(bench):
    """One row per program and input."""
    rows = []
    rounds = bench.rounds if bench.quick else max(bench.rounds, 15)
    for short in (True, False):
        for program in PROGRAMS:
            if program.available():
                rows.append((program.name, program.available()))
            elif not (bench.quick and not short):
                rows.append(row_of(bench, program, short, rounds))
    table("The fine start against T = 512 KiB throughout",
          ("program", "samples at 512 KiB", "samples", "peak ± at 512 KiB", "peak ±", "CPU at 512 KiB, s",
           "added by the fine start, ms", "bound, ms", "verdict", "512 KiB again, ms"), rows,
          ("%d rounds with seeds from 1, the three runs of a round side by side on one processor; medians and their "
           "intervals. peak ±: half the width of its 95 %% interval, as a part of the estimate. The bound: %g ms, or "
           "%g %% of the CPU time."
           % (rounds, MOST_MS, 100 * MOST_SHARE),))
    processes(bench, 3 if bench.quick else 15)


# ---- many processes ----


class Run:
    """What a workload of many processes took."""

    def __init__(self, cpu_s):
        self.cpu_s = cpu_s


def environment(bench, folder, interval):
    """Profiled, every process of it."""
    trace = os.path.join(folder, "trace.bpt")
    return {**os.environ, "LC_ALL": "C", **bench.variables("recorder", interval, trace)}, trace


def children_cpu(command, folder, variables, **options):
    """CPU time of a command and all it waited for."""
    report = os.path.join(folder, "times")
    subprocess.run([shutil.which("bash"), "-c", 'times > /dev/null; "$@"; status=$?; times > "$0"; exit $status', report,
                    *command], check=True, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   **options)
    seconds = re.findall(r"(\d+)m([\d.]+)s", pathlib.Path(report).read_text(encoding="ascii").splitlines()[1])
    return sum(60 * int(minutes) + float(rest) for minutes, rest in seconds)


def sources(folder):
    """A small project: a dozen files of C, a library, a program."""
    names = ["part%d" % i for i in range(FILES)]
    for number, name in enumerate(names):
        lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
        lines += ["int %s_%d(int x) { char *p = malloc((size_t)x + %d); if (p == NULL) return 0; memset(p, x, (size_t)x);"
                  " int y = p[x / 2] * %d; free(p); return y; }" % (name, i, i + 1, number + 3) for i in range(60)]
        pathlib.Path(folder, name + ".c").write_text("\n".join(lines) + "\n", encoding="ascii")
    pathlib.Path(folder, "main.c").write_text("int part0_0(int); int main(void) { return part0_0(3) > 100000; }\n",
                                              encoding="ascii")
    pathlib.Path(folder, "Makefile").write_text(
        "OBJECTS = main.o %s\nprogram: $(OBJECTS)\n\tgcc -o $@ $(OBJECTS)\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n"
        % " ".join(name + ".o" for name in names), encoding="ascii")


def make(bench, interval):
    """`make -j2` of that project; profiled: make, the shells, gcc, cc1, as, collect2, ld."""
    with tempfile.TemporaryDirectory(dir=bench.scratch) as folder:
        sources(folder)
        variables, trace = environment(bench, folder, interval)
        cpu_s = children_cpu(["make", "-j2"], folder, variables, cwd=folder)
        return Run(cpu_s), count(bench, trace)


def count(bench, trace):
    """Samples and processes of a tree."""
    data = json.loads(subprocess.run([bench.bytepoll, "report", trace, "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    return data["samples"], len(data["processes"])


CONNECTIONS = 200


def postgres(bench, interval):
    """A server that forks a process for each connection; a connection for each transaction."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        as_user = []
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
            as_user = ["setpriv", "--reuid=nobody", "--clear-groups"]
        place = os.path.join(folder, "data")
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        initdb = shutil.which("initdb") or next(
            (str(path) for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")), "initdb")
        subprocess.run([*as_user, initdb, "-D", place, "-U", "bench", "--no-sync", "-A", "trust"], **quiet)
        variables, trace = environment(bench, folder, interval)
        given = ["env", *("%s=%s" % (name, variables[name]) for name in variables if os.environ.get(name) != variables[name])]
        server = [*as_user, *given, shutil.which("postgres") or initdb.replace("initdb", "postgres"), "-D", place, "-k", folder,
                  "-h", "", "-c", "fsync=off"]
        client = ["pgbench", "-h", folder, "-U", "bench", "postgres"]
        script = ('"$@" & server=$!; for i in $(seq 100); do psql -h "$0" -U bench -c "select 1" postgres '
                  '&& break; sleep .1; done; %s -i -s 1 && %s -C -c 2 -t %d; '
                  "kill -TERM $server; wait $server" % (" ".join(client), " ".join(client), CONNECTIONS // 2))
        cpu_s = children_cpu(["bash", "-c", script, folder, *server], folder, dict(os.environ), cwd=folder)
        return Run(cpu_s), count(bench, trace)


def processes(bench, rounds):
    """Rows of workloads of many processes; 10 ms for each process is their bound's sum."""
    rows = []
    for name, needs, run in (("make -j2, %d files" % (FILES + 1), ("make", "gcc"), make),
                             ("postgres, %d connections" % CONNECTIONS, ("postgres", "pgbench"), postgres)):
        missing = [need for need in needs if not shutil.which(need)]
        if missing:
            rows.append((name, missing[0] + " is not installed"))
            continue
        try:
            values = bench.rounds_of(tuple(INTERVALS), lambda variant, run=run: run(bench, INTERVALS[variant]), rounds)
        except (subprocess.CalledProcessError, OSError) as error:
            raise Failed("%s: %s" % (name, error)) from error
        runs = {variant: [run for run, _ in all_] for variant, all_ in values.items()}
        counts = {variant: [found for _, found in all_] for variant, all_ in values.items()}
        cpu_s = median([run.cpu_s for run in runs["fixed"]])
        added = added_ms(runs, "fine")
        tree = median([found[1] for found in counts["fine"]])
        rows.append((name, "%d" % tree, "%d" % median([found[0] for found in counts["fixed"]]),
                     "%d" % median([found[0] for found in counts["fine"]]), "%.2f" % cpu_s,
                     with_interval(added, "%+.0f"), "%+.2f" % (median(added) / tree),
                     *judged(added, cpu_s, tree), with_interval(added_ms(runs, "again"), "%+.0f")))
        bench.figures["fine start " + name] = {variant: [run.cpu_s for run in all_] for variant, all_ in runs.items()}
    table("The fine start in workloads of many processes",
          ("workload", "processes", "samples at 512 KiB", "samples", "CPU at 512 KiB, s", "added, ms",
           "added per process, ms", "bound, ms", "verdict", "512 KiB again, ms"), rows,
          ("%d rounds, one after the other, in rotating order; CPU time of all processes of the workload. The "
           "bound: %g ms for each process." % (rounds, MOST_MS),))
