# SPDX-License-Identifier: MIT
"""Lua: the official tests of Lua 5.1 ("their main goal is to try to crash Lua"; Debian has them
inside another package's source) under Debian's lua5.1, and two C modules with tests of their own,
lpeg and cjson, built for lua5.4."""
import os
import re
import shutil

from suite import FAILED, PASSED, Suite, shell

GOPHER = ("golang-github-yuin-gopher-lua", "0.0~git20170915.0.eb1c729-5")

RUNNER = r"""
mkdir -p libs/P1
for test in *.lua; do
	LUA_PATH='?;./?.lua' LUA_INIT='package.path = "?;" .. package.path' \
		timeout 120 lua5.1 "$test" < /dev/null; echo "RESULT 5.1 $test $?"
done
cd "$MODULES/lpeg"
for round in 1 2 3; do LUA_CPATH=./?.so lua5.4 test.lua; echo "RESULT 5.4 lpeg $round $?"; done
cd "$MODULES/cjson/tests"
LUA_CPATH=../?.so LUA_PATH='../lua/?.lua;./?.lua' lua5.4 test.lua; echo "RESULT 5.4 cjson $?"
"""


class Lua(Suite):
    name = "lua"
    version = "5.1.5-9, 5.4.4-3+deb12u1"
    sources = {"lua-lpeg": "1.0.2-2", "lua-cjson": "2.1.0+dfsg-2.2"}
    binaries = {"lua5.1": "5.1.5-9", "lua5.4": "5.4.4-3+deb12u1",
                "liblua5.4-dev": "5.4.4-3+deb12u1"}
    tools = ("gcc", "perl")
    time_limit_s = 600

    def fetch(self):
        super().fetch()
        self.tests = os.path.join(self.packages.tarball(*GOPHER), "gopher-lua", "_lua5.1-tests")

    def build(self):
        modules = os.path.join(self.shared, self.name)
        shutil.rmtree(modules, ignore_errors=True)
        for name, version in self.sources.items():
            shutil.copytree(self.packages.source(name, version),
                            os.path.join(modules, name.split("-")[1]))
        include = "-I%s -I%s" % (os.path.join(self.root, "usr/include/lua5.4"),
                                 os.path.join(self.root, "usr/include/x86_64-linux-gnu"))
        shell("cc -w -g -O2 -fPIC -shared %s -o lpeg/lpeg.so lpeg/lp*.c; cd cjson; cc -w -g -O2 "
              "-fPIC -shared %s -o cjson.so lua_cjson.c strbuf.c fpconv.c; cd tests; "
              "perl genutf8.pl" % (include, include), modules)

    def command(self, only=None):
        shutil.copytree(self.tests, self.folder, dirs_exist_ok=True)
        return ["env", "PATH=%s:/usr/bin:/bin" % os.path.join(self.root, "usr/bin"),
                "MODULES=" + os.path.join(self.shared, self.name), "sh", "-c", RUNNER]

    def outcomes(self, output):
        return {name: PASSED if status == "0" else FAILED for name, status in
                re.findall(r"^RESULT (.*) (\d+)$", output, re.MULTILINE)}


def suites(packages, folder):
    return [Lua(packages, folder)]
