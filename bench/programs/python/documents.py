# SPDX-License-Identifier: MIT
"""JSON written and read."""
import json


def make(count):
    return [{"id": i, "name": "item %d" % i, "tags": [str(i), str(i + 1)], "price": i * .25} for i in range(count)]


def main():
    total = 0
    for _ in range(90):
        text = json.dumps(make(40000))
        total += len(json.loads(text))
    print(total)


main()
