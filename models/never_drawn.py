"""Tokens that must not follow a text: marks of thoughts, and what no letter holds.

Some models write blocks of thoughts before a text. A template tells a model not to if
it knows how (`chat`). Else three things keep thoughts out: a block that the prompt
leaves open is closed there; tokens that mark one are never drawn, so that no thought
about the history goes to a server; and what a model still writes between such marks is
cut off the beginning of the text.

A small model that has to spell a character of several tokens may end in another one, or
in none: a picture of a control character (U+2400 to U+243F), half a character. Models
also open a mail with the header lines of the mail they answer. Neither drafts nor
redraws contain them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
"""The beginnings and ends of blocks: of Qwen, DeepSeek, SmolLM3 and most others; of
models distilled from other makers'; of EXAONE Deep, Seed-OSS, Magistral, Command."""


class _Vocabulary(Protocol):
    size: int

    def tokenize(self, text: str, control: bool = False) -> list[int]:
        """Ids of a text."""

    def piece(self, token_id: int) -> bytes:
        """UTF-8 bytes of a token."""


def mark_ids(vocabulary: _Vocabulary) -> tuple[int, ...]:
    """The tokens, each a mark of its own, that open or close a block."""
    found = (vocabulary.tokenize(mark, control=True) for both in MARKS for mark in both)
    return tuple(sorted({ids[0] for ids in found if len(ids) == 1}))


def closing(words: str) -> str:
    """What closes the block that `words` end in; empty if they end in none."""
    for opening, end in MARKS:
        _, opened, thoughts = words.rpartition(opening)
        if opened and end not in thoughts:
            return ("" if thoughts.endswith("\n") else "\n") + f"\n{end}\n\n"
    return ""


def mentions(template: str) -> bool:
    """Whether a template is written for a model that thinks aloud."""
    return any(mark in template for pair in MARKS for mark in pair)


NeverDrawn = Callable[[Sequence[int]], Sequence[int] | NDArray[np.intp]]
"""Ids that may not be drawn after these tokens of a text."""

PICTURES = "\u2400-\u243f"
"""Of control characters: what shows U+000A as one sign, and is no line end."""
_CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{PICTURES}\ufffd]")
_SPELLED = ("\\", "^")
"""With what control characters are spelled, as in `\\n` and `^J`."""
_HEADER = re.compile(
    r"^[\s*_#>«\"'\[(-]*(?:subject|notes|from|to|cc|bcc|sent|reply-to|to be answered|"
    r"past texts by the same writer|(?:\S+ ){0,2}wrote before|betreff|von|an|gesendet|"
    r"objet|de|à|envoyé|asunto|para|enviado|oggetto|inviato|assunto|onderwerp|van|aan|"
    r"verzonden|emne|ämne|temat|от|тема|кому|件名|差出人|宛先|主题|发件人|收件人)[\s*_]*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_TAIL = 24
"""Tokens of a line that may open with a header; a longer line has begun otherwise."""


def opens_header(text: str) -> bool:
    """Whether a line of a text opens with the header of a mail or of our notes."""
    return _HEADER.search(text) is not None


class Unwritten:
    """The tokens of a vocabulary that are never drawn; one object for each model, as it
    looks at every token once."""

    def __init__(self, vocabulary: _Vocabulary) -> None:
        pieces = [vocabulary.piece(token) for token in range(vocabulary.size)]
        self._piece = pieces.__getitem__
        self._always = set(mark_ids(vocabulary))
        self._spelling: list[int] = []
        self._starting: list[int] = []
        self._continuing: list[int] = []
        self._colons: list[int] = []
        self._after_bytes: dict[bytes, NDArray[np.intp]] = {}
        for token, piece in enumerate(pieces):
            if piece[:1] and 0x80 <= piece[0] < 0xC0:
                self._continuing.append(token)
                continue
            self._starting.append(token)
            if _breaks(piece):
                self._always.add(token)
            if any(sign.encode() in piece for sign in _SPELLED):
                self._spelling.append(token)
            if b":" in piece or "：".encode() in piece:
                self._colons.append(token)

    def after(self, read: str = "", *, is_mail: bool = False) -> NeverDrawn:
        """The tokens that may not follow a text whose request and private texts are
        `read`: a backslash or a caret if these have none, and the header of a mail at
        the start of a line if it `is_mail`."""
        signs = [sign.encode() for sign in _SPELLED if sign not in read]
        spelled = [t for t in self._spelling if any(x in self._piece(t) for x in signs)]
        headers: dict[str, list[int]] = {}

        def never(token_ids: Sequence[int]) -> NDArray[np.intp]:
            tail = b"".join(map(self._piece, token_ids[-_TAIL:]))
            found = [self._after(_open_bytes(tail)), np.array(spelled, np.intp)]
            _, newline, line = tail.rpartition(b"\n")
            if is_mail and (newline or len(token_ids) < _TAIL):
                begun = line.decode("utf-8", "replace")
                if begun not in headers:
                    headers[begun] = self._headers(begun)
                found.append(np.array(headers[begun], np.intp))
            return np.concatenate(found)

        return never

    def _after(self, begun: bytes) -> NDArray[np.intp]:
        """The tokens that may not follow the first bytes of a character."""
        if begun not in self._after_bytes:
            never = self._continuing
            if begun:
                broken = (t for t in never if _breaks(begun + self._piece(t)))
                never = [*self._starting, *broken]
            ids = sorted({*never, *self._always})
            self._after_bytes[begun] = np.array(ids, np.intp)
        return self._after_bytes[begun]

    def _headers(self, begun: str) -> list[int]:
        """The tokens that make a header of the beginning of a line."""
        return [
            token
            for token in self._colons
            if opens_header(begun + self._piece(token).decode("utf-8", "replace"))
        ]


def _breaks(data: bytes) -> bool:
    """Whether bytes hold a control character, a picture of one, or no UTF-8; they may
    end within a character."""
    if data.isascii():
        return _CONTROLS.search(data.decode()) is not None
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        return True
    begun = decoder.getstate()[0]
    # These first bytes have no other end.
    return begun == b"\xe2\x90" or _CONTROLS.search(text) is not None


def _open_bytes(data: bytes) -> bytes:
    """The bytes at the end that begin a character."""
    for size in range(1, min(3, len(data)) + 1):
        lead = data[-size]
        if lead >= 0xC0:
            wanted = 2 + (lead >= 0xE0) + (lead >= 0xF0)
            return data[-size:] if wanted > size else b""
        if lead < 0x80:
            return b""
    return b""
