"""The ledger in words: what each message said, what became of it, and which messages
quote a text."""

import os
from contextlib import closing, suppress
from pathlib import Path

import pytest

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Sent, Verified
from edge_app.privacy.ledger import Ledger, read_ledger, redact
from edge_app.privacy.reading import (
    BYTES,
    in_words,
    last_text,
    of_bytes,
    plain,
    quoting,
    runs_of,
    sendings,
)
from tests.edge_app.privacy import messages

TEXT = "<s> please thank Ana her blue boat sank off Port Erin yesterday again"
WORDS = TEXT.split()
IDS = {word: number for number, word in enumerate(WORDS)}
TERMS = MethodSettings(draft_length=4).terms()


def detokenize(token_ids):
    return "".join(f" {WORDS[i]}" for i in token_ids)


def ids(text):
    return tuple(IDS[word] for word in text.split())


def opening(request, text=""):
    return messages.opening(TERMS, ids(request), ids(text))


def block(round_, position, settled, drafted, epoch=0):
    said = position, ids(drafted), ids(settled), round_, epoch
    return messages.block(TERMS, *said)


def verdict(drafted, accepted):
    return Verified(drafted, accepted, ("of the person",), 0.1)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "ledger.jsonl"
    with closing(Ledger(found)) as ledger:
        for event in (
            opening("please thank Ana"),
            block(0, 0, "", "her blue"),
            block(1, 2, "", "boat sank off"),
            block(2, 5, "", "again"),
            verdict(2, 2),
            verdict(3, 1),
            block(3, 3, "off", "Port Erin", epoch=1),
        ):
            ledger.add(event)
    return found


def test_texts_that_were_written_at_once_are_told_one_after_the_other(tmp_path):
    """Each message belongs to its own text, in whatever order the lines were written;
    what stands around them stays where it is."""
    path = tmp_path / "ledger.jsonl"
    with closing(Ledger(path)) as ledger:
        ledger.add(opening("please"))
        one, other = ledger.of_texts(2)
        for write, event in (
            (one, opening("please thank Ana")),
            (other, opening("please thank Ana")),
            (other, block(0, 0, "", "her blue")),
            (one, block(0, 0, "", "boat sank off")),
            (other, verdict(2, 1)),
            (one, verdict(3, 3)),
        ):
            write(event)
        ledger.add(opening("thank"))
    found = [in_words(one, detokenize) for one in sendings(path)]
    assert [next(iter(one.values())) for one in found] == [
        *(" please", " please thank Ana", " boat sank off"),
        *(" please thank Ana", " her blue", " thank"),
    ]
    assert found[2]["verdict"] == "all drafted tokens kept"
    assert found[4]["verdict"] == "1 of 2 drafted tokens kept"
    assert ledger.of_texts(1) == [ledger.add]


def test_each_message_says_what_its_bytes_say(path):
    """With what became of each draft: kept, refused in part, void, not known."""
    found = [in_words(one, detokenize) for one in last_text(sendings(path))]
    assert found[0]["request"] == " please thank Ana"
    assert found[0]["padding"].endswith("bytes that say nothing")
    assert found[1] == {"drafted": " her blue", "verdict": "all drafted tokens kept"}
    assert found[2]["verdict"] == "1 of 3 drafted tokens kept"
    assert found[3]["verdict"] == "none: it stood behind a redrawn word"
    assert found[4] == {"settled": " off", "drafted": " Port Erin"}
    assert "of the person" not in path.read_text()  # refused words are not kept twice


def quoted(path, *texts):
    return quoting(sendings(path), runs_of(texts), detokenize)


def test_all_messages_that_a_quotation_spans_are_found(path):
    """Refused drafts too: they left."""
    assert quoted(path, "I say: her blue boat sank off Calf Sound") == {1, 2}
    # As it was settled: it spans the first, the second and the last block.
    assert quoted(path, "blue boat off Port") == {1, 2, 6}
    assert quoted(path, "blue boat yesterday again") == set()
    assert quoted(path, "Please, thank Ana!") == set()  # the request says so itself


SAID = "Grüße an Zoë aus Köln – 谢谢 Ana 👩\u200d👩\u200d👧, bis bald".encode()


@pytest.fixture
def path_in_bytes(tmp_path):
    """A device asks in tokens, then in bytes: three blocks, cut within characters."""
    found = tmp_path / "ledger.jsonl"
    terms = MethodSettings(draft_length=4).terms()
    with closing(Ledger(found)) as ledger:
        ledger.add(opening("please thank Ana"))
        ledger.add(messages.opening_in_bytes(terms, "Danke Ana für Käse"))
        for round_, (start, end) in enumerate([(0, 12), (12, 31), (31, 63)]):
            said = terms, start, SAID[start + 2 : end], SAID[start : start + 2]
            ledger.add(messages.block_in_bytes(*said, round_))
    return found


