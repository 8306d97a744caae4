# SPDX-License-Identifier: MIT
"""A headless Chromium driven over its debugging pipe (descriptors 3 and 4: JSON ended by zeros): nothing
but Debian's chromium and Python is needed, no port is opened. Collects what a page logs, the dialogs it
opens, and every request it makes."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time


class BrowserError(Exception):
    pass


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path is not None:
            return path
    return None


class Browser:
    def __init__(self, width=1280, height=900):
        self.folder = tempfile.mkdtemp(prefix="bytepoll-web-")
        to_child, self.writer = os.pipe()
        self.reader, from_child = os.pipe()
        command = [find_chromium(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
                   "--no-first-run", "--disable-extensions", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--mute-audio", "--hide-scrollbars",
                   "--force-color-profile=srgb", "--allow-file-access-from-files=false",
                   f"--user-data-dir={self.folder}/profile", f"--window-size={width},{height}", "about:blank"]

        def place():
            os.setsid()
            # (3 and 4 may be among the pipes themselves: copied away first.)
            read_end, write_end = os.dup(to_child), os.dup(from_child)
            read_end, write_end = os.dup2(read_end, 40), os.dup2(write_end, 41)
            os.dup2(40, 3)
            os.dup2(41, 4)

        self.log = open(os.path.join(self.folder, "chromium.log"), "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        preexec_fn=place, pass_fds=(3, 4))
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.errors, self.dialogs, self.requests, self.downloads = [], [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)

    def close(self):
        self.session = None
        try:
            self.call("Browser.close", wait=5)
        except BrowserError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        return self.number

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reader], [], [], left)[0]:
                return None
            more = os.read(self.reader, 1 << 20)
            if not more:
                raise BrowserError("chromium ended")
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details.get("text")))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.errors.append(str([a.get("value", a.get("description")) for a in parameters["args"]]))
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["message"])
            self.send("Page.handleJavaScriptDialog", {"accept": False})
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def call(self, method, wait=60, **parameters):
        number = self.send(method, parameters)
        deadline = time.monotonic() + wait
        while True:
            message = self.receive(deadline)
            if message is None:
                raise BrowserError(f"{method}: no answer in {wait} s")
            if message.get("id") == number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.note(message)

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(answer["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.05)
        raise BrowserError(f"did not come true in {seconds} s: {expression}")

    def open(self, path, fragment=""):
        self.call("Page.navigate", url="about:blank")
        self.requests.clear()
        url = "file://" + os.path.abspath(path) + ("#" + fragment if fragment else "")
        self.call("Page.navigate", url=url)
        self.wait_for("document.documentElement && document.documentElement.dataset.ready")
        self.settle()

    def settle(self, quiet=0.35):
        """Until the page has drawn what it was asked for: no long task, two frames gone by."""
        time.sleep(quiet)
        self.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")
        try:
            self.wait_for("document.querySelectorAll('tr.waiting').length === 0", 20)
        except BrowserError:
            pass

    def place_of(self, selector):
        rectangle = self.evaluate(
            "(() => { const e = document.querySelector(%s); if (!e) return null; e.scrollIntoView({block: 'center'});"
            "const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()" % json.dumps(selector))
        if rectangle is None:
            raise BrowserError(f"no such element: {selector}")
        return rectangle

    def mouse(self, kind, x, y, button="left", buttons=0, modifiers=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons,
                  clickCount=1 if kind != "mouseMoved" else 0, modifiers=modifiers)

    def click_at(self, x, y, modifiers=0):
        self.mouse("mouseMoved", x, y, "none", modifiers=modifiers)
        self.mouse("mousePressed", x, y, "left", 1, modifiers)
        self.mouse("mouseReleased", x, y, "left", 0, modifiers)
        self.settle()

    def click(self, selector):
        x, y, width, height = self.place_of(selector)
        self.click_at(x + width / 2, y + height / 2)

    def drag(self, selector, from_share, to_share):
        x, y, width, height = self.place_of(selector)
        middle = y + height / 2
        self.mouse("mouseMoved", x + from_share * width, middle, "none")
        self.mouse("mousePressed", x + from_share * width, middle, "left", 1)
        for step in range(1, 6):
            at = from_share + (to_share - from_share) * step / 5
            self.mouse("mouseMoved", x + at * width, middle, "left", 1)
        self.mouse("mouseReleased", x + to_share * width, middle, "left", 0)
        self.settle()

    def key(self, name):
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}.get(name, 0)
        text = name if len(name) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)
        self.settle(0.15)

    def type_into(self, selector, text):
        self.click(selector)
        self.evaluate("document.querySelector(%s).select()" % json.dumps(selector))
        if text:
            self.call("Input.insertText", text=text)
        else:
            self.call("Input.dispatchKeyEvent", type="keyDown", key="Delete", windowsVirtualKeyCode=46)
            self.call("Input.dispatchKeyEvent", type="keyUp", key="Delete", windowsVirtualKeyCode=46)
        self.settle()

    def choose(self, selector, value):
        self.evaluate("(() => { const e = document.querySelector(%s); e.value = %s;"
                      "e.dispatchEvent(new Event('change', {bubbles: true})); })()"
                      % (json.dumps(selector), json.dumps(str(value))))
        self.settle()

    def text(self, selector):
        return self.evaluate("(document.querySelector(%s) || {}).textContent || ''" % json.dumps(selector))

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
