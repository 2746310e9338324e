"""What is handed to the socket: a marker in the history must never be part of it."""

import json
import struct
import threading
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import pytest

from base import bounded_http
from decoding_core.messages import FrameFormat
from decoding_core.settings import MethodSettings
from edge_app.config.settings import Settings
from edge_app.decoding.events import Sent, Settled, SourcesFound
from edge_app.privacy.ledger import read_ledger
from edge_app.retrieval.lessons import lesson_for
from edge_app.retrieval.voice import mark
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.service import WritingService
from edge_app.transport import SIZES
from models.files import locate
from models.prompts import Request
from models.running.settings import EngineSettings
from personal_store import Store, import_source
from personal_store.lifecycle.writing import keep_finished
from personal_store.records import Document

MARKER = "Quixotzebrim"
NOTES = "Secretnotes Wombatfjord"
REST = ("costeer", "coupled", "generalist", "rejection", "steering")


@pytest.fixture
def socket_bytes(monkeypatch):
    """Every buffer that is handed to the socket."""
    buffers = []
    write = bounded_http.BoundedStream.write

    def recording(self, buffer, timeout=None):
        buffers.append(bytes(buffer))
        write(self, buffer, timeout)

    monkeypatch.setattr(bounded_http.BoundedStream, "write", recording)
    return buffers


@pytest.fixture
def service(tmp_path, server):
    letters = tmp_path / "letters.jsonl"
    rows = [
        {
            "text": f"Hullo Ana, the {MARKER} photos number {n} are on the piano. Tess",
            "title": f"{MARKER} photos",
            "to": "Ana",
            "kind": "email",
            "date": f"2024-03-{n + 1:02}T10:00:00",
        }
        for n in range(5)
    ]
    letters.write_text("\n".join(json.dumps(row) for row in rows))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "jsonl", letters)
    service = WritingService(
        ServiceConfig(
            locate("specialist"),
            locate("generalist"),
            tmp_path / "store.db",
            tmp_path / "ledger.jsonl",
            Settings(
                server=server.url,
                token=server.token,
                token_in_clear=True,
                ledger_days=0.0,
            ),
            EngineSettings(extra_buffers=False),
        )
    )
    yield service
    service.close()


def write(service, personalisation="bm25", max_tokens=24, **options):
    events = []
    request = WriteRequest(
        Request("Thank Ana for the photos.", recipient="Ana"),
        background=NOTES,
        settings=MethodSettings(temperature=0.7, seed=1, **options),
        max_tokens=max_tokens,
        personalisation=personalisation,
    )
    service.write(request, events.append, threading.Event())
    return events


def frames(buffers):
    """Payloads of the client's WebSocket frames, unmasked (RFC 6455, section 5)."""
    found = []
    for buffer in buffers:
        if buffer[:1] != b"\x82":
            continue
        size, start = buffer[1] & 127, 2
        if size == 126:
            size, start = struct.unpack(">H", buffer[2:4])[0], 4
        mask, body = buffer[start : start + 4], buffer[start + 4 :]
        assert len(body) == size
        found.append(bytes(b ^ mask[i % 4] for i, b in enumerate(body)))
    return found


def has_run(ids, run):
    return any(ids[i : i + len(run)] == run for i in range(len(ids) - len(run) + 1))


def sent_in(events):
    return [event for event in events if isinstance(event, Sent)]


def check_never_left(word, sent, socket_bytes, tokenize):
    """Neither as text nor as a run of token ids."""
    opening = json.loads(next(e for e in sent if e.what == "open").payload)
    everything = b"".join(socket_bytes) + b"".join(frames(socket_bytes))
    assert word.encode() not in everything
    for run in (tokenize(word), tokenize(" " + word)):
        assert not has_run(opening["prompt_ids"], run)
        assert not any(has_run(list(event.token_ids), run) for event in sent)


EACH = pytest.mark.parametrize(
    "method",
    ["lossless", *(pytest.param(name, marks=pytest.mark.slow) for name in REST)],
)


