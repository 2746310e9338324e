"""What a text takes from the voice of its writer and from the drafts they finished."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from sqlite_utils import Database

from decoding_core.settings import MethodSettings
from edge_app.decoding.shaping import FAR, MOST, Frame, Length, Shape, Shaping, Turn
from edge_app.retrieval.naming import called
from edge_app.retrieval.voice import (
    MANY,
    OPENERS,
    Voice,
    body_of,
    learnt_from,
    marks_of,
    pairs_of,
    persons_of,
    voice_of,
)
from models.prompts import Request
from models.revising import ASKED, stems
from models.running.interface import Vocabulary
from personal_store.edits import LEAST, Pair, changes
from personal_store.habits import ADDRESSED, SENTENCE, WORD
from personal_store.text.greetings import NAME

_SHORT, _LONG = 0.6, 1.6  # times the usual length
_LAST, _FEWEST, _MOST_STEPS = 10, 5, 3  # finished drafts looked at; steps
_FIRST, _EACH = 3.0, 0.5  # nats of a turn that was made `LEAST` times, and once more
_INSISTS = 2.0  # nats more of a lead for each draft into which it was put
_NEWEST = 500  # texts from which the voice of one text is counted
_OFTEN = 0.25  # share of the texts that say a sentence which may be said besides
_ITS_RECORDS = 5  # texts in which such a sentence is looked for as it is written
_SAYS_LENGTH = re.compile(
    r"(?i)\b(?:short(?:er|ly)?|brief(?:er|ly)?|long(?:er)?|detailed|in full|one line|"
    r"(?:a few|two|three|\d+) (?:words|lines|sentences|paragraphs))\b"
)
"""What in a request says how long a text is to be: then nothing else does."""
_UNSAID = ASKED | stems("accept complain confirm decline no refuse report yes")
"""Words of requests that texts have no need to say."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is learnt for one text."""

    turns: tuple[Turn, ...] = ()
    length: Length | None = None
    frame: Frame | None = None
    nearer: int = 0  # steps from the checker to the person
    asked: tuple[str, ...] = ()  # stems of words behind which nothing more is said
    small: bool | None = None  # how sentences begin; None: as the model has it

    def settings(self, settings: MethodSettings) -> MethodSettings:
        """The settings, nearer to the person: each step halves the threshold and adds a
        quarter to the strength."""
        threshold = settings.threshold
        if not isinstance(threshold, str):
            threshold *= 0.5**self.nearer
        strength = settings.strength + 0.25 * self.nearer
        return replace(settings, threshold=threshold, strength=strength)

    @property
    def words(self) -> tuple[str, ...]:
        """Private words that it may bring into a text."""
        frame = self.frame or Frame()
        return *frame.words, *(turn.into for turn in self.turns)

    def shape(self, vocabulary: Vocabulary, read: str) -> Shape | None:
        """What shifts the specialist's logits of a text that is written from what it
        has `read`; None: nothing does."""
        how = self.turns, self.length, self.frame
        if not (any(how) or self.asked or self.small is not None):
            return None
        return Shaping(vocabulary, *how, read, self.asked, self.small, OPENERS)


