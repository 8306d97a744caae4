# SPDX-License-Identifier: MIT
"""bytepoll for Python: the profile of a block of code, in a program that is being recorded.

    import bytepoll

    with bytepoll.window() as work:
        build_index()
    print(work.peak)        # 61.2 MiB [59.8, 62.7]
    print(work.table(by="line"))

`python -m bytepoll run script.py` starts a program that is recorded. docs/python-package.md says the
rest: Jupyter (`%load_ext bytepoll`), the limits for pytest, the wheel.
"""
from .figures import Figure, Row, Table
from .profiles import Profile
from .windows import window

__all__ = ["Figure", "Profile", "Row", "Table", "load_ipython_extension", "window"]


def load_ipython_extension(shell):
    """Called by `%load_ext bytepoll`."""
    from . import jupyter
    jupyter.register(shell)
