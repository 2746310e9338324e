"""The folder of sent mail on a server, read over IMAP and never changed.

The folder is opened with EXAMINE and mail is fetched with PEEK, so nothing is marked as
read. Mail that an earlier import has read is not fetched again: a server numbers
messages upwards for as long as UIDVALIDITY stays what it is. A server that hangs up,
as Microsoft's does when an access token ends, is asked again over another connection.
"""

import imaplib
import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from base.addresses import is_loopback
from personal_store.errors import SourceError
from personal_store.files import Source, why
from personal_store.mail.labels import decoded, folder_label, is_sent
from personal_store.mail.mail import Mail
from personal_store.mail.mailbox import MAX_MESSAGE
from personal_store.reading.letters import Letter, read_now
from personal_store.records import ImportFailure, Item, ReadOptions

PATIENCE = 60.0  # seconds to wait for an answer

_AT_ONCE = 10  # messages in one request
_SEARCHED = 50_000  # numbers in one search, so that its answer fits into a line
_FOLDER = re.compile(rb'\(([^)]*)\) (?:"(?:[^"\\]|\\.)*"|NIL) (.+)')
_UID = re.compile(rb"\bUID (\d+)")
_SECRET = re.compile(r"[!-~]{32,}")
"""What may be a token that the server echoes; words are shorter."""
_NONSENSE = (imaplib.IMAP4.error, ValueError, OverflowError, MemoryError)
"""What answers raise that are no IMAP, such as lengths that no memory holds."""


@dataclass(frozen=True, slots=True)
class Login:
    """Where somebody's mail is, and who asks for it."""

    server: str
    user: str
    password: str = field(repr=False)
    port: int = 0  # 0: the usual one
    folder: str = ""
    """Empty: the one that the server marks as sent mail, or that is called so."""
    token: Callable[[bool], str] | None = field(default=None, repr=False)
    """Gives an access token of OAuth in place of a password; where it is true, another
    one than the last, which was refused. Raises SourceError."""


@dataclass(frozen=True, slots=True)
class Mailbox(Source):
    """One folder of an account. Its positions are the numbers of messages."""

    session: Any = None
    validity: str = ""
    label: str = ""

    @property
    def name(self) -> str:
        """The account and the folder."""
        return f"{self.path} {self.label}"

    @property
    def place(self) -> str:
        """The account and the folder: mail on a server has no path on this device."""
        return f"imap:{self.name}"

    def fingerprint(self) -> str:
        """Changes when the server has numbered the messages anew."""
        return self.validity


def sources(path: Path) -> list[Source]:
    """Raise SourceError: mail on a server lies in no file. See `connected`."""
    raise SourceError(
        f"{path} is on this device, and 'imap' reads from a server: specsteer import "
        "imap you@example.org --server imap.example.org."
    )


@contextmanager
def connected(login: Login) -> Iterator[Mailbox]:
    """The folder of sent mail, as long as this lasts.

    Raises SourceError if the server cannot be reached, refuses the password, or has no
    such folder.
    """
    session = _Session(login)
    try:
        yield session.mailbox
    finally:
        session.close()


