"""`specsteer serve`: other programs write in the person's voice, and go on with the key
that they were given once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from base.owner_only import exposure
from decoding_core.errors import (
    CloudUnreachableError,
    EngineError,
    InvalidSettingsError,
)
from decoding_core.settings import MethodSettings
from edge_app.commands.serve import key_path
from edge_app.decoding.events import Finished, Notice, Settled, Statistics, Token
from edge_app.endpoint import app as writing
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from models.openai import ChatBody
from models.prompts import Request
from tests.cloud_api.cloud_fakes import PLAIN, ask
from tests.command import specsteer
from tests.waiting import PATIENCE, wait_until

KEY = "key-of-a-test"
WORDS = ("Dear", " Ana", ",\n", "thank", " you", "!")
TEMPLATE = WriteRequest(Request("", "email"), settings=MethodSettings(seed=1))


class ScriptedService:
    """Writes its words, one after the other, while nobody stops it."""

    def __init__(self):
        self.error, self.requests, self.stops = None, [], []
        self.gate = threading.Event()
        self.gate.set()

    def write(self, request, emit, stop):
        self.requests.append(request)
        self.stops.append(stop)
        emit(Notice("the server\x1b[2J is gone"))
        for number, word in enumerate(WORDS):
            if number:
                wait_until(lambda: self.gate.is_set() or stop.is_set())
            if stop.is_set():
                emit(Finished("stopped", Statistics()))
                return
            if self.error is not None and number >= self.error[0]:
                raise self.error[1]
            emit(Settled((Token(number, word, "accepted"),)))
        emit(Finished("end", Statistics()))

    def write_revision(self, wanted, revision, stop):
        heard = []
        stretch = revision.before, revision.stood, revision.after
        self.write(wanted.of_stretch(*stretch), heard.append, stop)
        return [(wanted, heard)]


@contextmanager
def serving(service, *origins):
    """The address of an endpoint in a thread, what it told, and its application."""
    told, address = [], []
    given = service, TEMPLATE, KEY, frozenset(origins), told.append
    app = writing.create_endpoint(*given)
    server = writing.EndpointServer(app, 0, address.append)
    thread = threading.Thread(target=server.listen)
    thread.start()
    wait_until(lambda: address, "it does not listen")
    try:
        yield address[0], told, app
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def running():
    """One endpoint for all tests that leave it as it was."""
    service = ScriptedService()
    with serving(service) as (url, _, _):
        yield service, url


@pytest.fixture
def service(running):
    """As if it had just begun."""
    running[0].__init__()
    return running[0]


@pytest.fixture
def url(service, running):
    return running[1]


def client(url):
    openai = pytest.importorskip("openai")
    http = httpx.Client(verify=PLAIN, timeout=PATIENCE)
    return openai.OpenAI(base_url=url, http_client=http, api_key=KEY, max_retries=0)


def messages(*words):
    return [{"role": role, "content": text} for role, text in words]


CHAT = {"model": "specsteer", "messages": messages(("user", "Thank Ana"))}


def test_a_program_gets_a_text_in_the_persons_voice(url, service):
    """Whole and as a stream, by OpenAI's own client."""
    with client(url) as asked:
        whole = asked.chat.completions.create(**CHAT)
        stream = list(asked.chat.completions.create(**CHAT, stream=True))
        plain = asked.completions.create(model="specsteer-note", prompt="Thank Ana")
    assert whole.choices[0].message.content == "".join(WORDS)
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage.completion_tokens == len(WORDS)
    said = [one.choices[0].delta.content for one in stream if one.choices]
    assert "".join(filter(None, said)) == "".join(WORDS)
    assert [word for word in said if word] == list(WORDS)
    assert plain.choices[0].text == "".join(WORDS)
    assert [r.brief.task for r in service.requests] == ["email", "email", "note"]


def test_only_the_last_message_is_the_request(url, service):
    """All else is private notes, which no server reads."""
    said = messages(
        *(("system", "Be brief."), ("user", "Write to Ben")),
        *(("assistant", "Dear Ben"), ("user", "Now to Ana")),
    )
    given = {"temperature": 0.5, "top_p": 0.5, "seed": -1, "max_tokens": 7}
    given["verbosity"] = "low"
    with client(url) as asked:
        chat = asked.chat.completions
        chat.create(model="specsteer-review", messages=said, **given)
    (request,) = service.requests
    assert request.brief == Request("Now to Ana", "review")
    assert request.background == (
        "Be brief.\n\nAsked before: Write to Ben\n\nWritten before: Dear Ben"
    )
    settings = request.settings
    assert (settings.temperature, settings.top_p) == (0.5, 0.5)
    assert settings.seed == (1 << 63) - 1
    assert (request.max_tokens, request.reserved, request.length) == (7, 7, "short")


