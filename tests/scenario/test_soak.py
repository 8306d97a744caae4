# SPDX-License-Identifier: MIT
"""The soak of `make soak` in short: a web server with a thread for each request, beside its twin, for some seconds.
Nothing is lost, the recording can be read while it grows and at the end, and the table says what it should."""
import os
import re
import subprocess
import sys

import profiled

SOAK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "soak.py")


def short_soak():
    result = subprocess.run([sys.executable, SOAK, profiled.BUILD, "--minutes", "0.2", "--only", "threads"],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
    profiled.expect(result.returncode == 0, result.stderr)
    row = next((line for line in result.stdout.splitlines() if line.startswith("| threads |")), "")
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    profiled.expect(len(cells) == 12 and re.fullmatch(r"\d+ requests", cells[1]), result.stdout)
    profiled.expect(int(cells[8]) > 100 and cells[9] == "0", "samples and losses: " + row)


def main():
    tap = profiled.Tap()
    tap.attempt("a server and its twin under load for some seconds", short_soak)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
