# SPDX-License-Identifier: MIT
"""The cell magic of IPython and Jupyter: `%%bytepoll [NAME]` runs the cell in a window, and shows its
headline and its page. The page stands in an iframe, so that neither sees the other's styles. Nothing
of IPython is imported before a cell is to be shown."""
import html
import os
import tempfile

from . import recorder
from .windows import window

HEIGHT_PIXELS = 640
WITHOUT = ("bytepoll: this kernel has no recorder: run `python -m bytepoll kernelspec` once and choose "
           "the kernel it writes; its command begins with `bytepoll run -q -- python`")


def inline_page(page):
    """A page as an iframe within another page. (IPython warns of HTML that begins with an iframe, and
    advises one that loads the page from elsewhere: this page has no address.)"""
    return '<div><iframe srcdoc="%s" style="width:100%%;height:%dpx;border:0"></iframe></div>' % (
        html.escape(page, quote=True), HEIGHT_PIXELS)


def page_of(profile):
    """The text of the profile's page."""
    with tempfile.TemporaryDirectory(prefix="bytepoll-") as folder:
        with open(profile.page(os.path.join(folder, "cell.html")), encoding="utf-8") as file:
            return file.read()


def show(page):
    from IPython.display import HTML, display
    display(HTML(inline_page(page)))


def run_cell(shell, line, cell):
    """The magic itself: `line` is what stands behind `%%bytepoll`."""
    if recorder.status() is None:
        print(WITHOUT)
        shell.run_cell(cell)
        return
    with window(line.strip() or "cell") as profile:
        shell.run_cell(cell)  # shows what the cell raises, and does not raise it
    print(profile)
    show(page_of(profile))


def register(shell):
    shell.register_magic_function(lambda line, cell: run_cell(shell, line, cell), "cell", "bytepoll")