def lesson_for(
    db: Database,
    request: Request,
    length: str = "usual",
    excluded: Collection[int] = (),
    name: str = "",
    names_fact: Callable[[str], bool] = bool,
    *,
    adds_nothing: bool = False,
) -> Lesson:
    """The lesson for a request; the length is usual unless the request says another.
    `name` greets; empty: as the recipient is called. What is often said is said besides
    unless it `names_fact`; by default each sentence does. If a model
    `adds_nothing`, a text ends behind what was asked for."""
    kind, to = request.task, request.recipient
    persons = persons_of(db, to)[0] if kind in ADDRESSED else ()
    pairs = pairs_of(db, kind, excluded)
    voice = voice_of(db, kind, to, excluded, _NEWEST)
    marks = marks_of(db, kind, persons)
    turns = [
        Turn(one.out, one.into, _FIRST + _EACH * (len(one.records) - LEAST), one.lead)
        for one in learnt_from(pairs, kind, persons)
        if marks.get(("never", one.out), ("", ""))[0] != "struck"
    ]
    turns += [
        Turn(of, nats=MOST)
        for (line, of), (state, _) in marks.items()
        if line in MANY and (line == "never") == (state != "struck")
    ]
    said = (o for o in voice.lines if o.name == "small-letters" and o.holds)
    # That the letters have great ones is nothing to change a model for.
    case = next((o for o in said if o.value == "yes" or o.state or o.edits), None)
    small = {"yes": True, "no": False}.get(case.value) if case else None
    frame, own = None, [pair for pair in pairs if pair.person in persons]
    if kind in ADDRESSED:
        greeting = voice.value("greeting").replace(NAME, name or called(to))
        opening, closing, sign_off, signed = (
            voice.value(one) for one in ("opening", "closing", "sign-off", "name")
        )
        parts = opening, closing, *(turn.out for turn in turns)
        never = [one.casefold() for one in parts if one]
        besides = _besides(db, voice, never, names_fact)
        usual = greeting, opening, closing, sign_off, signed
        put_in = [
            any(one not in pair.drafted and one in pair.text for one in usual)
            for pair in pairs[-3 * _LAST :]
        ]
        lead = min(FAR, MOST + _INSISTS * sum(put_in))
        frame = Frame(*usual, voice.paragraphs, besides, lead)
        frame = frame if any((*usual, besides)) or small is not None else None
    return Lesson(
        tuple(turns),
        _length(request, length, voice.length),
        frame,
        steps_nearer(own),
        _to_say(request) if adds_nothing and length != "long" else (),
        small,
    )


def _to_say(request: Request) -> tuple[str, ...]:
    """The stems of what a request asks for, in its order."""
    if _SAYS_LENGTH.search(request.text):
        return ()
    unsaid = _UNSAID | stems(request.recipient)
    found = chain.from_iterable(map(stems, request.text.split()))
    return tuple(dict.fromkeys(one for one in found if one not in unsaid))


def _besides(
    db: Database, voice: Voice, never: Sequence[str], names_fact: Callable[[str], bool]
) -> tuple[str, ...]:
    """Whole sentences that the person often says, as they wrote them last; none with a
    fact, which may be true no more, or with what is `never` said besides."""
    found = list[str]()
    for line in voice.lines:
        if line.name != "phrase" or not line.holds or line.shown < _OFTEN * line.of:
            continue
        bodies = (body_of(db, one) for one in line.records[:_ITS_RECORDS])
        written = (one.strip() for body in bodies for one in SENTENCE.findall(body))
        found += [
            one
            for one in written
            if " ".join(WORD.findall(one.casefold())) == line.value
            and one[-1] in ".!?…"
            and not any(out in one.casefold() or one.casefold() in out for out in never)
            and not names_fact(one)
        ][:1]
    return tuple(found)


def steps_nearer(pairs: Sequence[Pair]) -> int:
    """How many steps nearer to the person a text to them is written: one for each tenth
    of the words that they changed in their last drafts, within bounds."""
    last = [changed(pair) for pair in pairs[-_LAST:]]
    if len(last) < _FEWEST:
        return 0
    share = sum(one for one, _ in last) / max(1, sum(words for _, words in last))
    return min(_MOST_STEPS, int(10 * share))


def changed(pair: Pair) -> tuple[int, int]:
    """How many words were changed, left out or added, and how many there were."""
    before, after = pair.drafted.split(), pair.text.split()
    found = (max(i2 - i1, j2 - j1) for i1, i2, j1, j2 in changes(before, after))
    return sum(found), len(before)


def _length(
    request: Request, wanted: str, usual: tuple[float, float, float] | None
) -> Length | None:
    if usual is None:
        return None
    _, middle, high = usual
    if wanted == "short":
        return Length(0.0, _SHORT * middle)
    if wanted == "long":
        return Length(_LONG * middle, 2 * _LONG * middle, _LONG * middle)
    if request.tone == "brief" or _SAYS_LENGTH.search(request.text):
        return None
    return Length(0.0, max(high, middle + 5), middle)
