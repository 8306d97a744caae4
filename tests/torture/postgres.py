# SPDX-License-Identifier: MIT
"""PostgreSQL's regression tests and pgbench against a cluster whose every process is under the
recorder (inputs/postgres_load.sh), as another user than root."""
import os
import re
import shutil
import subprocess

from suite import FAILED, PASSED, Suite, shell, tap

PIN = "15.18-0+deb12u1"
INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs")
NOBODY = 65534


class Postgres(Suite):
    name = "postgres"
    version = PIN
    sources = {"postgresql-15": PIN}
    binaries = {"postgresql-15": PIN, "postgresql-client-15": PIN, "libpq5": PIN,
                "postgresql-server-dev-15": PIN}
    inputs = ("postgres_load.sh",)
    tools = ("gcc", "setpriv")
    time_limit_s = 1500

    def bin(self):
        return os.path.join(self.root, "usr/lib/postgresql/15/bin")

    def libraries(self):
        return os.path.join(self.root, "usr/lib/postgresql/15/lib")

    def build(self):
        place = os.path.join(self.shared, self.name)
        os.makedirs(place, exist_ok=True)
        shell("cc -w -g -O2 -fPIC -shared -I %s -o regress.so %s" % (
            os.path.join(self.root, "usr/include/postgresql/15/server"),
            os.path.join(self.tree, "src/test/regress/regress.c")), place)
        for name in ("autoinc.so", "refint.so"):
            shutil.copy(os.path.join(self.libraries(), name), place)

    def command(self, only=None):
        os.chmod(self.folder, 0o777)
        words = ["sh", os.path.join(INPUTS, "postgres_load.sh"), self.bin(),
                 os.path.join(self.libraries(), "pgxs"), self.tree,
                 os.path.join(self.shared, self.name), self.folder]
        user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        return [*(user if os.geteuid() == 0 else []), "env", "LD_LIBRARY_PATH=" + os.path.join(
            self.root, "usr/lib/x86_64-linux-gnu"), *words]

    def outcomes(self, output):
        found = tap(output)
        for name, outcome in re.findall(r"^(?:test)? +(\S+) +\.\.\. (ok|FAILED)", output,
                                        re.MULTILINE):
            found["regress " + name] = PASSED if outcome == "ok" else FAILED
        for number in re.findall(r"^LOG (\d+)", output, re.MULTILINE):
            found["%s ended by a signal" % number] = PASSED
        return found

    def tidy(self):
        path = os.path.join(self.folder, "cluster", "postmaster.pid")
        if os.path.exists(path):
            with open(path) as file:
                subprocess.run(["kill", "-QUIT", file.readline().strip()], check=False)


def suites(packages, folder):
    return [Postgres(packages, folder)]
