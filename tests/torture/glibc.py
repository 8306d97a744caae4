# SPDX-License-Identifier: MIT
"""glibc's own tests of malloc, of threads and of processes, from its source package, built alone
against the machine's libc: the sharpest there are on what malloc must do. A test that does not
build outside glibc's own tree (it reaches into libc's inside) is left out; a program that defines
malloc itself (tst-interpose-*) is among those that do."""
import glob
import os
import re
import shutil
import subprocess

from suite import FAILED, PASSED, SKIPPED, Suite

# Headers of libc's inside that tests and their support include; those with a text stand for what
# a program cannot see.
HEADERS = {"array_length.h": "include", "libc-diag.h": "include", "intprops.h": "include",
           "libc-pointer-arith.h": "include", "scratch_buffer.h": "include",
           "stackinfo.h": "sysdeps/x86_64"}
OWN_HEADERS = {"config.h": "", "libc-config.h": "", "libc-symbols.h": "",
               "shlib-compat.h": "#define TEST_COMPAT(library, introduced, obsoleted) 0\n",
               "malloc-size.h": "#define MALLOC_ALIGNMENT 16\n"}
# Where glibc's Makefiles say that things are.
PLACES = {"OBJDIR_ELF_LDSO": "/lib64/ld-linux-x86-64.so.2", "INSTDIR": "/usr", "BINDIR": "/usr/bin",
          "LIBDIR": "/usr/lib", "SLIBDIR": "/lib", "SBINDIR": "/usr/sbin", "ROOTSBINDIR": "/sbin",
          "COMPLOCALEDIR": "/usr/lib/locale", "SYSCONFDIR": "/etc", "RUNTIME_LINKER": "/lib64"}
FLAGS = ["-w", "-g", "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-fno-builtin", "-fexceptions",
         "-pthread", "-Iinclude", "-include", "limits.h", "-DTIMEOUTFACTOR=3",
         "-Dlibc_hidden_def(x)=", "-Dlibc_hidden_proto(x)=", "-Dattribute_hidden=",
         *('-D%s_PATH="%s"' % place for place in PLACES.items())]
AUXILIARY = {"tst-interpose-nothread": "tst-interpose-aux-nothread",
             "tst-interpose-thread": "tst-interpose-aux-thread"}
# Longer than all others together, or meant for other surroundings; the first four make processes by
# the ten thousand, each of which would leave a trace.
LEFT_OUT = (
    "tst-arc4random-fork", "tst-mallocfork3", "tst-malloc-fork-deadlock",
    "tst-pthread-setuid-loop", "tst-interpose-static", "tst-interpose-aux",
    "tst-interpose-skeleton",
    "tst-getaddrinfo", "tst-rwlock1", "tst-eintr", "tst-stack2", "tst-stack3", "tst-stack4",
    "tst-gnuglob", "tst-create_format", "tst-mallocstate", "tst-mutexpi10", "tst-cond11",
    "tst-nice",
    "tst-pthread-gdb-attach", "tst-attr2", "tst-abstime", "tst-umask", "tst-secure-getenv")

FOLDERS = ("malloc", "sysdeps/pthread", "nptl", "posix", "stdlib")

RUNNER = r"""
for test in "$@"; do
	rm -rf "scratch"; mkdir scratch
	(cd scratch && TIMEOUTFACTOR=3 timeout -k 5 90 "$PROGRAMS/$test" > ../output 2>&1)
	echo "RESULT $test $?"
done
"""


class Glibc(Suite):
    name = "glibc"
    version = "2.36-9+deb12u14"
    sources = {"glibc": version}
    time_limit_s = 2400
    explained = {
        "tst-key[14]": "the recorder has one of the 1024 keys of thread-specific data",
        "tst-dynarray-fail": "it fills memory to the limit it set, and the recorder has room left for "
                             "an object that is sampled",
        "tst-mallinfo2": "mallinfo2 does not count objects that are sampled",
        "tst-tss-basic": "the test sets key 0 without creating it; the recorder's key is 0"}
    losses = {"slot_memory": "tst-malloc-thread-fail and tst-dynarray-fail leave no memory to have"}

    def __init__(self, packages, folder):
        super().__init__(packages, folder)
        self.place = os.path.join(self.shared, self.name)
        self.programs = os.path.join(self.place, "programs")
        self.extra_environment = {"PROGRAMS": self.programs}

    def compile(self, *arguments):
        return subprocess.run(
            ["gcc", *FLAGS, '-DSRCDIR_PATH="%s"' % self.tree, '-DOBJDIR_PATH="%s"' % self.place,
             "-idirafter", os.path.join(self.tree, "support"), *arguments], cwd=self.place,
            capture_output=True, check=False).returncode == 0

    def build(self):
        shutil.rmtree(self.place, ignore_errors=True)
        include = os.path.join(self.place, "include")
        for folder in (include, self.programs, os.path.join(self.place, "objects")):
            os.makedirs(folder)
        for folder in ("support", "malloc"):
            os.symlink(os.path.join(self.tree, folder), os.path.join(include, folder))
        for name, folder in HEADERS.items():
            shutil.copy(os.path.join(self.tree, folder, name), include)
        for name, text in OWN_HEADERS.items():
            with open(os.path.join(include, name), "w") as file:
                file.write(text)
        objects = []
        for source in glob.glob(os.path.join(self.tree, "support", "*.c")) + glob.glob(
                os.path.join(self.tree, "malloc", "scratch_buffer_*.c")):
            made = "objects/" + os.path.basename(source)[:-1] + "o"
            if not re.search(r"tst-|_main\.c|test-driver", source) or "support_test_main" in source:
                objects += [made] if self.compile("-c", source, "-o", made) else []
        subprocess.run(["ar", "rcs", "libsupport.a", *objects], cwd=self.place, check=True)
        for folder in FOLDERS:
            for source in glob.glob(os.path.join(self.tree, folder, "tst-*.c")):
                self.build_test(folder, source)

    def build_test(self, folder, source):
        name = os.path.basename(source)[:-2]
        text = open(source, errors="replace").read()
        if name.startswith(LEFT_OUT) or not re.search(r"do_test|test-driver|test-skeleton", text):
            return
        auxiliary = [os.path.join(self.tree, folder, AUXILIARY[name] + ".c")
                     ] if name in AUXILIARY else []
        self.compile("-iquote", os.path.join(self.tree, folder), source, *auxiliary, "-o",
                     os.path.join("programs", name), "libsupport.a", "-rdynamic", "-lm", "-lrt")

    def command(self, only=None):
        return ["sh", "-c", RUNNER, "sh", *(only or sorted(os.listdir(self.programs)))]

    def outcomes(self, output):
        kinds = {"0": PASSED, "77": SKIPPED}
        return {name: kinds.get(status, FAILED) for name, status in
                re.findall(r"^RESULT (\S+) (\d+)$", output, re.MULTILINE)}


def suites(packages, folder):
    return [Glibc(packages, folder)]
