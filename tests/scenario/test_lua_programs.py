#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs in Lua with the module and without it: random ones and real ones do what they did, byte for
byte; every table of a random program is charged to its line; the totals of real ones agree with an
allocator that counts. Exact throughout, but for `estimates of a real program`: the intervals (95 %) of two
totals by type in 20 runs each; of the 40, 20 or more would be missed with a probability below 1e-9, were
they independent (of 20 pairs that are wholly dependent, 10: below 1e-7).

BYTEPOLL_LUA_PROGRAMS=N runs N random programs instead of 12, from seed BYTEPOLL_LUA_SEED (1).
"""
import os
import random
import re
import subprocess
import sys

import lua_random
import lua_runs
import profiled
from lua_runs import run, run_text, where
from profiled import expect

PROGRAMS = int(os.environ.get("BYTEPOLL_LUA_PROGRAMS", "12"))
FIRST_SEED = int(os.environ.get("BYTEPOLL_LUA_SEED", "1"))
PENLIGHT = "/usr/share/lua/5.4/pl"


def lines_of_tables(output):
    found = re.findall(rb"^T\t(\d+)\t(\d+)$", output, re.MULTILINE)
    return {int(line): int(count) for line, count in found}


def random_program(folder, seed):
    text = lua_random.Program(seed).source()
    plain = run_text(folder, text)
    expect(plain.status == 0 and not plain.stderr, "seed %d: %s" % (seed, plain.stderr[-300:]))
    tables = lines_of_tables(plain.stdout)
    trace = os.path.join(folder, "random.bpt")
    for interval in (1, random.Random(seed).choice([2, 17, 100, 1000, 4096, 65536])):
        result = run_text(folder, text, trace=trace, interval=interval, seed=seed)
        profiled.expect_same(plain, result)
        _, state, samples = lua_runs.decoded(trace)
        expect(state["state"] == 1 and not any(state["lost"]), "seed %d: %s" % (seed, state))
        if interval == 1:
            found = {}
            for sample in samples:
                name, _, line = where(sample).rpartition(":")
                # Not the two of the first lines, nor those that C functions make.
                if sample["type_name"] == "table" and name == "script.lua" and \
                        int(line) > lua_random.HEAD_LINES and "<" in sample["frames"][0]["function"]:
                    found[int(line)] = found.get(int(line), 0) + 1
            expect(found == tables, "seed %d: %s" % (seed, {
                line: (found.get(line), tables.get(line)) for line in {**found, **tables}
                if found.get(line) != tables.get(line)}))
        os.unlink(trace)
    return len(tables), sum(tables.values())


def random_programs(folder):
    lines = tables = 0
    for seed in range(FIRST_SEED, FIRST_SEED + PROGRAMS):
        more_lines, more_tables = random_program(folder, seed)
        lines, tables = lines + more_lines, tables + more_tables
    profiled.Tap.note("%d programs, %d lines, %d tables" % (PROGRAMS, lines, tables))
    expect(tables > 50 * PROGRAMS, "the programs make hardly a table")


# What the real programs do: each prints a digest of its results.
DIGEST = """
local function digest(text)
  local sum = 0
  for i = 1, #text do sum = (sum * 31 + text:byte(i)) & 0xffffffff end
  return #text, sum
end
"""
JSON = DIGEST + """
local json = require "dkjson"
local list = {}
for i = 1, 400 do
  list[i] = {id = i, name = "item " .. i, tags = {"a", "b", i % 7}, nested = {x = i / 4, y = {i, {}}},
    text = ("\\"quoted\\" \\\\ \\u{e9} "):rep(i % 9)}
end
local order = {keyorder = {"id", "name", "tags", "nested", "text", "x", "y"}}
for round = 1, 6 do
  local text = json.encode(list, order)
  list = json.decode(text)
  print(round, digest(text))
