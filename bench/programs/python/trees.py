# SPDX-License-Identifier: MIT
"""Nested tuples and dictionaries, built and dropped."""


def tree(depth):
    return None if depth == 0 else (tree(depth - 1), {"depth": depth}, tree(depth - 1))


def main():
    kept = [tree(15)]
    for _ in range(1900):
        kept.append(tree(13))
        del kept[1:-3]
    print(len(kept))


main()
