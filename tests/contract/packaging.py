#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `meson install` gives, used as a stranger would: everything stands where it should below another
root, pkg-config finds it, programs compile and link with what it says, and run with what was installed.

Usage: packaging.py SOURCE_ROOT BUILD_ROOT TRACES
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FILES = ["bin/bytepoll", "lib/bytepoll/libbytepoll-recorder.so",
         "lib/bytepoll/libbytepoll-recorder-verify.so", "lib/bytepoll/libbytepoll-lttng.so",
         "lib/libbytepoll.so.1.0.0", "lib/systemd/system/bytepoll-push@.service",
         "lib/libbytepoll-sampler.a", "lib/pkgconfig/bytepoll.pc", "lib/pkgconfig/bytepoll-sampler.pc"]
LINKS = {"lib/libbytepoll.so": "libbytepoll.so.1", "lib/libbytepoll.so.1": "libbytepoll.so.1.0.0"}
SAMPLER = """#include <bytepoll/sampler.h>
#include <stdio.h>
int main(void)
{
	struct bp_sampler sampler;
	bp_sampler_init(&sampler, 1, 4096, 0);
	printf("%zu\\n", sizeof sampler);
	return 0;
}
"""


# Below PREFIX/share, under names of their own: where man and the shells look.
SHARED = ["man/man1/bytepoll.1", "man/man1/bytepoll-run.1", "bash-completion/completions/bytepoll",
          "zsh/site-functions/_bytepoll", "fish/vendor_completions.d/bytepoll.fish",
          "bytepoll/python/bytepoll/__init__.py", "bytepoll/python/bytepoll/pytest_plugin.py",
          "doc/bytepoll/LICENSE", "doc/bytepoll/NOTICE", "doc/bytepoll/examples/check.c", "doc/bytepoll/examples/heap.h", "doc/bytepoll/examples/heap.c"]


# As its own text shows it, but for the names: rows are kept beyond their turn.
PYTHON = """
import sys
import bytepoll_analysis as bytepoll
library = bytepoll.Library(sys.argv[1])
profile = library.open_files(sys.argv[2])
table = library.aggregate(profile, bytepoll.query(metric="allocated", by="size"))
for row in list(library.rows(table)):
    print(row.name.decode().replace(" ", ""))
library.table_close(table)
library.close(profile)
"""


class Wrong(Exception):
    pass


def run(*words, **settings):
    result = subprocess.run(words, capture_output=True, text=True, timeout=120, **settings)
    if result.returncode != 0:
        raise Wrong(f"{' '.join(words)}: {(result.stdout + result.stderr)[-600:]}")
    return result.stdout


def install(build, root):
    """Into `root`; returns the folder that the prefix became there."""
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root)
    for folder, _, names in os.walk(root):
        if folder.endswith("/bin") and "bytepoll" in names:
            return os.path.dirname(folder)
    raise Wrong("no bin/bytepoll was installed")


def check_files(source, prefix):
    headers = sorted(os.listdir(f"{source}/include/bytepoll"))
    for path in FILES + [f"include/bytepoll/{name}" for name in headers]:
        if not os.path.isfile(f"{prefix}/{path}") or os.path.islink(f"{prefix}/{path}"):
            yield f"{path} is not there, or a link"
    pages = ["man/man5/bytepoll-trace.5"] if shutil.which("scdoc") else []
    for path in SHARED + pages:
        if not os.path.isfile(f"{prefix}/share/{path}") or not os.path.getsize(f"{prefix}/share/{path}"):
            yield f"share/{path} is not there, or empty"
    for path, target in LINKS.items():
        if not os.path.islink(f"{prefix}/{path}") or os.readlink(f"{prefix}/{path}") != target:
            yield f"{path} does not lead to {target}"
    for name in os.listdir(f"{prefix}/include/bytepoll"):
        if name not in headers:
            yield f"include/bytepoll/{name} is not a public header"
    for folder, _, names in os.walk(f"{prefix}/lib"):
        if os.path.relpath(folder, prefix) not in (
                "lib", "lib/bytepoll", "lib/pkgconfig", "lib/lua", "lib/lua/5.4", "lib/systemd",
                "lib/systemd/system"):
            yield f"{folder}: everything stands in lib"
        for name in names:
            if name.endswith(".a") and open(f"{folder}/{name}", "rb").read(8) != b"!<arch>\n":
                yield f"{name} is a thin archive, of no use without the build tree"


