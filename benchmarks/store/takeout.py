"""A made-up Gmail Takeout, and made-up prose, as large as is wanted."""

from __future__ import annotations

import base64
import quopri
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.header import Header
from itertools import count
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

_SHIFT = 2.7
_EXPONENT = 1.07
_TOPICS = 2_000
_TOPIC_WORDS = 60
_ON_TOPIC = 0.15  # share of the words of a text that belong to its topic
_LENGTH = 4.2, 0.8  # mean and deviation of the logarithm of a text's length in words
_SHORTEST, _LONGEST = 5, 1_000


class Prose:
    """Texts of word numbers; the same seed gives the same texts, and with other
    numbers `drawn` other texts on the same topics."""

    def __init__(self, seed: int, vocabulary: int = 120_000, drawn: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        weights = (np.arange(vocabulary) + _SHIFT) ** -_EXPONENT
        self._cumulative = np.cumsum(weights / weights.sum())
        self._topics = self._general(_TOPICS * _TOPIC_WORDS).reshape(_TOPICS, -1)
        self._rng = np.random.default_rng([seed, drawn])

    def text(self, length: int | None = None) -> str:
        """One text of `length` words, or of a length drawn as texts have it."""
        if length is None:
            drawn = self._rng.lognormal(*_LENGTH)
            length = int(np.clip(drawn, _SHORTEST, _LONGEST))
        topic = self._topics[self._rng.integers(_TOPICS)]
        words = np.where(
            self._rng.random(length) < _ON_TOPIC,
            self._rng.choice(topic, length),
            self._general(length),
        )
        return " ".join(map(_spelt, words.tolist()))

    def query(self, words: int = 6) -> str:
        """What a person types: words of one topic and others, the commonest left
        out."""
        topic = self._topics[self._rng.integers(_TOPICS)]
        found = [w for w in self._rng.choice(topic, words) if w >= words][: words // 2]
        while len(found) < words:
            found += [w for w in self._general(words).tolist() if w > 20]
        return " ".join(map(_spelt, found[:words]))

    def texts(self) -> Iterator[str]:
        """Endless texts."""
        while True:
            yield self.text()

    def _general(self, count: int) -> NDArray[np.int64]:
        return np.searchsorted(self._cumulative, self._rng.random(count))


def _spelt(number: int) -> str:
    """A word for a number: short ones for those that are met most."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number, 20)
        letters += "bcdfghjklmnprstvwxyz"[rest] + "aeiou"[rest % 5]
    return letters


ME = "sam@example.com"

RATES = {
    "labels missing": 0.018,
    "labels nested": 0.11,
    "id doubled": 0.0004,
    "id missing": 0.0001,
    "date unreadable": 0.027,
    "date naive": 0.014,
    "line begins with From": 0.01,
    "8-bit header": 0.002,
    "NUL in the text": 0.00014,
    "body over 1 MB": 0.004,
    "legacy charset": 0.11,
    "HTML part": 0.866,
    "attachment": 0.04,
    "own": 0.25,
    "quoted answer": 0.3,
}

_WORDS = re.findall(
    r"\w+",
    "the a we you it and but not for with about from this that train plan report"
    " review garden coffee holiday budget supplier number travel chapter invoice"
    " weekend school answer question friend contract kitchen window paint concert"
    " airport delay snow Gebäude schön Grüße déjà café",
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LABELS = ("Inbox", "Opened", "Important", "Category Updates", "Spam", "Trash")
_ATTACHED = 110_000


@dataclass(frozen=True, slots=True)
class _Chance:
    random: random.Random

    def of(self, name: str) -> bool:
        return self.random.random() < RATES[name]


def messages(number: int, seed: int = 7) -> Iterator[bytes]:
    """`number` messages, the same ones for the same seed."""
    chance = _Chance(random.Random(seed))
    source = chance.random
    rare = [
        "".join(source.choices(_LETTERS, k=source.randint(4, 9))) for _ in range(20_000)
    ]
    before = b""
    for at in range(number):
        raw = before if before and chance.of("id doubled") else _one(chance, rare, at)
        before = raw
        yield raw


def write_mailbox(target: IO[bytes], number: int, seed: int = 7) -> int:
    """The messages as Takeout writes them into one file; its size in bytes."""
    size = 0
    for thread, raw in zip(count(1_700_000_000), messages(number, seed), strict=False):
        escaped = re.sub(rb"^(>*From )", rb">\1", raw, flags=re.MULTILINE)
        envelope = f"From {thread}@xxx Tue Mar 12 10:02:03 +0000 2024\n"
        size += target.write(envelope.encode() + escaped + b"\n\n")
    return size


def mailbox_file(path: Path, number: int, seed: int = 7) -> Path:
    """A mailbox on disk, made if it is not there."""
    if not path.exists():
        with path.open("wb") as file:
            write_mailbox(file, number, seed)
    return path


def _one(chance: _Chance, rare: list[str], number: int) -> bytes:
    """A message: headers, each with what its rates say, and content."""
    source, own = chance.random, chance.of("own")
    other = f"Person {number % 90} <p{number % 90}@example.org>"
    sender, to = (f"Sam Lee <{ME}>", other) if own else (other, f"Sam <{ME}>")
    head = [f"X-GM-THRID: {1_790_000_000_000_000_000 + number // 3}".encode()]
    if not chance.of("labels missing"):
        labels = ["Sent", "Opened"] if own else [source.choice(_LABELS), "Unread"]
        if chance.of("labels nested"):
            nested = "Projects/House"
            labels.append(f"{nested}, garden" if len(labels) > 2 else nested)
        listed = ",".join(labels)
        if source.random() < 0.05:  # one such label encodes them all, commas too
            listed = Header(f"{listed},Büro", "utf-8").encode()
        head.append(f"X-Gmail-Labels: {listed}".encode())
    head += [f"From: {sender}".encode(), f"To: {to}".encode()]
    if chance.of("8-bit header"):
        head.append("Subject: Grüße".encode("latin-1"))
    else:
        subject = " ".join(source.choices(rare, k=4))
        if source.random() < 0.1:
            subject = Header(f"{subject} Grüße", "utf-8").encode()
        head.append(f"Subject: {subject}".encode())
    if chance.of("date unreadable"):
        date = "sometime in March"
    else:
        date = f"{1 + number % 28} Mar {2005 + number % 19} 11:02:{number % 60:02}"
        if not chance.of("date naive"):
            date = f"Tue, {date} +0100"
    head.append(f"Date: {date}".encode())
    if not chance.of("id missing"):
        head.append(f"Message-ID: <{number}.{len(head)}@mail.example.com>".encode())
    return b"\n".join([*head, b"MIME-Version: 1.0", _content(chance, rare, other)])


def _content(chance: _Chance, rare: list[str], other: str) -> bytes:
    """The rest of a message: plain, HTML, or both, and what is attached."""
    charset = "iso-8859-1" if chance.of("legacy charset") else "utf-8"
    text = _text(chance, rare, other)
    parts = [_part("plain", text, charset)]
    if chance.of("HTML part"):
        parts.append(_part("html", _html(text), charset))
    body = parts[0] if len(parts) == 1 else _multipart("alternative", parts)
    if not chance.of("attachment"):
        return body
    data = base64.encodebytes(chance.random.randbytes(_ATTACHED))
    attached = (
        b'Content-Type: application/pdf; name="a.pdf"\nContent-Disposition: attachment;'
        b' filename="a.pdf"\nContent-Transfer-Encoding: base64\n\n' + data
    )
    return _multipart("mixed", [body, attached])


def _text(chance: _Chance, rare: list[str], other: str) -> str:
    lines = [
        _sentence(chance.random, rare) for _ in range(chance.random.randint(2, 14))
    ]
    if chance.of("line begins with From"):
        lines.insert(1, "From then on it rained.")
    if chance.of("NUL in the text"):
        lines.append("cut\0here")
    if chance.of("body over 1 MB"):
        lines += [_sentence(chance.random, rare)] * 8_000
    if chance.of("quoted answer"):
        quoted = (f"> {_sentence(chance.random, rare)}" for _ in range(6))
        lines += ["", f"On 12.03.24 10:15, {other} wrote:", *quoted]
    return "\n".join(["Hi there,", "", *lines, "", "Best,", "Sam", ""])


def _html(text: str) -> str:
    own, _, quoted = text.replace("\0", "").partition("\nOn 12.03.24")
    rows = "".join(
        f"<div style='font-size:14px'>{line}</div>\n" for line in own.split("\n")
    )
    if quoted:
        rows += f"<div class='gmail_quote'><blockquote>{quoted}</blockquote></div>"
    return f"<html><head><style>p {{margin:0}}</style></head><body>{rows}</body></html>"


def _part(kind: str, text: str, charset: str) -> bytes:
    head = f"Content-Type: text/{kind}; charset={charset}\n"
    data = text.encode(charset, "replace")
    if len(data) > 100_000 or b"\0" in data:
        return (head + "Content-Transfer-Encoding: 8bit\n\n").encode() + data
    encoded = quopri.encodestring(data)
    return (head + "Content-Transfer-Encoding: quoted-printable\n\n").encode() + encoded


def _multipart(kind: str, parts: list[bytes]) -> bytes:
    edge = f"{kind}-0123456789"
    head = f'Content-Type: multipart/{kind}; boundary="{edge}"\n\n'.encode()
    pieces = [f"--{edge}\n".encode() + part + b"\n" for part in parts]
    return head + b"".join(pieces) + f"--{edge}--\n".encode()


def _sentence(source: random.Random, rare: list[str]) -> str:
    words = source.choices(_WORDS, k=9) + source.choices(rare, k=3)
    source.shuffle(words)
    return " ".join(words).capitalize() + "."
