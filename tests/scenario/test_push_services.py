#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bytepoll push` to services that take profiles: Pyroscope, Parca, OpenTelemetry.

A scripted peer (profile_service.py) stands for each. What it gets is decoded by the readers that test the exports,
and its totals are the report's. It answers 500, 429, 401, half an answer or none: a run arrives all the same, or the
command says why not in one line, without the secret.
"""
import os
import sys
import tempfile
import threading

import export_otlp
import export_read
import profiled
from profile_service import Peer
from profiled import expect

KINDS = {"pyroscope": "/push.v1.PusherService/Push", "parca": "/api/profiles/writeraw",
         "otlp": "/v1development/profiles"}
TAGS = ["--service", "shop", "--release", "1.4", "--host", "here", "--tag", "zone=eu", "--tag", "9 lives=\u201cyes\u201d"]
SECRET = "s3cret-t0ken"


def push(folder, *words, status=0, **environment):
    result = profiled.run([profiled.BYTEPOLL, "push", *words],
                          extra={"XDG_CACHE_HOME": folder, "CACHE_DIRECTORY": "", **environment})
    text = (result.stdout + result.stderr).decode()
    expect(result.status == status, "%s: status %s: %s" % (words, result.status, text))
    expect(SECRET not in text and "\x1b" not in text, text)
    return text


def totals(kind, request):
    """{type: total}, as a reader of the format has them."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(request.body if kind == "otlp" else request.pprof())
        file.flush()
        if kind == "otlp":
            return {profile.type: profile.total() for profile in export_otlp.Otlp(file.name).profiles}
        pprof = export_read.Pprof(file.name)
        return {name: pprof.total(name) for name, _ in pprof.types}


def check_arrives(folder, trace, kind):
    """Whole, with the report's totals and whose it is; and once."""
    cache = os.path.join(folder, "cache-" + kind)
    data = profiled.report(trace)
    with Peer() as peer:
        expect("1 pushed, 0 there already" in push(cache, trace, "--to", peer.address(kind), *TAGS), "pushed")
        expect("0 pushed, 1 there already" in push(cache, trace, "--to", peer.address(kind, "/"), *TAGS), "twice")
        (request,) = peer.requests
        expect(request.path == KINDS[kind], request.path)
        got = totals(kind, request)
        expect(got["alloc_space"] == data["totals"]["allocated"]["bytes"]["estimate"], got)
        expect(abs(got["inuse_space"] - data["totals"]["live"]["bytes"]["estimate"]) <= 0.5001, got)
        if kind != "otlp":
            expect(request.headers["Content-Type"] == "application/json", request.headers)
            expect(request.labels() == {"__name__": "memory", "service_name": "shop", "release": "1.4", "host": "here",
                                        "zone": "eu", "_9_lives": "\u201cyes\u201d"}, request.labels())
        else:
            expect(request.headers["Content-Type"] == "application/x-protobuf", request.headers)
        if kind == "pyroscope":
            expect(len(request.json()["series"][0]["samples"][0]["ID"]) == 36, "ID")
        push(cache, trace, "--to", peer.address(kind, "/behind/a.proxy/"))
        expect(peer.requests[1].path == "/behind/a.proxy" + KINDS[kind], peer.requests[1].path)


def check_retries(folder, trace):
    for kind, scripts in (("pyroscope", ([500], ["cut"], [429, 503])), ("parca", (["lost"],)), ("otlp", ([503],))):
        for script in scripts:
            with tempfile.TemporaryDirectory(dir=folder) as cache, Peer(script) as peer:
                expect("1 pushed" in push(cache, trace, "--to", peer.address(kind)), script)
                expect(len(peer.requests) == len(script) + 1, "%d requests" % len(peer.requests))
                expect(len({request.body for request in peer.requests}) == 1, "an attempt differs")


def check_retry_after(folder, trace):
    with Peer([(429, {"Retry-After": "1"})]) as peer:
        push(os.path.join(folder, "later"), trace, "--to", peer.address("pyroscope"))
        first, second = peer.requests
        expect(second.time - first.time > 0.99, "after %g s" % (second.time - first.time))


