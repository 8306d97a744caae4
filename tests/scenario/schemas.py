# SPDX-License-Identifier: MIT
"""docs/schema, and documents held against it, by python3-jsonschema. For test_schema.py and test_control.py.

Readers of the JSON must accept fields that they do not know; here the opposite is asked: every field
that is printed stands in the schema. So a new field is described, or a test fails.

That such a test can fail at all is asked of every document, too (`bites`): it is damaged in every place, and each damaged one must be
refused.
"""
import copy
import json
import os

import jsonschema

import profiled

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "docs", "schema")
WRONG = {"no such field": []}  # is no value of any field
KEPT = 2  # elements of each list that are damaged: the others are of the same kind


def names():
    return sorted(name[:-len(".json")] for name in os.listdir(FOLDER) if name.endswith(".json"))


def strict(schema):
    """The same schema, refusing fields that it does not name."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            strict(part)
    elif isinstance(schema, list):
        for part in schema:
            strict(part)
    return schema


def load(name):
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def validate(data, name):
    schema = load(name)
    for candidate in (schema, strict(copy.deepcopy(schema))):
        errors = sorted(jsonschema.Draft202012Validator(candidate).iter_errors(data), key=str)
        profiled.expect(not errors, "%s: %s" % (name, "; ".join(
            "%s: %s" % ("/".join(map(str, e.absolute_path)), e.message[:160])
            for e in errors[:3])))


def shortened(data):
    if isinstance(data, dict):
        return {key: shortened(value) for key, value in data.items()}
    return [shortened(part) for part in data[:KEPT]] if isinstance(data, list) else data


def places(data):
    """Every object and list in it, each with what it holds."""
    if isinstance(data, (dict, list)):
        yield data
        for part in data.values() if isinstance(data, dict) else data:
            yield from places(part)


def bites(data, name):
    """Damages the document in every place, in turn, and gives it back; how often that was. Each time the schema must refuse it."""
    validator = jsonschema.Draft202012Validator(strict(load(name)))
    data, count = shortened(data), 0
    profiled.expect(validator.is_valid(data), "a shortened document is refused")

    def refused(what):
        nonlocal count
        count += 1
        profiled.expect(not validator.is_valid(data), "%s is accepted: %s" % (name, what))

    for place in places(data):
        for key in list(place) if isinstance(place, dict) else range(len(place)):
            kept = place[key]
            place[key] = WRONG
            refused("a wrong value of %s" % key)
            place[key] = kept
        if isinstance(place, dict):
            place["no such field"] = []
            refused("a field more beside %s" % sorted(place)[:4])
            del place["no such field"]
    for key in load(name)["required"]:
        kept = data.pop(key)
        refused("without %s" % key)
        data[key] = kept
    profiled.expect("schema" in load(name)["required"], "%s: its own name is not required" % name)
    data["schema"] = "bytepoll-report-0"
    refused("the name of another schema")
    return count
