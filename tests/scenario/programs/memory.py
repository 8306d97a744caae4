# SPDX-License-Identifier: MIT
"""A script that uses memory the way scripts do, for test_memory.py: builds, drops and keeps
objects of many sizes, then prints its peak and present resident memory in KiB and a checksum of
what it did."""
import hashlib
import json
import os


def field(name):
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(name)).split()[1])


def main():
    kept, checksum = [], hashlib.sha256()
    for number in range(60):
        rows = [{"number": i, "text": "row %d of %d" % (i, number), "list": list(range(i % 20))}
                for i in range(500)]
        text = json.dumps(rows)
        checksum.update(text.encode())
        parsed = json.loads(text)
        if number % 3 == 0:
            kept.append(parsed)
        kept.append(bytearray(number * 1000))
        kept.append(text.encode()[:number * 50])
    peak, now = field("VmHWM"), field("VmRSS")
    print(peak, now, checksum.hexdigest(), flush=True)
    os._exit(0)  # what is live now is what is live at the end


main()
