# SPDX-License-Identifier: MIT
"""Pages put together from web/index.html, web/dist and data made here, by the same contract as those of
`bytepoll html`: large ones, and ones with hostile names, without a recording. Figures in them mean
nothing; what is tested on them is that the page draws, and that names stay text."""
import base64
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INTERVAL = 512 * 1024


def read(path, mode="r"):
    with open(os.path.join(ROOT, path), mode) as file:
        return file.read()


def element(name, data):
    packed = base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
    return f'<script type="text/plain" id="{name}">{packed}</script>\n'


def with_policy():
    """web/index.html as the build makes it."""
    with tempfile.NamedTemporaryFile("r") as made:
        subprocess.run([sys.executable, *(os.path.join(ROOT, "web", name)
                                          for name in ("policy.py", "index.html", "dist/page.js")), made.name],
                       check=True)
        return made.read()


def put_together(data):
    page = with_policy()
    parts = {"@STYLE@": read("web/dist/page.css"), "@SCRIPT@": read("web/dist/page.js"), "@DATA@": data,
             "@WASM@": base64.b64encode(read("web/dist/estimate.wasm", "rb")).decode()}
    for marker in parts:
        assert page.count(marker) == 1, marker
    for marker in ("@STYLE@", "@WASM@", "@DATA@", "@SCRIPT@"):
        before, after = page.split(marker, 1)
        page = before + parts[marker] + after
    return page


def pack_cells(cells, records):
    out = bytearray(struct.pack("<IIII", 0x32435042, len(cells), len(records), 0))
    for index, code in enumerate("IIHHBBBBB"):
        out += b"\0" * (-len(out) % 8)
        out += struct.pack(f"<{len(cells)}{code}", *(cell[index] for cell in cells))
    out += b"\0" * (-len(out) % 8)
    for column in range(16):
        out += struct.pack(f"<{len(records)}d", *(record[column] for record in records))
    return bytes(out)


def record(size, samples):
    """Sums of `samples` samples of one size, as bp_sums_add makes them (large objects exactly)."""
    trials = size + 1
    if trials >= INTERVAL:
        return [samples, samples * size, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INTERVAL, 0]
    import math
    odds = 1 / math.expm1(-math.log1p(-1 / INTERVAL) * trials)
    second = odds * (1 + odds)
    third = second * (1 + 2 * odds)
    s = samples
    return [s, s * size, s * size * odds, s * size ** 2 * second, s * size ** 3 * third, s * odds, s * second,
            s * third, -s * math.log1p(odds), size, INTERVAL, 1, size, 1, INTERVAL, 0]


def made_up_cells(stacks, bins=40, seed=1, cells_per_stack=2):
    """Cells (as pack_cells takes them) and their records."""
    draw = random.Random(seed)
    cells, records = [], []
    for number in range(len(stacks)):
        for _ in range(cells_per_stack):
            size = 2 ** draw.randrange(4, 22) + draw.randrange(16)
            made = draw.randrange(bins)
            freed = 255 if draw.random() < 0.5 else draw.randrange(made, bins)
            flags = (draw.random() < 0.1) | (2 if freed == 255 else 0)
            cells.append((number, len(records), draw.randrange(3), 0, size.bit_length() - 1, made, freed, flags, 0))
            records.append(record(size, 1 + draw.randrange(4)))
    return cells, records


def tree_of(stacks):
    """Stacks (frames, innermost first) as a tree, one behind the other in its order, and where each of them ends."""
    frame, back, ends = [], [], [0] * len(stacks)
    path, nodes = [], [0]
    for number in sorted(range(len(stacks)), key=lambda i: stacks[i][::-1]):
        stack = stacks[number][::-1]
        shared = 0
        while shared < min(len(path), len(stack)) and path[shared] == stack[shared]:
            shared += 1
        del nodes[shared + 1:]
        for f in stack[shared:]:
            frame.append(f)
            back.append(len(frame) - nodes[-1])
            nodes.append(len(frame))
        path, ends[number] = stack, nodes[-1]
    return [frame, back], ends


