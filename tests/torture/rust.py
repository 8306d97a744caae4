# SPDX-License-Identifier: MIT
"""A Rust program and its tests: Debian's rg against ripgrep's integration tests, whose harness is
a threaded Rust program that Debian's rustc makes first; rustc too is under the recorder, and what
it makes must be the same bytes. (What wants other crates is left out: json.rs, and a listing of
directories for the eye.)"""
import os
import re
import shutil

from suite import FAILED, PASSED, SKIPPED, Suite

RUST = "1.63.0+dfsg1-2"

SCRIPT = r"""
mkdir -p target/deps
"$ROOT/usr/bin/rustc" --sysroot "$ROOT/usr" --edition 2018 --test -O -C codegen-units=2 \
	-o target/deps/integration tests.rs 2>/dev/null
echo "BUILT $? $(sha256sum < target/deps/integration)"
cp "$ROOT/usr/bin/rg" target/rg
./target/deps/integration --test-threads 4
echo "HARNESS $?"
./target/rg --sort path -c '\w+' "$ROOT/usr/share" | sha256sum | sed 's/^/TREE /'
"""


class Ripgrep(Suite):
    name = "ripgrep"
    version = "13.0.0-4"
    sources = {"rust-ripgrep": version}
    binaries = {"ripgrep": "13.0.0-4+b2", "rustc": RUST, "libstd-rust-1.63": RUST,
                "libstd-rust-dev": RUST, "libllvm14": "1:14.0.6-12"}
    tools = ("gcc",)

    def command(self, only=None):
        shutil.copytree(os.path.join(self.tree, "tests"), self.folder, dirs_exist_ok=True)
        self.edit("tests.rs", r"mod json;", "")
        self.edit("util.rs", r"(?s)walkdir::WalkDir.*?\.collect\(\)",
                  "vec![dir.as_ref().to_string_lossy().into_owned()]")
        return ["env", "ROOT=" + self.root, "LD_LIBRARY_PATH=" + os.path.join(
            self.root, "usr/lib/x86_64-linux-gnu"), "sh", "-c", SCRIPT]

    def edit(self, name, pattern, text):
        path = os.path.join(self.folder, name)
        with open(path) as file:
            edited, count = re.subn(pattern, text, file.read())
        assert count == 1, name
        with open(path, "w") as file:
            file.write(edited)

    def outcomes(self, output):
        kinds = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}
        found = {name: kinds[kind] for name, kind in
                 re.findall(r"^test (\S+) \.\.\. (ok|FAILED|ignored)", output, re.MULTILINE)}
        for what in ("BUILT", "HARNESS", "TREE"):
            match = re.search(r"^%s (.*)$" % what, output, re.MULTILINE)
            if match:
                found["%s %s" % (what, match.group(1))] = PASSED
        return found


def suites(packages, folder):
    return [Ripgrep(packages, folder)]
