# SPDX-License-Identifier: MIT
"""SQLite's Tcl tests: its testfixture, which is the library with the test commands inside, over
the files of its `veryquick` set that are about memory, big queries, threads and the shell."""
import os
import re

from suite import FAILED, PASSED, Suite, shell

FILES = """
aggnested alter analyze atof1 attach autoinc avtrans backup bigfile2 bind blob boundary1 btree01
busy cast check coalesce collate1 conflict corrupt count createtab cse ctime cursorhint
date dbdata delete distinct e_createtable e_delete e_expr e_insert e_select e_update enc eval
exclusive existsexpr exists expr fkey1 fkey2 fts3aa fts3ab fts3conf fts4aa fts4merge func
having hook in incrblob incrvacuum index insert instr intarray join join2 journal1 json101
json102 laststmtchanges like limit loadext lock malloc5 memdb memjournal memsubsys1
minmax misc1 misc5 mmap1 mutex1 notify1 null orderby1 pager1 pagesize pragma printf printf2 quote
randexpr1 rollback rowid rtree savepoint schema select1 select2 select4 select6 selectA shared
shell1 shell2 shell3 shell4 shell5 sort sort2 stat subquery substr tableapi tclsqlite tempdb
thread001 thread002 thread003 thread004 thread1 thread2 trans trigger1 trigger2 types unique
update upfrom1 vacuum view vtab1 wal wal2 walbig walthread where where2 window1 with1 without_rowid1
zerodamage zeroblob
""".split()


class Sqlite(Suite):
    name = "sqlite"
    version = "3.40.1-2+deb12u2"
    sources = {"sqlite3": version}
    tools = ("gcc", "make", "tclsh")
    time_limit_s = 1800

    def build(self):
        # The headers and library of Tcl are wherever tclsh says that they are.
        shell("./configure --quiet && make -s testfixture sqlite3", self.tree)

    def command(self, only=None):
        files = FILES
        if only:
            files = sorted({self.file_of(test) for test in only})
        there = [name for name in files
                 if os.path.exists(os.path.join(self.tree, "test", name + ".test"))]
        script = ('for file in "$@"; do echo "FILE $file"; timeout 300 "%s/testfixture" '
                  '"%s/test/permutations.test" veryquick "$file.test" 2>&1; '
                  'echo "ENDED $?"; done' % (self.tree, self.tree))
        return ["sh", "-c", script, "sh", *there]

    @staticmethod
    def file_of(test):
        return test.split(" ", 1)[0]

    def outcomes(self, output):
        """Lines `name... Ok`, behind the dots of a test that waits for threads."""
        found, file = {}, "?"
        for line in output.splitlines():
            begins = re.match(r"FILE (\S+)$", line)
            if begins:
                file = begins.group(1)
            ended = re.match(r"ENDED (\d+)$", line)
            if ended:
                found[file + " ended"] = PASSED if ended.group(1) == "0" else FAILED
            match = re.match(r"\.*(\S+)\.\.\. Ok$", line)
            if match:
                found["%s %s" % (file, match.group(1))] = PASSED
            match = re.match(r"! (\S+) expected", line)
            if match:
                found["%s %s" % (file, match.group(1))] = FAILED
        return found


def suites(packages, folder):
    return [Sqlite(packages, folder)]
