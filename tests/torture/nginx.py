# SPDX-License-Identifier: MIT
"""nginx under load (inputs/nginx_load.py): a master and workers that drop their privileges,
reloads, an upgrade of the running program; asked by ab and by Python, which are under the recorder
too."""
import os
import subprocess

from suite import Suite, tap

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs")


class Nginx(Suite):
    name = "nginx"
    version = "1.22.1-9+deb12u9"
    binaries = {"nginx": version, "apache2-utils": "2.4.68-1~deb12u1", "libapr1": "1.7.2-3+deb12u1",
                "libaprutil1": "1.6.3-1"}
    inputs = ("nginx_load.py",)
    tools = ("openssl", "/usr/bin/python3")
    time_limit_s = 600

    def command(self, only=None):
        return ["/usr/bin/python3", os.path.join(INPUTS, "nginx_load.py"), self.root, self.folder,
                "28731"]

    def outcomes(self, output):
        return tap(output)

    def tidy(self):
        path = os.path.join(self.folder, "nginx.pid")
        if os.path.exists(path):
            with open(path) as file:
                subprocess.run(["kill", "-TERM", file.read().strip()], check=False)


def suites(packages, folder):
    return [Nginx(packages, folder)]
