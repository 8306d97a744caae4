# SPDX-License-Identifier: MIT
"""programs/watched.c from outside: running it under the recorder and telling it what to do."""
import os
import shutil
import signal
import subprocess

import profiled

LIMIT_S = 30


class Watched:
    """programs/watched.c under the recorder."""

    def __init__(self, path, interval, name=None):
        self.trace = os.path.join(path, "trace.bpt")
        program = profiled.program("watched")
        if name is not None:
            program = shutil.copy(program, os.path.join(path.encode(), name))
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=profiled.environment(self.trace, interval, seed=7), start_new_session=True)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.process.communicate()

    def tell(self, line):
        line = line if isinstance(line, bytes) else line.encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        profiled.expect(self.process.stdout.readline() == b"ok\n", "it does not obey")

    def end(self):
        self.process.stdin.close()
        self.process.stdin = None
        profiled.expect(self.process.wait(LIMIT_S) == 0, "it does not exit")
