#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of another C library, musl, that a profiled program starts, or that are started with a bare
LD_PRELOAD: they must start and do as without the recorder, and so must glibc's programs below them, which are
profiled. Reports and `run` name them and say why nothing is known of them."""
import os
import subprocess
import sys

import profiled

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "other_libc.c")
WHY = b"its C library is not glibc"


def build(folder):
    names = []
    for compiler in ("gcc", "musl-gcc"):
        names.append(os.path.join(folder, "built-by-" + compiler))
        subprocess.run([compiler, "-O1", "-fno-builtin", "-pthread", "-D_GNU_SOURCE", SOURCE, "-o",
                        names[-1]], check=True)
    return names


def bare(arguments, interval):
    with profiled.directory() as path:
        trace = os.path.join(path, "trace.bpt")
        plain = profiled.run(arguments)
        profiled.expect(plain.status == 3, "unprofiled: %s" % (plain,))
        profiled.expect_same(plain, profiled.run(arguments, trace, interval))
        left = profiled.litter(path, trace)
        profiled.expect(not left, "litter: %s" % left)
        report = profiled.report(trace)
        profiled.expect(interval is None or report["samples"] > 10000, "too few samples")
        notes = profiled.run([profiled.BYTEPOLL, "report", trace]).stdout.replace(b"\n   ", b"")
        profiled.expect(b"built-by-musl-gcc (pid" in notes and WHY in notes, notes)


def words_of_run(glibc, musl):
    with profiled.directory() as path:
        result = profiled.run([profiled.BYTEPOLL, "run", "-o", os.path.join(path, "trace.bpt"), "--",
                               glibc, musl])
        profiled.expect(result.status == 3 and musl.encode() + b": " + WHY in result.stderr,
                        "%s: %s" % (result.status, result.stderr))


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        try:
            glibc, musl = build(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            tap.check(False, "gcc and musl-gcc build the program: run scripts/install-deps", error)
            return tap.finish()
        for interval in (None, 4096, 1):
            tap.attempt("musl below glibc at T = %s" % interval, lambda: bare([glibc, musl], interval))
            tap.attempt("glibc below musl at T = %s" % interval, lambda: bare([musl, glibc], interval))
        tap.attempt("what run says", lambda: words_of_run(glibc, musl))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
