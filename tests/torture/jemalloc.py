# SPDX-License-Identifier: MIT
"""jemalloc's own tests, built from its source. The integration tests are programs linked with
libjemalloc.so.2, whose malloc the recorder samples; they call it through every entry it has
(mallocx, rallocx, sdallocx, C++ operators). The unit tests have jemalloc linked in, and so run
unprofiled: the recorder must say so and leave them alone."""
import os
import re

from suite import FAILED, PASSED, SKIPPED, Suite, shell


class Jemalloc(Suite):
    name = "jemalloc"
    version = "5.3.0-1"
    sources = {"jemalloc": version}
    tools = ("gcc", "g++", "make")
    time_limit_s = 1200

    def build(self):
        shell("[ -e Makefile ] || ./configure --quiet --enable-prof >/dev/null; "
              "make -s tests_unit tests_integration >/dev/null 2>&1", self.tree)

    def directory(self):
        return self.tree

    def command(self, only=None):
        """What `make check` does with the programs, without make between them and us."""
        script = (
            "integration=$(ls test/integration/*.c test/integration/cpp/*.cpp | "
            "sed 's/\\.[cp]*$//' | sort)\n"
            "unit=$(ls test/unit/*.c | sed 's/\\.c$//' | sort)\n"
            "for conf in '' dirty_decay_ms:0,muzzy_decay_ms:0 prof:true; do\n"
            "  echo \"CONF $conf\"; MALLOC_CONF=$conf sh test/test.sh $integration; done\n"
            "for test in $unit; do [ -x $test ] && echo 'CONF unit' && sh test/test.sh $test; done")
        return ["sh", "-c", script]

    def outcomes(self, output):
        found, conf, program = {}, "", "?"
        for line in output.splitlines():
            if line.startswith("CONF "):
                conf = line[5:]
            match = re.match(r"=== (\S+) ===", line)
            if match:
                program = match.group(1)
                found["%s %s (program)" % (conf, program)] = FAILED
            match = re.match(r"(\w+) (?:\((\S+)\))?: (pass|skip|fail)$", line)
            if match:
                kind = {"pass": PASSED, "skip": SKIPPED, "fail": FAILED}[match.group(3)]
                name = "%s %s %s %s" % (conf, program, match.group(1), match.group(2) or "")
                found[name.strip()] = kind
            if re.match(r"--- pass: ", line):
                found["%s %s (program)" % (conf, program)] = PASSED
        return found


def suites(packages, folder):
    return [Jemalloc(packages, folder)]
