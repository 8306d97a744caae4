# SPDX-License-Identifier: MIT
"""Readers of what `bytepoll export` writes, written from the formats' descriptions alone.

Each gives stacks as tuples of functions, the outermost first, with their values; `cumulative` adds them
up by function, each once per stack. pprof: the wire format of Protocol Buffers and the field numbers of
profile.proto. Firefox: the tables of a processed profile of version 60, with the rules that its types
state (src/types/profile.ts there) checked one by one.
"""
import collections
import gzip
import json


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def cumulative(stacks):
    sums = collections.Counter()
    for stack, value in stacks:
        for function in set(stack):
            sums[function] += value
    return sums


# ---- pprof ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """[(number, value)]; values are numbers or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            expect(tag & 7 == 2, "wire type %d" % (tag & 7))
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            expect(len(value) == length, "a field ends early")
        yield tag >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def message(data):
    """Fields by number, each a list."""
    result = collections.defaultdict(list)
    for number, value in fields(data):
        result[number].append(value)
    return result


def one(fields_of, number):
    expect(len(fields_of[number]) <= 1, "field %d stands twice" % number)
    return fields_of[number][0] if fields_of[number] else 0


class Pprof:
    def __init__(self, path):
        with open(path, "rb") as file:
            top = message(gzip.decompress(file.read()))
        self.strings = [text.decode() for text in top[6]]  # strict: valid UTF-8
        expect(self.strings[0] == "", "the first string is not empty")
        text = self.strings.__getitem__
        self.types = [(text(one(kind, 1)), text(one(kind, 2))) for kind in map(message, top[1])]
        self.default_type = text(one(top, 14))
        self.period_type = tuple(text(one(message(top[11][0]), i)) for i in (1, 2))
        self.period, self.time_ns, self.duration_ns = (one(top, i) for i in (12, 9, 10))
        self.drop_frames = text(one(top, 7))
        self.comments = [text(index) for part in top[13] for index in packed(part)]
        self.functions = self.table(top[5], lambda f: {
            "name": text(one(f, 2)), "system_name": text(one(f, 3)), "file": text(one(f, 4))})
        self.mappings = self.table(top[3], lambda m: {
            "start": one(m, 2), "limit": one(m, 3), "offset": one(m, 4), "path": text(one(m, 5)),
            "build_id": text(one(m, 6)), "flags": tuple(one(m, i) for i in (7, 8, 9, 10))})
        self.locations = self.table(top[4], lambda place: {
            "mapping": one(place, 2), "address": one(place, 3),
            "lines": [(self.functions[one(line, 1)], one(line, 2))
                      for line in map(message, place[4])]})
        for place in self.locations.values():
            expect(place["mapping"] == 0 or place["mapping"] in self.mappings, "no such mapping")
        self.samples = [self.sample(message(data), text) for data in top[2]]

    @staticmethod
    def table(parts, make):
        result = {}
        for part in map(message, parts):
            index = one(part, 1)
            expect(index > 0 and index not in result, "id %d" % index)
            result[index] = make(part)
        return result

    def sample(self, part, text):
        values = packed(one(part, 2))
        expect(len(values) == len(self.types), "%d values" % len(values))
        places = [self.locations[index] for index in packed(one(part, 1))]
        labels = {text(one(label, 1)): text(one(label, 2)) or one(label, 3)
                  for label in map(message, part[3])}
        return places, values, labels

    def stacks(self, name):
        """[(functions, outermost first; value of a type)]."""
        index = [kind[0] for kind in self.types].index(name)
        return [(tuple(function["name"] for place in reversed(places)
                       for function, _ in reversed(place["lines"])), values[index])
                for places, values, _ in self.samples]

    def total(self, name):
        return sum(value for _, value in self.stacks(name))


# ---- the others ----

