# SPDX-License-Identifier: MIT
"""Functions that allocate what they always allocate, most of it by pymalloc: python -S sites.py. A part stays live, and
the process ends without the interpreter's own end."""
import os

kept = []


def site_lists():
    """Lists of one item: all are kept."""
    for i in range(3000):
        kept.append([i])


def site_texts():
    """Texts of 50 to 449 bytes, of which every third is kept."""
    for i in range(3000):
        text = "x" * (i % 400) + "."
        if i % 3 == 0:
            kept.append(text)


def site_dicts():
    """Dictionaries with their tables; half are kept."""
    for i in range(800):
        entry = {"number": i, "name": "entry", "next": None}
        if i % 2:
            kept.append(entry)


def site_blocks():
    """Beyond pymalloc: malloc's."""
    for i in range(120):
        block = bytes(600 + 7 * i)
        if i % 2:
            kept.append(block)


def site_growing():
    """One list that grows, and moves from pymalloc to malloc."""
    grown = []
    for i in range(20000):
        grown.append(None)
    kept.append(grown)


def site_freed():
    """Objects that are gone at once."""
    for i in range(6000):
        (i, i)
        bytearray(i % 100)


for site in (site_lists, site_texts, site_dicts, site_blocks, site_growing, site_freed):
    site()
os.write(1, b"%d\n" % len(kept))
os._exit(0)
