# SPDX-License-Identifier: MIT
"""bytepoll.window: the profile of a block, or of each call of a function.

A window holds no resource of the recorder (docs/in-process.md), so that windows may be nested, and
may be open in many threads at once. What every thread allocates while the window is open is in it.
"""
import ctypes
import functools
import inspect

from . import recorder
from .profiles import Profile


class window:
    """A context manager that gives a Profile, and a decorator that makes a window of each call.

    name      what the profile calls itself
    path      a page is written there when the window ends (of each call: the last one stays)
    missing   what happens without a recorder: "raise" is RuntimeError, "ignore" is nothing

    A function that was decorated has the profile of the call that ended last as its `profile`; each
    call has a window of its own. As a context manager an object serves one thread at a time.
    """

    def __init__(self, name=None, path=None, missing="raise"):
        if missing not in ("raise", "ignore"):
            raise ValueError('missing=%r: write "raise" or "ignore"' % (missing,))
        self.name, self.path, self.missing = name, path, missing
        self.open = []  # tokens and profiles of the blocks that this object entered

    def __enter__(self):
        profile, token = Profile(self.name), recorder.Token()
        self.open.append((token, profile))
        if recorder.status() is None:
            if self.missing == "raise":
                self.open.pop()
                raise RuntimeError("bytepoll.window: " + recorder.HOW_TO_START)
            return profile
        if not recorder.calls["window_start"](token, 0):
            self.open.pop()
            raise RuntimeError("bytepoll.window: the recorder could not record the window's begin")
        return profile

    def __exit__(self, *failure):
        token, profile = self.open.pop()
        if token.private_words[0] == 0:
            return False
        facts = recorder.WindowProfile()
        if not recorder.calls["window_stop"](token, facts, ctypes.sizeof(facts)):
            if failure[0] is not None:
                return False  # what the block raised comes first
            raise RuntimeError("bytepoll.window: the recorder could not record the window's end "
                               "(a window that began before fork cannot end in the child)")
        profile._stopped(facts)
        if self.path is not None:
            profile.page(self.path)
        return False

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("bytepoll.window: a generator does not run in one piece: put the window "
                            "into its body")

        def ended(profile):
            wrapper.profile = profile

        def new():
            return window(self.name or function.__qualname__, self.path, self.missing)

        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def wrapper(*arguments, **named):
                with new() as profile:
                    try:
                        return await function(*arguments, **named)
                    finally:
                        ended(profile)
        else:
            @functools.wraps(function)
            def wrapper(*arguments, **named):
                with new() as profile:
                    try:
                        return function(*arguments, **named)
                    finally:
                        ended(profile)
        wrapper.profile = None
        return wrapper