class Packages:
    """pkg-config on what was installed, moved to where it lies now."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.environment = dict(os.environ, PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig",
                                PKG_CONFIG_LIBDIR="")

    def flags(self, *words):
        return run("pkg-config", f"--define-variable=prefix={self.prefix}", *words,
                   env=self.environment).split()

    def compile(self, name, source, output, compiler="cc", words=()):
        run(compiler, "-Wall", "-Werror", *words, source, "-o", output,
            *self.flags("--cflags", "--libs", name))


def check_library(source, packages, traces, folder):
    program = os.path.join(folder, "top")
    packages.compile("bytepoll", f"{packages.prefix}/share/doc/bytepoll/examples/top.c", program)
    shown = run(program, f"{traces}/simple.bpt", "allocated",
                env=dict(os.environ, LD_LIBRARY_PATH=f"{packages.prefix}/lib"))
    if "in total" not in shown:
        yield f"examples/analysis/top.c prints {shown!r}"
    shown = run("python3", "-c", PYTHON, f"{packages.prefix}/lib/libbytepoll.so.1", f"{traces}/simple.bpt",
                env=dict(os.environ, PYTHONPATH=f"{packages.prefix}/share/bytepoll/python", PYTHONDONTWRITEBYTECODE="1"))
    if len(set(shown.split())) < 2:
        yield f"the binding for Python prints {shown!r}"
    packages.compile("bytepoll", f"{source}/tests/unit/library/from_cpp.cpp",
                     os.path.join(folder, "cpp"), "g++", ["-std=c++11"])
    version = run("pkg-config", "--modversion", "bytepoll", env=packages.environment).strip()
    told = run(f"{packages.prefix}/bin/bytepoll", "--version")
    if version not in told:
        yield f"bytepoll.pc is of version {version}, the program of {told!r}"


def check_archives(packages, folder):
    """Programs linked with the archives, which need libc alone."""
    text = os.path.join(folder, "sampler.c")
    with open(text, "w", encoding="utf-8") as file:
        file.write(SAMPLER)
    packages.compile("bytepoll-sampler", text, os.path.join(folder, "sampler"))
    run(os.path.join(folder, "sampler"))
    if os.path.exists(f"{packages.prefix}/lib/pkgconfig/bytepoll-host.pc"):
        text = os.path.join(folder, "host.c")
        with open(text, "w", encoding="utf-8") as file:
            file.write("#include <bytepoll/host.h>\nint main(void)\n{\n"
                       "\tbp_host_close(0);\n\treturn 0;\n}\n")
        packages.compile("bytepoll-host", text, os.path.join(folder, "host"))
        run(os.path.join(folder, "host"))
    if os.path.exists(f"{packages.prefix}/lib/pkgconfig/bytepoll-boehm.pc"):
        text = os.path.join(folder, "boehm.c")
        with open(text, "w", encoding="utf-8") as file:
            file.write("#define GC_THREADS\n#include <bytepoll_boehm.h>\nint main(void)\n{\n\tGC_INIT();\n"
                       "\t(void)bp_boehm_start(\"packaged\");\n\treturn GC_malloc(100) == NULL;\n}\n")
        # The collector's own package is the system's.
        del packages.environment["PKG_CONFIG_LIBDIR"]
        packages.compile("bytepoll-boehm", text, os.path.join(folder, "boehm"))
        run(os.path.join(folder, "boehm"), env={})
    for name in packages.flags("--libs", "bytepoll-sampler"):
        if name.startswith("-l") and name != "-lbytepoll-sampler":
            yield f"bytepoll-sampler needs {name}"


def check_unit(prefix, folder):
    """The unit of push: what it starts is a command line that bytepoll takes, and systemd has nothing to say of it."""
    with open(f"{prefix}/lib/systemd/system/bytepoll-push@.service", encoding="utf-8") as file:
        unit = file.read()
    words = re.search(r"(?m)^ExecStart=(.*)$", unit)[1].split()
    if not prefix.endswith(words[0][:-len("/bin/bytepoll")]) or not words[0].endswith("/bin/bytepoll"):
        yield f"the unit starts {words[0]}, which is not what was installed"
    store, traces = os.path.join(folder, "store"), os.path.join(folder, "traces")
    for path in (store, traces):
        os.mkdir(path)
    values = {"/var/lib/bytepoll/%i": traces, "${STORE}": store, "%i": "shop", "--watch": None, "$OPTIONS": None}
    result = subprocess.run([f"{prefix}/bin/bytepoll", *filter(None, (values.get(word, word) for word in words[1:]))],
                            capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 0:
        yield f"the unit's command line: status {result.returncode}: {result.stderr.strip()}"
    if shutil.which("systemd-analyze"):
        path = os.path.join(folder, "bytepoll-push@shop.service")
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit.replace(words[0], f"{prefix}/bin/bytepoll"))
        result = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True,
                                timeout=60, check=False)
        said = [line for line in result.stderr.splitlines() if "bytepoll" in line]
        if result.returncode != 0 or said:
            yield f"systemd-analyze: status {result.returncode}: {said or result.stderr}"


def main():
    source, build, traces = sys.argv[1:]
    findings = []
    with tempfile.TemporaryDirectory(prefix="bytepoll-install-") as root:
        try:
            prefix = install(build, root)
            packages = Packages(prefix)
            findings += check_files(source, prefix)
            findings += check_library(source, packages, traces, root)
            findings += check_archives(packages, root)
            findings += check_unit(prefix, root)
        except Wrong as wrong:
            findings.append(str(wrong))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
