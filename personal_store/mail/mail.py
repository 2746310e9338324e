"""One raw message to headers and body text, without ever giving up on a bad one.

Python's modern mail policy raises on unknown charsets and is fifteen times slower, its
old one three times, so mime.py takes messages apart and this decodes what it found.
"""

import calendar
import email.utils
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from html import escape, unescape
from itertools import chain

from personal_store.mail.mime import Part, message_of
from personal_store.text.charset import codec_of, decode, header_text

MAX_PART = 2_000_000  # bytes of one body part that are looked at

_QUOTED = r'"(?:[^"\\]|\\.){0,200}"'
_PIECE = re.compile(  # of a list of mailboxes: what commas and brackets may stand in
    rf"(?P<quoted>{_QUOTED})|<(?P<inside>(?:{_QUOTED}|[^<>\"]){{0,200}})(?:>|\Z)"
    r"|\((?P<comment>(?:[^()\\]|\\.|\([^()]{0,200}\)){0,200})\)"
    r"|(?P<end>[,;])|(?P<group>:)|(?P<text>[^\"<(,;:]+|.)",
    re.DOTALL,
)
_BARE = re.compile(
    rf"(?:{_QUOTED}|[^\s<>()\[\],;:\"]+)@(?:\[[^\]\s]+\]|[^\s<>()\[\],;:\"]+)"
)
_MOST = 50_000  # characters of addresses that are looked at
_MANY_PEOPLE = 500  # characters of addresses from which on they are not remembered
_YEARS = range(1970, 2101)
_PLAIN, _HTML = "text/plain", "text/html"
_ENRICHED = ("text/enriched", "text/richtext")
_DATA = re.compile(r"text/(?:calendar|css|csv|directory|rtf|(?:x-)?vcard|xml|.*script)")
"""Texts that nobody writes as a letter; others are the letter if nothing else is."""
UNQUOTED = "\ufdd2"
"""Before a line of one's own that begins with '>' and is no quote for all that."""
ENCRYPTED = "application/pgp-encrypted"
"""Among the types of what nobody can read without a key."""
_CIPHER = re.compile(r"\s*-----BEGIN PGP MESSAGE-----")

