# SPDX-License-Identifier: MIT
"""Running Lua with the module `bytepoll` and without it, for test_lua.py and test_lua_programs.py: scripts
under the stock interpreter, and under programs/lua_host.c, which counts exactly what Lua gets."""
import json
import os
import sys

import profiled

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import trace_decode  # noqa: E402  (the second decoder)

MODULE_PATH = os.path.join(os.path.abspath(profiled.BUILD), "bindings", "lua", "?.so") + ";;"
INTERPRETER = "lua5.4"


def settings(trace=None, interval=None, seed=None, **more):
    """The environment of a run; keyword arguments are further BYTEPOLL_ variables, in small letters."""
    result = {"LUA_CPATH": MODULE_PATH}
    values = {"HOST_OUTPUT": trace, "INTERVAL": interval, "SEED": seed,
              **{name.upper(): value for name, value in more.items()}}
    result.update({"BYTEPOLL_" + name: str(value) for name, value in values.items()
                   if value is not None})
    return result


def run(script, *arguments, trace=None, module=None, options=(), before_exec=None, cwd=None,
        time_limit_s=profiled.TIME_LIMIT_S, stdin=None, interpreter=INTERPRETER, **more):
    """`script` is a path; profiled if `trace` is given (or `module` says so)."""
    module = trace is not None if module is None else module
    return profiled.run([interpreter, *(["-lbytepoll"] if module else []), *options, script, *arguments],
                        extra=settings(trace, **more), before_exec=before_exec, cwd=cwd,
                        time_limit_s=time_limit_s, stdin=stdin)


def run_text(folder, text, name="script.lua", **more):
    """The same for a script's text, which is written into `folder`."""
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return run(path, cwd=folder, **more)


def run_host(script, *words, trace=None, **more):
    """Under lua_host; the result and what it counted, a dictionary for each state."""
    result = profiled.run([profiled.program("lua_host"), *words, script],
                          extra=settings(trace, **more))
    lines = [line for line in result.stderr.decode().splitlines() if line.startswith("{")]
    return result, [json.loads(line) for line in lines]


def decoded(trace):
    """(header, state, samples) of a trace; each sample with its `frames`, `type_name` and `free`."""
    header = state = None
    samples, frees = [], {}
    names = {"type": {}, "frame": {}, "named_stack": {}}
    with open(trace, "rb") as file:
        for line, record in trace_decode.Trace(file, True).lines():
            if line == "header":
                header = record
            elif line == "state":
                state = record
            elif line == "sample":
                samples.append(record)
            elif line == "free":
                frees[record["sample_sequence"]] = record
            elif line in names:
                names[line][record["id"]] = record
    for sample in samples:
        stack = names["named_stack"].get(sample["stack"], {"frames": []})
        sample["frames"] = [names["frame"][frame] for frame in stack["frames"]]
        sample["type_name"] = names["type"].get(sample["type"], {"name": ""})["name"]
        sample["free"] = frees.get(sample["sequence"])
    return header, state, samples


def where(sample):
    """file:line of a sample's innermost frame."""
    if not sample["frames"]:
        return ""
    return "%s:%d" % (os.path.basename(sample["frames"][0]["file"]),
                      sample["frames"][0]["source_line"])
