"""Whose mailbox it is: who sent the sent mail, never who only wrote to its owner."""

import pytest

from personal_store import SourceError, import_source, importers
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


def test_all_who_sent_the_sent_mail_are_the_owner():
    """Though another takes part in every message."""
    owner = people(
        sent(f"Sam Lee <{ME}>"),
        sent(f"Sam Lee <{ME}>"),
        sent(f"Sam <{WORK}>"),
        sent(f"Ben <{BEN}>", to=BEN, label="Inbox"),
    ).owner()

    assert owner.addresses == (ME, WORK)
    assert owner.sentences() == [
        f"taking {ME} and {WORK} for you, because they sent the sent mail"
    ]


def test_who_was_filed_under_sent_by_mistake_is_named_and_not_taken():
    owner = people(
        sent(ME), sent(ME), sent(ME), sent(BEN, to=ME), sent(BEN, to=ME, label="Inbox")
    ).owner()

    assert owner.addresses == (ME,)
    assert owner.perhaps == (BEN,)
    assert BEN in owner.sentences()[1]


def between(*pairs):
    """Unlabelled mails from the first of each pair to the second."""
    return [message(sender=f"{a}@x.org", to=f"{b}@x.org") for a, b in pairs]


DELIVERED = [message(sender=BEN, to=ME, headers=f"Delivered-To: {ME}")] * 9


@pytest.mark.parametrize(
    ("mails", "owner"),
    [
        ([*[sent(BEN, to=ME, label="Inbox")] * 30, sent(ME)], (ME,)),
        ([*[sent(f"{ME} <{BEN}>", to=ME, label="Spam")] * 9, sent(ME)], (ME,)),
        ([sent(ME, to=BEN), sent(BEN, to=ME)], ()),
        (DELIVERED, ()),
        ([*DELIVERED, message(sender=ME, to=BEN)], (ME,)),
        (between("ab", "ac"), ("a@x.org",)),
        (between("ab", "ca", "da", "ad"), ("a@x.org",)),
        (between("ap", "aq", "br", "cs"), ()),
        ([sent(ME, label="Gesendet,Wichtig"), sent(BEN, to=ME, label="")], (ME,)),
    ],
    ids=[
        "writes most",
        "spam",
        "each other",
        "delivered",
        "delivered and mine",
        "only sender",
        "always there",
        "unclear",
        "german label",
    ],
)
def test_who_owns_a_mailbox(mails, owner):
    assert people(*mails).owner().addresses == owner


def test_another_address_under_the_owners_name_is_named():
    owner = people(*[message()] * 9, message(sender=f"Sam Lee <{WORK}>")).owner()

    assert (owner.addresses, owner.perhaps) == ((ME,), (WORK,))


def test_the_owner_is_known_before_anything_is_written(tmp_path):
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox([sent(ME), sent(WORK)]))
    mbox = importers.load("mbox")

    owner = find_owner(mbox, [of_file(path)])

    assert (owner.addresses, owner.why) == ((ME, WORK), "they sent the sent mail")
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
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(mailbox([message(sender=WORK), message(sender=ME)]))

    owner = find_owner(importers.load("mbox"), importers.load("mbox").sources(path))

    assert set(owner.addresses) == {ME, WORK}


def test_the_name_of_a_mailbox_says_less_than_the_labels_in_it(tmp_path):
    path = tmp_path / "Sent.mbox"
    inbox = sent(BEN, to=ME, label="Inbox")
    path.write_bytes(mailbox([inbox, inbox, inbox, sent(ME)]))

    assert find_owner(importers.load("mbox"), [of_file(path)]).addresses == (ME,)


def test_the_sender_of_two_addresses_is_the_one_that_the_header_names():
    both = f"{ME}, Shop <{BEN}>"

    assert sender_of(parse_headers(message(sender=both))) == ""
    assert (
        sender_of(parse_headers(message(sender=both, headers=f"Sender: {BEN}"))) == BEN
    )
    assert sender_of(parse_headers(message(headers=f"From: Shop <{BEN}>"))) == ""
    assert sender_of(parse_headers(message(headers=f"From: Sam <{ME}>"))) == ME


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
    ("header", "automatic"),
    [
        ("Auto-Submitted: auto-replied", True),
        ("Auto-Submitted: Auto-Generated (vacation)", True),
        ("Auto-Submitted: no", False),
        ("X-Autoreply: yes", True),
        ("X-Autoreply: no", False),
        ("X-Autorespond: away", True),
        ("Precedence: auto_reply", True),
        ("X-Auto-Response-Suppress: All", False),  # says what others shall not send
        ("Return-Path: <>", True),
        (f"Return-Path: <{ME}>", False),
    ],
)
def test_what_says_that_a_machine_wrote(header, automatic):
    assert is_automatic(parse_headers(message(headers=header))) == automatic


@pytest.mark.parametrize(
    ("subject", "automatic"),
    [
        ("Automatic reply: the boat", True),
        ("Automatische Antwort: Boot", True),
        ("Réponse automatique : le bateau", True),
        ("=?utf-8?b?6Ieq5YuV5b+c562UOiDoiLk=?=", True),
        ("Re: Automatic reply: the boat", False),
        ("Automatic reply or not", False),
    ],
)
def test_what_exchange_puts_before_a_subject(subject, automatic):
    assert is_automatic(parse_headers(message(subject=subject))) == automatic


def test_drafts_are_left_out(store, tmp_path):
    """A mailbox of them, and one that was saved as a file."""
    (tmp_path / "Entwürfe").write_bytes(mailbox([message()]))
    (tmp_path / "draft.eml").write_bytes(message(headers="X-Unsent: 1"))
    for kind, name in (("mbox", "Entwürfe"), ("eml", "draft.eml")):
        report = import_source(store, kind, tmp_path / name, me=[ME])
        assert report.reasons == {"drafts": 1}
