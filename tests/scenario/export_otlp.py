# SPDX-License-Identifier: MIT
"""A reader of OpenTelemetry's profiles, written from the description of opentelemetry-proto 1.11.0 alone.

It reads the wire format field by field: one that the description lacks, or of another wire type, is an
error. Every rule that the description states for a dictionary is checked: item 0 is the zero value, no
item stands twice, none is without a reference, and every reference leads somewhere. `check` does the same
by Google's protobuf library.
"""
import collections

import export_protobuf
from export_read import expect, varint

INT, FIXED, BYTES = 0, 1, 2
NO_LINK = b"\x0a\x10" + bytes(16) + b"\x12\x08" + bytes(8)
TABLES = {1: "mapping", 2: "location", 3: "function", 4: "link", 5: "string", 6: "attribute", 7: "stack"}
# Message: {field: wire type}
SHAPES = {
    "request": {1: BYTES, 2: BYTES}, "resources": {1: BYTES, 2: BYTES}, "resource": {1: BYTES},
    "scopes": {1: BYTES, 2: BYTES}, "scope": {1: BYTES, 2: BYTES},
    "profile": {1: BYTES, 2: BYTES, 3: FIXED, 4: INT, 5: BYTES, 6: INT, 7: BYTES, 11: BYTES},
    "dictionary": {number: BYTES for number in TABLES}, "type": {1: INT, 2: INT},
    "sample": {1: INT, 2: BYTES, 4: BYTES}, "mapping": {1: INT, 2: INT, 3: INT, 4: INT, 5: BYTES},
    "location": {1: INT, 2: INT, 3: BYTES}, "line": {1: INT, 2: INT}, "function": {1: INT, 2: INT, 3: INT},
    "stack": {1: BYTES}, "attribute": {1: INT, 2: BYTES, 3: INT}, "pair": {1: BYTES, 2: BYTES},
    "value": {1: BYTES, 3: INT, 5: BYTES}, "array": {1: BYTES}, "link": {1: BYTES, 2: BYTES},
}


def message(shape, data):
    """Fields by number, each a list."""
    result, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        expect(SHAPES[shape].get(number) == wire, "%s: field %d of wire type %d" % (shape, number, wire))
        if wire == INT:
            value, at = varint(data, at)
        else:
            length, at = (8, at) if wire == FIXED else varint(data, at)
            value, at = data[at:at + length], at + length
            expect(len(value) == length, "%s: field %d ends early" % (shape, number))
        result[number].append(int.from_bytes(value, "little") if wire == FIXED else value)
    return result


def one(fields, number, default=0):
    expect(len(fields[number]) <= 1, "field %d stands twice" % number)
    return fields[number][0] if fields[number] else default


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def value_of(data):
    fields = message("value", data)
    expect(sum(map(len, fields.values())) == 1, "a value of %s" % dict(fields))
    if 1 in fields:
        return fields[1][0].decode()
    return fields[3][0] if 3 in fields else [value_of(part) for part in message("array", fields[5][0])[1]]


def pairs(parts):
    result = {}
    for part in parts:
        fields = message("pair", part)
        key = one(fields, 1).decode()
        expect(key and key not in result, "key %r" % key)
        result[key] = value_of(one(fields, 2))
    return result


class Profile:
    """One of a request: its type and unit, and its samples as (places, value, attributes)."""

    def __init__(self, otlp, data):
        fields = message("profile", data)
        kind, period_type = (message("type", one(fields, number)) for number in (1, 5))
        self.type, self.unit = (otlp.item("string", one(kind, number)) for number in (1, 2))
        self.period_type = tuple(otlp.item("string", one(period_type, number)) for number in (1, 2))
        self.time_ns, self.duration_ns, self.period = (one(fields, number) for number in (3, 4, 6))
        self.id = one(fields, 7)
        expect(len(self.id) == 16 and any(self.id), "id %s" % self.id)
        self.attributes = otlp.attributes(one(fields, 11, b""))
        self.samples, identities = [], set()
        for part in fields[2]:
            sample = message("sample", part)
            values = packed(one(sample, 4, b""))
            expect(len(values) == 1, "%d values" % len(values))
            identity = one(sample, 1), frozenset(packed(one(sample, 2, b"")))
            expect(identity not in identities, "two samples of one stack and one set of attributes")
            identities.add(identity)
            self.samples.append((otlp.item("stack", one(sample, 1)), values[0],
                                 otlp.attributes(one(sample, 2, b""))))

    def stacks(self):
        """[(functions, outermost first; value)]."""
        return [(tuple(function["name"] for place in reversed(places)
                       for function, _ in reversed(place["lines"])), value)
                for places, value, _ in self.samples]

    def total(self):
        return sum(value for _, value, _ in self.samples)


