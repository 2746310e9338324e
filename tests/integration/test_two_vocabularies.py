"""Two vocabularies over real sockets to a real server, with toy tokenizers and scripted
models: what the server loses does not show, and what left is what is shown."""

import random
import threading
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from decoding_core.errors import EngineError
from decoding_core.messages import BYTES_VERSION, DraftBlock, OpenSession, digest
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Sent
from edge_app.decoding.session import Patience
from edge_app.decoding.two_vocabularies import AnyVocabulary, whole_characters
from edge_app.privacy.ledger import Ledger
from edge_app.privacy.reading import BYTES, in_words, of_bytes, sendings
from edge_app.transport.client import CloudVerifier
from tests.cloud_api.cloud_fakes import (
    TOKEN,
    FakeText,
    block_after,
    client_of,
    fake_models,
    open_session,
    running,
    send_block,
    with_text,
)
from tests.fakes import HashEngine, seeds
from tests.relay import Relay
from tests.two_vocabularies import OWN, SERVERS
from tests.writing import MESSAGES, PRIVATE, Writing

LOSSES = ("restart", "expire", "evict", "drop")
SIZE = len(OWN.pieces)
METHODS = pytest.mark.parametrize(
    "method",
    [
        *("steering", "lossless"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("coupled", "speculative")
        ),
    ],
)
"""One that the server decides and one that the device does; the others in turns with
them, as all four do without a socket in test_bytes_verifier."""


class ServersText(FakeText):
    """The vocabulary of the server's models."""

    size = len(SERVERS.pieces)

    def piece(self, token_id):
        return SERVERS.pieces[token_id]


class Server:
    """A real server with room for one text, that can lose things, behind a relay."""

    def __init__(self):
        self._exits = ExitStack()
        self._start()
        self.relay = Relay(self._port)

    @property
    def _port(self):
        return int(self._server.url.rsplit(":", 1)[1])

    def _start(self):
        def load():
            models = fake_models(slots=1)
            return with_text(models, SERVERS.end_ids, ServersText)

        self._server = self._exits.enter_context(running(load))

    def lose(self, kind, session_id):
        match kind:
            case "restart":
                self._exits.close()
                self._start()
                self.relay.port = self._port
                self.relay.cut()
            case "drop":
                self.relay.cut()
            case "expire":
                with client_of(self._server) as client:
                    client.delete(f"/v1/sessions/{session_id}")
            case "evict":
                with client_of(self._server) as client:
                    other = open_session(client)
                    send_block(client, other, block_after((), (1,)))
                    client.delete(f"/v1/sessions/{other}")

    def close(self):
        self.relay.close()
        self._exits.close()


@pytest.fixture(scope="module")
def server():
    with closing(Server()) as server:
        yield server


class Text(Writing):
    """A text of the real loop, client and socket, with losses before these rounds."""

    def __init__(self, server, settings, losses=(), tokens=24):
        events, stop, losses = [], threading.Event(), dict(losses)
        client = CloudVerifier(server.relay.url, TOKEN, events.append, stop)
        base = HashEngine("base", SIZE)
        with closing(
            AnyVocabulary(client, lambda: OWN, MESSAGES, lambda: base)
        ) as any_:
            super().__init__(
                *(settings, HashEngine("small", SIZE), any_, tokens, ()),
                prompts=(PRIVATE, (1, 2)),
                piece=OWN.pieces.__getitem__,
                events=events,
                patience=Patience((0.02,) * 500, 100.0),
                stop=stop,
            )
            self.rounds = 0
            for _ in self.loop.blocks():
                self.rounds += 1
                if kind := losses.pop(self.rounds, None):
                    server.lose(kind, client._session_id)
            assert any_.in_bytes
        self.bytes = OWN.text(self.ids)
        self.openings = [one for one in self.all(Sent) if one.what == "open"]


def settings_of(method, seed, window):
    return MethodSettings(
        method=method,
        temperature=0.7 * (seed > 0),
        seed=seed,
        draft_length=(4, 3, 8)[seed % 3],
        window=window,
        candidates=40,
        threshold=0.2,
        strength=0.5,
    )


@METHODS
@seeds(1, 12)
def test_losses_in_mid_text_do_not_show(method, seeds, server):
    """Whatever the server loses, and however many blocks are out."""
    reopened = 0
    for seed in seeds:
        chance = random.Random(seed)
        for window in (1, 4) if len(seeds) == 1 else (1, 2, 4):
            chosen = settings_of(method, seed, window)
            quiet = Text(server, chosen)
            places = chance.sample(range(1, quiet.rounds), 2)
            kinds = chance.sample(LOSSES, 2)
            losses = dict(zip(places, kinds, strict=True))
            disturbed = Text(server, chosen, losses)
            assert disturbed.text == quiet.text, losses
            assert disturbed.bytes == quiet.bytes
            assert not disturbed.notices
            reopened += len(disturbed.openings) - len(quiet.openings)
    assert reopened > 0


def test_what_left_is_what_the_ledger_says(server, tmp_path):
    """Every opening and block of a disturbed text, read from its payload, follows the
    one before it; the last one is the text, and each is said in these words."""
    text = Text(server, settings_of("steering", 1, 2), {3: "expire", 6: "drop"})
    path = tmp_path / "ledger.jsonl"
    with closing(Ledger(path)) as ledger:
        for event in text.events:
            ledger.add(event)
    found = [one for one in sendings(path) if one.vocabulary_id == BYTES]
    held = b""
    for one in found:
        words = in_words(one, of_bytes)
        match one.says:
            case OpenSession() as said:
                held = bytes(said.text_ids)
                assert words["request"] == "user: Write."
                assert words.get("text so far", "") == of_bytes(held)
            case DraftBlock() as block:
                assert not one.entry.payload[-one.padding :].strip(b"\0")
                assert one.entry.token_ids == (*block.settled, *block.drafted)
                assert words.get("settled", "") == of_bytes(block.settled)
                assert words.get("drafted", "") == of_bytes(block.drafted)
                assert block.position <= len(held)
                held = held[: block.position]
                held += bytes(one.entry.token_ids)
    assert len(held) > len(text.bytes) - 8
    assert whole_characters(text.bytes).startswith(held[: len(text.bytes)])


@pytest.mark.parametrize("text", ["", "é\N{SNOWMAN}"])
def test_a_text_that_the_server_has_no_tokens_for_is_no_lost_session(server, text):
    """Said of its block, on which the device goes on alone; also of a text that goes
    on."""
    snowman = "\N{SNOWMAN}".encode()
    client = CloudVerifier(server.relay.url, TOKEN, lambda _: None)
    terms = replace(settings_of("steering", 0, 1).terms(), base="edge")
    said = tuple(text.encode())
    with closing(client):
        client.open(OpenSession((), said, "own", terms, BYTES_VERSION, MESSAGES))
        check = digest(said)
        client.submit(DraftBlock(0, 0, len(said), check, (), tuple(snowman)))
        with pytest.raises(EngineError):
            client.collect()