def envelopes(source: Source) -> Iterator[Mail]:
    """No envelopes are needed to find the owner: it is whoever logs in."""
    del source
    return iter(())


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages after options.start, in the order of their numbers."""
    assert isinstance(source, Mailbox)
    for first in range(options.start + 1, source.size + 1, _SEARCHED):
        last = min(first + _SEARCHED - 1, source.size)
        found = source.session.ask("SEARCH", f"UID {first}:{last}")
        words = b" ".join(line for line in found if isinstance(line, bytes)).split()
        every = map(int, filter(bytes.isdigit, words))
        numbers = sorted(number for number in every if first <= number <= last)
        for at in range(0, len(numbers), _AT_ONCE):
            for number, raw in _fetched(source.session, numbers[at : at + _AT_ONCE]):
                where = f"{source.name}, message {number}"
                if isinstance(raw, bytes):
                    letter = Letter(raw, number, where, options.me, folder=source.label)
                    yield read_now(letter)
                else:
                    yield ImportFailure(number, where, why(raw))


class _Session:
    """A folder that is open on a server, over one connection after the other."""

    def __init__(self, login: Login) -> None:
        """Raises SourceError as `connected`."""
        self._login = login
        self.mailbox = self._open()

    def ask(self, *command: str) -> list[Any]:
        """The answer to a UID command, over another connection if this one breaks.
        Raises ConnectionError if that one breaks as well, _RefusedError for a NO."""
        try:
            return self._ask(command)
        except ConnectionError:
            self.close()
        try:
            mailbox = self._open()
        except SourceError as error:
            raise ConnectionError(str(error)) from error
        if mailbox.validity != self.mailbox.validity:
            raise ConnectionError("the server has numbered its messages anew")
        return self._ask(command)

    def close(self) -> None:
        """Log out."""
        try:
            self._server.logout()
        except (*_NONSENSE, OSError):
            with suppress(OSError):  # it may be closed already
                self._server.shutdown()

    def _ask(self, command: tuple[str, ...]) -> list[Any]:
        try:
            status, answers = self._server.uid(*command)
        except (*_NONSENSE, OSError) as error:
            raise ConnectionError(f"the server broke off ({_said(error)})") from error
        if status != "OK":
            raise _RefusedError(f"the server refuses ({_said(answers)})")
        return answers

    def _open(self, *, another: bool = False) -> Mailbox:
        """Log in, with another token or not, and open the folder."""
        login = self._login
        with _explained(login.server):
            self._server = _connect(login)
        try:
            with _explained(login.server):
                refusal = _log_in(self._server, login, another)
                if not refusal:
                    return _examined(self._server, login, self)
        except BaseException:
            self.close()
            raise
        self.close()
        if (
            login.token is not None and not another
        ):  # it may have ended, or been revoked
            return self._open(another=True)
        advice = (
            "Many providers want a password made for this program (an 'app password'); "
            "Microsoft takes none, and wants --sign-in (docs/importing.md)."
        )
        if login.token is not None:
            advice = (
                f"Sign in again, as {login.user} and nobody else; and let IMAP be "
                "allowed in the settings of that mailbox."
            )
        raise SourceError(
            f"{login.server} does not let {login.user} in: {refusal}. {advice}"
        )


class _RefusedError(ConnectionError):
    """The server answers NO."""


def _log_in(server: imaplib.IMAP4, login: Login, another: bool) -> str:
    """Log in; why the server refuses, empty if it does not."""
    secret = f"\0{login.user}\0{login.password}".encode()
    if login.token is not None:
        bearer = f"auth=Bearer {login.token(another)}"
        secret = f"user={login.user}\1{bearer}\1\1".encode()
    try:
        if login.token is not None:
            # A refusal comes as a second challenge, and waits for an empty answer.
            server.authenticate("XOAUTH2", lambda said: b"" if said else secret)
        elif secret.isascii():
            server.login(login.user, login.password)
        else:  # LOGIN knows ASCII alone
            server.authenticate("PLAIN", lambda _: secret)
    except server.abort:
        raise
    except server.error as error:
        return _said(error) or "it does not say why"
    return ""


def _connect(login: Login) -> imaplib.IMAP4:
    """Encrypted, and the server's name checked; on this device itself as it is."""
    if is_loopback(login.server):
        return imaplib.IMAP4(login.server, login.port or 143, timeout=PATIENCE)
    context = ssl.create_default_context()
    port = login.port or 993
    return imaplib.IMAP4_SSL(login.server, port, ssl_context=context, timeout=PATIENCE)


