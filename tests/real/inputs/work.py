# SPDX-License-Identifier: MIT
"""Something a Python script does: parses, sorts, compiles and serialises, and prints what came
out."""
import ast
import collections
import hashlib
import json
import random
import re
import zlib


def words(generator, count):
    return ["".join(generator.choice("etaoinshrdlu") for _ in range(generator.randint(2, 9)))
            for _ in range(count)]


def main():
    generator = random.Random(42)
    text = " ".join(words(generator, 40000))
    counts = collections.Counter(re.findall(r"[aeiou]\w+", text))
    print(counts.most_common(3), len(counts))
    table = [{"word": word, "count": count, "list": list(range(count % 50))}
             for word, count in sorted(counts.items())]
    encoded = json.dumps(table).encode()
    print(len(encoded), hashlib.sha256(encoded).hexdigest())
    packed = zlib.compress(encoded, 9)
    assert json.loads(zlib.decompress(packed)) == table
    source = "\n".join("def f%d(x):\n    return [x + %d, {'a': x}]" % (i, i) for i in range(1500))
    tree = ast.parse(source)
    print(len(packed), sum(1 for _ in ast.walk(tree)))
    space = {}
    exec(compile(tree, "generated", "exec"), space)
    print(space["f77"](1))


main()
