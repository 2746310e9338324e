"""Sent mail over IMAP: read only, new mail only, from a small server on this device."""

import re
import socketserver
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store import SourceError, import_source, importing
from personal_store.errors import StoreError
from personal_store.importers import imap
from tests.mailboxes import ME, message
from tests.personal_store.stores import stopping


class Session(socketserver.StreamRequestHandler):
    """As much of IMAP4rev1 as a reader needs; anything that writes is refused."""

    disable_nagle_algorithm = True  # which waits 40 ms between small answers

    def handle(self):
        self.say("* OK ready")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            tag, _, said = line.partition(" ")
            word = said.upper().split()[0]
            self.server.heard.append(said)
            if word in self.server.broken:
                return
            self.wfile.write(self.server.noise.get(word, b""))
            answer = getattr(self, word.lower(), None)
            status = (answer(said) or "OK") if answer else "BAD"
            self.say(f"{tag} {status} so it is")
            if word == "LOGOUT":
                return

    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def capability(self, _):
        self.say("* CAPABILITY IMAP4REV1 AUTH=PLAIN")

    def login(self, said):
        return "" if said == f'LOGIN {ME} "right"' else "NO [AUTH] wrong password"

    def authenticate(self, _):
        self.say("+ ")
        self.server.heard.append(self.rfile.readline().decode())

    def list(self, _):
        for line in self.server.folders:
            self.say(f"* LIST {line}")

    def examine(self, _):
        mails = self.server.mails
        self.say(f"* OK [UIDVALIDITY {self.server.validity}]")
        self.say(f"* OK [UIDNEXT {max(mails, default=0) + 1}]")
        self.say(f"* {len(mails)} EXISTS")

    def uid(self, said):
        numbers = [int(n) for n in re.findall(r"\d+", said.split("(")[0])]
        if "SEARCH" in said:
            found = [n for n in self.server.mails if numbers[0] <= n <= numbers[1]]
            self.say("* SEARCH " + " ".join(map(str, found)))
            return
        for number in numbers:
            raw = self.server.mails[number]
            self.say(f"* 1 FETCH (UID {number} BODY[]<0> {{{len(raw)}}}")
            self.wfile.write(raw + b")\r\n")

    def logout(self, _):
        self.say("* BYE")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Session)
        self.heard = []
        self.broken = set()
        self.noise = {}
        self.validity = 7
        self.folders = [
            '(\\HasNoChildren) "/" INBOX',
            '(\\HasNoChildren \\Sent) "/" "[Gmail]/Gesendet &- \\"so\\""',
        ]
        self.mails = {n: message(f"This is letter {n}.", number=n) for n in (3, 5, 8)}

    def login(self, password="right", folder=""):
        port = self.server_address[1]
        return imap.Login("127.0.0.1", ME, password, port, folder)

    def fetched(self):
        """The numbers of mails asked for since the last time."""
        heard, self.heard = self.heard, []
        return [said.split()[2] for said in heard if "FETCH" in said]


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


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


def test_an_import_that_was_stopped_goes_on(store, server, monkeypatch):
    """Behind the last message that was committed."""
    monkeypatch.setattr(importing, "BATCH", 1)
    monkeypatch.setattr(imap, "_AT_ONCE", 1)
    with pytest.raises(KeyboardInterrupt), imap.connected(server.login()) as mailbox:
        import_source(store, "imap", [mailbox], me=[ME], progress=stopping(0.5))
    server.fetched()

    report = read(store, server.login("größer"))  # a password beyond ASCII

    assert report.added == 1
    assert server.fetched() == ["8"]


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
