# SPDX-License-Identifier: MIT
"""The other side of the JSON and CSV reports: reads one from a file with Python's own parsers,
strictly, and prints the value at a path, so that a C test can compare it.

    read_report.py json FILE totals.live.bytes.estimate
    read_report.py csv FILE 1.0            row 1 (0 is the heading), field 0
"""

import csv
import json
import sys


def no_constant(name):
    raise ValueError("not JSON: " + name)


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError("a name stands twice in one object")
    return dict(pairs)


kind, path, place = sys.argv[1:4]
with open(path, "rb") as file:
    text = file.read().decode("utf-8")  # strict
if kind == "json":
    value = json.loads(text, parse_constant=no_constant, object_pairs_hook=no_duplicates)
else:
    value = list(csv.reader(text.splitlines(keepends=True), strict=True))
    assert len({len(row) for row in value}) == 1, "rows of different lengths"
for step in place.split("."):
    if step == "length":
        value = len(value)
    else:
        value = value[int(step)] if isinstance(value, list) else value[step]
print(json.dumps(value, ensure_ascii=True))
