#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll push --to otlp+http://...` with a real OpenTelemetry Collector: what it hands on must be what was sent.

COLLECTOR is a collector with the receiver `otlp` and the exporter `file`: the distribution otelcol-contrib has both. It is
started with a pipeline of profiles that writes JSON into a file. Recordings of a C program and of a script are pushed; the
types, the stacks with their functions, the values, the attributes of the resource and the build-ids in that file are compared
with those that the second decoder finds in what `bytepoll export --to otlp` writes of the same recordings.

Usage: otlp_collector.py BUILD COLLECTOR
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

if len(sys.argv) != 3:
    sys.exit(__doc__)
BUILD, COLLECTOR = map(os.path.abspath, sys.argv[1:])
os.environ["BYTEPOLL_BUILD"] = BUILD
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scenario"))
import profiled  # noqa: E402
from export_otlp import Otlp  # noqa: E402
from test_push_bucket import free_port  # noqa: E402

CONFIGURATION = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}}}}
exporters: {file: {path: "%s", flush_interval: 100ms}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
"""
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAMS = ([profiled.program("truth"), "1", "portable"], ["/usr/bin/python3", os.path.join(ROOT, "examples", "records.py")])
TAGS = ["--service", "shop", "--release", "1.4", "--tag", "zone=eu"]


def wait_for(what, condition):
    until = time.monotonic() + 60
    while not condition():
        profiled.expect(time.monotonic() < until, "not within a minute: " + what)
        time.sleep(.1)


def answers(address):
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def value_of(value, strings):
    """An attribute's value of the collector's JSON, whose texts may stand in the table of strings."""
    for key, found in value.items():
        if key == "arrayValue":
            return [value_of(each, strings) for each in found["values"]]
        return strings[found] if key.endswith("Strindex") else int(found) if key == "intValue" else found
    return ""


def handed_on(line):
    """(attributes of the resource, {(type, unit): stacks with values, counted}, build-ids)"""
    request = json.loads(line)
    tables = request["dictionary"]
    strings = tables["stringTable"]

    def attributes(of, numbers):
        found = [of[number] for number in numbers] if numbers is not None else of
        return {strings[each.get("keyStrindex", 0)] or each.get("key"): value_of(each["value"], strings) for each in found}

    def functions(stack):
        for number in reversed(tables["stackTable"][stack].get("locationIndices", [])):
            for place in reversed(tables["locationTable"][number].get("lines", [])):
                yield strings[tables["functionTable"][place["functionIndex"]].get("nameStrindex", 0)]

    (resource,) = request["resourceProfiles"]
    profiles = {}
    for profile in (each for scope in resource["scopeProfiles"] for each in scope["profiles"]):
        kind = tuple(strings[profile["sampleType"][key]] for key in ("typeStrindex", "unitStrindex"))
        profiles[kind] = collections.Counter(
            (tuple(functions(sample.get("stackIndex", 0))), *map(int, sample["values"])) for sample in profile["samples"])
    builds = {text for mapping in tables["mappingTable"]
              for text in attributes(tables["attributeTable"], mapping.get("attributeIndices", [])).values()}
    return attributes(resource["resource"]["attributes"], None), profiles, builds


def sent(path):
    otlp = Otlp(path)
    builds = {text for number in range(len(otlp.raw["mapping"])) for text in otlp.item("mapping", number)["attributes"].values()}
    return otlp.resource, {(each.type, each.unit): collections.Counter(each.stacks()) for each in otlp.profiles}, builds


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        port, out, settings = free_port(), os.path.join(folder, "out.json"), os.path.join(folder, "settings.yaml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION % (port, out))
        with tempfile.TemporaryFile() as log, subprocess.Popen(
                [COLLECTOR, "--config", "file:" + settings, "--feature-gates=service.profilesSupport"],
                stdout=log, stderr=subprocess.STDOUT) as server:
            try:
                address = "http://127.0.0.1:%d" % port
                wait_for("the collector answers", lambda: answers(address))
                for number, words in enumerate(PROGRAMS):
                    name = os.path.basename(words[-1] if number else words[0])
                    trace, export = (os.path.join(folder, "%d%s" % (number, end)) for end in (".bpt", ".otlp"))
                    profiled.run(words, trace, 4096, 1)
                    pushed = profiled.run([profiled.BYTEPOLL, "push", trace, "--to", "otlp+" + address, *TAGS])
                    tap.check(pushed.status == 0 and b"1 pushed" in pushed.stdout, name + " is taken",
                              (pushed.stdout + pushed.stderr).decode())
                    profiled.run([profiled.BYTEPOLL, "export", trace, "--to", "otlp", "-o", export])

                    def lines():
                        with open(out, encoding="utf-8") as file:
                            return file.read().split("\n")
                    wait_for("it is written", lambda number=number: len(lines()) == number + 2)
                    resource, profiles, builds = handed_on(lines()[number])
                    wanted, wanted_profiles, wanted_builds = sent(export)
                    wanted.update({"service.name": "shop", "service.version": "1.4", "zone": "eu"})
                    tap.check(resource == wanted, name + ": the resource is the same", "%s instead of %s" % (resource, wanted))
                    tap.check(profiles == wanted_profiles and len(profiles) >= 4 and all(profiles.values()),
                              name + ": stacks and values are the same", "%s instead of %s" % (
                                  {kind: len(each) for kind, each in profiles.items()},
                                  {kind: len(each) for kind, each in wanted_profiles.items()}))
                    tap.check(builds == wanted_builds and len(builds) > 1, name + ": build-ids are the same",
                              "%s instead of %s" % (builds, wanted_builds))
            except AssertionError as error:
                log.seek(0)
                tap.check(False, str(error), log.read().decode(errors="replace")[-2000:])
            finally:
                server.terminate()
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
