"""Sent mail over IMAP: read only, new mail only, from a small server on this device."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store import SourceError, import_source, importing
from personal_store.errors import StoreError
from personal_store.importers import imap
from tests.imap_server import mail_server
from tests.mailboxes import ME, message
from tests.personal_store.stores import stopping


@pytest.fixture
def server():
    with mail_server() as server:
        yield server


def read(store, login):
    with imap.connected(login) as mailbox:
        return import_source(store, "imap", [mailbox], me=[ME])


def test_the_sent_folder_is_read_and_left_as_it_was(store, server):
    """EXAMINE and PEEK alone; the folder with the flag, whatever it is called."""
    report = read(store, server.login())

    assert (report.added, report.failed) == (3, 0)
    assert next(store.records()).labels == ('Gesendet & "so"',)
    words = {said.split()[0] for said in server.heard}
    assert words == {"CAPABILITY", "LOGIN", "LIST", "EXAMINE", "UID", "LOGOUT"}
    assert 'EXAMINE "[Gmail]/Gesendet &- \\"so\\""' in server.heard
    assert all("PEEK" in said for said in server.heard if "FETCH" in said)


def test_only_new_mail_is_fetched_again(store, server):
    """Unless the server has numbered its mail anew."""
    read(store, server.login())
    server.mails[9] = message("A new one.", number=9)
    server.fetched()

    later = read(store, server.login())
    assert server.fetched() == ["9"]
    server.validity = 8
    anew = read(store, server.login())

    assert (later.added, later.skipped) == (1, 0)
    assert (anew.added, anew.skipped) == (0, 4)


def test_an_import_that_was_stopped_goes_on(store, server, one_by_one):
    """Behind the last message that was committed."""
    with pytest.raises(KeyboardInterrupt), imap.connected(server.login()) as mailbox:
        import_source(store, "imap", [mailbox], me=[ME], progress=stopping(0.5))
    server.fetched()

    report = read(store, server.login("größer"))  # a password beyond ASCII

    assert report.added == 1
    assert server.fetched() == ["8"]


@pytest.fixture
def one_by_one(monkeypatch):
    """A message is asked for, and committed, before the next."""
    monkeypatch.setattr(importing, "BATCH", 1)
    monkeypatch.setattr(imap, "_AT_ONCE", 1)


def with_token(server, refusal=None):
    """A login by tokens, each of which is good once it is given; and what was asked."""
    asked = []

    def token(another):
        asked.append(another)
        if another and refusal:
            raise SourceError(refusal)
        server.tokens |= {"second" * 9} if another else {"first" * 9} - {*server.ended}
        return ("second" if another else "first") * 9

    return replace(server.login(), token=token), asked


def test_a_token_that_ends_in_the_middle_is_made_anew(store, server, one_by_one):
    """Over another connection, from the message it came to; nothing is read twice."""
    server.ends_before = 2
    login, asked = with_token(server)

    report = read(store, login)

    assert (report.added, report.skipped, report.failed) == (3, 0, 0)
    assert asked == [False, False, True]
    assert server.fetched() == ["3", "5", "5", "8"]


def test_a_sign_in_that_ends_for_good_in_the_middle_loses_nothing(
    store, server, one_by_one
):
    """One sentence, which shows no token though the server does; the next goes on."""
    server.ends_before = 2
    login, _ = with_token(server, "it was taken back: sign in again.")
    with pytest.raises(SourceError, match=r"back: sign in again\. This run") as one:
        read(store, login)
    assert "which are safe (1 of yours); the same import" in str(one.value)
    with pytest.raises(SourceError, match=r"does not let .* in: .*…") as two:
        read(store, replace(login, token=lambda _: "x" * 50))
    assert "x" * 9 not in str(two.value)
    assert "eHh4" not in str(two.value)
    server.fetched()

    report = read(store, server.login())

    assert (report.added, server.fetched()) == (2, ["5", "8"])


def test_a_message_that_is_refused_is_a_failure_and_no_other_is_lost(store, server):
    """If all are, it is the server: none is passed over."""
    server.refused = {5}
    report = read(store, server.login())
    assert (report.added, report.failed) == (2, 1)
    assert "message 5: the server refuses (cannot convert it" in str(report.failures[0])

    server.mails |= {n: message(f"This is letter {n}.", number=n) for n in (9, 11)}
    server.refused = {9, 11}
    with pytest.raises(SourceError, match=r"refuses .* the same import goes on"):
        read(store, server.login())
    server.refused = set()
    assert read(store, server.login()).added == 2


def endless(word, digits):
    """A server may announce more bytes than any memory holds."""
    noise = {word: b"* 1 FETCH (BODY[] {" + b"9" * digits + b"}\r\n"}
    return lambda server: server.noise.update(noise)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: s.login("wrong"), r"does not let .* in: .*wrong password"),
        (lambda s: s.folders.pop(), "--folder NAME. The folders are: INBOX"),
        (lambda s: s.login(folder="Nowhere"), "--folder NAME"),
        (lambda s: s.broken.add("LIST"), "answers what is no IMAP"),
        (lambda s: s.broken.add("LOGIN"), "answers what is no IMAP"),
        (lambda s: s.broken.add("UID"), "stored no text; the same import goes on"),
        *(
            (endless(word, digits), "")
            for word in ("LIST", "UID")
            for digits in (12, 30, 5000)
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence(store, server, monkeypatch, change, sentence):
    monkeypatch.setattr(imap, "PATIENCE", 0.1)
    login = change(server)

    with pytest.raises(SourceError, match=f"(?i){sentence}"):
        read(store, login if isinstance(login, imap.Login) else server.login())


def test_no_server_is_one_sentence(store, server, tmp_path):
    """And that a path is no server."""
    with pytest.raises(SourceError, match="--server"):
        import_source(store, "imap", tmp_path)
    login = server.login()
    with imap.connected(login):
        pass  # its thread is at work
    server.socket.close()

    with pytest.raises(SourceError, match=r"127\.0\.0\.1 cannot be reached"):
        read(store, login)


def test_elsewhere_than_on_this_device_it_is_encrypted(monkeypatch):
    """No setting turns that off."""
    made = []
    for name in ("IMAP4", "IMAP4_SSL"):
        monkeypatch.setattr(imap.imaplib, name, lambda *_, **told: made.append(told))

    for name in ("imap.example.org", "192.0.2.1", "localhost", "::1"):
        imap._connect(imap.Login(name, "a", "b"))

    assert ["ssl_context" in told for told in made] == [True, True, False, False]
    assert all(told["ssl_context"].check_hostname for told in made[:2])


WORDS = (
    b'* |+ |\r\n|(|) |{|}|9|"|FETCH |UID 3 |OK |NO |[UIDNEXT |LIST |SEARCH |BODY[]|\0'
)
PIECES = st.sampled_from(WORDS.split(b"|"))
NOISE = st.one_of(st.binary(max_size=40), st.lists(PIECES, max_size=14).map(b"".join))
WORD = st.sampled_from(["CAPABILITY", "LOGIN", "LIST", "EXAMINE", "UID"])


@given(noise=st.dictionaries(WORD, NOISE))
def test_whatever_a_server_says_is_survived(store, server, monkeypatch, noise):
    """Bytes of no sense between the answers: mail, or one sentence."""
    monkeypatch.setattr(imap, "PATIENCE", 0.1)
    server.noise = noise

    with suppress(StoreError):
        read(store, server.login())
