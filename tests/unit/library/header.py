# SPDX-License-Identifier: MIT
"""Holds bindings/python/bytepoll_analysis.py against bytepoll/analysis.h, so that the two cannot drift apart."""
import re
import subprocess
from ctypes import sizeof

from bytepoll_analysis import FUNCTIONS, STRUCTS


def check_header(header, compiler, folder):
    """Findings where a struct or a function here is not what the header says."""
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    declared = set(re.findall(r"^struct bytepoll_(\w+) \{", text, re.MULTILINE))
    findings = [f"struct bytepoll_{name} is in one of header and binding only"
                for name in declared ^ set(STRUCTS)]
    functions = set(re.findall(r"\bbytepoll_(\w+)\(", text))
    findings += [f"bytepoll_{name} is in one of header and binding only"
                 for name in functions ^ set(FUNCTIONS)]
    lines = []
    for name, struct in STRUCTS.items():
        lines.append(f'_Static_assert(sizeof(struct bytepoll_{name}) == {sizeof(struct)}, "{name}");')
        for field, _ in struct._fields_:
            place = getattr(struct, field)
            lines.append(f"_Static_assert(offsetof(struct bytepoll_{name}, {field}) == {place.offset}"
                         f" && sizeof(((struct bytepoll_{name} *)0)->{field}) == {place.size}, "
                         f'"{name}.{field}");')
    program = f'#include "{header}"\n' + "\n".join(lines) + "\n"
    result = subprocess.run([compiler, "-std=c11", "-fsyntax-only", "-x", "c", "-"], input=program,
                            text=True, capture_output=True, cwd=folder)
    if result.returncode != 0:
        findings.append(result.stderr)
    return findings
