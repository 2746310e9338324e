"""The app in a browser: who is let in, what the page may load, and what it shows."""

import asyncio
import shlex
import sys
import threading
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from edge_app.endpoint.browser import BrowserServer
from tests.waiting import PATIENCE, wait_until

TUI = Path(__file__).parents[1] / "tui"
APP = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from tui_helpers import gated_service, make_app
from edge_app.tui.app import run_app
from edge_app.tui.journal import JournalFolder
app = make_app(gated_service(), Path("."), journals=JournalFolder(Path({folder!r})))
sys.exit(run_app(app))
"""
EVIL = "https://evil.example"


@pytest.fixture
def served(tmp_path):
    """The link of a server that shows the app of the tests."""
    path = [str(TUI), *sys.path]
    code = APP.format(path=path, folder=str(tmp_path / "drafts"))
    links, loop, stop = [], asyncio.new_event_loop(), asyncio.Event()
    server = BrowserServer(shlex.join([sys.executable, "-c", code]), 0, links.append)
    work = partial(loop.run_until_complete, server.listen(stop))
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    wait_until(lambda: links, "the server does not listen")
    yield links[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    loop.close()


def origin_of(link):
    return "http://" + urlsplit(link).netloc


def status_of_socket(origin, cookie, **headers):
    """101, or why the websocket was refused."""
    address = origin.replace("http", "ws") + "/ws?width=80&height=24"
    given = {"Cookie": cookie, **headers} if cookie else headers
    try:
        with connect(address, additional_headers=given) as socket:
            socket.recv(timeout=PATIENCE)
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def test_who_is_let_in(served):
    """Whoever has the link, once, with a cookie that no other site sends; asked by this
    host's name, from this page."""
    origin = origin_of(served)
    with httpx.Client() as client:
        assert client.get(origin).status_code == 403, "no link"
        assert client.get(f"{origin}/?token=x").status_code == 403
        for headers in ({"Host": "evil.example"}, {"Origin": EVIL}):
            assert client.get(served, headers=headers).status_code == 403
        opened = client.get(served)
        assert (opened.status_code, opened.headers["Location"]) == (303, "/")
        setting = opened.headers["Set-Cookie"]
        assert "HttpOnly" in setting
        assert "SameSite=Strict" in setting
        cookie = setting.partition(";")[0]
        assert urlsplit(served).query.partition("=")[2] not in setting
        assert httpx.get(served).status_code == 403, "the link opens once"
        page = client.get(origin)
        assert page.status_code == 200
        for path in (
            *("/browser.css", "/browser.js"),
            *("/static/css/xterm.css", "/static/js/textual.js"),
        ):
            assert client.get(origin + path).status_code == 200
            assert httpx.get(origin + path).status_code == 403
        for path in ("/static/", "/static/../server.py", "/download/x", "/none"):
            assert client.get(origin + path).status_code in (403, 404), path
        for headers in ({"Host": "evil.example"}, {"Origin": EVIL}, {"Origin": "null"}):
            assert client.get(origin, headers=headers).status_code == 403
    for answer in (page, opened, httpx.get(origin)):
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
    assert "://" not in page.text.replace("ws://" + urlsplit(served).netloc, "")
    assert status_of_socket(origin, cookie, Origin=EVIL) == 403
    assert status_of_socket(origin, cookie) == 403, "no browser, or none of today"
    assert status_of_socket(origin, "", Origin=origin) == 403
    assert status_of_socket(origin, "specsteer=x", Origin=origin) == 403


@pytest.mark.slow
def test_a_page_that_says_nonsense_changes_nothing(served):
    """What is no message is passed over; the newest page has the app."""
    origin = origin_of(served)
    cookie = httpx.get(served).headers["Set-Cookie"].partition(";")[0]
    address = origin.replace("http", "ws") + "/ws?width=x&height=24"
    headers = {"Cookie": cookie, "Origin": origin}
    with connect(address, additional_headers=headers) as socket:
        for said in ("", "{", "[]", "[[]]", '["stdin"]', '["stdin", 1]', "[" * 5000,
                     '["resize", {}]', '["resize", {"width": 1e999, "height": "x"}]',
                     '["resize", {"width": 120, "height": 36}]'):  # fmt: skip
            socket.send(said)
        shown = b""
        # The keys are there before anybody has clicked, those that a browser leaves.
        while not all(said in shown for said in (b"palette", b"ALT-O offline")):
            shown += socket.recv(timeout=PATIENCE)
        with connect(address, additional_headers=headers) as other:
            shown = b""
            while b"drafts it" not in shown:
                shown += other.recv(timeout=PATIENCE)
