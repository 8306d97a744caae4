# SPDX-License-Identifier: MIT
"""A scripted peer for `bytepoll push` to services: it decodes what is posted, and fails as it is told to.

`script` is a list of what becomes of the next requests: "ok", a status, (status, headers), "cut" (the connection
ends in the middle of an answer), "lost" (the request is taken, and the connection ends without an answer), or
bytes, which are the body of an answer of status 200. Behind its end all is "ok".
"""
import base64
import http.server
import json
import threading
import time


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body, self.time = path, headers, body, time.monotonic()

    def json(self):
        return json.loads(self.body)

    def pprof(self):
        """The one file of pprof, by the fields that push.proto and profilestore.proto describe."""
        (series,) = self.json()["series"]
        (sample,) = series["samples"]
        return base64.b64decode(sample["rawProfile"], validate=True)

    def labels(self):
        (series,) = self.json()["series"]
        labels = series["labels"]["labels"] if isinstance(series["labels"], dict) else series["labels"]
        result = {label["name"]: label["value"] for label in labels}
        assert len(result) == len(labels), labels
        return result


class Peer:
    def __init__(self, script=()):
        self.script, self.requests, peer = list(script), [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                peer.requests.append(Request(self.path, dict(self.headers), body))
                action = peer.script.pop(0) if peer.script else "ok"
                if action == "lost":
                    return self.close()
                if action == "cut":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
                    return self.close()
                status, headers = action if isinstance(action, tuple) else (action, {})
                answer = b"{}" if action == "ok" else b"the peer fails as it was told to\x1b[2J"
                if isinstance(action, bytes):
                    status, headers, answer = 200, {}, action
                self.send_response(200 if action == "ok" else status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def close(self):
                self.wfile.flush()
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def address(self, kind, path=""):
        return "%s+http://127.0.0.1:%d%s" % (kind, self.server.server_address[1], path)
