"""Outlook archives, written by the tests after the open specification, read by libpff.

No file that Outlook itself wrote is among them.
"""

import sys
import zipfile
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outlook_files import Folder, archive, note

from personal_store import SourceError, import_source
from personal_store.discovery import discover
from personal_store.importers import pst
from personal_store.reading.letters import unpack
from personal_store.records import Document, ImportFailure, ReadOptions, Skipped

pytest.importorskip("pypff", reason="the extra 'pst' is not installed")

ME = "sam@example.com"
SENT = 1_710_237_723  # Tue, 12 Mar 2024 10:02:03 UTC
QUOTE = (
    "\r\n\r\n-----Original Message-----\r\nFrom: Anna\r\nSent: Monday\r\nTo: Sam\r\n"
)
HEADERS = (
    "Received: from a\r\n\tby b; Tue, 12 Mar 2024 11:02:03 +0100\r\n"
    "From: Anna <anna@example.org>\r\nTo: Sam <sam@example.com>\r\n"
    "Message-ID: <2@example.org>\r\nMIME-Version: 1.0\r\nSubject: Garden\r\n"
    'Content-Type: multipart/mixed;\r\n boundary="gone"\r\n'
    "Date: Tue, 12 Mar 2024 11:02:03 +0100\r\n\r\n"
)


def sent(body="The plan is ready for review.", **values):
    """As Outlook keeps what was sent: no headers, an Exchange name, SMTP beside it."""
    usual = {
        "subject": "\x01\x05Re: Plan",
        "sent": SENT,
        "sender": "Sam Lee",
        "address_type": "EX",
        "address": "/O=EXAMPLE/CN=RECIPIENTS/CN=SAM",
        "smtp": ME,
        "message_id": "<1@example.com>",
        "plain": body + QUOTE,
        "recipients": [
            ("Ben", "", "ben@example.org", 2),
            ("Anna Ruiz", "/O=EXAMPLE/CN=ANNA", "anna@example.org", 1),
        ],
    }
    return note(**usual | values)


def box(**folders):
    names = {"sent": "Sent Items", "inbox": "Inbox", "trash": "Deleted Items"}
    made = [Folder(names.get(n, n), messages) for n, messages in folders.items()]
    return archive(Folder("Top of Outlook data file", folders=made))


def put(folder, data, name="mail.pst"):
    path = folder / name
    path.write_bytes(data)
    return path


def items(path, start=0):
    (source,) = pst.sources(path)
    return list(pst.read(source, ReadOptions(frozenset([ME]), start)))


def test_what_was_sent_is_built_of_its_fields(tmp_path):
    """Whom it went to, when, its subject and id; what it quotes is cut."""
    (letter,) = items(put(tmp_path, box(sent=[sent()])))

    assert isinstance(letter, Document)
    assert (letter.text, letter.title, letter.sender, letter.sent_at) == (
        "The plan is ready for review.",
        "Re: Plan",
        ME,
        SENT,
    )
    assert (letter.recipient, letter.recipient_address) == (
        "Anna Ruiz",
        "anna@example.org",
    )
    assert letter.key.startswith("mid:1@example.com:")
    assert letter.labels == ("Sent Items",)
    assert letter.trimmed


def test_what_came_has_its_own_headers(tmp_path):
    """Those of its body are dropped, which is not there in that form."""
    came = note(headers=HEADERS, plain="Shall we meet in the garden?", sent=SENT + 9)

    (letter,) = items(put(tmp_path, box(inbox=[came])))

    assert (letter.title, letter.sender) == ("Garden", "anna@example.org")
    assert unpack(letter.raw).plain.strip() == "Shall we meet in the garden?"
    assert letter.sent_at == SENT


@pytest.mark.parametrize(
    ("page", "codec", "words"),
    [
        (65001, "utf-8", "Schöne Grüße aus Köln"),
        (28591, "cp1252", "Schöne Grüße aus Köln"),
        (932, "cp932", "漢字で書いた手紙です"),
        (20866, "koi8-r", "Где ты был вчера"),
        (1257, "cp1257", "Šiandien lyja, ačiū"),  # guessed wrong without the number
    ],
)
def test_markup_in_any_charset(tmp_path, page, codec, words):
    html = f"<p>{words}</p><div id=appendonsend></div><p>Others wrote this</p>"
    made = sent(html=html.encode(codec), codepage=page, plain="")

    (letter,) = items(put(tmp_path, box(sent=[made])))

    assert letter.text == words


