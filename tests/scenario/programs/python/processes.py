# SPDX-License-Identifier: MIT
"""Children, threads and interpreters in all the ways that Python has, with the same output every time."""
import multiprocessing
import os
import subprocess
import sys
import threading


def work(count):
    kept = []

    def deep(depth):
        if depth:
            deep(depth - 1)
        else:
            kept.append([{} for _ in range(100)])
    for i in range(count):
        deep(i % 20)
    return len(kept)


def main():
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(work, [20, 30, 40]))
    print(subprocess.check_output([sys.executable, "-c", "print(sum(len(str(i)) for i in range(5000)))"]))
    sys.stdout.flush()
    if os.fork() == 0:
        threads = [threading.Thread(target=work, args=(50,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    print(os.wait()[1])
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        return
    other = interpreters.create()
    interpreters.run_string(other, "def of_another():\n  return [[] for _ in range(2000)]\nkept = of_another()\nprint(len(kept))")
    thread = threading.Thread(target=interpreters.run_string, args=(other, "more = of_another()"))
    thread.start()
    thread.join()


if __name__ == "__main__":
    main()
