# SPDX-License-Identifier: MIT
"""The Python program of docs/report.md: keeps records, serialises them, parses them back."""
import json


def make_records(count):
    return {f"key{i}": [str(i), {"a": i, "b": (i, i + 1)}] for i in range(count)}


records = make_records(120_000)
text = json.dumps(records)
again = json.loads(text)
print(len(records), "records,", len(text), "characters,", len(again), "read back")
