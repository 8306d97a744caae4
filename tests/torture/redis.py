# SPDX-License-Identifier: MIT
"""redis's own tests: servers by the hundred, forks for every save, replication, scripts, modest
memory limits, and an allocator that is asked for usable sizes. Four times: over glibc's malloc,
as Debian builds it (linked with jemalloc), with mimalloc and with TCMalloc preloaded."""
import os
import re
import shutil

from suite import FAILED, PASSED, SKIPPED, Suite, shell

PIN = "5:7.0.15-1~deb12u7"
UNITS = """
unit/printver unit/dump unit/auth unit/protocol unit/keyspace unit/scan unit/info
unit/info-command unit/type/string unit/type/incr unit/type/list unit/type/set unit/type/zset
unit/type/hash unit/type/stream unit/type/stream-cgroups unit/sort unit/expire unit/other
unit/multi unit/quit unit/aofrw unit/acl unit/latency-monitor
integration/aof integration/rdb integration/shutdown integration/logging integration/redis-cli
integration/redis-benchmark integration/corrupt-dump integration/dismiss-mem unit/pubsub
unit/slowlog unit/scripting unit/functions unit/maxmemory unit/introspection unit/limits
unit/obuf-limits unit/bitops unit/geo unit/memefficiency unit/lazyfree unit/querybuf unit/tracking
unit/oom-score-adj unit/client-eviction unit/replybufsize
""".split()
FEW = """
unit/dump unit/keyspace unit/type/list unit/type/zset unit/type/stream unit/aofrw integration/rdb
integration/aof unit/scripting unit/maxmemory unit/lazyfree unit/introspection
""".split()
# Each kind has ports of its own, so that two may run at a time.
KINDS = ("redis", "redis-jemalloc", "redis-mimalloc", "redis-tcmalloc")
BASE_PORT, PORTS = 23111, 2000
PROGRAMS = "redis-server redis-cli redis-benchmark redis-check-rdb redis-check-aof".split()


class Redis(Suite):
    version = "7.0.15-1~deb12u7"
    sources = {"redis": PIN}
    tools = ("gcc", "make", "tclsh")
    time_limit_s = 1800
    units = UNITS

    def build(self):
        if not os.path.exists(os.path.join(self.tree, "src", "redis-server")):
            shell("make -s MALLOC=libc CFLAGS='-g -O2' BUILD_TLS=no", self.tree)

    def prepare_tree(self):
        """A copy of the tests beside the programs under test: both write there."""
        shutil.copytree(os.path.join(self.tree, "tests"), os.path.join(self.folder, "tests"))
        for name in ("runtest", "redis.conf"):
            shutil.copy(os.path.join(self.tree, name), self.folder)
        os.makedirs(os.path.join(self.folder, "src"))
        for name in PROGRAMS:
            os.symlink(os.path.join(self.programs(), name),
                       os.path.join(self.folder, "src", name))

    def programs(self):
        return os.path.join(self.tree, "src")

    def command(self, only=None):
        self.prepare_tree()
        words = [word for unit in self.units for word in ("--single", unit)]
        return ["./runtest", "--clients", "4", "--timeout", "300", "--durable", "--baseport",
                str(BASE_PORT + PORTS * KINDS.index(self.name)), "--portcount", str(PORTS), *words]

    def outcomes(self, output):
        """A name may come several times: it counts as failed if it fails once."""
        found = {}
        kinds = {"ok": PASSED, "skip": SKIPPED, "ignore": SKIPPED}
        for kind, name in re.findall(r"^\[(ok|err|exception|skip|ignore|timeout)\]: (.*)$",
                                     re.sub(r"\x1b\[[0-9;]*m", "", output), re.MULTILINE):
            name = re.sub(r" \(\d+ ms\)$", "", name)
            name = re.sub(r" in tests/\S+\.tcl$", "", name)
            outcome = kinds.get(kind, FAILED)
            if found.get(name) != FAILED:
                found[name] = outcome
        return found


class Debian(Redis):
    """Debian's own build: libjemalloc.so.2 is what it is linked with."""
    binaries = {"redis-server": PIN, "redis-tools": PIN, "libjemalloc2": "5.3.0-1",
                "liblzf1": "3.6-3"}
    units = FEW

    def build(self):
        self.extra_environment = {}

    def programs(self):
        return os.path.join(self.root, "usr/bin")

    def command(self, only=None):
        libraries = os.path.join(self.root, "usr/lib/x86_64-linux-gnu")
        return ["env", "LD_LIBRARY_PATH=" + libraries, *super().command(only)]


class Preloaded(Redis):
    """The build over glibc's malloc, with another put before it."""
    units = FEW
    library = "?"

    def __init__(self, packages, folder, name, library, binaries):
        self.binaries = binaries
        super().__init__(packages, folder, name)
        self.library = library

    def fetch(self):
        super().fetch()
        self.extra_environment = {"LD_PRELOAD": os.path.join(
            self.root, "usr/lib/x86_64-linux-gnu", self.library)}


def suites(packages, folder):
    return [Redis(packages, folder, "redis"),
            Debian(packages, folder, "redis-jemalloc"),
            Preloaded(packages, folder, "redis-mimalloc", "libmimalloc.so.2.0",
                      {"libmimalloc2.0": "2.0.9+ds-2"}),
            Preloaded(packages, folder, "redis-tcmalloc", "libtcmalloc_minimal.so.4",
                      {"libtcmalloc-minimal4": "2.10-1"})]
