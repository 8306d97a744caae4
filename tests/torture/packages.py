# SPDX-License-Identifier: MIT
"""Debian packages of pinned versions, sources and binaries, unpacked into a folder of one's own:
nothing is installed, so that neither the machine's versions matter nor is the machine changed.
Needs apt-get and dpkg (dpkg-dev for sources), and the network once.

A pinned version is one of the last point release, not of the security archive, which forgets a
version with the next one. An archive that has moved on says so: then the pin is raised, and
docs/torture.md with it.
"""
import glob
import os
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "real"))
from debian_source import Sources, source_lines  # noqa: E402


class Packages(Sources):
    """Sources and binaries below `path`; what is there is used again."""

    def __init__(self, path):
        super().__init__(path)
        sources = source_lines()
        with open(os.path.join(self.path, "sources.list"), "w") as file:
            for line in sources + [line.replace("deb-src", "deb", 1) for line in sources]:
                file.write(line + "\n")

    def apt(self, *arguments, cwd):
        if not self.updated:
            subprocess.run(["apt-get", *self.options, "-q", "update"], check=True)
            self.updated = True
        subprocess.run(["apt-get", *self.options, "-q", *arguments], cwd=cwd, check=True)

    def source(self, name, version):
        """Path of a source tree that is the caller's to build in, patches applied."""
        folder = os.path.join(self.path, "source", name + "_" + version.replace(":", "%3a"))
        done = os.path.join(folder, ".complete")
        if not os.path.exists(done):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            self.apt("source", "%s=%s" % (name, version), cwd=folder)
            open(done, "w").close()
        return os.path.dirname(glob.glob(os.path.join(folder, "*", "debian"))[0])

    def tarball(self, name, version):
        """Path of the folder that the upstream tarball alone unpacks into."""
        folder = os.path.join(self.path, "source", name + "_" + version + ".tarball")
        done = os.path.join(folder, ".complete")
        if not os.path.exists(done):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            self.apt("source", "--tar-only", "%s=%s" % (name, version), cwd=folder)
            for archive in glob.glob(os.path.join(folder, "*.orig*.tar.*")):
                subprocess.run(["tar", "xf", archive], cwd=folder, check=True)
            open(done, "w").close()
        return folder

    def binaries(self, pins):
        """Path of a root directory that holds the files of all these packages: {name: version}."""
        names = sorted("%s_%s" % pin for pin in pins.items())
        root = os.path.join(self.path, "binary", names[0].replace(":", "%3a"))
        done = root + ".complete"
        if os.path.exists(done) and open(done).read().split() == names:
            return root
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        archives = root + ".archives"
        os.makedirs(archives, exist_ok=True)
        self.apt("download", *("%s=%s" % pin for pin in pins.items()), cwd=archives)
        for archive in glob.glob(os.path.join(archives, "*.deb")):
            subprocess.run(["dpkg-deb", "-x", archive, root], check=True)
        shutil.rmtree(archives)
        with open(done, "w") as file:
            file.write("\n".join(names))
        return root
