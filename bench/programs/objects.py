# SPDX-License-Identifier: MIT
"""A real program for `make bench`: objects.py KEYS [memory] makes dictionaries, lists, strings and a
tree, with KEYS keys. `memory`: prints its own resident and peak size in KiB before it ends."""
import random
import sys


class Node:
    """A leaf or a branch of an unbalanced binary tree."""
    __slots__ = ("value", "left", "right")

    def __init__(self, value):
        self.value = value
        self.left = self.right = None


def insert(root, value):
    """Walks down and hangs a new leaf."""
    while True:
        side = "left" if value < root.value else "right"
        below = getattr(root, side)
        if below is None:
            setattr(root, side, Node(value))
            return
        root = below


def main():
    """Builds everything and keeps it until the end."""
    keys = int(sys.argv[1])
    random.seed(1)
    table = {}
    for i in range(keys):
        table["key%d" % i] = [str(i), {"a": i, "b": (i, i + 1)}]
    parts = 0
    for i in range(keys):
        parts += len(" ".join((str(i), str(i * 7), str(i * 13))).split())
    root = Node(0.5)
    for _ in range(keys // 12):
        insert(root, random.random())
    print(len(table), parts)
    if len(sys.argv) > 2:
        with open("/proc/self/status", encoding="ascii") as status:
            sizes = dict(line.split(":", 1) for line in status)
        print(sizes["VmRSS"].split()[0], sizes["VmHWM"].split()[0])


main()
