"""A small hub of models on loopback, as Hugging Face's answers to its own client.

Large files are answered with a redirect to another address, the way a hub sends one to
its store, so that a test sees which of the two is told a token.
"""

import hashlib
import json
import re
import threading
from collections import namedtuple
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from models.local import pulling
from tests.waiting import PATIENCE, let_pass

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Repository:
    """What the hub has under a name."""

    files: dict[str, bytes] = field(default_factory=dict)
    small: set[str] = field(default_factory=set)
    """Names of files that lie in git itself, without an LFS checksum."""
    card: dict[str, str] = field(default_factory=lambda: {"license": "apache-2.0"})
    refusal: tuple[int, str] | None = None
    """Status and error code for whoever has no token."""


Seen = namedtuple("Seen", "method path range authorization agent")


class SmallHub:
    """Its repositories, what was asked, and what it does wrong on purpose."""

    def __init__(self):
        self.repositories: dict[str, Repository] = {}
        self.seen: list[Seen] = []
        self.sent = 0
        """Bytes of files."""
        self.hold_after: int | None = None
        """The next file stops after so many bytes until `go_on` is set."""
        self.go_on = threading.Event()
        self.alter = lambda content: content
        """What every file is changed to on its way."""
        self.drips = ""
        """Answers about paths that begin so come byte by byte."""
        self.burst = b" "
        """What comes at a time in place of a byte."""
        self.url = ""

    def has(self, name, files, **more):
        self.repositories[name] = Repository(files, **more)

    def ranges(self):
        """The `Range` headers of the files that were fetched from the store."""
        return [s.range for s in self.seen if s.path.startswith("/store/")]


@lru_cache(8)
def lfs(content):
    return hashlib.sha256(content).hexdigest()


def git_id(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Answers for the hub that its server holds."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, get = self.path.partition("?")[0], self.headers.get
        told = (get(name, "") for name in ("Range", "Authorization", "User-Agent"))
        self.server.hub.seen.append(Seen(self.command, path, *told))
        if (drips := self.server.hub.drips) and path.startswith(drips):
            self.drip()
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)", path):
            self.tell(match[1])
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            self.lead(match[1], match[2])
        elif match := re.fullmatch(r"/store/([^/]+/[^/]+)/(.+)", path):
            self.give(self.server.hub.repositories[match[1]].files[match[2]])
        else:
            self.refuse(404, "")

    def do_HEAD(self):
        self.do_GET()

    def drip(self):
        self.close_connection = True
        with suppress(OSError):
            burst = self.server.hub.burst
            length = 5000 * len(burst)
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length)
            while not self.server.hub.go_on.is_set():
                self.wfile.write(burst)
                let_pass(0.01)

    def may(self, name):
        known = self.server.hub.repositories.get(name)
        if known is None:
            return self.refuse(401, "RepoNotFound")
        if known.refusal and not self.headers.get("Authorization"):
            return self.refuse(*known.refusal)
        return known

    def tell(self, name):
        known = self.may(name)
        if known is None:
            return
        siblings = [{"rfilename": file} for file in known.files]
        body = {"id": name, "sha": REVISION, "siblings": siblings}
        body["cardData"] = known.card
        self.whole(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def lead(self, name, file):
        known = self.may(name)
        if known is None:
            return
        if file not in known.files:
            self.refuse(404, "EntryNotFound")
            return
        content, port = known.files[file], self.server.server_address[1]
        checksum = git_id(content) if file in known.small else lfs(content)
        headers = {
            "Location": f"http://localhost:{port}/store/{name}/{file}",
            "X-Repo-Commit": REVISION,
            "X-Linked-Etag": f'"{checksum}"',
            "X-Linked-Size": str(len(content)),
        }
        self.whole(302, b"", headers)

    def give(self, content):
        start = 0
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(match[1])
        content = self.server.hub.alter(content)
        rest = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        if start:
            end = len(content) - 1
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(content)}")
        self.end_headers()
        held, self.server.hub.hold_after = self.server.hub.hold_after, None
        if held is not None:
            self.wfile.write(rest[:held])
            self.server.hub.sent += held
            self.server.hub.go_on.wait(PATIENCE)
            rest = rest[held:]
        try:
            self.wfile.write(rest)
            self.server.hub.sent += len(rest)
        except OSError:  # who asked was killed
            self.close_connection = True

    def refuse(self, status, code):
        self.whole(status, b"", {"X-Error-Code": code})

    def whole(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def asked_hub(monkeypatch):
    """A small hub that is the one to be asked. The client reads the environment as it
    loads, here or in an earlier test: not what training an adapter sets, nor the
    address of a hub that is none."""
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    library = pulling._library()
    monkeypatch.setattr(library.constants, "HF_HUB_OFFLINE", False)
    with small_hub() as one:
        monkeypatch.setenv("HF_ENDPOINT", one.url)
        yield one
    library.close_session()


@contextmanager
def small_hub():
    """A hub that answers on loopback until the block ends."""
    hub = SmallHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.hub = hub
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
