# SPDX-License-Identifier: MIT
"""mimalloc's own tests: of its interface, of how it fills memory, and its stress test, linked with
libmimalloc; then the stress test over the program's own malloc with libmimalloc preloaded, and its
programs that override malloc in C and C++."""
import os
import re

from suite import FAILED, PASSED, Suite, shell

RUNNER = r"""
check() { name=$1; shift; "$@"; echo "RESULT $name $?"; }
for test in api api-fill; do check $test "$BUILT/mimalloc-test-$test"; done
check stress "$BUILT/mimalloc-test-stress" 4 50 10
check stress-threads "$BUILT/mimalloc-test-stress" 32 20 10
check override-c "$BUILT/override-c"
check override-c++ "$BUILT/override-c++"
check preloaded-stress env "LD_PRELOAD=$LD_PRELOAD:$BUILT/libmimalloc.so" "$BUILT/stress" 4 50 10
check preloaded-override env "LD_PRELOAD=$LD_PRELOAD:$BUILT/libmimalloc.so" "$BUILT/override-system"
"""


class Mimalloc(Suite):
    name = "mimalloc"
    version = "2.0.9+ds-2"
    sources = {"mimalloc": version}
    tools = ("gcc", "g++", "cmake", "make")
    time_limit_s = 900

    def build(self):
        shell("mkdir -p $BUILT; cd $BUILT; cmake -DCMAKE_BUILD_TYPE=Release $TREE >/dev/null; "
              "make -s mimalloc mimalloc-test-api mimalloc-test-api-fill mimalloc-test-stress; "
              "flags=\"-O1 -w -pthread -I$TREE/include\"; "
              "link=\"-L. -lmimalloc -Wl,-rpath,$BUILT\"; "
              "gcc $flags -o override-c $TREE/test/main-override.c $link; "
              "g++ $flags -o override-c++ $TREE/test/main-override.cpp $link; "
              "gcc $flags -DUSE_STD_MALLOC -o stress $TREE/test/test-stress.c; "
              "gcc $flags -o override-system $TREE/test/main.c $link", self.tree,
              TREE=self.tree, BUILT=os.path.join(self.shared, self.name))

    def command(self, only=None):
        return ["env", "BUILT=" + os.path.join(self.shared, self.name), "sh", "-c", RUNNER]

    def outcomes(self, output):
        found = {name: PASSED if status == "0" else FAILED for name, status in
                 re.findall(r"^RESULT (\S+) (\d+)$", output, re.MULTILINE)}
        for name, outcome in re.findall(r"^test: ([^\n.]+)\.\.\.\s*(ok|failed)", output,
                                        re.MULTILINE):
            found[name] = PASSED if outcome == "ok" else FAILED
        return found


def suites(packages, folder):
    return [Mimalloc(packages, folder)]
