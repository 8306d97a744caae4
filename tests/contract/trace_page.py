#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/bytepoll-trace.5.scd against src/trace/format.h: records, kinds of chunks, the version and where things
are in the file are those of the code, none is missing, and sections that it names are in docs/trace-format.md.

Usage: trace_page.py SOURCE_ROOT
"""
import os
import re
import sys


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def enumeration(header, prefix):
    """{name: number} of an enum's constants with this prefix, | of two of them included."""
    found = {}
    for name, value in re.findall(r"\b%s([A-Z_]+) = ([^,\n/]+?),?\s*(?:/\*.*)?\n" % prefix, header):
        number = 0
        for word in value.split("|"):
            word = word.strip()
            if word[len(prefix):] in found:
                number |= found[word[len(prefix):]]
            elif re.fullmatch(r"\d+", word):
                number |= int(word)
            else:
                number |= int(re.search(r"#define %s 0x([0-9a-fA-F]+)u" % word, header).group(1), 16)
        found[name] = number
    return found


def table(page, heading):
    """The rows of the table whose first column has this heading, as lists of cells."""
    text = page[page.index("[[ *%s*" % heading):].split("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"\n:[<\[]?", row)] for row in text.split("\n|")[1:]]


def main():
    root = sys.argv[1]
    page, header = read(root, "docs/bytepoll-trace.5.scd"), read(root, "src/trace/format.h")
    findings = []
    tags = enumeration(header, "BP_TAG_")
    told = {name: int(number) for number, name, _ in table(page, "tag")}
    if len(tags) < 19:
        findings.append("only %d records found in format.h" % len(tags))
    for name in sorted(set(tags) | set(told)):
        if tags.get(name) != told.get(name):
            findings.append("record %s: %s in format.h, %s in the page" % (name, tags.get(name), told.get(name)))

    def constant(name):
        return int(re.search(r"#define %s (\d+)" % name, header).group(1))
    kinds = {int(number) for number in re.findall(r"BP_CHUNK_(?:RECORDS|THREADS|VERIFY_SUMS|[A-Z]+) = (\d+)", header)}
    if kinds != {int(row[0]) for row in table(page, "kind of chunk")}:
        findings.append("kinds of chunks: %s in format.h" % sorted(kinds))
    places = [int(row[0]) for row in table(page, "where in chunk 0")]
    if places != [0, constant("BP_STATE_OFFSET"), constant("BP_SLOTS_OFFSET")]:
        findings.append("chunk 0 is laid out otherwise: %s" % places)
    for text in ("version %d.%d." % (constant("BP_TRACE_MAJOR"), constant("BP_TRACE_MINOR")),
                 "chunks of %d bytes" % constant("BP_CHUNK_BYTES")):
        if text not in page:
            findings.append("the page does not say %r" % text)
    specification = read(root, "docs/trace-format.md")
    for section in set(re.findall(r"\((\d(?:\.\d)?)\)", page)):
        if not re.search(r"^##+ %s[ .]" % re.escape(section), specification, re.M):
            findings.append("docs/trace-format.md has no section %s" % section)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