def synthetic(names, stacks, bins=40, seed=1, cells_per_stack=2, warnings=(), program="/usr/bin/synthetic", change=None):
    """names: functions; stacks: lists of numbers of names, innermost first; `change` is given the head."""
    cells, records = made_up_cells(stacks, bins, seed, cells_per_stack)
    all_names = [""] + list(names) + ["/usr/lib/x86_64-linux-gnu/libsynthetic.so.1", "/src/synthetic/main.c"]
    tree, ends = tree_of([[f + 1 for f in s] for s in stacks])
    module, file = len(all_names) - 2, len(all_names) - 1
    frames = [[0, 0, 0, 0, 0]] + [[i + 1, file, 10 + i % 5000, module, 0] for i in range(len(names))]

    def total(chosen):
        bytes_, objects = (sum(records[c[1]][a] + records[c[1]][b] for c in chosen) for a, b in ((1, 2), (0, 5)))
        return {"bytes": {"estimate": bytes_, "low": bytes_ * .9, "high": bytes_ * 1.12},
                "objects": {"estimate": objects, "low": objects * .7, "high": objects * 1.4}}

    live = [c for c in cells if c[6] == 255]
    everything = total(cells)["bytes"]["estimate"]
    counted = [0, 0, 0, 0, 2 ** 63, 0, 2 ** 63, 1, 1]
    edges = [i * 0.25 for i in range(bins + 1)]
    timeline = []
    for j, t in enumerate(edges):
        figure = total([c for c in cells if c[5] < j <= c[6]])
        timeline.append({"t": t, "off": False,
                         "b": [figure["bytes"][k] for k in ("estimate", "low", "high")],
                         "o": [figure["objects"][k] for k in ("estimate", "low", "high")]})
    totals = {"live": total(live), "peak": total(live), "allocated": total(cells),
              "temporary": total([c for c in cells if c[7] & 1])}
    totals["allocated"]["bytes"] = {"estimate": int(everything), "low": int(everything), "high": int(everything),
                                    "exact": True}
    head = {"schema": "bytepoll-page-2", "program": program, "command_line": program + " --made-up", "pid": 4711,
            "processes_seen": 1, "duration_s": edges[-1], "start_real_s": 1.7e9, "law": "exact",
            "intervals": [INTERVAL], "confidence": 0.95, "samples": int(sum(r[0] for r in records)),
            "lost_samples": 0, "warnings": list(warnings), "metrics": ["live", "peak", "allocated", "temporary"],
            "metric": "live", "unit": "requested", "totals": totals, "peak_at_s": edges[-3], "peak_moment": totals["peak"],
            "assumptions": {"interval_min": INTERVAL, "interval_max": INTERVAL, "interval_unseen": INTERVAL,
                            "size_min": 1, "charge": 1, "ratio_max": 1, "turnovers": 1, "alpha": 0.05,
                            "peak_factor": 25, "classes": False,
                            "lower_bound": {}, "upper_bound": {}},
            "calibration": {"whole": counted, "windows": [], "outside": None}, "functions": {}, "edges_s": edges,
            "timeline": timeline, "resident": [[t, int(everything / 3 + 1e6 * i)] for i, t in enumerate(edges)],
            "names": all_names, "frames": frames, "tree": tree, "stacks": ends,
            "threads": [["", 0, 0, None], ["main", 4711, 1, None], ["worker", 4712, 1, None]],
            "processes": [["", 0, None], [program, 4711, None]], "types": [""], "sources": None,
            "pruned": {"text": "Nothing was left out."}, "attribution": [0] * len(stacks)}
    if change is not None:
        change(head)
    return put_together(element("bytepoll-head", json.dumps(head).encode()) +
                        element("bytepoll-cells", pack_cells(cells, records)))


def large(frames, seed=1):
    """A page whose call tree has about `frames` boxes."""
    draw = random.Random(seed)
    names = [f"function_{i}" for i in range(4000)]
    stacks, nodes = [], 0
    trunk = [[0, 1]]
    while nodes < frames:
        base = draw.choice(trunk[-3000:])
        path = base + [draw.randrange(2, len(names)) for _ in range(draw.randrange(1, 9))]
        nodes += len(path) - len(base)
        if len(path) < 60:
            trunk.append(path)
        stacks.append(path[::-1])
    return synthetic(names, stacks, seed=seed)


HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "\"'><svg onload=alert(3)>", "&lt;b&gt;",
           "javascript:alert(4)", "</script><script>alert(5)</script>", "right\u202eleft", "bell\x07\x1b[31mred",
           "line\nbreak\rhere", "zero\u200bwidth\ufeff", "\ud7ff\U000e0041tag", "__proto__", "constructor", "toString",
           "x" * 1000000, "${alert(6)}", "]]>", "<!--", "url(http://example.invalid/x)", "%00%3Cscript%3E"]


def hostile():
    stacks = [[i, (i + 1) % len(HOSTILE), 11] for i in range(len(HOSTILE))]
    return synthetic(HOSTILE, stacks, cells_per_stack=6, warnings=HOSTILE[:8], program="/tmp/<script>alert(7)</script>")


def difference_row(number):
    """Made up; one of each verdict, and of what was not tested."""
    verdict = ("grew", "shrank", "new", "gone", "unclear")[number % 5]
    sign = {"grew": 1, "new": 1, "shrank": -1, "gone": -1, "unclear": 0}[verdict]

    def both(low, estimate, high):
        return {unit: {"estimate": estimate * 1e6, "low": low * 1e6, "high": high * 1e6} for unit in ("bytes", "objects")}

    return {"verdict": verdict, "p": 0.001, "q": None if number % 7 == 6 else 0.01, "ratio": {"estimate": 1, "low": 0.5, "high": 2},
            "base": both(1, 2, 3), "new": both(2, 3, 4), "change": both(sign - 0.5, sign, sign + 0.5),
            "samples": {"base": 20, "new": 30}, "tested": number % 7 != 6}


def hostile_difference():
    """The page of a difference; paths go from every name to the next ones."""
    count = len(HOSTILE)
    callers = [0] * count + [1 + i for i in range(count)] + [count + 1 + i for i in range(count)]
    names = [i % count for i in range(count)] + [(i + 1) % count for i in range(count)] + [(i + 2) % count for i in range(count)]
    nodes = len(callers)
    widths = {side: [3e6 - 1e6 * (i // count) for i in range(nodes)] for side in ("base", "new")}
    paths = {"schema": "bytepoll-diff-paths-1", "paths": nodes, "tested": nodes, "left_out": 3, "left_out_verdicts": 1, "share": 0.001,
             "verdicts": {v: 1 for v in ("grew", "shrank", "new", "gone", "unclear")}, "names": HOSTILE, "caller": callers,
             "name": names, "row": [1 + i for i in range(nodes)], "bytes": widths, "objects": widths,
             "rows": [difference_row(i) for i in range(nodes + 1)]}
    run = {"file": HOSTILE[0], "program": HOSTILE[1], "name": HOSTILE[6], "pid": 1, "duration_s": 1, "interval": INTERVAL, "intervals": [INTERVAL],
           "law": "exact", "samples": 5, "lost": 0, "work": None, "scale": 1}
    rows = [{"name": name, **difference_row(i)} for i, name in enumerate(HOSTILE)]
    data = {"schema": "bytepoll-diff-1", "metric": "live", "by": "function", "cumulative": False, "bytes": "requested", "unit": "bytes",
            "confidence": 0.95, "fdr": 0.05, "filters": [], "at": None, "moments": None, "normalize": None,
            "variation_between_runs": False, "base": {"runs": [run]}, "new": {"runs": [run]}, "total": difference_row(0),
            "keys": len(rows), "tested": len(rows), "verdicts": {}, "rows": rows, "rest": None, "rows_left_out": 0,
            "warnings": HOSTILE[:8]}
    return put_together(element("bytepoll-diff", json.dumps(data).encode()) + element("bytepoll-paths", json.dumps(paths).encode()))


if __name__ == "__main__":
    import sys
    kind, path = sys.argv[1:3]
    with open(path, "w", encoding="utf-8") as out:
        out.write(hostile() if kind == "hostile" else large(int(kind)))
