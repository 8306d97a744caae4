# SPDX-License-Identifier: MIT
"""pprof files through Google's own protobuf library: a reader that shares no line with ours.

The messages are described here field by field, as profile.proto numbers and types them, so that no file
of anyone else is needed. A field that the description lacks, or that has another wire type, is an error.
"""
import collections
import gzip

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INT, UINT, BOOL, MESSAGE, STRING = 3, 4, 8, 11, 9
OPTIONAL, REPEATED = 1, 3

# Message: field: (number, type, label, message)
MESSAGES = {
    "ValueType": {"type": (1, INT), "unit": (2, INT)},
    "Label": {"key": (1, INT), "str": (2, INT), "num": (3, INT), "num_unit": (4, INT)},
    "Sample": {"location_id": (1, UINT, REPEATED), "value": (2, INT, REPEATED),
               "label": (3, MESSAGE, REPEATED, "Label")},
    "Mapping": {"id": (1, UINT), "memory_start": (2, UINT), "memory_limit": (3, UINT),
                "file_offset": (4, UINT), "filename": (5, INT), "build_id": (6, INT),
                "has_functions": (7, BOOL), "has_filenames": (8, BOOL),
                "has_line_numbers": (9, BOOL), "has_inline_frames": (10, BOOL)},
    "Line": {"function_id": (1, UINT), "line": (2, INT)},
    "Location": {"id": (1, UINT), "mapping_id": (2, UINT), "address": (3, UINT),
                 "line": (4, MESSAGE, REPEATED, "Line"), "is_folded": (5, BOOL)},
    "Function": {"id": (1, UINT), "name": (2, INT), "system_name": (3, INT), "filename": (4, INT),
                 "start_line": (5, INT)},
    "Profile": {"sample_type": (1, MESSAGE, REPEATED, "ValueType"),
                "sample": (2, MESSAGE, REPEATED, "Sample"),
                "mapping": (3, MESSAGE, REPEATED, "Mapping"),
                "location": (4, MESSAGE, REPEATED, "Location"),
                "function": (5, MESSAGE, REPEATED, "Function"),
                "string_table": (6, STRING, REPEATED), "drop_frames": (7, INT),
                "keep_frames": (8, INT), "time_nanos": (9, INT), "duration_nanos": (10, INT),
                "period_type": (11, MESSAGE, OPTIONAL, "ValueType"), "period": (12, INT),
                "comment": (13, INT, REPEATED), "default_sample_type": (14, INT)},
}


def profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, *rest) in fields.items():
            added = message.field.add(name=field, number=number, type=kind,
                                      label=rest[0] if rest else OPTIONAL)
            if kind == MESSAGE:
                added.type_name = ".pprof." + rest[1]
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName("pprof.Profile"))


def read(path):
    """({sample type: sum}, {sample type: {innermost function: sum}}, the message)."""
    profile = profile_class()()
    with gzip.open(path) as file:
        data = file.read()
    if profile.ParseFromString(data) != len(data):
        raise AssertionError("it was not read to its end")
    known = len(profile.SerializeToString())
    profile.DiscardUnknownFields()
    if len(profile.SerializeToString()) != known:
        raise AssertionError("there are fields that profile.proto does not have")
    text = profile.string_table
    functions = {function.id: text[function.name] for function in profile.function}
    locations = {location.id: functions[location.line[0].function_id]
                 for location in profile.location}
    names = [text[kind.type] for kind in profile.sample_type]
    totals = collections.Counter()
    flat = {name: collections.Counter() for name in names}
    for sample in profile.sample:
        for name, value in zip(names, sample.value, strict=True):
            totals[name] += value
            flat[name][locations[sample.location_id[0]] if sample.location_id else ""] += value
    return totals, flat, profile