_HEAD = 4_096  # bytes of HTML in which it may say what charset it has
_META = re.compile(
    rb"<meta\s[^>]*?charset\s*=\s*[\"']?([\w.:-]+)"
    rb"|<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_RETURNS = re.compile(r"\r+\n|\r")
_WORD = re.compile(r"\w+")
_TAG = re.compile(r"<style.*?</style|<[^>]*>", re.DOTALL | re.IGNORECASE)

_ASIDE = re.compile(r"<(param|comment)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_NO_FILL = re.compile("</?nofill>", re.IGNORECASE)
_ENDS = re.compile("\n+")
_HTML_MARKS = {
    "<excerpt>": "<blockquote type=cite>",
    "</excerpt>": "</blockquote>",
    "<paragraph>": "<p>",
    "</paragraph>": "</p>",
    "<nl>": "<br>",
    "<lt>": "&lt;",
}
_MARK = re.compile("|".join(_HTML_MARKS), re.IGNORECASE)

_UU_BEGIN = re.compile(r"begin [0-7]{3,4} \S")
_UU = "".join(map(chr, range(32, 97)))
_BLOCKS = (("\n=ybegin ", "\n=yend"), ("\nbegin-base64 ", "\n===="))


@dataclass(frozen=True, slots=True)
class Mail:
    """A message, decoded. Header names are lower-case, values raw."""

    headers: dict[str, list[str]]
    plain: str = ""
    html: str = ""
    calendar_method: str = ""
    """METHOD of a calendar part, upper-case; 'NONE' if it names no method."""
    types: frozenset[str] = field(default_factory=frozenset)
    """Content types of the message and its parts."""
    folder: str = ""  # name of the folder it lay in, if the source knows it

    def raw(self, name: str) -> str:
        """The first value of a header, undecoded; empty if absent."""
        return self.headers.get(name, [""])[0]

    def header(self, name: str) -> str:
        """The first value of a header as a person reads it."""
        raw = self.raw(name)
        return header_text(raw) if raw else ""


def parse_headers(raw: bytes, folder: str = "") -> Mail:
    """Only the headers: enough to see who wrote it, many times faster."""
    return Mail(message_of(raw).headers, folder=folder)


def parse(raw: bytes, folder: str = "") -> Mail:
    """Headers, the plain and the HTML body, and what kinds of parts there are."""
    message = message_of(raw)
    return with_bodies(Mail(message.headers, folder=folder), message)


def with_bodies(mail: Mail, message: Part) -> Mail:
    """Headers with the decoded bodies of their message; attachments are left out."""
    types = {message.type}
    method = ""
    bodies: list[tuple[str, str]] = []
    files: list[Part] = []
    for unit in message.units():
        texts: dict[str, list[str]] = {_PLAIN: [], _HTML: []}
        for part in unit:
            types.add(ENCRYPTED if part.is_smime() else part.type)
            kind, inner = part.type, part is not message
            if kind.startswith("multipart/"):  # without its boundary
                kind = _HTML if part.body.lstrip().startswith(b"<") else _PLAIN
            if kind in _ENRICHED:
                kind = _HTML
            if inner and part.disposition().value.startswith("attachment"):
                continue
            if kind in texts and not (inner and part.file_name()):
                texts[kind].append(_text(part))
            elif kind.startswith("text/") and not _DATA.match(kind):
                files.append(part)
            elif kind == "text/calendar":
                declared = part.content.parameters.get("method", "")
                found = re.search(r"^METHOD:(\w+)", _text(part), re.MULTILINE)
                method = (declared or (found[1] if found else "NONE")).upper()
        if any(texts.values()):
            bodies.append(("\n".join(texts[_PLAIN]), "\n".join(texts[_HTML])))
    if files and not any("".join(body).strip() for body in bodies):
        # A text with a name, shown inline, is the letter if there is no other.
        pages = (_HTML, *_ENRICHED)
        first = {part.type in pages: _text(part) for part in reversed(files)}
        bodies = [(first.get(False, ""), first.get(True, ""))]
    plain, html = _together(bodies)
    if _CIPHER.match(plain):
        types.add(ENCRYPTED)
    return Mail(mail.headers, plain, html, method, frozenset(types), mail.folder)


def _together(bodies: list[tuple[str, str]]) -> tuple[str, str]:
    """The plain and the HTML text of all bodies.

    If one has only HTML, such as a letter above the plain footer of a list, the others
    are put into the HTML: with both, the plain text alone is read.
    """
    plain = "\n".join(text for text, _ in bodies)
    html = [html for _, html in bodies]
    if not plain.strip() or all(text.strip() for text, _ in bodies):
        return plain, "\n".join(html)
    known = set(_WORD.findall(plain))
    alone = [html for text, html in bodies if not text.strip()]
    words = set(_WORD.findall(unescape(_TAG.sub(" ", "\n".join(alone)))))
    if 10 * len(words - known) <= len(words):  # it says the same once more
        return plain, "\n".join(html)
    return "", "\n".join(html or f"<pre>{escape(text)}</pre>" for text, html in bodies)


def addresses(values: list[str]) -> list[tuple[str, str]]:
    """(name, lower-cased address) of everybody in these header values."""
    few = sum(map(len, values)) <= _MANY_PEOPLE
    return list((_known_addresses if few else _addresses)(tuple(values)))


def address_in(said: str) -> str:
    """The address in what somebody gives, such as 'Ann <ann@example.org>'; empty if
    absent, or if it is a name of a service, such as 'whatsapp:ann'."""
    found = [] if ":" in said else addresses([said])
    return found[-1][1] if found else ""


def _addresses(values: tuple[str, ...]) -> list[tuple[str, str]]:
    found = [pair for value in values for pair in _mailboxes(value)]
    if not found and any("=?" in value for value in values):  # encoded as a whole
        found = [pair for value in values for pair in _mailboxes(header_text(value))]
    return found


_known_addresses = lru_cache(2_000)(_addresses)  # the same people write again and again


def _mailboxes(header: str) -> Iterator[tuple[str, str]]:
    """(name, lower-cased address) of each mailbox that has one.

    A name may hold anything, even somebody else's address: if there are angle brackets,
    only what stands in the last of them is the address. `email.utils.getaddresses`
    takes `ann@example.org <shop@example.com>` for Ann's.
    """
    name: list[str] = []
    comment, inside = "", None
    for piece in chain(_PIECE.finditer(header[:_MOST]), [None]):
        kind = piece.lastgroup if piece else "end"
        said = piece[kind] if piece and kind else ""
        if kind == "inside":
            inside = re.sub(r"\s|\([^()]*\)", "", said)
        elif kind == "comment":
            comment = said
        elif kind == "group":
            name.clear()  # of the group, not of who follows
        elif kind != "end":
            name.append(said)
        else:
            text = "".join(name)
            if inside is None:
                bare = list(_BARE.finditer(text))[-1:]
                inside = bare[0][0] if bare else ""
                text = comment or text.replace(inside, "").strip(" []\t\r\n")
            # Behind a route of hosts, or 'mailto:'.
            address = inside.rpartition(":")[2] if inside[:1] != '"' else inside
            local, _, domain = address.strip("'.").lower().rpartition("@")
            if local and domain and not local.startswith("=?"):
                yield _shown(text), f"{local}@{domain}"
            name.clear()
            comment, inside = "", None


def _shown(name: str) -> str:
    """A name out of its quotation marks, decoded."""
    plain = re.sub(
        r'"((?:[^"\\]|\\.)*)"', lambda m: re.sub(r"\\(.)", r"\1", m[1]), name
    )
    return header_text(" ".join(plain.split()))


def sent_at(mail: Mail) -> int | None:
    """Seconds since 1970 from Date, else from the newest Received header."""
    seconds = seconds_of(mail.header("date"))
    if seconds is None:
        seconds = seconds_of(header_text(mail.raw("received").rpartition(";")[2]))
    return seconds


def seconds_of(date: str) -> int | None:
    """Seconds since 1970 of a mail date; None if it is not one."""
    try:
        fields = email.utils.parsedate_tz(date)
        if fields is None or fields[0] not in _YEARS:
            return None
        return calendar.timegm((*fields[:6], 0, 0, 0)) - (fields[9] or 0)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _text(part: Part) -> str:
    data = part.decoded()[:MAX_PART]
    charset = part.content.parameters.get("charset", "")
    if part.type == _HTML and codec_of(charset) in ("", codec_of("us-ascii")):
        meta = _META.search(data, 0, _HEAD)
        charset = (meta[1] or meta[2]).decode("ascii", "replace") if meta else charset
    text = decode(data, charset)
    if "\r" in text:
        text = _RETURNS.sub("\n", text)
    if part.type in _ENRICHED:
        return _html_of(text, is_old=part.type == "text/richtext")
    return without_files(_unflowed(part, text)) if part.type == _PLAIN else text


def _html_of(text: str, *, is_old: bool) -> str:
    """HTML of text/enriched (RFC 1896) or, as it was before, text/richtext."""
    text = _ASIDE.sub("", text.replace("&", "&amp;").replace("<<", "&lt;"))
    pieces = _NO_FILL.split(text)
    for at, piece in enumerate(pieces):  # every second one keeps its ends of lines
        pieces[at] = _ENDS.sub(partial(_breaks, kept=at % 2, is_old=is_old), piece)
    return _MARK.sub(lambda mark: _HTML_MARKS[mark[0].lower()], "".join(pieces))


def _breaks(ends: re.Match[str], *, kept: int, is_old: bool) -> str:
    return " " if is_old else "<br>" * (len(ends[0]) - 1 + kept) or " "


def without_files(text: str) -> str:
    """A text without the files in it, encoded as they were before there was MIME."""
    for first, last in _BLOCKS:
        if first[1:] in text:
            text = _without_blocks(f"\n{text}", first, last)[1:]
    if "begin " not in text:
        return text
    kept: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        end = at + 1
        if _UU_BEGIN.match(lines[at]) and any(lines[end : end + 1]):
            while end < len(lines) and _is_uuencoded(lines[end]):
                end += 1
            if end > at + 1 and lines[end : end + 1] == ["end"]:
                end += 1
        if end == at + 1:
            kept.append(lines[at])
        at = end
    return "\n".join(kept)


def _without_blocks(text: str, first: str, last: str) -> str:
    kept: list[str] = []
    at = 0
    while (start := text.find(first, at)) >= 0 and (end := text.find(last, start)) >= 0:
        kept.append(text[at:start])
        below = text.find("\n", end + 1)
        at = below if below >= 0 else len(text)
    return "".join((*kept, text[at:]))


def _is_uuencoded(line: str) -> bool:
    """A sign for the number of bytes and that many; blanks at its end may be lost."""
    letters = ((ord(line[0]) - 32 & 63) + 2) // 3 * 4 if line else 0
    return len(line) <= letters + 3 and not line.strip(_UU)


def _unflowed(part: Part, text: str) -> str:
    """format=flowed (RFC 3676) with soft line breaks joined and stuffing removed."""
    said = part.content.parameters
    if said.get("format", "").lower() != "flowed":
        return text
    glue = "" if said.get("delsp", "").lower() == "yes" else " "
    lines: list[str] = []
    open_line = False
    for line in text.splitlines():
        quoted, stuffed = line.startswith(">"), line.startswith(" ")
        body = line[stuffed:]
        soft = body.endswith(" ") and body != "-- "
        body = body.removesuffix(" ") if soft else body
        if open_line and not quoted and body != "-- ":
            lines[-1] += glue + body
        else:
            lines.append(UNQUOTED + body if stuffed and body.startswith(">") else body)
        open_line = soft and not quoted
    return "\n".join(lines)
