# SPDX-License-Identifier: MIT
"""`python -m bytepoll kernelspec`: writes a kernel for Jupyter whose process is recorded.

    python -m bytepoll kernelspec [--name NAME] [--folder DIR]

The kernel is this interpreter's. Its recordings go to the user's cache folder, one file for each
start; --folder is Jupyter's folder of data instead of the user's.
"""
import argparse
import json
import os
import sys

from . import native


def home_folder(variable, *otherwise):
    """A folder of the user's: as the variable of the XDG specification says, or below the home."""
    return os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *otherwise)


def data_folder():
    """Where Jupyter looks for what the user installed."""
    return os.environ.get("JUPYTER_DATA_DIR") or os.path.join(
        home_folder("XDG_DATA_HOME", ".local", "share"), "jupyter")


def specification(program, recordings):
    python = "Python %d.%d" % sys.version_info[:2]
    return {"argv": [program, "run", "-q", "--force", "--no-resident",
                     "-o", os.path.join(recordings, "kernel.%p.bpt"), "--",
                     sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": python + " (bytepoll)", "language": "python",
            "metadata": {"debugger": True}}


def main(words):
    parser = argparse.ArgumentParser(prog="python -m bytepoll kernelspec", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="bytepoll-python%d" % sys.version_info[0],
                        help="the kernel's name (%(default)s)")
    parser.add_argument("--folder", default=data_folder(), help="Jupyter's folder of data (%(default)s)")
    given = parser.parse_args(words)
    try:
        program = native.program()
        recordings = os.path.join(home_folder("XDG_CACHE_HOME", ".cache"), "bytepoll", "kernels")
        folder = os.path.join(given.folder, "kernels", given.name)
        os.makedirs(recordings, mode=0o700, exist_ok=True)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "kernel.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(specification(program, recordings), file, indent=1)
            file.write("\n")
    except (native.NotFound, OSError) as failure:
        print("bytepoll: kernelspec: %s" % failure, file=sys.stderr)
        return 1
    print("%s: choose the kernel \"%s\" in Jupyter" % (path, specification("", "")["display_name"]))
    return 0
