# SPDX-License-Identifier: MIT
"""The cases of a driver: functions, each run by itself in an empty folder of its own, and told in the Test
Anything Protocol. A case fails by raising anything; none ends the driver."""
import os
import signal
import tempfile

CASES = []
LINE_MAX = 2000


def test(function):
    """Makes a function a case of the driver."""
    CASES.append(function)
    return function


def printable(line):
    """What a failure quotes may be made to steer a terminal."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line[:LINE_MAX])


def tell(number, name, action):
    """One result; whether it is good."""
    try:
        action()
    except Exception as error:  # pylint: disable=broad-exception-caught
        print("not ok %d - %s" % (number, name), flush=True)
        for line in ("%s: %s" % (type(error).__name__, error)).splitlines():
            print("# " + printable(line), flush=True)
        return False
    print("ok %d - %s" % (number, name), flush=True)
    return True


def run(names=()):
    """All cases, or those of these names; the exit status."""
    chosen = [function for function in CASES if not names or function.__name__ in names]
    good = 0
    heed_signals()
    print("1..%d" % len(chosen))
    for number, function in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.chmod(folder, 0o755)
            good += tell(number, function.__name__, function)
            os.chdir("/")
    return 0 if good == len(chosen) > 0 else 1


def heed_signals():
    """Under nohup, or started in the background by a script, we would hand on that these are ignored."""
    for ignored in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
