# SPDX-License-Identifier: MIT
"""Go with cgo: the tests of cgo that come with Go (callbacks, threads, signals, C memory), and a
program of this folder whose goroutines hand C memory to each other."""
import os
import re

from suite import FAILED, PASSED, SKIPPED, Suite, shell, tap

PIN = "1.19.8-2"
INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs")


class Go(Suite):
    name = "go-cgo"
    version = PIN
    binaries = {"golang-1.19-go": PIN, "golang-1.19-src": PIN}
    inputs = ("storm.go",)
    tools = ("gcc",)

    def built(self, name):
        return os.path.join(self.shared, self.name, name)

    def build(self):
        folder = os.path.join(self.shared, self.name)
        os.makedirs(folder, exist_ok=True)
        shell('rm -rf path; mkdir -p path/src; cp -r "$GOROOT/misc/cgo/test" path/src/cgotest; '
              'cp "$STORM" storm.go; export GO111MODULE=off GOPATH=$PWD/path GOCACHE=$PWD/cache '
              'GOFLAGS=-p=1 CGO_ENABLED=1; "$GOROOT/bin/go" build -o storm storm.go; '
              'cd path/src/cgotest; "$GOROOT/bin/go" test -c -o ../../../cgotest .', folder,
              GOROOT=os.path.join(self.root, "usr/lib/go-1.19"),
              STORM=os.path.join(INPUTS, "storm.go"))

    def command(self, only=None):
        return ["sh", "-c", '"$0"; echo "RESULT $?"; cd "$2"; "$1" -test.v; echo "RESULT $?"',
                self.built("storm"), self.built("cgotest"), self.built("path/src/cgotest")]

    def outcomes(self, output):
        kinds = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}
        found = tap(output)
        for kind, name in re.findall(r"^ *--- (PASS|FAIL|SKIP): (\S+)", output, re.MULTILINE):
            found[name] = kinds[kind]
        for number, status in enumerate(re.findall(r"^RESULT (\d+)$", output, re.MULTILINE)):
            found["program %d ends" % number] = PASSED if status == "0" else FAILED
        return found


def suites(packages, folder):
    return [Go(packages, folder)]