def collapsed(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return collapsed_text(file.read())


def collapsed_text(text):
    lines = text.split("\n")
    expect(lines.pop() == "", "the last line is not ended")
    stacks = []
    for line in lines:
        stack, number = line.rsplit(" ", 1)
        expect(number.isdigit() and int(number) > 0, "no whole number: " + number)
        stacks.append((tuple(stack.split(";")), int(number)))
    expect(len({stack for stack, _ in stacks}) == len(stacks), "a stack stands twice")
    return stacks


def speedscope(path):
    """[(unit, stacks)] of the profiles."""
    data = load(path)
    frames = data["shared"]["frames"]
    keys = [(frame["name"], frame.get("file")) for frame in frames]
    result = []
    for profile in data["profiles"]:
        expect(profile["type"] == "sampled", profile["type"])
        expect(len(profile["samples"]) == len(profile["weights"]), "samples and weights")
        expect(profile["endValue"] - profile["startValue"] == sum(profile["weights"]), "endValue")
        expect(all(weight > 0 for weight in profile["weights"]), "a weight is not positive")
        result.append((profile["unit"], [
            (tuple(keys[index][0] for index in stack), weight)
            for stack, weight in zip(profile["samples"], profile["weights"])]))
    return result


def load(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect(not any(c < " " and c != "\n" or c == "\x7f" for c in text), "a control character")
    return json.loads(text)


def check_table(table, columns, name):
    expect(set(table) == set(columns) | {"length"}, "%s: %s" % (name, sorted(table)))
    for column in columns:
        expect(len(table[column]) == table["length"], "%s.%s" % (name, column))


def check_indices(values, limit, what, nothing=()):
    for value in values:
        expect(value in nothing or isinstance(value, int) and 0 <= value < limit,
               "%s: %r of %d" % (what, value, limit))


TABLES = {
    "stackTable": ("frame", "prefix"),
    "frameTable": ("address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                   "innerWindowID", "line", "column"),
    "funcTable": ("name", "isJS", "relevantForJS", "resource", "source", "lineNumber",
                  "columnNumber"),
    "resourceTable": ("lib", "name", "host", "type"),
    "nativeSymbols": ("libIndex", "address", "name", "functionSize"),
    "sources": ("uuid", "filename"),
}


class Firefox:
    def __init__(self, path):
        self.data = load(path)
        self.shared = self.data["shared"]
        meta = self.data["meta"]
        expect(meta["preprocessedProfileVersion"] == 60, "version")
        expect(any(c["color"] == "grey" and c["subcategories"][0] == "Other"
                   for c in meta["categories"]), "categories")
        for name, columns in TABLES.items():
            check_table(self.shared[name], columns, name)
        self.check()
        self.threads = [self.thread(thread) for thread in self.data["threads"]]
        expect(len({t["tid"] for t in self.data["threads"]}) == len(self.threads), "equal tids")

    def check(self):
        strings, libs = len(self.shared["stringArray"]), len(self.data["libs"])
        frames, functions = self.shared["frameTable"], self.shared["funcTable"]
        stacks, resources = self.shared["stackTable"], self.shared["resourceTable"]
        check_indices(stacks["frame"], frames["length"], "stack.frame")
        for index, prefix in enumerate(stacks["prefix"]):
            expect(prefix is None or 0 <= prefix < index, "a stack before its prefix")
        check_indices(frames["func"], functions["length"], "frame.func")
        expect(all(a == -1 or a >= 0 for a in frames["address"]), "address")
        expect(all(line is None or line > 0 for line in frames["line"]), "line")
        check_indices(functions["name"], strings, "func.name")
        check_indices(functions["resource"], resources["length"], "func.resource", (-1,))
        check_indices(functions["source"], self.shared["sources"]["length"], "source", (None,))
        check_indices(self.shared["sources"]["filename"], strings, "source.filename")
        check_indices(resources["name"], strings, "resource.name")
        check_indices(resources["lib"], libs, "resource.lib", (None,))

    def thread(self, thread):
        samples, table = thread["samples"], thread["nativeAllocations"]
        for key in ("name", "pid", "processType"):
            expect(isinstance(thread[key], str), key)
        expect(samples["length"] == len(samples["stack"]) == len(samples["time"]) >= 1, "samples")
        expect(table.pop("weightType") == "bytes", "weightType")
        check_table(table, [key for key in table if key != "length"], "nativeAllocations")
        check_indices(table["stack"], self.shared["stackTable"]["length"], "stack", (None,))
        expect(all(a <= b for a, b in zip(table["time"], table["time"][1:])), "times go back")
        return table

    def stack(self, index):
        functions = []
        while index is not None:
            frame = self.shared["stackTable"]["frame"][index]
            name = self.shared["funcTable"]["name"][self.shared["frameTable"]["func"][frame]]
            functions.append(self.shared["stringArray"][name])
            index = self.shared["stackTable"]["prefix"][index]
        return tuple(reversed(functions))

    def retained(self, until_ms=float("inf")):
        """Stacks of what is there at a moment: allocations that no later free has paired."""
        result = []
        for table in self.threads:
            live = {}
            for time, weight, stack, address in zip(
                    table["time"], table["weight"], table["stack"], table["memoryAddress"]):
                if time > until_ms:
                    break
                if weight > 0:
                    expect(address not in live, "an address is used twice")
                    live[address] = (self.stack(stack), weight)
                else:
                    expect(live.pop(address)[1] == -weight, "a free of another size")
            result.extend(live.values())
        return result

    def allocated(self):
        return [(self.stack(stack), weight) for table in self.threads
                for weight, stack in zip(table["weight"], table["stack"]) if weight > 0]
