# SPDX-License-Identifier: MIT
"""pprof and OpenTelemetry files through Google's own protobuf library: a reader that shares no line with ours.

The messages are described here field by field, as profile.proto and opentelemetry-proto number and type
them, so that no file of anyone else is needed. A field that the description lacks, or that has another wire type, is an error.
"""
import collections
import gzip

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INT, UINT, BOOL, MESSAGE, STRING = 3, 4, 8, 11, 9
INT32, FIXED, BYTES, DOUBLE = 5, 6, 12, 1
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


# Of opentelemetry-proto 1.11.0: collector/profiles/v1development, profiles/v1development, common, resource.
OTLP_MESSAGES = {
    "ExportProfilesServiceRequest": {"resource_profiles": (1, MESSAGE, REPEATED, "ResourceProfiles"),
                                     "dictionary": (2, MESSAGE, OPTIONAL, "ProfilesDictionary")},
    "ResourceProfiles": {"resource": (1, MESSAGE, OPTIONAL, "Resource"),
                         "scope_profiles": (2, MESSAGE, REPEATED, "ScopeProfiles"), "schema_url": (3, STRING)},
    "Resource": {"attributes": (1, MESSAGE, REPEATED, "KeyValue"), "dropped_attributes_count": (2, INT32)},
    "ScopeProfiles": {"scope": (1, MESSAGE, OPTIONAL, "InstrumentationScope"),
                      "profiles": (2, MESSAGE, REPEATED, "Profile"), "schema_url": (3, STRING)},
    "InstrumentationScope": {"name": (1, STRING), "version": (2, STRING),
                             "attributes": (3, MESSAGE, REPEATED, "KeyValue")},
    "KeyValue": {"key": (1, STRING), "value": (2, MESSAGE, OPTIONAL, "AnyValue"), "key_strindex": (3, INT32)},
    "AnyValue": {"string_value": (1, STRING), "bool_value": (2, BOOL), "int_value": (3, INT),
                 "double_value": (4, DOUBLE), "array_value": (5, MESSAGE, OPTIONAL, "ArrayValue"),
                 "bytes_value": (7, BYTES), "string_value_strindex": (8, INT32)},
    "ArrayValue": {"values": (1, MESSAGE, REPEATED, "AnyValue")},
    "Profile": {"sample_type": (1, MESSAGE, OPTIONAL, "ValueType"), "samples": (2, MESSAGE, REPEATED, "Sample"),
                "time_unix_nano": (3, FIXED), "duration_nano": (4, UINT),
                "period_type": (5, MESSAGE, OPTIONAL, "ValueType"), "period": (6, INT), "profile_id": (7, BYTES),
                "dropped_attributes_count": (8, INT32), "original_payload_format": (9, STRING),
                "original_payload": (10, BYTES), "attribute_indices": (11, INT32, REPEATED)},
    "ValueType": {"type_strindex": (1, INT32), "unit_strindex": (2, INT32)},
    "Sample": {"stack_index": (1, INT32), "attribute_indices": (2, INT32, REPEATED), "link_index": (3, INT32),
               "values": (4, INT, REPEATED), "timestamps_unix_nano": (5, FIXED, REPEATED)},
    "ProfilesDictionary": {"mapping_table": (1, MESSAGE, REPEATED, "Mapping"),
                           "location_table": (2, MESSAGE, REPEATED, "Location"),
                           "function_table": (3, MESSAGE, REPEATED, "Function"),
                           "link_table": (4, MESSAGE, REPEATED, "Link"), "string_table": (5, STRING, REPEATED),
                           "attribute_table": (6, MESSAGE, REPEATED, "KeyValueAndUnit"),
                           "stack_table": (7, MESSAGE, REPEATED, "Stack")},
    "Mapping": {"memory_start": (1, UINT), "memory_limit": (2, UINT), "file_offset": (3, UINT),
                "filename_strindex": (4, INT32), "attribute_indices": (5, INT32, REPEATED)},
    "Location": {"mapping_index": (1, INT32), "address": (2, UINT), "lines": (3, MESSAGE, REPEATED, "Line"),
                 "attribute_indices": (4, INT32, REPEATED)},
    "Line": {"function_index": (1, INT32), "line": (2, INT), "column": (3, INT)},
    "Function": {"name_strindex": (1, INT32), "system_name_strindex": (2, INT32), "filename_strindex": (3, INT32),
                 "start_line": (4, INT)},
    "Link": {"trace_id": (1, BYTES), "span_id": (2, BYTES)},
    "KeyValueAndUnit": {"key_strindex": (1, INT32), "value": (2, MESSAGE, OPTIONAL, "AnyValue"),
                        "unit_strindex": (3, INT32)},
    "Stack": {"location_indices": (1, INT32, REPEATED)},
}


def message_class(messages, wanted):
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, *rest) in fields.items():
            added = message.field.add(name=field, number=number, type=kind,
                                      label=rest[0] if rest else OPTIONAL)
            if kind == MESSAGE:
                added.type_name = ".pprof." + rest[1]
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("pprof." + wanted))


def parse(data, messages, wanted):
    """The message that the bytes are, with no field that `messages` lacks."""
    message = message_class(messages, wanted)()
    if message.ParseFromString(data) != len(data):
        raise AssertionError("it was not read to its end")
    known = len(message.SerializeToString())
    message.DiscardUnknownFields()
    if len(message.SerializeToString()) != known:
        raise AssertionError("there are fields that the description does not have")
    return message


def read(path):
    """({sample type: sum}, {sample type: {innermost function: sum}}, the message)."""
    with gzip.open(path) as file:
        profile = parse(file.read(), MESSAGES, "Profile")
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