def test_the_same_archive_again_adds_nothing(store, tmp_path):
    """Its owner is found by the folder of sent mail."""
    came = note(headers=HEADERS, plain="Shall we meet in the garden?")
    path = put(tmp_path, box(inbox=[came], sent=[sent()]))

    first = import_source(store, "pst", path)
    second = import_source(store, "pst", path)

    assert (first.added, first.received, first.failed) == (1, 1, 0)
    assert first.notes[0].startswith(f"taking {ME} for you")
    assert (second.added, second.updated) == (0, 0)


def test_what_is_no_mail_or_thrown_away_is_skipped(tmp_path):
    """Also what lies in a folder of the trash."""
    below = Folder("Deleted Items", folders=[Folder("Old", [sent()])])
    others = [
        note(kind=kind, subject="x")
        for kind in ("IPM.Contact", "IPM.Schedule.Meeting.Request", "REPORT.IPM.Note")
    ]
    path = put(tmp_path, archive(below, Folder("Mixed", others)))

    reasons = sorted(item.reason for item in items(path))

    assert reasons == [
        "automatic messages",
        "calendar messages",
        "calendar, contacts and tasks",
        "in the trash",
    ]


def test_one_message_that_cannot_be_read_is_a_failure(tmp_path):
    """With its place; those beside it are read. An Exchange name alone says nothing
    outside of its company."""
    letters = [sent("Eins zwei drei."), sent("Vier fünf sechs."), sent(smtp="")]
    data = bytearray(box(sent=letters))
    found = data.find("Eins".encode("utf-16-le"))
    heap = data.rfind(b"\xec\xbc", 0, found)
    data[heap : heap + 2] = b"\0\0"

    failure, letter, nobody = items(put(tmp_path, bytes(data)))

    assert isinstance(failure, ImportFailure)
    assert str(failure).startswith("mail.pst, Sent Items, message 1: libpff cannot")
    assert letter.text == "Vier fünf sechs."
    assert "who sent it" in nobody.reason


def test_an_import_goes_on_from_every_position(tmp_path):
    path = put(tmp_path, box(sent=[sent(f"Letter number {n}.") for n in range(40)]))
    everything = items(path)
    positions = [item.position for item in everything]

    assert positions == sorted(set(positions))
    assert positions[-1] == path.stat().st_size
    assert items(path, positions[17]) == everything[18:]


def test_an_archive_in_a_zip_is_found_and_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "backup.zip", "w", 8) as packed:
        packed.writestr("Outlook/mail.pst", box(sent=[sent()]))

    (found,) = discover(tmp_path / "backup.zip").found

    assert (found.kind, found.files) == ("pst", 1)
    (letter,) = pst.read(found.sources[0], ReadOptions())
    assert letter.text == "The plan is ready for review."


def test_without_the_extra_it_is_one_sentence(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypff", None)

    with pytest.raises(SourceError, match=r"pip install.*\[pst\].*readpst"):
        import_source(store, "pst", put(tmp_path, box(sent=[sent()])))


@pytest.mark.parametrize("data", [b"!BDN", b"!BDN" + bytes(600), b"From a@b\n"])
def test_what_is_no_archive_is_one_sentence(store, tmp_path, data):
    with pytest.raises(SourceError, match="no archive of Outlook"):
        import_source(store, "pst", put(tmp_path, data))


WHOLE = archive(
    Folder("Sent Items", [sent(), note(headers=HEADERS, plain="word " * 700)]),
    Folder("Contacts", [note(kind="IPM.Contact")]),
)


def test_the_checks_below_see_something(tmp_path):
    """A long body lies outside of its message."""
    first, long, contact = items(put(tmp_path, WHOLE))

    assert (type(first), type(contact)) == (Document, Skipped)
    assert unpack(long.raw).plain.count("word") == 700


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_damaged_archives(tmp_path, data):
    """Bytes changed, or the rest cut off, anywhere."""
    content = bytearray(WHOLE)
    places = st.integers(0, len(content) - 1)
    for place in data.draw(st.lists(places, max_size=20)):
        content[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.one_of(st.none(), places))
    path = put(tmp_path, bytes(content[:end]))
    try:
        found = items(path)
        list(pst.envelopes(pst.sources(path)[0]))
    except SourceError:
        return
    assert [i.position for i in found] == sorted(i.position for i in found)


@pytest.mark.parametrize(
    "fault", [OSError, ValueError, OverflowError, MemoryError, TypeError]
)
def test_an_archive_where_every_look_fails_is_empty(fault):
    """No error of the library reaches anybody."""
    broken = type("Broken", (), {"root_folder": property(Mock(side_effect=fault))})()

    assert pst.places(broken) == []
