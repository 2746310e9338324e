"""Maildir and Apple Mail: one message per file, and what the names around it say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store import SourceError, import_source
from personal_store.files import Source
from personal_store.importers.mailboxes import emlx
from personal_store.mail.labels import decoded, folder_label
from personal_store.records import ReadOptions
from tests.mailboxes import ME, message
from tests.personal_store.stores import lay

OTHER = "Anna <anna@example.org>"


def counts(report):
    return report.added, report.received + report.skipped, report.failed


def test_a_maildir_is_read(store, tmp_path):
    """cur and new; not tmp, links, or what the server keeps beside the messages."""
    half = {"tmp/3.a.host": message("Half of a mess", number=3)}
    box = lay(tmp_path / "Maildir", half)
    with pytest.raises(SourceError, match="There is no Maildir"):
        import_source(store, "maildir", tmp_path)
    files = {
        "cur/1.a.host:2,S": message(number=1),
        "new/2.a.host": message("The second of them all.", number=2),
        "dovecot.index": b"\x01binary",
        "cur/dovecot-uidlist": b"3 V1",
        "cur/5.a.host:2,ST": message("Thrown away long ago.", number=5),
        "cur/6.a.host!2,DS": message("Not yet finished at all", number=6),
        "cur/7.a.host;2,S": message("On a stick of Windows.", number=7),
    }
    lay(box, files)
    (box / "cur" / "4.a.host:2,S").symlink_to(box / "tmp" / "3.a.host")

    first = import_source(store, "maildir", box)
    second = import_source(store, "maildir", box)

    assert counts(first) == (3, 2, 0)
    assert first.reasons == {"in the trash": 1, "drafts": 1}
    assert counts(second) == (0, 5, 0)


def test_folders_of_a_maildir_are_labels(store, tmp_path):
    """Names of sent folders say who the owner is; trash and drafts are left out."""
    sent = "Gesendete Elemente"
    files = {
        f".{sent}/cur/1:2,S": message(number=1),
        ".Entw&APw-rfe/cur/2:2,S": message("Not finished.", number=2),
        ".INBOX.Trash/cur/3:2,S": message("Thrown away.", number=3),
        "cur/4:2,S": message("Come here soon.", number=4, sender=OTHER),
    }

    report = import_source(store, "maildir", lay(tmp_path / "Maildir", files))

    assert store.identities() == [ME]
    assert counts(report) == (1, 3, 0)
    assert next(store.records()).labels == (sent,)


@pytest.mark.parametrize(
    ("name", "label"),
    [(".Sent", "Sent"), (".INBOX.Sent Items", "Sent Items"),
     ("Sent Messages.mbox", "Sent Messages"), ("Entw&APw-rfe", "Entwürfe"),
     ("&U,BTFw-", "台北"), ("Q&-A", "Q&A"), ("&-", "&"), ("&broken", "&broken"),
     ("&AAA-", "&AAA-")],
)  # fmt: skip
def test_folder_names_are_decoded(name, label):
    assert folder_label(name) == label


@given(st.text())
def test_no_folder_name_raises(name):
    decoded(name)


def apple(raw: bytes, flags: int = 1) -> bytes:
    """A file as Apple Mail writes it."""
    return f"{len(raw):<10}\n".encode() + raw + (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD '
        'PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
        '<plist version="1.0">\n<dict>\n\t<key>date-received</key>\n'
        f"\t<integer>1710237723</integer>\n\t<key>flags</key>\n\t<integer>{flags}"
        "</integer>\n</dict>\n</plist>\n"
    ).encode()  # fmt: skip


def test_apple_mail_is_read(store, tmp_path):
    """Deleted mail and drafts are left out; the property list is no part of a text."""
    sent, inbox = "Sent Messages.mbox/9F/Data/Messages", "INBOX.mbox/9F/3/Messages"
    files = {
        f"{sent}/1.emlx": apple(message("It reads as it was written.", number=1)),
        f"{sent}/2.partial.emlx": apple(message("Without its attachment.", number=2)),
        f"{inbox}/3.emlx": apple(message(number=3, sender=OTHER)),
        f"{inbox}/4.emlx": apple(message(number=4), flags=3),
        f"{inbox}/5.emlx": apple(message(number=5), flags=1 << 6),
        f"{inbox}/6.emlx": b"<html>no count</html>",
        "Deleted Messages.mbox/7.emlx": apple(message(number=7)),
    }
    lay(tmp_path / "V10" / "6E5C-ID", files)

    report = import_source(store, "emlx", tmp_path / "V10")

    assert store.identities() == [ME]
    assert counts(report) == (2, 4, 1)
    assert report.reasons == {"in the trash": 2, "drafts": 1}
    assert report.received == 1
    assert [r.text for r in store.records()][-2:] == [
        "It reads as it was written.",
        "Without its attachment.",
    ]


DRAFT = 1 << 6 | 1 << 33 | 1
"""The flags of a message that was read, with bit 33, which nearly all have."""
UTI = "X-Uniform-Type-Identifier: com.apple.mail-draft"
CAME = "Received: from example.org by example.com; Tue, 12 Mar 2024 11:02:03 +0100"


@pytest.mark.parametrize(
    ("folder", "headers", "flags", "is_read"),
    [
        ("Sent Messages.mbox", "", DRAFT, True),
        ("Gesendet.mbox", UTI, DRAFT, True),
        ("[Gmail].mbox/Sent Mail.mbox", "", DRAFT, True),
        ("Archive.mbox", CAME, DRAFT, True),
        ("Archive.mbox", f"{CAME}\n{UTI}", DRAFT, True),
        ("Archive.mbox", "", DRAFT, False),
        ("Archive.mbox", UTI, DRAFT, False),
        ("[Gmail].mbox/All Mail.mbox", "In-Reply-To: <9@example.org>", DRAFT, False),
        ("Drafts.mbox", CAME, DRAFT, False),
        ("Drafts.mbox", "", 1, False),
        ("Sent Messages.mbox", CAME, DRAFT | 1 << 1, False),
        ("Archive.mbox", "", 8_623_750_145, True),  # 63 attachments: bits 10 to 15
        ("Archive.mbox", "", 25_803_555_845, True),  # answered, one attachment
    ],
)
def test_a_draft_of_apple_mail_is_what_has_not_left(
    store, tmp_path, folder, headers, flags, is_read
):
    """A Message-ID and a Date, which all of these have, say nothing."""
    raw = message("It reads as it was written.", number=1, headers=headers)
    name = f"V10/6E5C-ID/{folder}/9F/Data/Messages/1.emlx"
    path = lay(tmp_path / "mail", {name: apple(raw, flags=flags)})

    assert import_source(store, "emlx", path, me=[ME]).added == is_read


@given(st.binary(max_size=300), st.integers(0, 10**9), st.booleans())
def test_no_bytes_stop_apple_mail(tmp_path_factory, data, count, counted):
    path = tmp_path_factory.mktemp("any") / "1.emlx"
    path.write_bytes((f"{count}\n".encode() if counted else b"") + data)

    assert len(list(emlx.read(Source(path, 1), ReadOptions()))) == 1
    list(emlx.envelopes(Source(path, 1)))
