"""What the bytes in the ledger say: openings and blocks, as a server reads them.

The ledger keeps what was handed to the socket. Here it is read back by the formats of
the wire alone, and by nothing that the device knew besides, so that whoever holds the
same bytes gets the same words.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from decoding_core.errors import DecodingError
from decoding_core.messages import BYTES_VERSION, DraftBlock, FrameFormat, OpenSession
from decoding_core.verifier import bytes_role, common_prefix, role_of
from decoding_core.wire_json import open_from_json
from edge_app.decoding.events import Emit, Event, Quoted, Sent
from edge_app.privacy.guard.words import words_of
from edge_app.privacy.ledger import Entry, entry_of, read_lines
from models.prompts import Request, with_article

if TYPE_CHECKING:  # the index loads the store
    from edge_app.privacy.guard.history import PrivateIndex


Detokenize = Callable[[Sequence[int]], str]
BYTES = "UTF-8"
"""Stands for the vocabulary of a session in bytes: every id is one."""


def of_bytes(ids: Sequence[int]) -> str:
    """The text of bytes; broken characters become U+FFFD, as those of tokens do."""
    return bytes(ids).decode("utf-8", "replace")


@dataclass(slots=True)
class Sending:
    """One sending, what it says, and what other lines of the ledger say of it."""

    entry: Entry
    says: OpenSession | DraftBlock | None = None  # None: unreadable
    padding: int = 0  # bytes at the end of the message that say nothing
    vocabulary_id: str = ""  # of the text that it belongs to, or `BYTES`
    drafted: int | None = None  # tokens its verdict was about; None: unknown
    kept: int | None = None  # how many of them stayed
    void: bool = False  # whether it stood behind a refused token, and was not verified
    stand_ins: list[tuple[str, str]] = field(default_factory=list)
    """Kinds of words that were held back before it, and what was sent for them."""
    nats: float | None = None  # what its tokens told of the history


def decoded(entries: Iterable[Entry]) -> Iterator[Sending]:
    """Each sending with its message, read by the terms of the opening before it; None
    if it cannot be read."""
    frames: FrameFormat | None = None
    vocabulary = ""
    for entry in entries:
        said: OpenSession | DraftBlock | None = None
        padding, payload = 0, entry.payload
        try:
            if entry.what == "open":
                frames = None
                said = open_from_json(json.loads(payload))
                role, vocabulary = role_of(said.terms), said.vocabulary_id
                if said.version == BYTES_VERSION:
                    role, vocabulary = bytes_role(role), BYTES
                frames = role.frames
                padding = len(payload) - len(payload.rstrip(b" "))
            elif entry.what == "block" and frames is not None:
                said = frames.decode_block(payload)
                padding = frames.padding(said)
        except (DecodingError, ValueError, KeyError, TypeError, RecursionError):
            said = None
        yield Sending(entry, said, padding, vocabulary)


def by_text(messages: Iterable[Sending]) -> Iterator[list[Sending]]:
    """The messages of one text after the other. An opening with a text belongs to the
    text before it, which went on after a loss."""
    found: list[Sending] = []
    for message in messages:
        opens = message.entry.what == "open"
        goes_on = isinstance(message.says, OpenSession) and message.says.text_ids
        if opens and found and not goes_on:
            yield found
            found = []
        if opens or found:
            found.append(message)
    if found:
        yield found


def sendings(path: Path, store: Path | None = None) -> list[Sending]:
    """All sendings of a ledger, oldest first, with verdicts in the order of blocks: a
    refusal voids those that are out. Raises as `read_ledger`."""
    lines = [(entry_of(body, at), body) for at, body in read_lines(path, store)]
    found = list(decoded(entry for entry, _ in lines if entry is not None))
    waiting: deque[Sending] = deque()
    done = 0
    for entry, body in lines:
        match body:
            case _ if entry is not None:
                if entry.what == "open":
                    waiting.clear()
                elif entry.what == "block":
                    waiting.append(found[done])
                done += 1
            case {"event": "Verified", "drafted": int(drafted), "accepted": int(kept)}:
                if waiting:
                    verified = waiting.popleft()
                    verified.drafted, verified.kept = drafted, kept
                if kept < drafted:
                    for sending in waiting:
                        sending.void = True
                    waiting.clear()
            case {"event": "HeldBack", "kind": str(kind), "stand_in": str(words)}:
                if done < len(found):
                    found[done].stand_ins.append((kind, words))
            case {"event": "PrivacySpent", "nats": int() | float() as nats} if done:
                found[done - 1].nats = (found[done - 1].nats or 0.0) + float(nats)
    return found


def in_words(sending: Sending, detokenize: Detokenize | None) -> dict[str, str]:
    """What a sending said, part by part, in order; empty if it cannot be read."""
    if sending.entry.redacted:
        return {"redacted": "what it said was taken out of this ledger"}
    if detokenize is None:
        return {}
    match sending.says:
        case OpenSession() as said:
            found = {"request": request_of(said, detokenize)}
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
    if sending.padding and isinstance(sending.says, OpenSession):
        found["padding"] = f"{sending.padding:,} bytes that say nothing"
    return found


def request_of(said: OpenSession, detokenize: Detokenize) -> str:
    """The public prompt of an opening: in tokens, or message by message."""
    if said.version == BYTES_VERSION:
        return "\n\n".join(f"{role}: {text}" for role, text in said.messages)
    return detokenize(said.prompt_ids)


def plain(sending: Sending, detokenize: Detokenize | None) -> dict[str, Any]:
    """A sending as plain values, for JSON."""
    said = in_words(sending, detokenize)
    return {
        "redacted": sending.entry.redacted,
        "in_bytes": sending.vocabulary_id == BYTES,
        "padding": sending.padding,
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
    """The sendings from the last opening on; all without one."""
    opened = [at for at, one in enumerate(found) if one.entry.what == "open"]
    yield from found[opened[-1] :] if opened else found


RUN = 4  # words in a row that make a quotation; fewer are everybody's
PHRASE_WORDS = 5  # words of the shortest phrase shared with letters
_CONTEXT = 60  # tokens before a message that are read with it
_TOKEN_BYTES = 4  # of a usual one
_BROKEN, _MOST_PARTS = "\N{REPLACEMENT CHARACTER}", 4  # bytes of a character
_WORD = re.compile(r"\w+")
_GREETING = re.compile(r"\A\s*[\w'’.-]+(?:[^\S\n]+[\w'’.-]+){0,4}[^\S\n]*[,!:–—…\n]")
_SIGN_OFF = re.compile(
    r"(?:(?<=[.!?…)])\s|\n)\s*((?:[^\s.!?…]+!?\s+){0,8}[^\s.!?…]+[.\s]*)\Z"
)
_LONGEST_NAME = 3  # words that close a letter without a comma or a line before the name

Run = tuple[str, ...]


class ServerText:
    """The text of a session as the server has it, message by message."""

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self._version = 0  # of the protocol, and so what these are

    def read(self, says: OpenSession | DraftBlock) -> int:
        """Take a message in; the place of the first token that is new or another."""
        match says:
            case OpenSession():
                alike = says.version == self._version
                same = common_prefix(self.token_ids, says.text_ids) if alike else 0
                self.token_ids, self._version = list(says.text_ids), says.version
                return same
            case DraftBlock():
                start = min(says.position, len(self.token_ids))
                self.token_ids[start:] = [*says.settled, *says.drafted]
                return start


class Quotes:
    """What one text's messages quote of the letters read for it, beyond the request
    and beside the lines with which letters open and close."""

    def __init__(
        self, index: PrivateIndex, request: Request, letters: Iterable[str]
    ) -> None:
        """`index` is that of the guard."""
        # It loads the store's rules, which reading a ledger does without.
        from edge_app.privacy.guard.gate import BEGINS, Scanner

        self._scanner, self._cut = Scanner(index), BEGINS
        asked = words_of(f"{request.recipient}\n{request.text}")
        self._asked = {word.folded for word in asked}
        bodies, ends = set[Run](), set[Run]()
        for letter in letters:
            body = _rows(body_of(letter))
            bodies |= body
            ends |= _rows(letter) - body
        # What closes one letter is no phrase if another goes on below it.
        self._rows = bodies - ends - _rows(request.text)
        self._phrases: list[list[str]] = []
        self._telling: list[list[str]] = []
        """Runs of words that tell something, as the guard finds them."""
        self._names: dict[str, str] = {}  # as they were sent, by folded words

    def read(self, text: str) -> None:
        """Look at what was sent; a text that overlaps an earlier one counts once."""
        for span in self._scanner.scan(text, final=True).spans:
            if span.reason == self._cut:  # the next message may go on with the word
                continue
            shown = text[span.start : span.end].strip()
            words = [word.folded for word in words_of(shown)]
            if span.kind == "phrase":
                self._telling = _merged([*self._telling, words], RUN)
            else:
                self._names.setdefault(" ".join(words), shown)
        words = [word.folded for word in words_of(text)]
        end = 0
        for at in range(len(words) - PHRASE_WORDS + 1):
            if tuple(words[at : at + PHRASE_WORDS]) not in self._rows:
                continue
            if at < end:
                self._phrases[-1].append(words[at + PHRASE_WORDS - 1])
            else:
                self._phrases.append(words[at : at + PHRASE_WORDS])
            end = at + PHRASE_WORDS
        self._phrases = _merged(self._phrases, PHRASE_WORDS)

    def found(self) -> Quoted:
        """What was quoted so far."""
        telling = [" ".join(words) for words in self._telling]
        facts = telling + [
            shown
            for folded, shown in self._names.items()
            if not any(_within(folded, one) for one in (*telling, *self._names))
        ]
        told = [*telling, *self._names]
        stock = []
        for words in self._phrases:
            new = [at for at, word in enumerate(words) if word not in self._asked]
            own = words[new[0] : new[-1] + 1] if new else []
            phrase = " ".join(words)
            tells = any(one == phrase or _within(one, phrase) for one in told)
            part = any(_within(phrase, one) for one in telling)
            if len(own) >= PHRASE_WORDS and not (tells or part):
                stock.append(" ".join(own))
        return Quoted(tuple(stock), tuple(facts))


class QuoteReader:
    """Emits a `Quoted` behind each message that quotes more than those before it."""

    def __init__(self) -> None:
        self._text = ServerText()
        self._queue: SimpleQueue[Entry] = SimpleQueue()
        # Another version may read on inside the session, and send no opening.
        self._messages = decoded(iter(self._queue.get, None))

    def beside(self, quotes: Quotes, detokenize: Detokenize, emit: Emit) -> Emit:
        """`emit` for one text, with what its messages quote."""
        last: list[Quoted] = []

        def hear(event: Event) -> None:
            emit(event)
            if isinstance(event, Sent) and event.what in ("open", "block"):
                for text in self._read(event, detokenize):
                    quotes.read(text)
                found = quotes.found()
                if [found] != last:
                    last[:] = [found]
                    emit(found)

        return hear

    def _read(self, sent: Sent, detokenize: Detokenize) -> Iterator[str]:
        """What a message says, with the words before it."""
        head = (sent.time, sent.url, sent.what, sent.size, sent.token_ids)
        self._queue.put(Entry(*head, sent.payload))
        sending = next(self._messages)
        says, context = sending.says, _CONTEXT
        if says is None:
            yield detokenize(sent.token_ids)
            return
        if sending.vocabulary_id == BYTES:
            detokenize, context = of_bytes, _CONTEXT * _TOKEN_BYTES
        if isinstance(says, OpenSession):
            yield request_of(says, detokenize)
        first = max(0, self._text.read(says) - context)
        text = detokenize(self._text.token_ids[first:])
        yield text.partition(" ")[2] if first else text  # from a whole word on


def body_of(letter: str) -> str:
    """A letter without its opening, such as `Hello again Ana,`, and its sign-off."""
    letter = _GREETING.sub("", letter)
    closing = _SIGN_OFF.search(letter)
    if closing is not None and (
        re.search(r"[,\n]", closing[1].strip())
        or len(closing[1].split()) <= _LONGEST_NAME
    ):
        letter = letter[: closing.start()]
    return letter


def _rows(text: str) -> set[Run]:
    return _rows_of([word.folded for word in words_of(text)], PHRASE_WORDS)


def _rows_of(words: Sequence[str], size: int) -> set[Run]:
    return set(zip(*(words[at:] for at in range(size)), strict=False))


def _within(part: str, whole: str) -> bool:
    """Whether these words are some of the others, in their order."""
    return part != whole and f" {part} " in f" {whole} "


def _merged(phrases: Iterable[list[str]], least: int) -> list[list[str]]:
    """Phrases without overlaps: two that share `least` words become one."""
    made: list[list[str]] = []
    for phrase in phrases:
        one = phrase
        for other in made[:]:
            if _rows_of(other, least) & _rows_of(one, least):
                made.remove(other)
                one = _joined(other, one, least)
        made.append(one)
    return made


def _joined(one: list[str], other: list[str], least: int) -> list[str]:
    for first, second in ((one, other), (other, one)):
        for size in range(min(len(first), len(second)), least - 1, -1):
            if first[-size:] == second[:size]:
                return [*first, *second[size:]]
    return max(one, other, key=len)


def runs_of(texts: Iterable[str]) -> set[Run]:
    """All runs of words of these texts; of a shorter text, the whole of it."""
    found = set()
    for text in texts:
        words = _WORD.findall(text.casefold())
        size = min(RUN, len(words))
        if size > 1:
            found |= {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}
    return found


def quoting(
    sendings: Sequence[Sending], runs: set[Run], detokenize: Detokenize
) -> set[int]:
    """The lines of the ledger whose messages hold a part of such a run, which their own
    request does not say."""
    found: set[int] = set()
    for messages in by_text(sendings):
        request = messages[0].says
        known: set[Run] = set()
        if isinstance(request, OpenSession):
            known = runs_of([request_of(request, detokenize)])
        text = ServerText()
        brought: list[set[int]] = []  # the lines that each token of the text came with
        for message in messages:
            if message.says is None:
                continue
            line = message.entry.line
            start = text.read(message.says)
            again = isinstance(message.says, OpenSession)  # it holds the whole text
            brought = [one | {line} if again else one for one in brought[:start]]
            brought += [{line} for _ in text.token_ids[start:]]
            for begin, end in _quoted_places(text.token_ids, runs - known, detokenize):
                found.update(*brought[begin:end])
    return found


def _quoted_places(
    text: Sequence[int], runs: set[Run], detokenize: Detokenize
) -> Iterator[tuple[int, int]]:
    """Begin and end of the tokens of each run that a text holds."""
    spans, joined = list[tuple[int, int]](), ""
    part: list[int] = []  # a character may take several tokens, and always some bytes
    for token in text:
        part.append(token)
        shown = detokenize(part)
        if _BROKEN not in shown or len(part) == _MOST_PARTS:
            spans += [(len(joined), len(joined) + len(shown))] * len(part)
            joined, part = joined + shown, []
    spans += [(len(joined), len(joined))] * len(part)
    words = [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(joined)]
    for size in {len(run) for run in runs}:
        for at in range(len(words) - size + 1):
            some = words[at : at + size]
            if tuple(word for word, _, _ in some) in runs:
                begin = sum(end <= some[0][1] for _, end in spans)
                yield begin, sum(start < some[-1][2] for start, _ in spans)
