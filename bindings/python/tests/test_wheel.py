#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The wheel: what is in it, that its platform is true, that nothing but the C library is missing, and
that it works where it is installed: in a fresh virtual environment, without a network."""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile

import package
import profiled
from profiled import expect

SOURCE = os.path.abspath(os.path.join(package.PACKAGE, "..", ".."))
LIBC = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so\.\d+\Z")
SCRIPT = """
import bytepoll, json, os
with bytepoll.window() as w:
    kept = [bytes(1000) for _ in range(5000)]
mapped = [line.split()[-1] for line in open("/proc/self/maps") if ".so" in line or ".bp." in line]
reader = bytepoll.profiles.readers.open_recording(w.path)
print(json.dumps([w.allocated.low, w.peak.low, type(reader).__name__, os.environ.get("LD_LIBRARY_PATH"),
                  os.environ["LD_PRELOAD"], bytepoll.__file__, str(w.table(by="line"))]))
"""


def make(folder):
    done = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "wheel"), profiled.BUILD, folder],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    expect(done.returncode == 0, done.stderr)
    return done.stdout.strip()


def contents(path):
    """Names, hashes and permissions are as the specification of wheels has them."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        info = next(name for name in names if name.endswith(".dist-info/RECORD"))
        record = [line.split(",") for line in wheel.read(info).decode().splitlines()]
        expect(sorted(name for name, _, _ in record) == sorted(names), "RECORD lists every file")
        for name, digest, size in record:
            data = wheel.read(name)
            hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            expect(name == info or (digest == "sha256=" + hashed and int(size) == len(data)), name)
        folder = os.path.dirname(info)
        told = wheel.read(folder + "/WHEEL").decode()
        tag = os.path.basename(path)[:-4].split("-", 2)[2]
        expect("Tag: %s\n" % tag in told and "Root-Is-Purelib: false" in told, told)
        points = wheel.read(folder + "/entry_points.txt").decode()
        expect("[console_scripts]\nbytepoll = bytepoll.__main__:main\n" in points and
               "[pytest11]\nbytepoll = bytepoll.pytest_plugin\n" in points, points)
        expect(wheel.getinfo("bytepoll/native/bytepoll").external_attr >> 16 == 0o100755, "executable")
        licences = wheel.read(folder + "/licenses/LICENSES-BUNDLED").decode()
        for name in names:
            if ".bp." in name:
                expect("%s" % os.path.basename(name) in licences, name + " without a licence")
        modules = {name for name in os.listdir(os.path.join(package.PACKAGE, "bytepoll")) if name.endswith(".py")}
        expect({"bytepoll/" + name for name in modules} <= set(names), "a module is missing")


def unpacked(path, folder):
    """The native files, and what `readelf` says of each: {name: (needed, glibc versions)}."""
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(folder)
    native, told = os.path.join(folder, "bytepoll", "native"), {}
    for name in os.listdir(native):
        text = subprocess.run(["readelf", "-dVW", os.path.join(native, name)], stdout=subprocess.PIPE,
                              universal_newlines=True, check=True).stdout
        told[name] = (re.findall(r"\(NEEDED\).*\[(.*)\]", text),
                      {tuple(map(int, pair)) for pair in re.findall(r"GLIBC_(\d+)\.(\d+)", text)}, text)
    return told


def platform(path, folder):
    files = unpacked(path, folder)
    for name, (needed, _, text) in files.items():
        missing = [other for other in needed if not LIBC.match(other) and other not in files]
        expect(not missing, "%s needs %s" % (name, missing))
        if name.startswith("libbytepoll-recorder"):
            expect(all(LIBC.match(other) for other in needed), "%s: %s" % (name, needed))
        if name in ("bytepoll", "libbytepoll.so.1"):
            expect("(RPATH)" in text and "[$ORIGIN]" in text, text[:2000])
    newest = max([max(versions) for _, versions, _ in files.values() if versions] + [(2, 31)])
    expect("manylinux_%d_%d_%s" % (*newest, os.uname().machine) in path, "%s: %s" % (path, newest))


def installed(path, folder):
    python = os.path.join(folder, "venv", "bin", "python")
    for words in ([sys.executable, "-m", "venv", os.path.join(folder, "venv")],
                  [python, "-m", "pip", "install", "--no-index", "--quiet", path],
                  [python, "-m", "pip", "check"]):
        done = profiled.run(words)
        expect(done.status == 0, "%s: %s" % (words, done.stderr.decode()[-600:]))
    script = os.path.join(folder, "script.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    # The console script, with an empty PATH: nothing of the machine's is found there.
    done = profiled.run([os.path.join(folder, "venv", "bin", "bytepoll"), "run", "-q", "-i", "16K", "-o",
                         script + ".bpt", script], extra={"PATH": folder})
    expect(done.status == 0, done.stderr.decode()[-800:])
    allocated, peak, reader, path_of_libraries, preloaded, place, table = json.loads(done.stdout)
    expect(5165000 <= allocated < 5900000 and peak > 3000000 and reader == "LibraryReader", done.stdout)
    home = os.path.dirname(place)
    expect(home.startswith(folder) and path_of_libraries is None and
           preloaded == home + "/native/libbytepoll-recorder.so", done.stdout)
    expect("script.py:4" in table, table)
    traced = profiled.run([home + "/native/bytepoll", "--version"], extra={"LD_DEBUG": "libs"})
    used = set(re.findall(r"calling init: (\S+)", traced.stderr.decode()))
    strange = [file for file in used if not file.startswith(home) and not LIBC.match(os.path.basename(file))]
    expect(len(used) > 3 and not strange, "%s" % used)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        path = make(folder)
        tap.attempt("what is in it", lambda: contents(path))
        tap.attempt("its platform", lambda: platform(path, os.path.join(folder, "unpacked")))
        with open(path, "rb") as file:
            first = file.read()
        with open(make(folder), "rb") as file:
            tap.check(file.read() == first, "made again it is the same")
        if profiled.run([sys.executable, "-c", "import venv, ensurepip"]).status != 0:
            tap.skip("installed", "this Python has no venv (Debian: python3-venv)")
        else:
            tap.attempt("installed", lambda: installed(path, folder))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
