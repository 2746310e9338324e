"""`sent` in words, and what `forget` takes out of the ledger, with the words of the
embedded model."""

import json
from contextlib import closing

import pytest

from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from decoding_core.wire_json import open_to_json
from edge_app.config.settings import ledger_path
from edge_app.decoding.events import Sent
from edge_app.privacy.ledger import Ledger, read_ledger
from models.files import locate
from models.running.loading import load_model
from models.running.settings import EngineSettings

TERMS = MethodSettings(draft_length=16).terms()


@pytest.fixture(scope="module")
def model():
    with closing(load_model(locate("specialist"), EngineSettings(threads=1))) as found:
        yield found


@pytest.fixture
def ledger(model):
    """A text that quotes the first letter in two blocks, and another that does not."""

    def opening(request, vocabulary=model.vocabulary_id):
        ids = tuple(model.vocabulary.tokenize(request))
        said = OpenSession(ids, (), vocabulary, TERMS)
        body = json.dumps(open_to_json(said)).encode().ljust(4096)
        return Sent(1.0, "http://a:1", "open", 5000, (), body)

    def block(position, words):
        ids = tuple(model.vocabulary.tokenize(words))
        made = DraftBlock(0, position, position, digest(()), (), ids)
        frame = role_of(TERMS).frames.encode_block(made)
        return len(ids), Sent(2.0, "http://a:1", "block", 172, ids, frame)

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


def test_each_message_stands_with_its_words(run, ledger):
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


def test_forgetting_takes_quotations_out_of_the_ledger(run, letters, ledger):
    """The messages that hold a part of one; their sizes stay, and others too."""
    done = run("forget", "1", "--yes")
    assert done.exit_code == 0
    assert "what 2 messages of the ledger said is taken out" in done.stderr
    found = list(read_ledger(ledger_path()))
    assert [one.redacted for one in found] == [False, True, True, False, False, False]
    assert [one.size for one in found] == [5000, 172, 172, 5000, 172, 5000]
    assert "taken out of this ledger" in run("sent").stdout


def test_forgetting_everything_takes_out_all_that_was_said(run, letters, ledger):
    done = run("forget", "--everything", "--yes")
    assert "what 6 messages of the ledger said is taken out" in done.stderr
    assert all(one.redacted for one in read_ledger(ledger_path()))


def test_what_no_message_quotes_is_said(run, letters, ledger):
    done = run("forget", "2", "--yes")
    assert "no message of the ledger quotes them" in done.stderr
    assert not any(one.redacted for one in read_ledger(ledger_path()))
