#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often a limit is judged wrongly, as the plugin of pytest judges: 300 windows of one seeded
process, in each of which the same objects are held at the peak, judged against limits just at the
truth. "exceeded" for a limit at the truth, and "within" for one just below it, may each come with a
probability of at most alpha; seen are at most alpha * 300 and 3.3 sigma, which a correct judgement
breaks once in two thousand runs. Limits a quarter as large and four times as large must be decided in
290 of the 300, so that the test also fails where nothing ever is."""
import json
import sys

import package
import profiled

WINDOWS = 300
DECIDED = 290
RATES = (.01, .1)
PROGRAM = """
import bytepoll, json
from bytepoll import readers
COUNT, RATES = 4000, %r
slots = [[None] for _ in range(COUNT)]
def hold():
    for slot in slots:
        slot[0] = bytes(100)
def let_go():
    for slot in slots:
        slot[0] = None
def ended():
    with bytepoll.window() as w:
        hold()
        let_go()
        hold()
    let_go()
    return w
profiles = [ended() for _ in range(%d)]
truth = COUNT * 133
found = {}
with readers.reading(profiles[0].path, symbols=False) as reader:
    for metric in ("peak", "live"):
        for rate in RATES:
            for name, most in (("quarter", truth / 4), ("below", truth - 1),
                               ("at", truth + 1000), ("fourfold", truth * 4)):
                outcomes = [reader.check(w.window, metric, most, rate).outcome for w in profiles]
                found["%%s %%g %%s" %% (metric, rate, name)] = [outcomes.count(o) for o in (
                    "exceeded", "within", "undecided")]
print(json.dumps(found))
""" % (RATES, WINDOWS)


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        found = package.recorded(folder, PROGRAM, "--seed", "11", "--interval", "16K")
    for metric in ("peak", "live"):
        for rate in RATES:
            name = "%s %g " % (metric, rate)
            of = {key[len(name):]: value for key, value in found.items() if key.startswith(name)}
            most = package.allowed(rate, WINDOWS)
            tap.note("%s: %s, at most %.1f wrong" % (name, of, most))
            tap.check(of["at"][0] <= most, name + "exceeded, though at the limit", str(of))
            tap.check(of["below"][1] <= most, name + "within, though above the limit", str(of))
            tap.check(of["quarter"][0] >= DECIDED and of["fourfold"][1] >= DECIDED,
                      name + "what is far from the limit is decided", str(of))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
