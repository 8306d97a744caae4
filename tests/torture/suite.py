# SPDX-License-Identifier: MIT
"""What the torture driver knows of a program: where it comes from, how its test suite is started,
and how the outcomes are read from what the suite prints. One file of this folder is one program;
each defines SUITES, a list of instances of classes made from Suite."""
import os
import re
import shutil
import subprocess

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Suite:
    """`sources` and `binaries` are pins, {Debian package: version}; `tools` what the machine must
    have beside, `inputs` files of inputs/. `explained` maps a pattern of test names to the reason
    why they may differ under the recorder, `losses` a pattern of reasons of loss to why they may
    occur; docs/torture.md says both at length."""
    name = "?"
    version = "?"
    sources, binaries = {}, {}
    inputs = ()
    tools = ("gcc", "make")
    time_limit_s = 900
    extra_environment = {}
    explained = {}
    losses = {}

    def __init__(self, packages, folder, name=None, **environment):
        self.name = name or self.name
        self.extra_environment = {**self.extra_environment, **environment}
        self.packages = packages
        self.folder = os.path.join(folder, "run", self.name)
        self.shared = os.path.join(folder, "build")
        self.tree = self.root = None

    def fetch(self):
        """Unpacks what is pinned: `tree` is the first source, `root` holds the binaries."""
        trees = [self.packages.source(name, pin) for name, pin in self.sources.items()]
        self.tree = trees[0] if trees else None
        self.root = self.packages.binaries(self.binaries) if self.binaries else None

    def build(self):
        """Makes what the pins do not bring; called once and again after a change of pins."""

    def fresh(self):
        """An empty folder for one run: the suite's working directory unless `command` says else."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o755)

    def directory(self):
        return self.folder

    def command(self, only=None):
        """The suite as argv, run in `directory()`; `only`: the parts that hold these tests, to
        repeat them."""
        raise NotImplementedError

    def outcomes(self, output):
        """{test: PASSED, FAILED or SKIPPED}, from standard output and error together."""
        raise NotImplementedError

    def tidy(self):
        """After a run, however it ended: what a suite leaves running by design."""


def shell(script, cwd, **environment):
    """A build step; fails loudly."""
    subprocess.run(["sh", "-ec", script], cwd=cwd, check=True, stdin=subprocess.DEVNULL,
                   env={**os.environ, "LC_ALL": "C.UTF-8", **environment})


def tap(text, prefix=""):
    """Outcomes of TAP lines; a name that comes twice gets its number."""
    found = {}
    for match in re.finditer(r"^(not )?ok (\d+)(?: *-? *(.*))?$", text, re.MULTILINE):
        bad, number, name = match.groups()
        name = prefix + (name or number)
        outcome = SKIPPED if re.search(r"# *skip", name, re.I) else FAILED if bad else PASSED
        if re.search(r"# *todo", name, re.I):
            outcome = SKIPPED
        name = re.split(r" *# *(?:skip|todo)", name, flags=re.I)[0].strip()
        found[name if name not in found else "%s [%s]" % (name, number)] = outcome
    return found
