"""Mailboxes into the store: what is added, skipped, failed, and never twice."""

import random

import pytest

from personal_store import SourceError, StoreError, import_source, importers
from tests.mailboxes import ME, mailbox, many, message
from tests.personal_store.stores import content


@pytest.fixture
def read(take):
    """Imports a mailbox of these messages."""

    def read(messages, name="letters.mbox", **options):
        return take("mbox", name, mailbox(messages), **options)

    return read


def test_every_message_is_counted(store, read):
    """What was added, by others, skipped and failed adds up to what is in the file; a
    second run adds nothing."""
    messages = many(300)

    reported = []
    report = read(messages, progress=lambda *steps: reported.append(steps))
    before = content(store)
    second = read(messages)

    everything = (report.added, report.received, report.skipped, report.failed)
    assert sum(everything) == len(messages)
    assert report.added == store.counts()["own"] > 50
    assert report.failed > 0
    assert report.received == store.counts()["received"] > 50
    assert report.summary() == (
        "added {}, {} by others, skipped {}, failed {}".format(*everything)
    )
    assert (second.added, second.updated, second.failed) == (0, 0, report.failed)
    assert content(store) == before
    assert reported[-1][0] == reported[-1][1]


@pytest.mark.parametrize("number", [1, None], ids=["with an id", "without"])
def test_the_same_mail_with_other_line_ends_and_blanks_adds_nothing(take, read, number):
    """Servers and programs change both on the way; nobody wrote anything else."""
    mail = message("The plan is ready.\n\nIt rains all day.", number=number)
    changed = mail.replace(b"ready.\n", b"ready.  \n").replace(b"\n", b"\r\n") + b"\r\n"
    read([mail], me=[ME])

    report = take("eml", "again.eml", changed)

    assert (report.added, report.updated) == (0, 0)
    assert report.reasons["already stored"] == 1


def test_what_is_no_writing_is_skipped(store, read):
    """Spam, trash, drafts, automatic answers, invitations answered, no own words."""
    drafts = "X-Gmail-Labels: =?utf-8?q?Entw=C3=BCrfe=2CWichtig?="
    calendar = "Content-Type: text/calendar; method=REPLY"
    messages = [
        message(number=1, headers="X-Gmail-Labels: Spam"),
        message(number=2, headers=drafts),
        message(number=3, headers="Auto-Submitted: auto-replied"),
        message("BEGIN:VCALENDAR\nMETHOD:REPLY", number=4, headers=calendar),
        message("Thanks!", number=5),
        message("> all of it quoted", number=6),
        message(number=7, headers="X-Mozilla-Status: 0009"),
        message(number=8, headers="X-Unsent: 1"),
    ]

    report = read(messages, me=[ME])

    assert list(store.records()) == []
    assert report.reasons == {
        "in spam": 1,
        "drafts": 2,
        "automatic messages": 1,
        "calendar messages": 1,
        "without own words": 2,
        "in the trash": 1,
    }
    drafts = read([message(number=9)], "Entwürfe", me=[ME])
    assert drafts.reasons == {"drafts": 1}


def test_endless_labels_do_not_stop_an_import(store, read):
    """Longer than what the library for tables takes; a comma in quotes stays."""
    endless = message(number=1, headers=f'X-Gmail-Labels: "{"x" * 200_000}",Sent')
    quoted = message(number=2, headers='X-Gmail-Labels: Sent, "House, garden",,Sent')

    assert read([endless, quoted], me=[ME]).added == 2
    assert [*store.records()][1].labels == ("House, garden", "Sent")


def test_mail_without_own_text_says_who_writes(read):
    report = read([message()], me=["other@example.org"])

    assert (report.added, report.received) == (0, 1)
    assert f"{ME} (1)" in report.notes[-1]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is not an mbox file"),
        (b"name,text\n1,2\n", "is not an mbox file"),
        (b"From the desk of Sam\n\nDear Anna,\n", "is not an mbox file"),
        (message(), "import eml"),
    ],
)
def test_what_is_no_mailbox_is_one_sentence(store, take, tmp_path, data, sentence):
    with pytest.raises(SourceError, match=sentence):
        take("mbox", "file.mbox", data)
    with pytest.raises(SourceError, match="There is no file or folder"):
        import_source(store, "mbox", tmp_path / "gone")
    with pytest.raises(SourceError, match="There is no mbox file in"):
        import_source(store, "mbox", tmp_path / "store")


def test_an_unknown_importer_names_the_known(store, tmp_path):
    assert all(
        isinstance(importers.load(name), importers.Importer)
        for name in importers.available()
    )
    with pytest.raises(StoreError, match=r"There are: .*csv, .*mbox"):
        import_source(store, "telepathy", tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_mailboxes_never_stop_the_import(take, seed):
    """Random bytes overwritten, and the end torn off."""
    rng = random.Random(seed)
    data = bytearray(mailbox(many(60, seed)))
    for _ in range(200):
        data[rng.randrange(40, len(data))] = rng.randrange(256)

    report = take("mbox", "letters.mbox", bytes(data[: -len(data) // 10]), me=[ME])

    assert report.added > 0