def test_messages_in_bytes_say_their_bytes(path_in_bytes):
    """The request by its messages; of a character that a frame cuts, what left of it is
    shown as broken, as it is of tokens."""
    refused, first, *blocks = sendings(path_in_bytes)
    assert refused.vocabulary_id == "fake"
    assert in_words(refused, detokenize)["request"] == " please thank Ana"
    assert {one.vocabulary_id for one in (first, *blocks)} == {BYTES}
    assert in_words(first, of_bytes)["request"] == "user: Danke Ana für Käse"
    for one in blocks:
        parts = in_words(one, of_bytes)
        assert parts["settled"] == of_bytes(one.says.settled)
        assert parts["drafted"] == of_bytes(one.says.drafted)
        assert plain(one, of_bytes)["in_bytes"]
        frame, said = one.entry.payload, bytes(one.entry.token_ids)
        assert frame[: len(frame) - one.padding].endswith(said)
        assert not frame[len(frame) - one.padding :].strip(b"\0")
    said = b"".join(bytes(one.entry.token_ids) for one in blocks)
    assert said == SAID[:63]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("Viele Grüße an Zoë aus Köln", {2, 3}),
        ("aus Köln 谢谢 Ana", {3, 4}),
        ("Danke Ana für Käse", set()),  # the request says so itself
        ("Gruße an Zoe aus", set()),
    ],
)
def test_quotations_are_found_in_bytes_over_characters_that_frames_cut(
    path_in_bytes, words, lines
):
    own = [one for one in sendings(path_in_bytes) if one.vocabulary_id == BYTES]
    assert quoting(own, runs_of([words]), of_bytes) == lines


def test_a_character_of_several_tokens_is_quoted_with_all_of_them(tmp_path):
    """Tokens of a byte each, as a vocabulary with byte fallback has them."""
    path, terms = tmp_path / "ledger.jsonl", MethodSettings(draft_length=64).terms()
    with closing(Ledger(path)) as ledger:
        ledger.add(messages.opening(terms, b"Write."))
        ledger.add(messages.block(terms, 0, SAID[:4]))
        ledger.add(messages.block(terms, 4, SAID[4:30]))
    assert quoting(sendings(path), runs_of(["üße an Zoë aus"]), of_bytes) == set()
    assert quoting(sendings(path), runs_of(["Grüße an Zoë aus"]), of_bytes) == {1, 2}


def test_what_is_taken_out_keeps_its_size(path):
    before = list(read_ledger(path))
    assert redact(path, {1, 2}) == 2
    after = list(read_ledger(path))
    assert [one.size for one in after] == [one.size for one in before]
    assert [one.redacted for one in after] == [False, True, True, False, False]
    assert [one.payload for one in after][1:3] == [b"", b""]
    assert after[0] == before[0]
    assert in_words(sendings(path)[1], detokenize) == {
        "redacted": "what it said was taken out of this ledger"
    }


def test_lines_older_than_the_retention_time_go_when_a_text_begins(tmp_path):
    path = tmp_path / "ledger.jsonl"
    with closing(Ledger(path)) as ledger:
        ledger.add(opening("please"))
        ledger.add(verdict(1, 1))
        ledger.add(Sent(4e9, "http://a:1", "open", 9, (), b"{}"))
    Ledger(path).close()
    assert len(list(read_ledger(path))) == 2
    Ledger(path, keep_days=30).close()
    assert [one.time for one in read_ledger(path)] == [4e9]
    assert len(path.read_text().splitlines()) == 1


def test_while_a_text_is_written_nothing_is_dropped(path):
    with closing(Ledger(path)) as ledger:
        Ledger(path, keep_days=1).close()
        assert len(list(read_ledger(path))) == 5
        ledger.add(opening("please"))
    assert len(list(read_ledger(path))) == 6


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_ends_a_text_only_if_something_left(tmp_path):
    """What stayed here may go without a line; what left may not."""

    def full():
        ledger = Ledger(tmp_path / "ledger.jsonl")
        os.dup2(disk.fileno(), ledger._file.fileno())
        return ledger

    with Path("/dev/full").open("w") as disk:
        with closing(full()) as ledger:
            ledger.add(verdict(2, 1))
        ledger = full()
        with pytest.raises(OSError, match="No space left"):
            ledger.add(opening("please"))
        with suppress(OSError):
            ledger.close()