DRAFT = "Hullo Ana,\n\nThe pier is fine. The ferret bit Ben.\n\nLove,\nTess"


def test_a_further_turn_changes_the_draft(url, service):
    """Of requests that were sent here before, and so are no notes of a program; what
    the turn does not concern stays."""
    first = "user", "Say the pier is fine. Say the ferret bit Ben."
    talk = [
        ("system", "notes"),
        first,
        ("assistant", DRAFT),
        ("user", "drop the ferret"),
    ]

    def said(*turns):
        headers = {"Authorization": f"Bearer {KEY}"}
        body = CHAT | {"messages": messages(*turns)}
        where = f"{url}/chat/completions"
        answer = ask("POST", where, headers=headers, json=body)
        assert answer.status_code == 200
        return answer.json()["choices"][0]["message"]["content"]

    said(*talk)
    assert service.requests[-1].brief.text == "drop the ferret"  # that was not heard
    said(first)
    count = len(service.requests)
    shorter = DRAFT.replace(" The ferret bit Ben.", "")
    assert said(*talk) == shorter
    assert len(service.requests) == count  # no model was asked
    talk += [("assistant", shorter), ("user", "mention the tape")]
    assert said(*talk) == shorter.replace("fine.", "fine.Dear Ana,\nthank you!")
    request = service.requests[-1]
    assert request.brief.text == "Say the pier is fine. Mention the tape."
    assert (request.background, request.before) == ("notes", shorter[:-12])
    talk += [("assistant", DRAFT), ("user", "Write to Ben about the boat")]
    said(*talk)
    assert service.requests[-1].brief.text == "Write to Ben about the boat"
    assert "drop the ferret" in service.requests[-1].background


def test_what_is_no_request():
    for last, sentence in (
        (("assistant", "x"), "the last message must be"),
        (("user", " "), "the request is empty"),
    ):
        body = {"model": "specsteer", "messages": messages(last)}
        with pytest.raises(InvalidSettingsError, match=sentence):
            writing.write_request(ChatBody.model_validate(body), TEMPLATE)


def test_pages_and_strangers_are_refused(url, service):
    for header, value, status, code in (
        ("Authorization", "", 401, "invalid_api_key"),
        ("Authorization", f"Bearer {KEY}x", 401, "invalid_api_key"),
        ("Authorization", f"Basic {KEY}", 401, "invalid_api_key"),
        ("Origin", "https://example.org", 403, "origin"),
        ("Origin", "null", 403, "origin"),
        ("Host", "evil.example", 403, "host"),
        ("Host", "127.0.0.1", 403, "host"),
        ("Host", "127.0.0.1.evil.example:80", 403, "host"),
    ):
        sent = {"Authorization": f"Bearer {KEY}", header: value}
        for path in ("/models", "/chat/completions", "/nowhere"):
            method = "POST" if path == "/chat/completions" else "GET"
            answer = ask(method, url + path, headers=sent, json=CHAT)
            told = answer.status_code, answer.json()["error"]["code"]
            assert told == (status, code), (path, value)
            assert "access-control-allow-origin" not in answer.headers
    assert service.requests == []


def test_a_page_of_an_origin_that_was_named_may_ask_with_the_token():
    """That one alone; whatever it is answered, it may read."""
    named, other = "http://localhost:3000", "http://localhost:3001"
    allowed = "access-control-allow-origin"
    with serving(ScriptedService(), named) as (url, _, _):

        def asked(origin, method="GET", **headers):
            sent = {"Origin": origin, **headers}
            return ask(method, url + "/models", headers=sent)

        key = {"Authorization": f"Bearer {KEY}"}
        asks = {"Access-Control-Request-Method": "GET"}
        asks["Access-Control-Request-Headers"] = "authorization, x-stainless-os"
        before = asked(named, "OPTIONS", **asks)
        assert (before.status_code, before.headers[allowed]) == (204, named)
        assert "x-stainless-os" in before.headers["access-control-allow-headers"]
        for headers, status in ((key, 200), ({}, 401)):
            answer = asked(named, **headers)
            assert (answer.status_code, answer.headers[allowed]) == (status, named)
            assert answer.headers["vary"] == "Origin"
        for origin in (other, f"{named}.example", "null"):
            answer = asked(origin, **key)
            assert answer.status_code == 403
            assert allowed not in answer.headers


def test_what_no_browser_sends_is_no_origin():
    near = "* null localhost:3000 http://x/ http://X http://x:80 https://x:443"
    for origin in (*near.split(), "http://*.x"):
        done = specsteer("serve", "--allow-origin", origin)
        assert (done.exit_code, "is no origin" in done.output) == (2, True), origin


