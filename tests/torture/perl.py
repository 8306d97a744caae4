# SPDX-License-Identifier: MIT
"""Perl's core tests (operators, regular expressions, input and output, forks and threads), from its
source package, under Debian's perl of the same version."""
import os
import re
import shutil

from suite import FAILED, PASSED, SKIPPED, Suite

PIN = "5.36.0-7+deb12u3"
FOLDERS = "base comp cmd io re op uni mro lib class".split()
# Each longer than all of a folder, or about perl's own build tree.
LEFT_OUT = ("op/time_loop", "re/uniprop", "re/fold_grind", "re/pat_psycho", "op/sigdispatch",
            "io/eintr", "re/speed", "re/uniprops", "op/readline_nb", "bigmem", "re/overload_rx")

RUNNER = r"""
for test in "$@"; do
	timeout 100 ./perl "$test" > "$OUT" 2>&1 < /dev/null; status=$?
	good=$(grep -c '^ok ' "$OUT"); bad=$(grep '^not ok ' "$OUT" | grep -vci '# todo')
	echo "RESULT $test $status $good $bad"
done
"""


class Perl(Suite):
    name = "perl"
    version = PIN
    sources = {"perl": PIN}
    binaries = dict.fromkeys(("perl-base", "perl", "perl-modules-5.36", "libperl5.36"), PIN)
    tools = ()
    time_limit_s = 1200

    def command(self, only=None):
        """Tests want ./perl and ../lib beside them."""
        work = os.path.join(self.folder, "work")
        os.makedirs(work)
        os.symlink(os.path.join(self.root, "usr/bin/perl"), os.path.join(work, "perl"))
        share, archive = (os.path.join(self.root, "usr", part) for part in ("share/perl", "lib/x86_64-linux-gnu"))
        folders = [archive + "/perl-base", archive + "/perl/5.36.0", share + "/5.36.0"]
        for folder in folders:
            shutil.copytree(folder, os.path.join(work, "lib"), dirs_exist_ok=True)
        shutil.copytree(os.path.join(self.tree, "t"), os.path.join(work, "t"))
        os.symlink("../perl", os.path.join(work, "t", "perl"))
        tests = sorted({name.split(":")[0] for name in only}) if only else sorted(
            "%s/%s" % (folder, name) for folder in FOLDERS
            for name in self.names(folder) if name.endswith(".t") and
            not ("%s/%s" % (folder, name)).startswith(LEFT_OUT) and "bigmem" not in name)
        return ["env", "OUT=" + os.path.join(self.folder, "out"), "PERL5LIB=" + ":".join(reversed(folders)),
                "LD_LIBRARY_PATH=" + archive, "sh", "-c", "cd work/t && " + RUNNER, "sh", *tests]

    def names(self, folder):
        path = os.path.join(self.tree, "t", folder)
        return os.listdir(path) if os.path.isdir(path) else []

    def outcomes(self, output):
        """A file with its numbers of good and bad tests: all must be the same."""
        found = {}
        for name, status, good, bad in re.findall(r"^RESULT (\S+) (\d+) (\d+) (\d+)$", output,
                                                  re.MULTILINE):
            found[name] = (SKIPPED if good == "0" and status == "0" else
                           PASSED if status == "0" and bad == "0" else FAILED)
            found["%s: %s ok, %s not" % (name, good, bad)] = found[name]
        return found


def suites(packages, folder):
    return [Perl(packages, folder)]