class Otlp:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.read(data)
        check(data, self)

    def read(self, data):
        request = message("request", data)
        dictionary = message("dictionary", one(request, 2))
        self.raw = {name: dictionary[number] for number, name in TABLES.items()}
        self.items, self.used = {}, {name: {0} for name in self.raw}
        for name, items in self.raw.items():
            expect(items and items[0] == (NO_LINK if name == "link" else b""), "item 0 of " + name)
            expect(len(set(items)) == len(items), "an item stands twice in " + name)
        resources = message("resources", one(request, 1))
        self.resource = pairs(message("resource", one(resources, 1))[1])
        scopes = message("scopes", one(resources, 2))
        self.scope = tuple(one(message("scope", one(scopes, 1)), number).decode() for number in (1, 2))
        self.profiles = [Profile(self, part) for part in scopes[2]]
        for name, items in self.raw.items():
            expect(len(self.used[name]) == len(items), "%s: %d items, %d of them used" % (
                name, len(items), len(self.used[name])))

    def item(self, table, number):
        expect(number < len(self.raw[table]), "%s %d: there are %d" % (table, number, len(self.raw[table])))
        self.used[table].add(number)
        key = table, number
        if key not in self.items:
            self.items[key] = getattr(self, "read_" + table)(self.raw[table][number])
        return self.items[key]

    def attributes(self, numbers):
        result = {}
        for number in packed(numbers):
            expect(number > 0, "attribute 0")
            key, value, unit = self.item("attribute", number)
            expect(key not in result, "two attributes %r" % key)
            result[key] = (value, unit) if unit else value
        return result

    @staticmethod
    def read_string(data):
        return data.decode()  # strict: valid UTF-8

    def read_attribute(self, data):
        fields = message("attribute", data)
        return self.item("string", one(fields, 1)), value_of(one(fields, 2)), self.item("string", one(fields, 3))

    def read_stack(self, data):
        return [self.item("location", number) for number in packed(one(message("stack", data), 1, b""))]

    def read_location(self, data):
        fields = message("location", data)
        lines = [message("line", part) for part in fields[3]]
        return {"mapping": self.item("mapping", one(fields, 1)), "address": one(fields, 2),
                "lines": [(self.item("function", one(line, 1)), one(line, 2)) for line in lines]}

    def read_function(self, data):
        fields = message("function", data)
        return dict(zip(("name", "system_name", "file"),
                        (self.item("string", one(fields, number)) for number in (1, 2, 3))))

    def read_mapping(self, data):
        fields = message("mapping", data)
        return {"start": one(fields, 1), "limit": one(fields, 2), "offset": one(fields, 3),
                "path": self.item("string", one(fields, 4)), "attributes": self.attributes(one(fields, 5, b""))}

    def profile(self, name):
        return {profile.type: profile for profile in self.profiles}[name]


def check(data, own):
    """Google's library, with its own description of the messages, reads what ours does."""
    request = export_protobuf.parse(data, export_protobuf.OTLP_MESSAGES, "ExportProfilesServiceRequest")
    dictionary = request.dictionary
    text = dictionary.string_table
    expect([item.encode() for item in text] == own.raw["string"], "strings")
    profiles = request.resource_profiles[0].scope_profiles[0].profiles
    expect(len(profiles) == len(own.profiles), "profiles")
    for theirs, ours in zip(profiles, own.profiles):
        expect((text[theirs.sample_type.type_strindex], text[theirs.sample_type.unit_strindex],
                theirs.time_unix_nano, theirs.duration_nano, theirs.period, theirs.profile_id) ==
               (ours.type, ours.unit, ours.time_ns, ours.duration_ns, ours.period, ours.id), "a profile")
        stacks = []
        for sample in theirs.samples:
            names = []
            for index in dictionary.stack_table[sample.stack_index].location_indices:
                names += [text[dictionary.function_table[line.function_index].name_strindex]
                          for line in dictionary.location_table[index].lines]
            stacks.append((tuple(reversed(names)), sample.values[0]))
        expect(stacks == ours.stacks(), "stacks of " + ours.type)
