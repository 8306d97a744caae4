# SPDX-License-Identifier: MIT
"""The calls of bytepoll/bytepoll.h to the recorder in this process, through ctypes.

The recorder was preloaded, so that its functions are among those that the whole process sees.
Without it `calls` is None. The header says what the functions and fields mean.
"""
import ctypes
from ctypes import c_bool, c_char_p, c_size_t, c_uint32, c_uint64

HOW_TO_START = ("no recorder is in this process: start the program by "
                "`python -m bytepoll run script.py` (or `bytepoll run -- python script.py`)")
BRIEF = 2


class Status(ctypes.Structure):
    _fields_ = [("path", c_char_p), ("version", c_char_p), ("profiled", c_bool),
                ("unprofiled_reason", c_uint32), ("sampling", c_bool), ("automatic", c_bool),
                ("interval", c_uint64), ("start_ns", c_uint64), ("samples", c_uint64),
                ("sequence", c_uint64), ("own_bytes", c_uint64), ("bytes_low", c_uint64),
                ("bytes_high", c_uint64), ("objects_low", c_uint64), ("objects_high", c_uint64),
                ("lost", c_uint64 * 32), ("untold", c_uint64), ("threads", c_uint32),
                ("listeners", c_uint32)]


class Token(ctypes.Structure):
    _fields_ = [("private_words", c_uint64 * 24)]


class WindowProfile(ctypes.Structure):
    _fields_ = [("path", c_char_p), ("from_ns", c_uint64), ("to_ns", c_uint64),
                ("from_time_ns", c_uint64), ("to_time_ns", c_uint64), ("from_sequence", c_uint64),
                ("to_sequence", c_uint64), ("samples", c_uint64), ("bytes_low", c_uint64),
                ("bytes_high", c_uint64), ("objects_low", c_uint64), ("objects_high", c_uint64),
                ("interval", c_uint64), ("changed", c_bool), ("threads_unread", c_uint32)]


STRUCTS = {"status": Status, "window_token": Token, "window_profile": WindowProfile}


def find_calls():
    """The functions of the recorder, or None."""
    handle = ctypes.CDLL(None)
    pointer = ctypes.POINTER
    signatures = {"status": (c_bool, [pointer(Status), c_size_t]),
                  "interval": (c_bool, [c_uint64]),
                  "window_start": (c_bool, [pointer(Token), c_uint32]),
                  "window_stop": (c_bool, [pointer(Token), pointer(WindowProfile), c_size_t])}
    found = {}
    for name, (result, arguments) in signatures.items():
        try:
            function = getattr(handle, "bytepoll_" + name)
        except AttributeError:
            return None
        function.restype, function.argtypes = result, arguments
        found[name] = function
    return found


calls = find_calls()


def status():
    """The state of the recorder; None: there is none, or it is off."""
    state = Status()
    if calls is None or not calls["status"](state, ctypes.sizeof(state)) or not state.profiled:
        return None
    return state


def set_interval(interval_bytes):
    """Fixes T. Returns whether this T is in force now."""
    state = status()
    if state is None:
        return False
    if state.interval == interval_bytes and not state.automatic:
        calls["interval"](interval_bytes)  # the fine start ends, if it had begun
        return True
    return calls["interval"](interval_bytes)
