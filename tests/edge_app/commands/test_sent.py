"""`sent`, the ledger behind it, and what `forget` takes out of it, with the words of
the embedded model; garbage that is imported."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date, datetime

import pytest

from decoding_core.settings import MethodSettings
from edge_app.config.settings import ledger_path
from edge_app.decoding.events import Received, Sent
from edge_app.privacy.ledger import Ledger, SpentToday, read_ledger, spent_path
from edge_app.service.last_draft import last_draft_path
from models.files import locate
from models.running.loading import load_model
from models.running.settings import EngineSettings
from tests.edge_app.privacy import messages


def entry(what="open", size=10, payload=b"\x00\x01", token_ids=(5, 6)):
    return Sent(1_700_000_000.5, "http://a:1", what, size, token_ids, payload)


@pytest.fixture
def ledger():
    with closing(Ledger(ledger_path())) as ledger:
        for event in (
            entry("open", 100, b"", ()),
            Received(1.0, "open", 55),
            entry("block", 30),
            entry("open", 200, b"", ()),
            entry("block", 40),
        ):
            ledger.add(event)


def test_sent_counts_every_request(run, ledger):
    """One line each, what came back left out; JSON has all that the ledger keeps."""
    result = run("sent")
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    assert "block" in lines[1]
    assert "30 B  2 token ids" in lines[1]
    assert result.stderr == "4 requests, 370 bytes in all\n"
    kept = {"time": 1_700_000_000.5, "url": "http://a:1", "what": "block", "size": 30}
    kept |= {"token_ids": [5, 6], "payload": "0001", "redacted": False, "padding": 0}
    kept["in_bytes"] = False
    kept |= {"words": {}, "drafted": None, "kept": None, "void": False, "nats": None}
    assert json.loads(run("sent", "--json").stdout.splitlines()[1]) == kept


def test_sent_says_what_a_message_told_of_the_history(run, ledger):
    """Where it was reckoned, the line behind the message's own; and the sum of today
    for each server."""
    reckoned = {"event": "PrivacySpent", "nats": 2.25}
    with ledger_path().open("a") as file:
        for body in (SOUND, reckoned, SOUND, {**reckoned, "nats": "x"}):
            file.write(json.dumps(body) + "\n")
    path, today = spent_path(ledger_path()), datetime.now().astimezone().date()
    days = {"http://a:1": today, "b\x1b[2J": today, "c": date(2020, 1, 1)}
    for server, day in days.items():
        SpentToday(path, server, day).add(1.25)
    result = run("sent")
    assert result.stdout.splitlines()[-2].endswith("  2.25 nats")
    assert "nats" not in result.stdout.splitlines()[-1]
    total, first, second = result.stderr.splitlines()
    assert total.endswith("bytes in all, 2.2 nats of your history")
    assert first == "told http://a:1 today: 1.2 nats of your history"
    assert "\x1b" not in second
    bodies = [json.loads(line) for line in run("sent", "--json").stdout.splitlines()]
    assert [body.get("nats") for body in bodies][-2:] == [2.25, None]


SOUND = {"event": "Sent", "time": 1.0, "url": "u", "what": "open", "size": 1}
SOUND |= {"token_ids": [], "payload": ""}
BROKEN = [
    *({"time": "noon"}, {"time": None}, {"size": "big"}, {"size": float("inf")}),
    *({"token_ids": 5}, {"token_ids": ["a"]}, {"payload": 5}, {"payload": "A"}),
    *({"event": ["Sent"]}, None, [], "Sent"),
]


def test_a_line_that_was_edited_by_hand_is_passed_over(run, ledger):
    """The others are shown all the same."""
    with ledger_path().open("ab") as file:
        for change in BROKEN:
            broken = {**SOUND, **change} if isinstance(change, dict) else change
            file.write(json.dumps(broken).encode() + b"\n\xff\xfe{\n")
    result = run("sent")
    assert len(result.stdout.splitlines()) == 4
    assert result.exit_code == 0
    assert run("status").exit_code == 0


def test_two_commands_at_once_do_not_mix_their_lines():
    """Each line is one write."""
    payload = b"x" * 50_000

    def write(_):
        with closing(Ledger(ledger_path())) as ledger:
            for _ in range(40):
                ledger.add(entry(payload=payload))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert [one.payload for one in read_ledger(ledger_path())] == [payload] * 160


TERMS = MethodSettings(draft_length=16).terms()


@pytest.fixture(scope="module")
def model():
    with closing(load_model(locate("specialist"), EngineSettings(threads=1))) as found:
        yield found


@pytest.fixture
def quoted(model):
    """A text that quotes the first letter in two blocks, and another that does not."""

    def opening(request, vocabulary=model.vocabulary_id):
        ids = model.vocabulary.tokenize(request)
        return messages.opening(TERMS, ids, (), vocabulary)

    def block(position, words):
        ids = model.vocabulary.tokenize(words)
        return len(ids), messages.block(TERMS, position, ids, round_=position)

    length, first = block(0, "Hullo Ben, the pier photos")
    events = [
        opening("Thank Ben\x1b]0;x\x07 for the photos."),
        first,
        block(length, " came out well, and the sea")[1],
        opening("Ask for tea."),
        block(0, "The coffee was warm.")[1],
    ]
    with closing(Ledger(ledger_path())) as kept:
        for event in [*events, opening("In other words.", "another")]:
            kept.add(event)


def test_each_message_stands_with_its_words(run, quoted):
    """Foreign words pass the gate; a text with other words is told of."""
    done = run("sent")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert any(line.startswith("request") and "Thank Ben" in line for line in lines)
    assert any(line.endswith('"Hullo Ben, the pier photos"') for line in lines)
    assert "\x1b" not in done.stdout
    assert "begun with a model of other words" in done.stderr
    brief = run("sent", "--brief")
    assert len(brief.stdout.splitlines()) == 6
    bodies = [json.loads(line) for line in run("sent", "--json").stdout.splitlines()]
    assert bodies[1]["words"]["drafted"] == "Hullo Ben, the pier photos"
    assert bodies[1]["padding"] > 0


def test_messages_in_bytes_need_no_model_for_their_words(run, letters, monkeypatch):
    """All forms show them, and what quotes a forgotten letter is found in them."""
    monkeypatch.setattr("models.running.loading.load_model", None)
    said = "Grüße: Hullo Ana, the pier photos".encode()
    with closing(Ledger(ledger_path())) as kept:
        kept.add(messages.opening_in_bytes(TERMS, "Danke Zoë"))
        kept.add(messages.block_in_bytes(TERMS, 2, said[4:], said[2:4]))
        kept.add(messages.block_in_bytes(TERMS, 0, b"Nothing"))
    done = run("sent")
    assert not done.stderr.partition("3 requests")[0]
    lines = [line.split(None, 1)[-1] for line in done.stdout.splitlines()]
    assert '"user: Danke Zoë"' in lines
    assert {'"ü"', '"ße: Hullo Ana, the pier photos"', '"Nothing"'} <= set(lines)
    assert "172 B  33 text bytes" in done.stdout
    body = json.loads(run("sent", "--json").stdout.splitlines()[1])
    assert body["in_bytes"]
    assert bytes(body["token_ids"]) == said[2:]
    assert bytes.fromhex(body["payload"])[: -body["padding"]].endswith(said[2:])
    done = run("forget", "1", "--yes")
    assert "what 1 message of the ledger said is taken out" in done.stderr
    assert [one.redacted for one in read_ledger(ledger_path())] == [False, True, False]


def test_forgetting_takes_quotations_out_of_the_ledger(run, letters, imported, quoted):
    """The messages that hold a part of one; their sizes stay, and others too, until all
    is forgotten."""
    imported([{"text": "A third one, which no message quotes."}])
    for what, words, redacted in (
        ("2", "no message of the ledger quotes them", []),
        ("1", "what 2 messages of the ledger said is taken out", [1, 2]),
        ("3", "no message of the ledger quotes them", [1, 2]),
        ("--everything", "what 4 messages of the ledger", [0, 1, 2, 3, 4, 5]),
    ):
        last_draft_path().write_text("it may quote any of them")
        done = run("forget", what, "--yes")
        assert (done.exit_code, words in done.stderr) == (0, True), what
        assert not last_draft_path().exists()
        found = list(read_ledger(ledger_path()))
        assert [n for n, one in enumerate(found) if one.redacted] == redacted
        assert [one.size for one in found] == [5000, 172, 172, 5000, 172, 5000]
        if redacted:
            assert "taken out of this ledger" in run("sent").stdout
