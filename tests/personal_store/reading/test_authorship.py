"""Whose mailbox it is: who sent the sent mail, never who only wrote to its owner."""

import pytest

from personal_store import SourceError, importers
from personal_store.files import of_file
from personal_store.importing import find_owner
from personal_store.mail.mail import parse_headers
from personal_store.reading.authorship import Correspondents
from personal_store.reading.letters import is_automatic, is_bulk, sender_of
from tests.mailboxes import ME, mailbox, message
from tests.personal_store.stores import put_letters

WORK = "sam@work.example"
BEN = "ben@example.org"


def people(*mails):
    return Correspondents.of(map(parse_headers, mails))


def sent(sender, to=BEN, label="Sent", **more):
    return message(sender=sender, to=to, headers=f"X-Gmail-Labels: {label}", **more)


def between(*pairs):
    """Unlabelled mails from the first of each pair to the second."""
    return [message(sender=f"{a}@x.org", to=f"{b}@x.org") for a, b in pairs]


DELIVERED = [message(sender=BEN, to=ME, headers=f"Delivered-To: {ME}")] * 9
MISTAKEN = [sent(ME)] * 3 + [sent(BEN, to=ME), sent(BEN, to=ME, label="Inbox")]
EVERYBODY = [
    *[sent(f"Sam Lee <{ME}>"), sent(f"Sam Lee <{ME}>"), sent(f"Sam <{WORK}>")],
    sent(f"Ben <{BEN}>", to=BEN, label="Inbox"),  # takes part in every message
]
MAILBOXES = {
    "all who sent": (EVERYBODY, (ME, WORK), ()),
    "writes most": ([*[sent(BEN, to=ME, label="Inbox")] * 30, sent(ME)], (ME,), ()),
    "spam": ([*[sent(f"{ME} <{BEN}>", to=ME, label="Spam")] * 9, sent(ME)], (ME,), ()),
    "each other": ([sent(ME, to=BEN), sent(BEN, to=ME)], (), ()),
    "filed under sent by mistake": (MISTAKEN, (ME,), (BEN,)),
    "delivered": (DELIVERED, (), ()),
    "delivered and mine": ([*DELIVERED, message(sender=ME, to=BEN)], (ME,), ()),
    "only sender": (between("ab", "ac"), ("a@x.org",), ()),
    "always there": (between("ab", "ca", "da", "ad"), ("a@x.org",), ()),
    "unclear": (between("ap", "aq", "br", "cs"), (), ()),
    "german label": (
        [sent(ME, label="Gesendet,Wichtig"), sent(BEN, to=ME, label="")], (ME,), ()
    ),
    "the owner's name": (
        [*[message()] * 9, message(sender=f"Sam Lee <{WORK}>")], (ME,), (WORK,)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("mails", "addresses", "perhaps"), MAILBOXES.values(),
                         ids=MAILBOXES)  # fmt: skip
def test_who_owns_a_mailbox(mails, addresses, perhaps):
    """Who is perhaps the owner, too, is named and not taken."""
    owner = people(*mails).owner()

    assert (owner.addresses, owner.perhaps) == (addresses, perhaps)
    assert all(any(one in said for said in owner.sentences()[1:]) for one in perhaps)


def test_the_owner_is_known_before_anything_is_written(tmp_path):
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox([sent(ME), sent(WORK)]))
    mbox = importers.load("mbox")

    owner = find_owner(mbox, [of_file(path)])

    assert owner.addresses == (ME, WORK)
    assert owner.sentences() == [
        f"taking {ME} and {WORK} for you, because they sent the sent mail"
    ]
    assert find_owner(mbox, [of_file(path)], [f"Sam <{WORK}>"]).addresses == (WORK,)
    assert find_owner(mbox, [of_file(path)], known=[ME]).addresses == ()
    path.write_bytes(mailbox([message(sender=BEN, to=ME), message(to=BEN)]))
    with pytest.raises(SourceError, match="--me ADDRESS"):
        find_owner(mbox, [of_file(path)])


def test_sent_mail_from_another_address_than_told_is_named(store):
    letters = [sent(ME, number=1), sent(WORK, number=2)]

    report = put_letters(store, letters, me=[f"Sam Lee <{ME}>"])

    assert store.identities() == [ME]
    assert any(f"me add {WORK}" in note for note in report.notes)


@pytest.mark.parametrize("name", ["Sent", "Gesendet.mbox", "Sent Messages.mbox/mbox"])
def test_the_name_of_a_mailbox_is_a_label(tmp_path, name):
    """It says less than the labels in it."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    mbox = importers.load("mbox")

    path.write_bytes(mailbox([message(sender=WORK), message(sender=ME)]))
    assert set(find_owner(mbox, mbox.sources(path)).addresses) == {ME, WORK}

    path.write_bytes(mailbox([sent(BEN, to=ME, label="Inbox")] * 3 + [sent(ME)]))
    assert find_owner(mbox, mbox.sources(path)).addresses == (ME,)


def test_the_sender_of_two_addresses_is_the_one_that_the_header_names():
    both = f"{ME}, Shop <{BEN}>"
    for fields, found in (
        ({"sender": both}, ""),
        ({"sender": both, "headers": f"Sender: {BEN}"}, BEN),
        ({"headers": f"From: Shop <{BEN}>"}, ""),
        ({"headers": f"From: Sam <{ME}>"}, ME),
    ):
        assert sender_of(parse_headers(message(**fields))) == found, fields


def test_precedence_does_not_say_who_wrote(store):
    mine = [
        message("I wrote this by hand.", headers=f"Precedence: {value}", number=at)
        for at, value in enumerate(("bulk", "list", "junk", "first-class"))
    ]
    theirs = message("Buy this boat now.", sender=BEN, headers="Precedence: bulk")

    report = put_letters(store, [*mine, theirs], me=[ME])

    assert (report.added, report.received) == (4, 0)
    assert is_bulk(parse_headers(theirs))


@pytest.mark.parametrize(
    ("fields", "automatic"),
    [
        ({"headers": "Auto-Submitted: auto-replied"}, True),
        ({"headers": "Auto-Submitted: Auto-Generated (vacation)"}, True),
        ({"headers": "Auto-Submitted: no"}, False),
        ({"headers": "X-Autoreply: yes"}, True),
        ({"headers": "X-Autoreply: no"}, False),
        ({"headers": "X-Autorespond: away"}, True),
        ({"headers": "Precedence: auto_reply"}, True),
        # says what others shall not send
        ({"headers": "X-Auto-Response-Suppress: All"}, False),
        ({"headers": "Return-Path: <>"}, True),
        ({"headers": f"Return-Path: <{ME}>"}, False),
        # what Exchange puts before a subject
        ({"subject": "Automatic reply: the boat"}, True),
        ({"subject": "Automatische Antwort: Boot"}, True),
        ({"subject": "Réponse automatique : le bateau"}, True),
        ({"subject": "=?utf-8?b?6Ieq5YuV5b+c562UOiDoiLk=?="}, True),
        ({"subject": "Re: Automatic reply: the boat"}, False),
        ({"subject": "Automatic reply or not"}, False),
    ],
)
def test_what_says_that_a_machine_wrote(fields, automatic):
    assert is_automatic(parse_headers(message(**fields))) == automatic
