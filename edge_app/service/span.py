"""Where a stretch of a text ends that is written in the place of another.

A model goes on until the text is whole; what stands behind the stretch is put back. So
it ends where as many sentences are written as stood there. Of a part of a sentence it
ends where the words come that stand behind it, or its sentence does.
"""

from __future__ import annotations

import re

from edge_app.decoding.events import Drafted, Emit, Event, Settled, Token

_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|(?<=\S)(?=\n)")
_WHOLE = re.compile(r"[.!?…][\"'”’)\]]*$")
_MORE_WORDS = 4
"""So many words more than stood there are written at most of a part of a sentence."""


class SpanEnd:
    """Hears what is written, and tells it on up to the end of the stretch."""

    def __init__(self, emit: Emit, instead_of: str, behind: str) -> None:
        self._emit = emit
        self._instead_of = instead_of.strip()
        self._behind = behind
        self._text = ""
        self.reached = False
        """Whether the stretch has ended."""

    def hear(self, event: Event) -> None:
        """Tell an event on; what is settled behind the end is left out."""
        match event:
            case Settled(tokens) if self._instead_of:
                self._emit(Settled(self._kept(tokens)))
            case Settled() | Drafted() if self.reached:
                pass
            case _:
                self._emit(event)

    def _kept(self, tokens: tuple[Token, ...]) -> tuple[Token, ...]:
        """Those of the tokens that stand before the end; a space that belongs to the
        last is kept."""
        if self.reached:
            return ()
        at = len(self._text)
        self._text += "".join(token.text for token in tokens)
        end = span_end(self._text, self._instead_of, self._behind)
        if end is None:
            return tokens
        self.reached, kept = True, []
        for token in tokens:
            if at >= end:
                break
            kept.append(token)
            at += len(token.text)
        return tuple(kept)


def span_end(text: str, instead_of: str, behind: str) -> int | None:
    """How many letters of `text` stand in the place of `instead_of`; None: it goes on.
    A sentence has ended when something stands behind it."""
    stood = instead_of.strip()
    if _WHOLE.search(stood) or not behind.strip() or behind.lstrip(" ")[:1] == "\n":
        wanted = len(_ends(stood + "\n"))
        found = _ends(text)
        return found[wanted - 1] if len(found) >= wanted else None
    stop = re.search(r"(?<=\S)\s*(?:[.!?…]+(?=\s)|\n)", text)
    ends = [stop.start()] if stop else []
    next_word = re.match(r"\W*(\w+)", behind)
    if next_word:
        word = re.escape(next_word[1])
        again = re.search(rf"(?<=[\w,;:])\s+{word}(?=\W)", text)
        ends += [again.start()] if again else []
    words = [found.end() for found in re.finditer(r"\w+(?=\W)", text)]
    most = len(re.findall(r"\w+", stood)) + _MORE_WORDS
    ends += words[most - 1 : most]
    return min(ends, default=None)


def _ends(text: str) -> list[int]:
    """Where the sentences of a text end, lines without a full stop among them."""
    return sorted({found.end() for found in _END.finditer(text)})
