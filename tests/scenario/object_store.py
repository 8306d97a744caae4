# SPDX-License-Identifier: MIT
"""A server of the S3 protocol as far as bytepoll speaks it: PUT, GET, HEAD and DELETE of an object, ListObjectsV2.

Objects are files in a folder, so that they outlive the server. Every request must be signed (AWS Signature Version 4,
computed here anew from what arrived), and what it carries must have the hash that was signed. Faults are drawn by a
recorded seed, or queued one by one in `script`.

As a program: object_store.py FOLDER PORT SEED, on 127.0.0.1, with faults; it prints a line when it listens.
"""
import collections
import email.utils
import hashlib
import hmac
import http.server
import os
import random
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import xml.sax.saxutils

KEY, SECRET, TOKEN, REGION, BUCKET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a/token+of=ours", "eu-test-1", "profiles"
FAULTS = ["500", "503", "429", "cut", "lost", "slow"]


def quoted(text):
    return urllib.parse.quote(text, safe="-_.~")


def expected_signature(method, path, query, headers, signed, scope, moment, payload):
    """By the specification: "Create a signed AWS API request"."""
    pairs = sorted((quoted(name), quoted(value)) for name, value in urllib.parse.parse_qsl(query, True))
    canonical = "\n".join([method, urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"),
                           "&".join("%s=%s" % pair for pair in pairs),
                           *("%s:%s" % (name, " ".join(headers[name].split())) for name in signed), "",
                           ";".join(signed), payload])
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=(), code=None):
        if code:
            body = ("<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>no</Message></Error>" % code).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def cut(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def is_signed(self, body):
        """Is the signature that of this request, not older than 15 minutes, with everything signed that matters?"""
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
                             self.headers.get("Authorization", ""))
        if not match:
            return "AccessDenied"
        key, scope, signed, signature = match.groups()
        signed, headers = signed.split(";"), {name.lower(): value for name, value in self.headers.items()}
        moment, payload = headers.get("x-amz-date", ""), headers.get("x-amz-content-sha256", "")
        needed = {name for name in headers if name.startswith("x-amz-") or name in ("host", "if-none-match")}
        if key != KEY or headers.get("x-amz-security-token") != self.server.token:
            return "InvalidAccessKeyId"
        if signed != sorted(signed) or not needed <= set(signed) or scope != "%s/%s/s3/aws4_request" % (moment[:8], REGION):
            return "AuthorizationHeaderMalformed"
        try:
            then = time.strptime(moment, "%Y%m%dT%H%M%SZ")
        except ValueError:
            return "AccessDenied"
        if abs(time.mktime(time.gmtime()) - time.mktime(then)) > 900:
            return "RequestTimeTooSkewed"
        if payload != hashlib.sha256(body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        path, _, query = self.path.partition("?")
        expected = expected_signature(self.command, path, query, headers, signed, scope, moment, payload)
        return None if hmac.compare_digest(expected, signature) else "SignatureDoesNotMatch"

    def handle_one(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = server.draw(self.command, self.path)
        with server.lock:
            server.requests.append((self.command, self.path, fault))
        if len(body) != int(self.headers.get("Content-Length") or 0):
            return self.cut()
        if fault and fault.isdigit():
            later = [("Retry-After", "1")] if fault in ("429", "503") and server.draw_of.random() < .3 else []
            return self.answer(int(fault), code="SlowDown", headers=later)
        if fault == "cut":
            return self.cut()
        if fault == "slow":
            time.sleep(.3)
        wrong = self.is_signed(body)
        if wrong:
            with server.lock:
                server.refused.append((wrong, self.command, self.path))
            return self.answer(403, code=wrong)
        path, _, query = self.path.partition("?")
        bucket, _, key = path[1:].partition("/")
        if bucket != BUCKET:
            return self.answer(404, code="NoSuchBucket")
        with server.lock:
            done = self.list(urllib.parse.parse_qs(query)) if self.command == "GET" and not key else self.object(key, body)
        if fault == "lost":  # it was done, and nobody hears of it
            return self.cut()
        if fault == "half" and len(done[1]) > 1:
            self.send_response(done[0])
            self.send_header("Content-Length", str(len(done[1])))
            self.end_headers()
            self.wfile.write(done[1][:len(done[1]) // 2])
            self.wfile.flush()
            return self.cut()
        if fault == "changed" and done[1]:
            done = (done[0], done[1][:-1] + bytes([done[1][-1] ^ 1]), *done[2:])
        return self.answer(done[0], *done[1:])

    do_GET = do_PUT = do_HEAD = do_DELETE = handle_one

    def object(self, key, body):
        path = os.path.join(self.server.folder, *key.split("/"))
        there = os.path.exists(path)
        if self.command == "PUT":
            if self.headers.get("If-None-Match") == "*" and self.server.conditions == "refused":
                return 501, b"", (), "NotImplemented"
            if there and self.headers.get("If-None-Match") == "*" and self.server.conditions == "known":
                return 412, b"", (), "PreconditionFailed"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            name = "%s/.%s.%d" % (os.path.dirname(path), os.path.basename(path), threading.get_ident())
            with open(name, "wb") as file:
                file.write(body)
            os.setxattr(name, "user.sha256", self.headers.get("x-amz-meta-bytepoll-sha256", "").encode())
            os.replace(name, path)
            self.server.puts.append(key)
            return 200, b"", [("ETag", '"%s"' % hashlib.md5(body).hexdigest())]
        if self.command == "DELETE":
            if not self.server.removes:
                return 403, b"", (), "AccessDenied"
            if there:
                os.remove(path)
            return 204, b"", ()
        if not there:
            return 404, b"", (), "NoSuchKey"
        with open(path, "rb") as file:
            found = file.read()
        headers = [("Last-Modified", email.utils.formatdate(os.stat(path).st_mtime, usegmt=True)),
                   ("ETag", '"%s"' % hashlib.md5(found).hexdigest()), ("Content-Length", str(len(found)))]
        told = os.getxattr(path, "user.sha256").decode()
        return 200, found, headers + ([("x-amz-meta-bytepoll-sha256", told)] if told else [])

    def list(self, query):
        prefix, after = query.get("prefix", [""])[0], query.get("continuation-token", [""])[0]
        keys = sorted(key for key in self.server.keys() if key.startswith(prefix) and key > after)
        page, more = keys[:self.server.page], len(keys) > self.server.page
        text = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
                "<Name>%s</Name><EncodingType>url</EncodingType><IsTruncated>%s</IsTruncated>" % (BUCKET, str(more).lower())]
        for key in page:
            with open(os.path.join(self.server.folder, key), "rb") as file:
                found = file.read()
            text.append("<Contents><Key>%s</Key><ETag>&#34;%s&#34;</ETag><Size>%d</Size></Contents>" % (
                xml.sax.saxutils.escape(quoted(key)), hashlib.md5(found).hexdigest(), len(found)))
        if more:
            text.append("<NextContinuationToken>%s</NextContinuationToken>" % xml.sax.saxutils.escape(page[-1]))
        return 200, ("".join(text) + "</ListBucketResult>").encode(), [("Content-Type", "application/xml")]


class Store(http.server.ThreadingHTTPServer):
    """`conditions`: what the server makes of If-None-Match: known, ignored or refused. `faults`: the share of requests
    that get one. `page`: keys in a page of a list."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder, port=0, seed=1, faults=0., conditions="known", page=1000, certificate=None, token=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.folder, self.draw_of, self.faults, self.conditions, self.page = folder, random.Random(seed), faults, conditions, page
        self.lock, self.token, self.secure = threading.Lock(), token, certificate is not None
        self.requests, self.refused, self.puts, self.script = [], [], [], collections.deque()
        self.removes = True  # False: the key may not remove anything
        self.always = None
        os.makedirs(folder, exist_ok=True)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, args=(.05,), daemon=True).start()

    def handle_error(self, *_):
        pass  # a pusher that is killed

    def draw(self, *_):
        with self.lock:
            if self.script:
                return self.script.popleft()
            if self.always:
                return self.always
            return self.draw_of.choice(FAULTS) if self.draw_of.random() < self.faults else None

    def keys(self):
        for place, _, names in os.walk(self.folder):
            for name in names:
                if not name.startswith("."):
                    yield os.path.relpath(os.path.join(place, name), self.folder)

    def url(self):
        return "http%s://127.0.0.1:%d" % ("s" if self.secure else "", self.server_address[1])

    def environment(self, **more):
        """Of those who ask this server."""
        given = {"AWS_ENDPOINT_URL": self.url(), "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": KEY,
                 "AWS_SECRET_ACCESS_KEY": SECRET, "no_proxy": "*"}
        if self.token:
            given["AWS_SESSION_TOKEN"] = self.token
        return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | given | more

    def close(self):
        self.shutdown()
        self.server_close()


def main():
    store = Store(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), faults=.15)
    print("listening", flush=True)
    while store:
        time.sleep(3600)


if __name__ == "__main__":
    main()
