#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command in a pseudo-terminal and draws what it printed as an SVG: the README's pictures.

usage: terminal_picture.py OUT.svg COLUMNS 'PROMPT TEXT' COMMAND...

Understands the few ANSI sequences that bytepoll prints (bold, dim, yellow, off)."""
import html
import os
import pty
import re
import sys
import termios
import fcntl
import struct

WIDTH, HEIGHT, MARGIN = 8.43, 18, 14
STYLES = {"1": "font-weight:bold", "2": "fill:#6b7a8c", "33": "fill:#e0af4a"}


def run(columns, command):
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", COLUMNS=str(columns), LANG="C.UTF-8")
        os.execvp(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    output = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.waitpid(pid, 0)
    return output.decode(errors="replace").replace("\r\n", "\n").rstrip("\n").split("\n")


def draw_line(line, row):
    """One <text> per group of words of a style, placed by column: any font keeps the table."""
    parts, style, column = [], "", 0
    for token in re.split(r"(\x1b\[[0-9;]*m)", line):
        match = re.fullmatch(r"\x1b\[([0-9;]*)m", token)
        if match:
            code = match.group(1) or "0"
            style = "" if code == "0" else ";".join(filter(None, [style, STYLES.get(code, "")]))
        elif token:
            attribute = f' style="{style}"' if style else ""
            for words in re.finditer(r"\S+(?: \S+)*", token):
                parts.append(f'<text x="{MARGIN + (column + words.start()) * WIDTH:.1f}" '
                             f'y="{MARGIN + 14 + row * HEIGHT}" '
                             f'textLength="{len(words.group()) * WIDTH:.1f}"{attribute}>'
                             f'{html.escape(words.group())}</text>')
            column += len(token)
    return "".join(parts)


def main():
    target, columns, prompt, command = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    lines = ["$ " + prompt] + run(columns, command)
    width = 2 * MARGIN + columns * WIDTH
    height = 2 * MARGIN + len(lines) * HEIGHT
    with open(target, "w", encoding="utf-8") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
                  f'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="14" '
                  f'fill="#d6dde6">\n<rect width="100%" height="100%" rx="8" fill="#11171f"/>\n')
        for row, line in enumerate(lines):
            out.write(draw_line(line, row) + "\n")
        out.write("</svg>\n")


if __name__ == "__main__":
    main()
