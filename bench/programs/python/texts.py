# SPDX-License-Identifier: MIT
"""Lines split, counted and joined."""
import collections


def lines(count):
    for i in range(count):
        yield "%d the quick brown fox %d jumps over the lazy dog %d" % (i, i * 7 % 1000, i * 31 % 977)


def count_words(count):
    words = collections.Counter()
    for line in lines(count):
        words.update(line.split())
    return words


def main():
    total = 0
    for _ in range(24):
        words = count_words(200000)
        total += len(" ".join(sorted(words)))
    print(total)


main()
