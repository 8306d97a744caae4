#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""web/index.html with the hash of the page's script in its policy: policy.py INDEX SCRIPT OUTPUT.

The policy then lets the browser run that script and no other one, so that a name which found its way into the
page as markup could still not run anything. Called by the build.
"""
import base64
import hashlib
import sys


def main():
    index, script, output = sys.argv[1:]
    with open(index, "rb") as file:
        page = file.read()
    with open(script, "rb") as file:
        digest = base64.b64encode(hashlib.sha256(file.read()).digest())
    if page.count(b"@SCRIPT_HASH@") != 1:
        sys.exit("%s: has no place for the hash of the script" % index)
    with open(output, "wb") as file:
        file.write(page.replace(b"@SCRIPT_HASH@", b"'sha256-" + digest + b"'"))


if __name__ == "__main__":
    main()
