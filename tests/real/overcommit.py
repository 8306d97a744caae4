#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs under the recorder on a machine that promises no memory it does not have.

    overcommit.py       (root; changes vm.overcommit_memory for a few seconds and puts it back)

With vm.overcommit_memory = 2 every private writable mapping counts against a limit of the machine, used
or not. The recorder reserves nothing it does not need: each program must print what it prints without it,
lose no sample, and commit at most 16 MiB more than unprofiled, in the parent and in a forked child.
Not part of `make test`: the setting is the whole machine's.
"""
import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402

MODE, RATIO = "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/overcommit_ratio"
MORE_KIB = 16 * 1024
# What a process has committed: private writable mappings, by the flag "ac" of the kernel.
COMMITTED = """
def committed():
    total = size = 0
    for line in open("/proc/self/smaps"):
        if line.startswith("Size:"):
            size = int(line.split()[1])
        elif line.startswith("VmFlags:") and " ac" in line:
            total += size
    return total
"""
PROGRAMS = {
    "python3": COMMITTED + "held = [bytes(1000 + i % 5000) for i in range(40000)]\n"
    "print(sum(map(len, held)))\nprint('kib', committed())\n",
    "python3, a child of a large parent": COMMITTED + "import os\n"
    "held = [bytes(3000) for i in range(200000)]\npid = os.fork()\n"
    "if pid == 0:\n    more = [bytes(2000) for i in range(20000)]\n    print(len(more))\n"
    "    print('kib', committed(), flush=True)\n    os._exit(7)\n"
    "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nprint('kib', committed())\n",
    "python3, 40 threads": COMMITTED + "import threading\nsums = []\n"
    "def work():\n    sums.append(sum(len(bytes(i)) for i in range(5000)))\n"
    "threads = [threading.Thread(target=work) for _ in range(40)]\n"
    "[t.start() for t in threads]\n[t.join() for t in threads]\nprint(sums)\nprint('kib', committed())\n",
}


@contextlib.contextmanager
def strict():
    before = [(path, open(path, encoding="ascii").read()) for path in (MODE, RATIO)]
    try:
        for path, value in ((RATIO, "100"), (MODE, "2")):
            with open(path, "w", encoding="ascii") as file:
                file.write(value)
        yield
    finally:
        for path, value in before:
            with open(path, "w", encoding="ascii") as file:
                file.write(value)


def split(output):
    """(what it prints, KiB committed by each of its processes)."""
    lines = output.decode().splitlines()
    return ([line for line in lines if not line.startswith("kib ")],
            [int(line.split()[1]) for line in lines if line.startswith("kib ")])


def check(tap, name, script, folder):
    trace = os.path.join(folder, "trace.bpt")
    words = ["/usr/bin/python3", "-c", script]
    extra = {"PYTHONMALLOC": "malloc"}
    plain = profiled.run(words, extra=extra)
    under = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "--force", "-i", "64K", "-o", trace,
                          "--", *words], extra=extra)
    profiled.expect(plain.status == 0 and under.status == 0, "%s, %s" % (plain, under))
    (lines, kib), (lines_under, kib_under) = split(plain.stdout), split(under.stdout)
    profiled.expect(lines == lines_under, "prints something else: %s" % lines_under)
    profiled.expect(len(kib) == len(kib_under) and kib, "no figures")
    for before, after in zip(kib, kib_under):
        profiled.expect(after - before <= MORE_KIB, "commits %d KiB, %d without" % (after, before))
    said = profiled.report(trace, "--metric", "allocated")
    profiled.expect(said["rows"] and profiled.lost(said) == 0, "lost: %s" % said["losses"])
    tap.note("%s: commits %s KiB, under the recorder %s" % (name, kib, kib_under))


def main():
    if not profiled.is_root():
        sys.exit("overcommit.py: changing vm.overcommit_memory needs root")
    tap = profiled.Tap()
    with profiled.directory() as folder, strict():
        for name, script in PROGRAMS.items():
            tap.attempt(name, lambda n=name, s=script: check(tap, n, s, folder))
    sys.exit(tap.finish())


if __name__ == "__main__":
    main()
