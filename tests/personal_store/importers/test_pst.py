"""Outlook archives, read by libpff.

The one in data/outlook.pst was made after the open specification [MS-PST], by a program
of ours that the history of this repository has; no file of Outlook itself is here.
"""

import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store import SourceError, import_source
from personal_store.discovery import discover
from personal_store.importers import pst
from personal_store.reading.letters import unpack
from personal_store.records import Document, ImportFailure, ReadOptions
from tests.personal_store.stores import damaged, lay, zipped

pytest.importorskip("pypff", reason="the extra 'pst' is not installed")

ME = "sam@example.com"
SENT = 1_710_237_723  # Tue, 12 Mar 2024 10:02:03 UTC
ARCHIVE = Path(__file__).parent / "data" / "outlook.pst"


def put(folder, data):
    return lay(folder, {"mail.pst": data}) / "mail.pst"


def items(path=ARCHIVE, start=0):
    (source,) = pst.sources(path)
    return list(pst.read(source, ReadOptions(frozenset([ME]), start)))


def test_what_was_sent_is_built_of_its_fields():
    """Outlook keeps no headers of it, an Exchange name, and the address beside that;
    whom it went to, when, its subject and id are read, and what it quotes is cut."""
    letter = items()[0]

    assert isinstance(letter, Document)
    assert letter.text == "The plan is ready for review."
    assert (letter.title, letter.sender, letter.sent_at) == ("Re: Plan", ME, SENT)
    assert letter.recipient == "Anna Ruiz"
    assert letter.recipient_address == "anna@example.org"
    assert letter.key.startswith("mid:1@example.com:")
    assert (letter.labels, letter.trimmed) == (("Sent Items",), True)


def test_what_came_has_its_own_headers():
    """Those of its body are dropped, which is not there in that form; a long body lies
    outside of its message. The number of its code page says what charset markup has;
    the last would be guessed wrong."""
    *sent, _, _, _, letter, long = items()[1:11]

    assert (letter.title, letter.sender) == ("Garden", "anna@example.org")
    assert unpack(letter.raw).plain.strip() == "Shall we meet in the garden?"
    assert letter.sent_at == SENT
    assert unpack(long.raw).plain.count("word") == 700
    assert [letter.text for letter in sent] == [
        *("Schöne Grüße aus Köln", "Schöne Grüße aus Köln", "漢字で書いた手紙です"),
        *("Где ты был вчера", "Šiandien lyja, ačiū"),
    ]


def test_the_same_archive_again_adds_nothing(store):
    """Its owner is found by the folder of sent mail. What is no mail or lies in the
    trash is skipped."""
    first = import_source(store, "pst", ARCHIVE)
    second = import_source(store, "pst", ARCHIVE, again=True)

    assert (first.added, first.received, first.failed) == (8, 2, 1)
    assert first.notes[0].startswith(f"taking {ME} for you")
    assert first.reasons == {
        "automatic messages": 1,
        "calendar messages": 1,
        "calendar, contacts and tasks": 1,
        "in the trash": 1,
    }
    assert (second.added, second.updated) == (0, 0)


def test_one_message_that_cannot_be_read_is_a_failure(tmp_path):
    """With its place; those beside it are read. An Exchange name alone says nothing
    outside of its company."""
    data = bytearray(ARCHIVE.read_bytes())
    found = data.find("Eins zwei".encode("utf-16-le"))
    heap = data.rfind(b"\xec\xbc", 0, found)
    data[heap : heap + 2] = b"\0\0"

    failure, letter, nobody = items(put(tmp_path, bytes(data)))[6:9]

    assert isinstance(failure, ImportFailure)
    assert str(failure).startswith("mail.pst, Sent Items, message 7: libpff cannot")
    assert letter.text == "Vier fünf sechs."
    assert "who sent it" in nobody.reason


def test_an_import_goes_on_from_every_position():
    everything = items()
    positions = [item.position for item in everything]

    assert positions == sorted(set(positions))
    assert positions[-1] == ARCHIVE.stat().st_size
    assert items(start=positions[7]) == everything[8:]


def test_an_archive_in_a_zip_is_found_and_read(tmp_path):
    packed = zipped({"Outlook/mail.pst": ARCHIVE.read_bytes()})

    (found,) = discover(lay(tmp_path, {"backup.zip": packed}) / "backup.zip").found

    assert (found.kind, found.files) == ("pst", 1)
    letter = next(pst.read(found.sources[0], ReadOptions()))
    assert letter.text == "The plan is ready for review."


def test_without_the_extra_it_is_one_sentence(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypff", None)

    with pytest.raises(SourceError, match=r"pip install.*\[pst\].*readpst"):
        import_source(store, "pst", ARCHIVE)


def test_what_is_no_archive_is_one_sentence(store, tmp_path):
    for data in (b"!BDN", b"!BDN" + bytes(600), b"From a@b\n"):
        with pytest.raises(SourceError, match="no archive of Outlook"):
            import_source(store, "pst", put(tmp_path, data))


@settings(max_examples=25)
@given(data=st.data())
def test_damaged_archives(tmp_path, data):
    path = put(tmp_path, damaged(data, ARCHIVE.read_bytes(), most=20))
    try:
        found = items(path)
        list(pst.envelopes(pst.sources(path)[0]))
    except SourceError:
        return
    assert [i.position for i in found] == sorted(i.position for i in found)


def test_an_archive_where_every_look_fails_is_empty():
    """No error of the library reaches anybody."""
    for fault in (OSError, ValueError, OverflowError, MemoryError, TypeError):
        look = property(Mock(side_effect=fault))
        assert pst.places(type("Broken", (), {"root_folder": look})()) == []
