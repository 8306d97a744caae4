#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An ordinary user runs a program that has more rights than he has and the recorder in it.

The program is set-uid, set-gid or has a file capability; the recorder is linked into it, or preloaded from a
system folder, where the loader takes a library that is set-uid itself. All that stands in a small
root of its own. The user says by BYTEPOLL_OUTPUT, or by the current directory, where the trace goes: no file
may appear, and the program must do what it does without the variables. The same program without rights of its own,
and where the user may write, makes a trace: so the recorder does work in that root.
"""
import os
import re
import shutil
import struct
import subprocess
import sys

import profiled

NOBODY = 65534
CAP_DAC_OVERRIDE = 1
VFS_CAP_REVISION_2_EFFECTIVE = 0x02000001
RECORDER_NAME = os.path.basename(profiled.RECORDER)


def libraries_of(path):
    """Where the loader finds what the program needs, but for the recorder."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"(?:=> )?(/\S+) \(0x", text)
    return [name for name in found if not name.endswith(RECORDER_NAME)]


def copy(source, root, name):
    target = root + name
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)
    os.chmod(target, 0o755)
    return target


def make_root(root):
    """/linked and /plain; /open, where everybody may write, and /closed, where only root may."""
    os.chmod(root, 0o755)
    folder = None
    for name in ("linked", "plain"):
        source = profiled.program("privileged" if name == "plain" else "privileged_linked")
        copy(source, root, "/" + name)
        for library in libraries_of(source):
            copy(library, root, library)
            if os.path.basename(library).startswith("libc.so"):
                folder = os.path.dirname(library)
    os.chmod(copy(profiled.RECORDER, root, "%s/%s" % (folder, RECORDER_NAME)), 0o4755)
    copy(profiled.program("privileged_host"), root, "/host")
    for name, mode in (("open", 0o777), ("closed", 0o755), ("proc", 0o755)):
        os.mkdir(os.path.join(root, name))
        os.chmod(os.path.join(root, name), mode)


def attack(root, name, folder, variables):
    """The user runs /`name` with `folder` as the current directory."""
    def become_user():
        os.chroot(root)
        os.chdir(folder)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    result = subprocess.run(["/" + name], env=dict({"LC_ALL": "C"}, **variables), timeout=60,
                            stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=become_user,
                            check=False)
    profiled.expect(result.returncode == 0 and not result.stderr, "status %s: %s" % (
        result.returncode, result.stderr.decode(errors="replace")))
    return result.stdout.decode()


def files(root):
    return sorted(os.path.join(folder, name)
                  for folder, _, names in os.walk(root) for name in names)


def made(root, name, folder, variables):
    """What the program prints, and the files that it left, which are removed."""
    before = set(files(root))
    printed = attack(root, name, folder, variables)
    after = [path for path in files(root) if path not in before]
    for path in after:
        os.remove(path)
    return printed, [path[len(root):] for path in after]


def give_rights(path, rights):
    """Set-uid, set-gid, or the capability to write everywhere; back to none with each."""
    os.chmod(path, {"set-uid": 0o4755, "set-gid": 0o2755}.get(rights, 0o755))
    if rights == "capability":
        os.setxattr(path, "security.capability", struct.pack(
            "<5I", VFS_CAP_REVISION_2_EFFECTIVE, 1 << CAP_DAC_OVERRIDE, 0, 0, 0))
    elif "security.capability" in os.listxattr(path):
        os.removexattr(path, "security.capability")


def preload(name):
    return {} if name == "linked" else {"LD_PRELOAD": RECORDER_NAME}


def without_rights(root, name):
    give_rights(root + "/" + name, "none")
    variables = dict(preload(name), BYTEPOLL_OUTPUT="/open/trace.bpt", BYTEPOLL_INTERVAL="64")
    printed, left = made(root, name, "/", variables)
    profiled.expect(printed == "user %d, secure 0, recorder 1\n" % NOBODY, printed)
    profiled.expect(left == ["/open/trace.bpt"], "left %s" % left)


def with_rights(root, name, rights):
    give_rights(root + "/" + name, rights)
    user = 0 if rights == "set-uid" else NOBODY
    for folder, output in (("/", "/closed/made"), ("/", "/open/made"), ("/open", None)):
        variables = dict(preload(name), BYTEPOLL_INTERVAL="64")
        if output is not None:
            variables["BYTEPOLL_OUTPUT"] = output
        printed, left = made(root, name, folder, variables)
        profiled.expect(printed == "user %d, secure 1, recorder 1\n" % user, printed)
        profiled.expect(not left, "output %s, in %s: left %s" % (output, folder, left))


def with_a_host(root, rights):
    """A runtime that samples by itself, and leaves it to the environment where its trace goes."""
    give_rights(root + "/host", rights)
    more = rights != "none"
    user = 0 if rights == "set-uid" else NOBODY
    for variables in ({}, {"BYTEPOLL_HOST_OUTPUT": "/open/made"}):
        printed, left = made(root, "host", "/open", variables)
        profiled.expect(printed == "user %d, secure %d, host %d\n" % (user, more, not more), printed)
        profiled.expect(bool(left) != more, "left %s" % left)


def main():
    tap = profiled.Tap()
    cases = [(name, rights) for name in ("linked", "plain")
             for rights in ("set-uid", "set-gid", "capability")]
    way = {"linked": "linked into", "plain": "preloaded from a system folder into"}
    if not profiled.is_root():
        tap.skip("programs with more rights than their caller", "needs root")
        return tap.finish()
    with profiled.directory(profiled.BUILD) as root:
        if os.statvfs(root).f_flag & os.ST_NOSUID:
            tap.skip("programs with more rights than their caller",
                     "the build folder's file system ignores set-uid")
            return tap.finish()
        make_root(root)
        for name in way:
            tap.attempt("the recorder %s an ordinary program" % way[name],
                        lambda: without_rights(root, name))
        for name, rights in cases:
            tap.attempt("the recorder %s a program: %s" % (way[name], rights),
                        lambda: with_rights(root, name, rights))
        for rights in ("none", "set-uid", "capability"):
            tap.attempt("a host in a program: %s" % rights, lambda: with_a_host(root, rights))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
