# SPDX-License-Identifier: MIT
"""Fetches Debian source packages with apt, without touching the machine's own apt configuration: a
list of deb-src lines, made from the machine's deb lines, and package lists of its own, all in a
folder of the caller's."""
import glob
import os
import re
import subprocess


def source_lines():
    """deb-src lines for every Debian archive the machine knows."""
    lines = []
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*.list")]:
        if os.path.exists(path):
            with open(path) as file:
                lines += re.findall(r"^deb(\s.*debian.*)$", file.read(), re.MULTILINE)
    for path in glob.glob("/etc/apt/sources.list.d/*.sources"):
        with open(path) as file:
            for paragraph in file.read().split("\n\n"):
                fields = dict(re.findall(r"^(\w[\w-]*):\s*(.*)$", paragraph, re.MULTILINE))
                signed = " [signed-by=%s]" % fields["Signed-By"] if "Signed-By" in fields else ""
                for uri in fields.get("URIs", "").split():
                    for suite in fields.get("Suites", "").split():
                        lines.append("%s %s %s %s" % (signed, uri, suite, fields["Components"]))
    return ["deb-src" + line for line in lines]


class Sources:
    """Packages unpacked below `path`; the folder is kept and used again."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        lists = os.path.join(self.path, "lists")
        os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
        list_file = os.path.join(self.path, "sources.list")
        with open(list_file, "w") as file:
            file.write("\n".join(source_lines()) + "\n")
        self.options = ["-o", "Dir::Etc::sourcelist=" + list_file, "-o", "Dir::Etc::sourceparts=-",
                        "-o", "Dir::State::lists=" + lists, "-o", "APT::Sandbox::User=root"]
        self.updated = False

    def unpack(self, package):
        """Path of the package's source tree."""
        folder = os.path.join(self.path, package)
        found = glob.glob(os.path.join(folder, "*", "debian"))
        if not found:
            os.makedirs(folder, exist_ok=True)
            if not self.updated:
                subprocess.run(["apt-get", *self.options, "-q", "update"], check=True)
                self.updated = True
            subprocess.run(["apt-get", *self.options, "-q", "source", package], cwd=folder,
                           check=True)
            found = glob.glob(os.path.join(folder, "*", "debian"))
        return os.path.dirname(found[0])
