# SPDX-License-Identifier: MIT
"""nginx under load: every answer byte for byte, reloads and an upgrade of the running program while
ab asks, TLS, and a clean end. Prints TAP; what must be the same in every run is in the names.

    nginx_load.py ROOT FOLDER PORT      ROOT: the unpacked packages
"""
import gzip
import hashlib
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import time

ROOT, FOLDER, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
NGINX, AB = os.path.join(ROOT, "usr/sbin/nginx"), os.path.join(ROOT, "usr/bin/ab")
LIBRARIES = {**os.environ, "LD_LIBRARY_PATH": os.path.join(ROOT, "usr/lib/x86_64-linux-gnu")}
PID_FILE = os.path.join(FOLDER, "nginx.pid")
CONFIGURATION = """
worker_processes 2;
pid nginx.pid;
error_log error.log;
events { worker_connections 512; }
http {
	access_log access.log combined buffer=8k;
	client_body_temp_path temp/body;
	proxy_temp_path temp/proxy;
	fastcgi_temp_path temp/fastcgi;
	uwsgi_temp_path temp/uwsgi;
	scgi_temp_path temp/scgi;
	gzip on;
	gzip_min_length 100;
	gzip_types *;
	keepalive_requests 100;
	server {
		listen 127.0.0.1:%(port)d;
		root files;
		autoindex on;
		location /again/ { proxy_pass http://127.0.0.1:%(port)d/; proxy_buffers 4 4k; }
		location /body { client_max_body_size 4m; proxy_pass http://127.0.0.1:%(port)d/sink; }
		location /sink { return 200 "taken $content_length"; }
	}
	server {
		listen 127.0.0.1:%(tls)d ssl;
		ssl_certificate certificate.pem;
		ssl_certificate_key key.pem;
		root files;
	}
}
"""
count = 0


def say(good, name, detail=""):
    global count
    count += 1
    print("%s %d - %s" % ("ok" if good else "not ok", count, name), flush=True)
    if not good:
        print("# " + str(detail), flush=True)


def wait_for(what, seconds=30):
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    return what()


def ask(method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    if answer.getheader("Content-Encoding") == "gzip":
        data = gzip.decompress(data)
    return answer.status, data


def answers():
    try:
        return ask("GET", "/f0")[0] == 200
    except OSError:
        return False


def master():
    with open(PID_FILE) as file:
        return int(file.read())


def gone(pid):
    """Neither running nor waiting to be collected."""
    return not os.path.exists("/proc/%d" % pid) or " Z " in open("/proc/%d/stat" % pid).read()


def prepare():
    source = random.Random(1)
    os.makedirs(os.path.join(FOLDER, "files"))
    os.makedirs(os.path.join(FOLDER, "temp"))
    sizes = [100, 0, 1, 4095, 4096, 65537, 262144, 3000000]
    for number, size in enumerate(sizes):
        with open(os.path.join(FOLDER, "files", "f%d" % number), "wb") as file:
            file.write(bytes(source.choices(b"abcdefgh\n", k=size)))
    with open(os.path.join(FOLDER, "nginx.conf"), "w") as file:
        file.write(CONFIGURATION % {"port": PORT, "tls": PORT + 1})
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                    "/CN=localhost", "-keyout", "key.pem", "-out", "certificate.pem"],
                   cwd=FOLDER, check=True, capture_output=True)
    return len(sizes)


def every_answer(files):
    digest, statuses = hashlib.sha256(), []
    for prefix in ("/", "/again/"):
        for number in range(files):
            for headers in ({}, {"Accept-Encoding": "gzip"}, {"Range": "bytes=10-5000"}):
                status, data = ask("GET", "%sf%d" % (prefix, number), headers=headers)
                statuses.append(status)
                digest.update(data)
    for size in (10, 20000, 3000000):
        statuses.append(ask("POST", "/body", b"x" * size)[0])
    statuses += [ask("GET", "/absent")[0], ask("POST", "/body", b"x" * 5000000)[0]]
    return digest.hexdigest()[:16], statuses


def load(requests, clients, path="f3", tls=False, keep=True):
    command = [AB, "-q", "-n", str(requests), "-c", str(clients), *(["-k"] if keep else []),
               "%s://127.0.0.1:%d/%s" % ("https" if tls else "http", PORT + tls, path)]
    return subprocess.Popen(command, env=LIBRARIES, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def judged(process, requests, name):
    output = process.communicate()[0]
    complete = re.search(r"Complete requests: +(\d+)", output)
    failed = re.search(r"Failed requests: +(\d+)", output)
    other = re.search(r"Non-2xx responses: +(\d+)", output)
    say(complete and int(complete.group(1)) == requests and failed.group(1) == "0" and not other,
        name, output[-600:])


def reloads():
    process = load(12000, 16, keep=False)
    for _ in range(8):
        os.kill(master(), signal.SIGHUP)
        time.sleep(0.3)
    judged(process, 12000, "12000 requests over 8 reloads")


def upgrade():
    old, process = master(), load(12000, 16, keep=False)
    os.kill(old, signal.SIGUSR2)
    say(wait_for(lambda: os.path.exists(PID_FILE) and master() != old), "a new master after USR2")
    os.kill(old, signal.SIGWINCH)
    time.sleep(0.5)
    os.kill(old, signal.SIGQUIT)
    judged(process, 12000, "12000 requests over an upgrade")
    say(wait_for(lambda: gone(old)), "the old master is gone")


def main():
    files = prepare()
    # As a daemon: an upgrade is refused while the parent is who it was at the start.
    subprocess.run([NGINX, "-p", FOLDER, "-c", "nginx.conf", "-e", "error.log"], env=LIBRARIES,
                   check=True)
    say(wait_for(answers), "starts")
    first = every_answer(files)
    say(True, "answers %s %s" % (first[0], hashlib.sha256(repr(first[1]).encode()).hexdigest()[:8]))
    judged(load(30000, 32), 30000, "30000 requests of 4 KiB, kept alive")
    judged(load(300, 8, "f7"), 300, "300 requests of 3 MB")
    judged(load(3000, 16, "again/f5"), 3000, "3000 requests through a proxy")
    judged(load(1500, 8, tls=True, keep=False), 1500, "1500 TLS handshakes")
    reloads()
    say(every_answer(files) == first, "the same answers after reloads")
    upgrade()
    say(every_answer(files) == first, "the same answers after the upgrade")
    last = master()
    os.kill(last, signal.SIGQUIT)
    say(wait_for(lambda: gone(last)), "ends")
    with open(os.path.join(FOLDER, "error.log")) as file:
        bad = [line for line in file if re.search(r"\[(alert|emerg|crit)\]|exited on signal", line)]
    say(not bad, "nothing alarming in its log", bad[:5])
    print("1..%d" % count)


main()
