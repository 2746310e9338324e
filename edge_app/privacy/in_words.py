"""The ledger in words: what each message said, with the vocabulary that its text names,
what became of its drafts, and what it cost of the budget."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from decoding_core.messages import DraftBlock, OpenSession
from edge_app.privacy.decoded import SentMessage, decoded
from edge_app.privacy.ledger import Body, Entry, entry_of, read_lines
from models.prompts import with_article

Detokenize = Callable[[Sequence[int]], str]


@dataclass(slots=True)
class Sending:
    """One sending, and all that the ledger tells of it."""

    message: SentMessage
    vocabulary_id: str = ""
    """Of the text that it belongs to."""
    drafted: int | None = None
    """How many tokens its verdict was about; None: none is known."""
    kept: int | None = None
    """How many of them stayed."""
    void: bool = False
    """Whether it stood behind a refused token, and was not verified."""
    stand_ins: list[tuple[str, str]] = field(default_factory=list)
    """Kinds of words that were held back before it, and what was sent for them."""
    nats: float | None = None
    """What its tokens told of the history, where that was reckoned."""

    @property
    def entry(self) -> Entry:
        """The line of the ledger."""
        return self.message.entry


def sendings(path: Path, store: Path | None = None) -> list[Sending]:
    """All sendings of a ledger, oldest first; raises as `read_ledger` does."""
    tellings: list[tuple[int, Body]] = []
    entries: list[Entry] = []
    for number, body in read_lines(path, store):
        entry = entry_of(body, number)
        if entry is not None:
            entries.append(entry)
        else:
            tellings.append((len(entries), body))
    found = [Sending(message) for message in decoded(entries)]
    vocabulary = ""
    for sending in found:
        if isinstance(sending.message.says, OpenSession):
            vocabulary = sending.message.says.vocabulary_id
        sending.vocabulary_id = vocabulary
    _tell(found, tellings)
    return found


def _tell(found: Sequence[Sending], tellings: Iterable[tuple[int, Body]]) -> None:
    """Note what other lines tell of the sendings before them. Verdicts come in the
    order of the blocks; a refusal voids those that are out."""
    waiting: deque[Sending] = deque()
    done = 0
    for before, body in tellings:
        for sending in found[done:before]:
            if sending.entry.what == "open":
                waiting.clear()
            elif sending.entry.what == "block":
                waiting.append(sending)
        done = before
        match body:
            case {"event": "Verified", "drafted": int(drafted), "accepted": int(kept)}:
                if waiting:
                    verified = waiting.popleft()
                    verified.drafted, verified.kept = drafted, kept
                if kept < drafted:
                    for sending in waiting:
                        sending.void = True
                    waiting.clear()
            case {"event": "HeldBack", "kind": str(kind), "stand_in": str(words)}:
                if before < len(found):
                    found[before].stand_ins.append((kind, words))
            case {"event": "Reckoned", "nats": int() | float() as nats}:
                if before:
                    last = found[before - 1]
                    last.nats = (last.nats or 0.0) + float(nats)
            case _:
                pass


def in_words(sending: Sending, detokenize: Detokenize) -> dict[str, str]:
    """What a sending said, part by part, in the order in which it is read; empty where
    it holds no message that can be read."""
    if sending.entry.redacted:
        return {"redacted": "what it said was taken out of this ledger"}
    match sending.message.says:
        case OpenSession() as said:
            found = {"request": detokenize(said.prompt_ids)}
            if said.text_ids:
                found["text so far"] = detokenize(said.text_ids)
        case DraftBlock() as block:
            found = {}
            if block.settled:
                found["settled"] = detokenize(block.settled)
            if block.drafted:
                found["drafted"] = detokenize(block.drafted)
        case None:
            return {}
    for kind, words in sending.stand_ins:
        found[f"stands for {with_article(kind)}"] = words
    if (verdict := _verdict(sending)) is not None:
        found["verdict"] = verdict
    if sending.message.padding and isinstance(sending.message.says, OpenSession):
        found["padding"] = f"{sending.message.padding:,} bytes that say nothing"
    return found


def plain(sending: Sending, detokenize: Detokenize | None) -> dict[str, Any]:
    """A sending as plain values, for JSON."""
    said = in_words(sending, detokenize) if detokenize else {}
    return {
        "redacted": sending.entry.redacted,
        "padding": sending.message.padding,
        "words": said,
        "drafted": sending.drafted,
        "kept": sending.kept,
        "void": sending.void,
        "nats": sending.nats,
    }


def _verdict(sending: Sending) -> str | None:
    if sending.void:
        return "none: it stood behind a redrawn word"
    if sending.drafted is None or sending.kept is None:
        return None
    if not sending.drafted:
        return "a word was drawn"
    if sending.kept == sending.drafted:
        return "all drafted tokens kept"
    return f"{sending.kept} of {sending.drafted} drafted tokens kept"


def last_text(found: Sequence[Sending]) -> Iterator[Sending]:
    """The sendings from the last opening on; all where there is none."""
    opened = [at for at, one in enumerate(found) if one.entry.what == "open"]
    yield from found[opened[-1] :] if opened else found
