"""A headless Chromium, spoken to by its own protocol: no driver, no download."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.waiting import PATIENCE, wait_until

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class Page:
    """One tab."""

    def __init__(self, socket):
        self._socket = socket
        self._number = 0
        self.events = []

    def call(self, method, **params):
        """What the browser answers; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps(message))
        while True:
            told = json.loads(self._socket.recv(timeout=PATIENCE))
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]
            self.events.append(told)

    def run(self, script):
        """The value of a script on the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, url):
        """Go there, and wait until it is shown."""
        self.call("Page.navigate", url=url)
        self.shows(f"location.href === {json.dumps(url)}")

    def shows(self, condition):
        """Wait until a condition holds on a page that is loaded."""
        script = f"document.readyState === 'complete' && ({condition})"
        wait_until(lambda: self.run(script), f"the page does not show {condition}")

    def requested(self):
        """The addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self):
        """What the browser logged, such as a breach of the policy of a page."""
        return [
            event["params"]["entry"]["text"]
            for event in self.events
            if event["method"] == "Log.entryAdded"
        ]

    def picture(self, path):
        """Keep what it shows, as a PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder):
    """A tab of a browser whose profile lies in `folder`; the test is skipped where
    there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--mute-audio"]
    words += ["--remote-debugging-port=0", f"--user-data-dir={folder}"]
    words += ["--window-size=1000,1000", "about:blank"]
    # What is called Chromium may be a script: it ends with all that it started.
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, process_group=0) as child:
        try:
            port_file = Path(folder) / "DevToolsActivePort"
            wait_until(
                lambda: port_file.exists() and "\n" in port_file.read_text(),
                "the browser does not start",
            )
            port, path = port_file.read_text().split()[:2]
            with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as socket:
                whole = Page(socket)
                targets = whole.call("Target.getTargets")["targetInfos"]
                tab = next(one["targetId"] for one in targets if one["type"] == "page")
            address = f"ws://127.0.0.1:{port}/devtools/page/{tab}"
            with connect(address, max_size=None) as socket:
                page = Page(socket)
                for domain in ("Page", "Network", "Log", "Runtime"):
                    page.call(f"{domain}.enable")
                yield page
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