@EACH
def test_a_marker_in_the_history_never_leaves(service, socket_bytes, method):
    """Neither as text nor as a run of token ids, also where the draft used it."""
    # Rejection drafts many times for a token, so it is asked for few and takes most.
    few = {"max_tokens": 16, "threshold": 0.05} if method == "rejection" else {}
    events = write(service, method=method, **few)
    sources = next(e for e in events if isinstance(e, SourcesFound)).sources
    found = any(MARKER in source.excerpt for source in sources)
    assert found == (method != "generalist"), "it reads no history"
    sent = sent_in(events)
    assert sum(bool(event.token_ids) for event in sent) > 1
    for word in (MARKER, *NOTES.split()):
        check_never_left(word, sent, socket_bytes, service._model.vocabulary.tokenize)


def test_the_ledger_is_what_the_socket_got(service, socket_bytes, tmp_path):
    """Byte for byte: sizes, the payloads of every frame, and their ids. All frames have
    one size, so it tells nothing of what was kept, and openings one of a few."""
    sent = sent_in(write(service, draft_length=5))
    blocks = [event for event in sent if event.what == "block"]
    assert frames(socket_bytes) == [event.payload for event in blocks]
    assert len({len(event.payload) for event in blocks}) == 1
    openings = {len(event.payload) for event in sent if event.what == "open"}
    assert openings <= set(SIZES)
    form = FrameFormat(draft_limit=5, rows=1, row_limit=101)
    for event in blocks:
        block = form.decode_block(event.payload)
        assert (*block.settled, *block.drafted) == event.token_ids
    total = sum(map(len, socket_bytes))
    closing = 8  # the WebSocket's closing frame is told with the next request
    assert total - closing <= sum(event.size for event in sent) <= total
    kept = list(read_ledger(tmp_path / "ledger.jsonl"))
    assert [(e.what, e.size, e.payload) for e in kept] == [
        (e.what, e.size, e.payload) for e in sent
    ]


@pytest.mark.slow
def test_a_cadence_changes_when_rounds_leave_and_nothing_of_the_text(service):
    """No two leave within one interval of the other but for what a clock is off."""
    first = settled(write(service))
    config = service._config
    settings = replace(config.settings, cadence=200.0)
    paced = WritingService(replace(config, settings=settings))
    with closing(paced):
        events = write(paced)
    assert settled(events) == first
    blocks = [event for event in sent_in(events) if event.what == "block"]
    began = blocks[0].time
    steps = [round((block.time - began) / 0.2, 1) for block in blocks]
    assert all(after - before > 0.5 for before, after in pairwise(steps))


def settled(events):
    return [t.id for e in events if isinstance(e, Settled) for t in e.tokens]


@EACH
def test_nothing_of_voice_pairs_or_marks_goes(service, socket_bytes, tmp_path, method):
    """What was struck out, drafted or put in its place, and a greeting that was set:
    the guard knows the words that may be drafted. Of what the edits taught, the number
    of steps that the threshold was moved is told alone."""
    drafted = "Hullo Ana, mind the Grumblewick. Bye"
    with Store.open(tmp_path / "store.db") as store:
        for number in range(5):
            document = Document(
                *(0, "", "email", "Hullo Ana, mind the Snorkelbat. Bye"),
                recipient="Ana",
                drafted=drafted,
                own_share=0.5,
            )
            keep_finished(store.db, f"page:{number}", document)
        mark(store.db, "email", "Ana", "greeting", "set", f"{MARKER} {{name}},")
        mark(store.db, "email", "Ana", "phrase", "struck", "Zwobbelham forever")
        lesson = lesson_for(store.db, Request("Thank Ana.", recipient="Ana"))
    assert [turn.into for turn in lesson.turns] == ["Snorkelbat", ""]
    assert lesson.frame.greeting == f"{MARKER} Ana,"
    few = {"max_tokens": 16} if method == "rejection" else {}
    events = write(service, method=method, **few)
    if method == "lossless":
        said = (t.text for e in events if isinstance(e, Settled) for t in e.tokens)
        assert "".join(said).startswith(MARKER)
        form = FrameFormat(draft_limit=16, rows=1, row_limit=101)
        blocks = [e.payload for e in sent_in(events) if e.what == "block"]
        steps = {form.decode_block(one).threshold for one in blocks}
        assert steps == {0.5 * 0.5**lesson.nearer} != {0.5}
    tokenize = service._model.vocabulary.tokenize
    for word in (MARKER, "Snorkelbat", "Grumblewick", "Zwobbelham"):
        check_never_left(word, sent_in(events), socket_bytes, tokenize)
