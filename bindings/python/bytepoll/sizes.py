# SPDX-License-Identifier: MIT
"""Sizes as `bytepoll` reads and prints them: 24M, 24Mi and 24MiB are powers of 1024, 24MB are
24,000,000 bytes. The rules are those of bp_parse_size (src/tool/cli/options/options.c); here a blank
may stand before the unit, too."""
import math
import re

LETTERS = "kmgt"
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(?:(b)|([kmgt])(|i|ib|b))?\s*\Z", re.IGNORECASE | re.ASCII)


def parse(text):
    """The number of bytes; an int or a whole float is one already. ValueError for anything else."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        if not math.isfinite(text) or text < 0 or text != int(text):
            raise ValueError("%r is no whole number of bytes" % (text,))
        return int(text)
    match = SIZE.match(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("%r is no size: write 4096, 512K, 24 MB or 1 GiB" % (text,))
    number, _, letter, unit = match.groups()
    power = 0 if letter is None else LETTERS.index(letter.lower()) + 1
    size = float(number) * (1000 if unit and unit.lower() == "b" else 1024) ** power
    if size >= 2 ** 53 or size != int(size):
        raise ValueError("%r is no whole number of bytes" % text)
    return int(size)


def show(size):
    """Three digits and a unit: "24 MiB", "1.25 GiB", "312 bytes"."""
    if math.isnan(size):
        return "unknown"
    if math.isinf(size):
        return "unlimited"
    power = 0
    while size >= 999.5 and power < len(UNITS) - 1:
        size, power = size / 1024, power + 1
    digits = 0 if power == 0 or size >= 99.95 else 1 if size >= 9.995 else 2
    return "%.*f %s" % (digits, size, UNITS[power])