def check_refused(folder, trace):
    """What another attempt does not help is tried once, and leaves no receipt."""
    cache = os.path.join(folder, "refused")
    with Peer([401, 400]) as peer:
        text = push(cache, trace, "--to", peer.address("pyroscope"), status=1, BYTEPOLL_PUSH_TOKEN=SECRET)
        expect("401" in text and "BYTEPOLL_PUSH_TOKEN" in text and "as it was told" in text, text)
        text = push(cache, trace, "--to", peer.address("pyroscope"), status=1)
        expect("400" in text and len(peer.requests) == 2, text)
        push(cache, trace, "--to", peer.address("pyroscope"))
        expect(len(peer.requests) == 3, "after a refusal it is sent again")
    other = os.path.join(folder, "other.bpt")
    profiled.run([profiled.program("truth")], other, 4096, 8)
    for status, pushed, requests in ((422, "1 pushed", 2), (403, "0 pushed", 1)):
        with Peer([status]) as peer:
            cache = os.path.join(folder, "refused-%d" % status)
            text = push(cache, trace, other, "--to", peer.address("pyroscope"), status=1)
            expect(pushed in text and len(peer.requests) == requests, "%d: %s" % (status, text))


def check_secrets(folder, trace):
    cache = os.path.join(folder, "secrets")
    with Peer([200, 200]) as peer:
        push(cache, trace, "--to", peer.address("parca"), BYTEPOLL_PUSH_TOKEN=SECRET, BYTEPOLL_PUSH_TENANT="t1")
        expect(peer.requests[0].headers["Authorization"] == "Bearer " + SECRET, peer.requests[0].headers)
        expect(peer.requests[0].headers["X-Scope-OrgID"] == "t1", peer.requests[0].headers)
        push(cache, trace, "--to", peer.address("otlp"), BYTEPOLL_PUSH_USER="me", BYTEPOLL_PUSH_PASSWORD=SECRET)
        expect(peer.requests[1].headers["Authorization"] == "Basic bWU6czNjcmV0LXQwa2Vu", peer.requests[1].headers)
    for address, words, extra in (("otlp+http://example.com", "use https", {"BYTEPOLL_PUSH_TOKEN": SECRET}),
                                  ("parca+https://me:%s@example.com" % SECRET, "BYTEPOLL_PUSH_USER", {}),
                                  ("parca+https://", "https://HOST", {}), ("parca+ftp://x", "https://HOST", {}),
                                  ("parca+https://x/?a=b", "https://HOST", {}),
                                  ("parca+https://x", "control characters", {"BYTEPOLL_PUSH_TOKEN": SECRET + "\r\nX: y"}),
                                  ("parca+https://x", "one of them", {"BYTEPOLL_PUSH_TOKEN": SECRET,
                                                                      "BYTEPOLL_PUSH_USER": "me"})):
        text = push(cache, trace, "--to", address, status=2, **extra)
        expect(words in text, text)


def check_rejected(folder, trace):
    """A part that an OTLP receiver rejects is an error, and not sent again."""
    cache = os.path.join(folder, "rejected")
    with Peer([b"\x0a\x06\x08\x02\x12\x02no"]) as peer:
        text = push(cache, trace, "--to", peer.address("otlp"), status=1)
        expect("rejected 2 of the profiles" in text, text)
        expect("1 there already" in push(cache, trace, "--to", peer.address("otlp")), "sent again")
    with Peer([b"\x0a\x04\x12\x02hm"]) as peer:
        expect("1 pushed" in push(cache, trace, "--to", peer.address("otlp")), "a warning is no error")


def check_at_once(folder, trace):
    """Four pushers of one user send a run once."""
    cache, texts = os.path.join(folder, "together"), []
    with Peer() as peer:
        threads = [threading.Thread(target=lambda: texts.append(push(cache, trace, "--to", peer.address("otlp"))))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(len(texts) == 4 and len(peer.requests) == 1, "%d requests, %s" % (len(peer.requests), texts))


def check_down(folder, trace):
    """Nobody answers: six attempts, and one line, also of two runs."""
    text = push(os.path.join(folder, "down"), trace, trace, "--to", "pyroscope+http://127.0.0.1:1", status=1)
    expect(text.count("bytepoll: ") == 1 and "connect" in text, text)


def outcome(action, *arguments):
    """What it raises, or None."""
    try:
        return action(*arguments)
    except AssertionError as error:
        return error


def main():
    tap = profiled.Tap()
    with profiled.directory() as folder:
        trace = os.path.join(folder, "truth.bpt")
        result = profiled.run([profiled.program("truth")], trace, 2048, 7)
        expect(result.status == 0, result.stderr)
        # (It waits for six seconds, mostly.)
        found = []
        down = threading.Thread(target=lambda: found.append(outcome(check_down, folder, trace)))
        down.start()
        for kind in KINDS:
            tap.attempt(kind, lambda: check_arrives(folder, trace, kind))
        for name, action in (("faults", check_retries), ("Retry-After", check_retry_after),
                             ("refusals", check_refused), ("secrets", check_secrets),
                             ("partial success", check_rejected), ("four at once", check_at_once)):
            tap.attempt(name, lambda: action(folder, trace))
        down.join()
        tap.attempt("a server that is down", lambda: expect(found == [None], found))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