def test_bodies_that_are_none(url, service):
    """A body of wrong values, a model that is not there, and a body without end."""
    headers = {"Authorization": f"Bearer {KEY}"}
    other = json.dumps(CHAT | {"model": "gpt"})
    large = " " * (writing.BODY_BYTES + 1)
    for content, status in (("{", 400), (other, 404), (large, 413)):
        path = url + "/chat/completions"
        answer = ask("POST", path, headers=headers, content=content)
        assert answer.status_code == status
        assert answer.json()["error"]["message"]
    assert service.requests == []


def test_an_error_is_told_before_the_text_and_within_it(url, service):
    openai = pytest.importorskip("openai")
    with client(url) as asked:
        for error, status in (
            (CloudUnreachableError("no answer"), 503),
            (InvalidSettingsError("no such method"), 400),
            (EngineError("no memory"), 500),
            (RuntimeError("canary"), 500),
        ):
            service.error = (0, error)
            for stream in (False, True):
                with pytest.raises(openai.APIStatusError) as refused:
                    asked.chat.completions.create(**CHAT, stream=stream)
                assert refused.value.status_code == status
                assert refused.value.code is not None
                assert "canary" not in str(refused.value)
            service.error = (2, error)
            with pytest.raises(openai.APIError) as broken:
                list(asked.chat.completions.create(**CHAT, stream=True))
            assert "canary" not in str(broken.value)


def test_a_program_that_leaves_and_a_server_that_is_stopped_end_the_text(service):
    """What the person must know is told them; the command makes it one line."""
    with serving(service) as (url, told, app):
        asked = client(url)
        service.gate.clear()
        asked.chat.completions.create(**CHAT, stream=True).close()
        wait_until(lambda: service.stops)
        wait_until(service.stops[0].is_set, "the text goes on")
        wait_until(lambda: len(app.state.texts) == 0, "the turn is not given back")
        stream = asked.chat.completions.create(**CHAT, stream=True)
        wait_until(lambda: len(service.stops) == 2)
    assert service.stops[1].is_set()
    assert told == ["the server\x1b[2J is gone"] * 2
    stream.close()
    asked.close()


def test_texts_wait_for_each_other_but_not_too_many(service, monkeypatch):
    openai = pytest.importorskip("openai")
    monkeypatch.setattr(writing, "WAITING", 1)

    def write(url):
        with client(url) as asked:
            return asked.chat.completions.create(**CHAT)

    with serving(service) as (url, _, app), ThreadPoolExecutor(2) as pool:
        service.gate.clear()
        done = [pool.submit(write, url) for _ in range(2)]
        wait_until(lambda: len(app.state.texts) == 2, "they do not wait")
        with client(url) as asked, pytest.raises(openai.RateLimitError) as refused:
            asked.chat.completions.create(**CHAT)
        assert refused.value.response.headers["retry-after"] == "5"
        wait_until(lambda: service.requests)
        assert len(service.requests) == 1
        service.gate.set()
        assert all(one.result(PATIENCE).choices for one in done)


def test_a_port_that_is_taken_is_one_sentence(service, url):
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    app = writing.create_endpoint(service, TEMPLATE, KEY, frozenset(), print)
    with pytest.raises(InvalidSettingsError, match=f"port {port} of this machine"):
        writing.EndpointServer(app, port, print).listen()


def test_the_key_stays_until_another_is_wanted(monkeypatch):
    """The file is for its owner's eyes alone, also where somebody copied it with other
    rights."""

    def started(*options):
        done = specsteer("serve", "--offline", *options)
        return json.loads(done.stdout)["api_key"]

    def listen(server):
        server._on_listening("x")

    monkeypatch.setattr(WritingService, "prepare", lambda *_, **__: None)
    monkeypatch.setattr(writing.EndpointServer, "listen", listen)
    first = started()
    key_path().chmod(0o644)
    assert started() == first
    assert exposure(key_path()) == ""
    other = started("--new-key")
    assert other != first
    assert started() == other
    assert first not in key_path().read_text()


def test_a_file_that_holds_no_key_is_refused():
    """An empty key would let anybody ask. The app in a browser has none: its link opens
    once."""
    assert specsteer("serve", "--web", "--new-key").exit_code == 2
    assert not key_path().exists()
    words = "holds no key: 'specsteer serve --new-key' makes another"
    for content in (b"", b"\n", b"short\n", b"\xff" * 43, b"a b" * 20):
        key_path().write_bytes(content)
        done = specsteer("serve", "--offline")
        assert done.stderr == f"Error: {key_path()} {words}\n", content
        assert done.exit_code == 1