end
print(select(3, json.decode("[1, 2, oops]")))
held = list
"""
CJSON = DIGEST + """
local json = require "cjson"
local text = "[" .. ('{"a":[1,2,{"b":"text"}],"c":null},'):rep(3000) .. "1]"
for round = 1, 10 do
  local list = json.decode(text)
  print(#list, list[7].a[3].b, #json.encode(list[round].a))
end
print(pcall(json.decode, "[1,"))
"""
PL = DIGEST + """
local List, pretty, template = require "pl.List", require "pl.pretty", require "pl.template"
local lexer, path, tablex = require "pl.lexer", require "pl.path", require "pl.tablex"
local class, stringx, seq = require "pl.class", require "pl.stringx", require "pl.seq"
class.Animal() function Animal:_init(name) self.name = name end
class.Cat(Animal) function Cat:speak() return self.name .. "!" end
local cats = {}
for i = 1, 500 do cats[i] = Cat("cat" .. i):speak() end
print(digest(table.concat(cats)))
local list = List.range(1, 2000):map(function(x) return x * 2 end):filter(function(x) return x % 3 == 0 end)
print(#list, list:reduce("+"))
for _, name in ipairs{"lexer", "pretty", "data", "template", "List"} do
  local file = assert(io.open("PENLIGHT/" .. name .. ".lua")) local text = file:read("a") file:close()
  local kinds, tokens = {}, 0
  for kind, value in lexer.lua(text) do tokens = tokens + 1; kinds[kind] = (kinds[kind] or 0) + 1 end
  print(name, tokens, kinds.string, kinds.iden)
  print(digest(table.concat(stringx.splitlines(text), "|")))
end
print(digest(pretty.write({1, 2, {3, {4, 5, {6}}}, {("x"):rep(100)}})))
print(digest(template.substitute("# for i = 1, n do\\n<p>$(i)</p>\\n# end\\n", {n = 300})))
print(#tablex.keys(tablex.index_map(cats)), seq.sum(seq.range(1, 1000)))
""".replace("PENLIGHT", PENLIGHT)
REAL = {"dkjson": JSON, "cjson": CJSON, "penlight": PL}
LUACHECK = """
package.path = "/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua;" .. package.path
arg = {[0] = "luacheck", "--no-color", "--no-cache", "--no-config", "-j", "1", "%s/lexer.lua", "%s/List.lua",
  "%s/data.lua", "%s/pretty.lua"}
require "luacheck.main"
""" % ((PENLIGHT,) * 4)


def real_programs(folder):
    """What they print is what they printed, at every interval, and the trace is whole."""
    for name, text in {**REAL, "luacheck": LUACHECK}.items():
        plain = run_text(folder, text, name="use_%s.lua" % name)
        expect(plain.stdout and not plain.stderr, "%s: %s" % (name, plain.stderr))
        for interval in ("64", "4K", "512K"):
            trace = os.path.join(folder, "%s.%s.bpt" % (name, interval))
            result = run_text(folder, text, name="use_%s.lua" % name, trace=trace, interval=interval)
            profiled.expect_same(plain, result)
            data = profiled.report(trace, "--by", "type", "--metric", "allocated")
            expect(profiled.lost(data) == 0 and data["totals"]["allocated"]["bytes"]["exact"],
                   "%s: %s" % (name, data))
            if interval == "64":
                types = {row["name"] for row in data["rows"]}
                expect({"table", "string", "function", "internal"} <= types, "%s: %s" % (name, types))
                rows = profiled.report(trace, "--by", "line", "--metric", "allocated")["rows"]
                expect(re.search(r"\.lua:\d+$", rows[0]["name"]), "%s: %s" % (name, rows[0]))


def totals_of_real_programs(folder):
    for name, text in REAL.items():
        script = os.path.join(folder, "use_%s.lua" % name)
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)
        trace = os.path.join(folder, name + ".totals.bpt")
        result, (counted,) = lua_runs.run_host(script, trace=trace, interval="4K")
        expect(result.status == 0, result.stderr)
        _, state, _ = lua_runs.decoded(trace)
        expect(state["end_objects"] - counted["base_objects"] == counted["objects"] and
               state["end_trials"] - state["end_objects"] - counted["base_bytes"] ==
               counted["bytes"], "%s: %s, not %s" % (name, state, counted))
        expect(counted["lua_after"] - counted["lua_before"] ==
               counted["live_bytes"] - counted["old_freed"], "%s: %s" % (name, counted))


def estimates_of_a_real_program(folder):
    """By type, against the number of objects and the bytes that a run of every object says."""
    script = os.path.join(folder, "use_dkjson.lua")
    with open(script, "w", encoding="utf-8") as file:
        file.write(JSON)

    def by_type(interval, seed):
        trace = os.path.join(folder, "types.bpt")
        result = run(script, trace=trace, interval=interval, seed=seed)
        expect(result.status == 0, result.stderr)
        data = profiled.report(trace, "--by", "type", "--metric", "allocated")
        os.unlink(trace)
        return {row["name"]: row["bytes"] for row in data["rows"]}

    truth = {name: row["estimate"] for name, row in by_type("1", 1).items()}
    misses = []
    for seed in range(20):
        rows = by_type("16K", seed)
        misses += [(seed, name) for name in ("string", "table")
                   if not rows[name]["low"] <= truth[name] <= rows[name]["high"]]
    profiled.Tap.note("%d of 40 intervals missed" % len(misses))
    expect(len(misses) < 20, "%s; truth: %s" % (misses, truth))


STEERED = """
for line in io.lines() do
    for i = 1, 2000 do local buffer = ("x"):rep(2000) .. i end
    print((bytepoll.totals()))
    io.flush()
end
"""


def steered(folder):
    """`bytepoll control` from outside: dormant, start at T = 4 KiB, stop; the samples come in between alone."""
    trace, samples = os.path.join(folder, "steered.bpt"), []
    script = os.path.join(folder, "steered.lua")
    with open(script, "w", encoding="utf-8") as file:
        file.write(STEERED)
    program = subprocess.Popen(["lua5.4", "-lbytepoll", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
        **os.environ, "LUA_CPATH": lua_runs.MODULE_PATH, "BYTEPOLL_HOST_OUTPUT": trace, "BYTEPOLL_START": "dormant",
        "BYTEPOLL_INTERVAL": "4K"})

    def work():
        program.stdin.write("\n")
        program.stdin.flush()
        program.stdout.readline()
        samples.append(profiled.report(trace, "--metric", "allocated")["samples"])

    work()
    for word in ("start", "stop"):
        result = profiled.run([profiled.BYTEPOLL, "control", trace, word])
        expect(result.status == 0, str(result))
        work()  # a state follows when it looks, at most 1 MiB later
        if word == "stop":
            work()
    program.stdin.close()
    expect(program.wait() == 0, "status %d" % program.returncode)
    off, on, stopping, stopped = samples
    expect(off == 0 and on > 500 and stopped == stopping < on + 400, str(samples))


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        for name, action in (("random programs", random_programs),
                             ("real programs", real_programs),
                             ("totals of real programs", totals_of_real_programs),
                             ("estimates of a real program", estimates_of_a_real_program),
                             ("control from outside", steered)):
            tap.attempt(name, lambda: action(folder))  # pylint: disable=cell-var-from-loop
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
