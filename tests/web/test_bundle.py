#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""web/dist is what web/src makes: the digests of the sources it was built from are those of the sources
that are there, and (with npm and its registry) building it again gives the same bytes. The licences of all
that it holds parts of are in NOTICE and in the page."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEB = os.path.join(ROOT, "web")


def digests():
    names = ["style.css", "page.css", "package-lock.json"]
    for folder, _, files in os.walk(os.path.join(WEB, "src")):
        names += [os.path.relpath(os.path.join(folder, name), WEB) for name in files]
    result = {}
    for name in names:
        with open(os.path.join(WEB, name), "rb") as file:
            result[name] = hashlib.sha256(file.read()).hexdigest()
    return result


def built_from():
    with open(os.path.join(WEB, "dist", "sources.sha256"), encoding="ascii") as file:
        return {line.split("  ", 1)[1].rstrip("\n"): line.split("  ", 1)[0] for line in file}


def same_bytes(folder):
    """A copy of web/ is built, in a place of its own; None: npm could not fetch what it takes."""
    copy = os.path.join(folder, "web")
    shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    installed = os.path.join(WEB, "node_modules")
    if os.path.isdir(installed):
        shutil.copytree(installed, os.path.join(copy, "node_modules"), symlinks=True)
    result = subprocess.run([os.path.join(copy, "build"), os.path.join(folder, "dist")], capture_output=True,
                            stdin=subprocess.DEVNULL, timeout=240, check=False)
    if result.returncode != 0:
        print("# " + result.stderr.decode(errors="replace").strip().replace("\n", "\n# ")[-1000:])
        return None
    differing = []
    for name in ("page.js", "page.css", "parts", "sources.sha256"):
        with open(os.path.join(WEB, "dist", name), "rb") as old, open(os.path.join(folder, "dist", name), "rb") as new:
            if old.read() != new.read():
                differing.append(name)
    return differing


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def words(text):
    return " ".join(text.split())


def unlisted():
    """What of the parts of web/dist is not said of them. (Texts of licences are compared where npm installed them.)"""
    parts = dict(line.split() for line in read("web", "dist", "parts").splitlines())
    lock = json.loads(read("web", "package-lock.json"))["packages"]
    installed = {name.removeprefix("node_modules/"): one["version"] for name, one in lock.items()
                 if name and not one.get("dev") and not one.get("optional")}
    if parts != installed:
        yield "parts %s, but package-lock.json has %s" % (parts, installed)
    notice, page = read("NOTICE"), words(read("web", "src", "notices.txt"))
    for name, version in {**parts, **installed}.items():
        for text, where in ((words(notice), "NOTICE"), (page, "web/src/notices.txt")):
            if "%s %s" % (name, version) not in text:
                yield "%s %s is not in %s" % (name, version, where)
        path = os.path.join(WEB, "node_modules", name, "LICENSE")
        if not os.path.exists(path):
            continue
        licence = read(path)
        holder = next(line for line in licence.splitlines() if line.startswith("Copyright"))
        if words(licence) not in words(notice):
            yield "the licence of %s is not in NOTICE" % name
        if holder not in page or words(licence.split(holder)[1]) not in page:
            yield "the licence of %s is not in web/src/notices.txt" % name
    for word in ("wasi-libc", "musl", "Rich Felker", "Arm Limited", "Sun Microsystems", "David Schultz"):
        if word not in notice or word not in page:
            yield "%s (web/dist/estimate.wasm) is not in NOTICE and web/src/notices.txt" % word


def main():
    print("1..5")
    old, new = built_from(), digests()
    stale = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    failures = bool(stale)
    print("%s 1 - web/dist was built from the sources that are there" % ("not ok" if stale else "ok"))
    if stale:
        print("# run web/build: %s" % ", ".join(stale))
    with open(os.path.join(WEB, "dist", "page.js"), encoding="ascii") as file:
        script = file.read()
    good = "</script" not in script.lower() and "<!--" not in script
    failures |= not good
    print("%s 2 - the script does not end its own element" % ("ok" if good else "not ok"))
    # Data of a profile reach the page as text nodes alone; what can make markup of a string is not called.
    # (`innerHTML` stands in the bundle once, in preact, for a property that no source here uses.)
    found = []
    for folder, _, files in os.walk(os.path.join(WEB, "src")):
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            found += [name + ": " + word for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                                                      "eval(", "new Function", "fetch(", "XMLHttpRequest", "import(")
                      if word in text]
    failures |= bool(found)
    print("%s 3 - no source makes markup or code of strings, or asks a server" % ("not ok" if found else "ok"))
    if found:
        print("# " + ", ".join(found))
    missing = list(unlisted())
    failures |= bool(missing)
    print("%s 4 - what the page holds parts of is in NOTICE and in the page" % ("not ok" if missing else "ok"))
    if missing:
        print("# " + "\n# ".join(missing))
    if shutil.which("npm") is None:
        print("ok 5 - building it again gives the same bytes # SKIP needs npm")
        return failures
    with tempfile.TemporaryDirectory(prefix="bytepoll-bundle-") as folder:
        differing = same_bytes(folder)
    if differing is None:
        print("ok 5 - building it again gives the same bytes # SKIP npm cannot fetch the packages")
        return failures
    print("%s 5 - building it again gives the same bytes" % ("not ok" if differing else "ok"))
    if differing:
        print("# " + ", ".join(differing))
    return failures or bool(differing)


if __name__ == "__main__":
    sys.exit(main())