def _examined(server: imaplib.IMAP4, login: Login, session: _Session) -> Mailbox:
    name = _sent_folder(server, login)
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    status, answer = server.select(quoted, readonly=True)
    if status != "OK":
        raise SourceError(f"{login.server} does not open {name}: {_said(answer)}.")
    label = folder_label(re.split(r"[/.]", decoded(name))[-1])
    validity, following = (_number(server, n) for n in ("UIDVALIDITY", "UIDNEXT"))
    account, size = Path(f"{login.user} at {login.server}"), max(0, following - 1)
    about: dict[str, Any] = {"validity": str(validity), "label": label}
    return Mailbox(account, size, appends=True, session=session, **about)


def _number(session: imaplib.IMAP4, name: str) -> int:
    _, values = session.response(name)
    value = values[-1] if values else None
    if not isinstance(value, bytes) or not value.isdigit():
        raise SourceError(f"The server does not say its {name}, which is needed.")
    return int(value)


def _sent_folder(session: imaplib.IMAP4, login: Login) -> str:
    # (flags, name) of each; names come bare, quoted, or as a literal.
    folders = []
    for line in session.list()[1]:
        whole, literal = line if isinstance(line, tuple) else (line, b"")
        if isinstance(whole, bytes) and (match := _FOLDER.match(whole)):
            bare = match[2]
            if bare.startswith(b'"'):
                bare = re.sub(rb"\\(.)", rb"\1", bare[1:-1])
            folders.append((match[1], (literal or bare).decode("utf-8", "replace")))
    names = [name for _, name in folders]
    if login.folder:
        wanted = login.folder.casefold()
        found = [n for n in names if wanted in (n.casefold(), decoded(n).casefold())]
    else:
        found = [name for flags, name in folders if b"\\sent" in flags.lower()]
        found += [n for n in names if is_sent((re.split(r"[/.]", decoded(n))[-1],))]
    if not found:
        known = ", ".join(map(decoded, names)) or "none"
        raise SourceError(
            "It is not clear which folder holds what you sent: say so with --folder "
            f"NAME. The folders are: {known}."
        )
    return found[0]


def _fetched(
    session: _Session, numbers: Sequence[int]
) -> Iterator[tuple[int, bytes | _RefusedError]]:
    """The messages in order. Of several, one may be refused, as Exchange does if it
    cannot convert it; if all are, the server is at fault, and none is passed over."""
    found: dict[int, bytes | _RefusedError] = {}
    try:
        found |= _fetch(session, numbers)
    except _RefusedError:
        for number in numbers:
            try:
                found |= _fetch(session, [number])
            except _RefusedError as error:
                found[number] = error
        if not any(isinstance(raw, bytes) for raw in found.values()):
            raise
    yield from sorted(found.items(), key=itemgetter(0))


def _fetch(session: _Session, numbers: Sequence[int]) -> dict[int, bytes]:
    wanted = ",".join(map(str, numbers))
    answers = session.ask("FETCH", wanted, f"(UID BODY.PEEK[]<0.{MAX_MESSAGE}>)")
    found = {}
    for answer, after in pairwise((*answers, b"")):
        if isinstance(answer, tuple):
            closing = after if isinstance(after, bytes) else b""
            if number := _UID.search(answer[0]) or _UID.search(closing):
                found[int(number[1])] = bytes(answer[1])
    return found


@contextmanager
def _explained(server: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        raise SourceError(
            f"{server} cannot prove that it is {server}: {error.reason or error}."
        ) from error
    except _NONSENSE as error:
        raise SourceError(
            f"{server} answers what is no IMAP: {_said(error)}."
        ) from error
    except OSError as error:
        raise SourceError(f"{server} cannot be reached: {error}.") from error


def _said(answer: Any) -> str:
    """What a server or an error says, on one line, without what may be a token."""
    if isinstance(answer, Exception):
        answer = next(iter(answer.args), type(answer).__name__)
    parts = [
        part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)
        for part in (answer if isinstance(answer, list) else [answer])
    ]
    return _SECRET.sub("…", " ".join(" ".join(parts).split()))[:200].rstrip(".")
