# SPDX-License-Identifier: MIT
"""A server of Flask with a thread for each connection, under 600 requests of four clients."""
import hashlib
import logging
import threading
import urllib.request

import flask
from werkzeug.serving import make_server

application = flask.Flask("site")
logging.getLogger("werkzeug").setLevel(logging.ERROR)


@application.route("/<int:count>")
def page(count):
    return flask.render_template_string("{% for i in range(n) %}{{ i }} {{ '<'|e }}\n{% endfor %}", n=count)


server = make_server("127.0.0.1", 0, application, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
found = {}


def load(place):
    digest = hashlib.sha256()
    for number in range(150):
        with urllib.request.urlopen("http://127.0.0.1:%d/%d" % (server.server_port, number * place % 211)) as answer:
            digest.update(answer.read())
    found[place] = digest.hexdigest()


threads = [threading.Thread(target=load, args=(place,)) for place in (1, 2, 3, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
server.shutdown()
print(sorted(found.items()))
