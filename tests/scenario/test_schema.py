#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON that commands print against docs/schema, by python3-jsonschema.

Readers of the JSON must accept fields that they do not know; here the opposite is asked: every field
that is printed stands in the schema. So a new field is described, or this test fails.
"""
import copy
import json
import os
import sys

import jsonschema

import profiled

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMAS = os.path.join(ROOT, "docs", "schema")
PPROF = os.path.join(ROOT, "tests", "data", "pprof", "go-1.26.pb.gz")


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
    with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as file:
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


def printed(name, *arguments, statuses=(0,)):
    """Runs a command and validates what it prints."""
    result = profiled.run([profiled.BYTEPOLL, *arguments])
    profiled.expect(result.status in statuses, "%s: status %s: %s" % (
        arguments, result.status, result.stderr.decode(errors="replace").strip()))
    data = json.loads(result.stdout)
    profiled.expect(data["schema"] == "bytepoll-" + name, data["schema"])
    validate(data, name)
    return data


def record(folder, name, program, seed, *options):
    path = os.path.join(folder, name)
    result = profiled.run([profiled.BYTEPOLL, "run", "--quiet", "-o", path, "--interval", "2048",
                           "--seed", str(seed), *options, "--", profiled.program(program)])
    profiled.expect(result.status == 0, result.stderr.decode(errors="replace"))
    return path


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        a, b = (record(folder, "a%d.bpt" % seed, "truth", seed) for seed in (1, 2))
        verified = record(folder, "verified.bpt", "truth", 3, "--verify")
        tree = record(folder, "tree.bpt", "fork_storm", 4)
        cases = [("report-1", "report", "--json", *options) for options in (
            (a,), ("--by", "stack", a), ("--timeline", a), ("--metric", "peak", "-n", "1", a),
            ("--metric", "allocated", "--by", "thread", a), ("--filter", "function=site_*", a),
            ("--from", "0", "--to", "0.01", "--metric", "allocated", a), (tree,),
            ("--by", "process", tree), (a, b), (PPROF,), ("--by", "size", "--bytes", "usable", a))]
        cases += [("diff-1", "diff", "--json", *options) for options in (
            (a, b), ("--by", "stack", "--metric", "allocated", a, b), (a, b, "--new", b, tree),
            ("--at", "0.001", "--at", "0.01", a))]
        cases += [("growth-1", "report", "--growth", "--json", a),
                  ("verify-1", "verify", "--json", verified),
                  ("plan-1", "plan", "--json", "--heap", "10M", "--accuracy", "5%"),
                  ("plan-1", "plan", "--json", "--heap", "10M", "--interval", "512K", "--share",
                   "10%"),
                  ("plan-1", "plan", "--json", "--heap", "10M", "--change", "10%"),
                  ("plan-tables-1", "plan", "--json", "--table"),
                  ("plan-profile-1", "plan", "--json", a)]
        cases += [("check-1", "check", "--json", *options) for options in (
            (a, "--limit", "live=1"), (a, "--limit", "peak=1G"), (a, "--limit", "live:none*=1K"),
            (b, "--against", a, "--max-growth", "10%"))]
        for name, *arguments in cases:
            title = " ".join(os.path.basename(word) for word in arguments)
            tap.attempt("%s: %s" % (name, title), lambda: printed(
                name, *arguments, statuses=(0, 1, 3) if name == "check-1" else (0,)))
        tap.attempt("it bites", lambda: bites(a))
    return tap.finish()


def bites(trace):
    data = printed("report-1", "report", "--json", trace)
    for damage in (lambda d: d.update(more=1), lambda d: d.pop("law"),
                   lambda d: d["totals"]["live"]["bytes"].update(low="1"),
                   lambda d: d["rows"][0].update(named=1)):
        other = copy.deepcopy(data)
        damage(other)
        try:
            validate(other, "report-1")
        except AssertionError:
            continue
        raise AssertionError("a damaged report was accepted")


if __name__ == "__main__":
    sys.exit(main())
