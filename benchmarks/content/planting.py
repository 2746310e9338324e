"""Facts that nobody asked for, put into sound drafts, and asked ones taken out.

Patterns of its own find the places, not the rules that are measured.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from models.prompts import Request


@dataclass(frozen=True, slots=True)
class Sound:
    """A draft with nothing invented and nothing left out, and what it was made of."""

    name: str
    request: Request
    notes: str
    letters: Sequence[str]
    text: str

    @property
    def read(self) -> str:
        """Everything that its writer could read."""
        told = self.request.recipient, self.request.text, self.notes
        return "\n".join((*told, *self.letters))


@dataclass(frozen=True, slots=True)
class Planted:
    """A draft with one fault."""

    sound: Sound
    how: str  # swapped, inserted, removed, turned
    kind: str
    text: str
    span: tuple[int, int] | None  # of what is strange in it; None: something is missing
    lacks: str = ""


_TABLE = tomllib.loads(Path(__file__).with_name("planted.toml").read_text("utf-8"))
_DAYS, _MONTHS, _SMALL, _NAMES, _PLACES = (
    str(_TABLE[name]).split() for name in ("days", "months", "small", "names", "places")
)
_NO_NAME = "|".join(("The ", "March", "May", *_DAYS, *_MONTHS))
_PATTERNS = {
    "day": rf"\b(?:{'|'.join(_DAYS)})\b",
    "date": rf"\b\d{{1,2}}(?=(?:st|nd|rd|th)\b| (?:March|May|{'|'.join(_MONTHS)})\b)",
    "time": r"(?<![£$€])\b\d{1,2}[.:]\d\d\b(?! ?(?:pounds|euros|quid|a month))"
    r"|(?<![.:])\b\d{1,2}(?= ?[ap]m\b)"
    rf"|(?<=\bat )(?:\d{{1,2}}|{'|'.join(_SMALL)})\b(?= ?(?:[.,;!?\n]|$|on|and|next))",
    "amount": r"(?<=[£$€])\d+(?:\.\d\d)?\b|\b\d+(?= (?:pounds|euros|dollars|quid)\b)",
    "number": rf"\b(?<!at )(?:{'|'.join(_SMALL)})\b(?! o'clock)"
    r"|(?<![.:£$€\d])\b\d{2,5}\b(?![.:]\d)",
    "name": rf"(?<=[\w,] )(?!{_NO_NAME})[A-Z][a-z]{{2,}}\b",
}
_INSERTED: dict[str, list[str]] = _TABLE["inserted"]
_TURNS: list[list[str]] = _TABLE["turns"]
_SAID_NOT = (
    r"(?i)\b(not|than|wrote|instead of|tell|ask|thank|remind|invite|cheer|let) "
    r"(?:the |at |on |for |about )?\w+"
)
"""What is to be left out, and who is addressed."""
_GIVES: dict[str, str] = _TABLE["gives"]
KINDS = (*_INSERTED, "answer")


def plants(sound: Sound, rng: Random) -> Iterator[Planted]:
    """One fault of each sort that the draft has a place for."""
    for kind, pattern in _PATTERNS.items():
        yield from _changed(sound, kind, re.compile(pattern), rng)
    told = f"{sound.request.text}\n{sound.notes}"
    for kind, sentences in _INSERTED.items():
        if kind in _GIVES and re.search(_GIVES[kind], told):
            continue
        planted = _inserted(sound, kind, rng.choice(sentences), rng)
        if planted is not None:
            yield planted
    yield from _turned(sound, rng)


def _changed(
    sound: Sound, kind: str, pattern: re.Pattern[str], rng: Random
) -> Iterator[Planted]:
    """A value that the request has too, swapped for another; and the same value taken
    out, with the sentences that hold it."""
    request = re.sub(_SAID_NOT, r"\1", sound.request.text)
    asked = {match[0] for match in pattern.finditer(request)}
    asked -= set(sound.request.recipient.split())
    places = [one for one in pattern.finditer(sound.text) if one[0] in asked]
    if not places:
        return
    place = rng.choice(places)
    begin, end = place.span()
    other = _other(_choices(kind, place[0]), sound.read, rng)
    if other is not None:
        text = sound.text[:begin] + other + sound.text[end:]
        yield Planted(sound, "swapped", kind, text, (begin, begin + len(other)))
    sentences = re.split(r"(?<=[.!?;])\s+(?=[A-Z])|(?<=\n)", sound.text)
    text = " ".join(one for one in sentences if not _holds(one, place[0]))
    if place[0] in sound.text and text.strip():
        yield Planted(sound, "removed", kind, text, None, place[0])


def _holds(text: str, value: str) -> bool:
    """Whether a text has a value, as a word or in digits."""
    forms = [value]
    if value in _SMALL:
        forms += [str(_SMALL.index(value) + 2)]
    elif value.isdecimal() and int(value) - 2 in range(len(_SMALL)):
        forms += [_SMALL[int(value) - 2]]
    elif value in _DAYS:
        forms = [value[:3]]
    return any(re.search(rf"(?i)\b{re.escape(form)}", text) for form in forms)


def _choices(kind: str, value: str) -> Sequence[str]:
    """Values of the same form."""
    if kind == "name":
        return _NAMES
    if value in _DAYS or value in _SMALL:
        return _DAYS if value in _DAYS else _SMALL
    if match := re.fullmatch(r"\d+([.:]\d\d)", value):
        return [f"{hour}{match[1]}" for hour in range(1, 13)]
    if kind in ("date", "time"):
        return [str(one) for one in range(*((4, 21) if kind == "date" else (1, 13)))]
    return [str(10 ** (len(value) - 1) + 7 * one) for one in range(1, 13)]


def _other(choices: Sequence[str], read: str, rng: Random) -> str | None:
    """A choice that nothing has which was read; None: there is none."""
    left = [one for one in choices if not _holds(read, one)]
    return rng.choice(left) if left else None


def _inserted(sound: Sound, kind: str, sentence: str, rng: Random) -> Planted | None:
    """A sentence with a value of its own, behind one of the draft's."""
    days = [f"{one}th" for one in range(4, 21)]
    hours, minutes = rng.sample(range(1, 13), 12), ("05", "25", "35", "50")
    chosen = {
        "date": _other(days, sound.read, rng),
        "day": _other(_DAYS, sound.read, rng),
        "month": _other(_MONTHS, sound.read, rng),
        "day_of": str(rng.randint(4, 20)),
        "clock": f"{hours[0]}.{rng.choice(minutes)}",
        "hour": _other(_SMALL, sound.read, rng),
        "small": _other(_SMALL, sound.read, rng),
        "big": _other([str(one) for one in range(130, 990, 7)], sound.read, rng),
        "name": _other(_NAMES, sound.read, rng),
        "place": _other(_PLACES, sound.read, rng),
        "lower": rng.choice(_NAMES).lower(),
    }
    if any(f"{{{name}}}" in sentence and not one for name, one in chosen.items()):
        return None
    ends = [m.end() for m in re.finditer(r"[.!?](?= [A-Z]|\n)", sound.text)]
    at = rng.choice(ends) if ends else len(sound.text)
    said = sentence.format(**chosen)
    text = f"{sound.text[:at]} {said}{sound.text[at:]}"
    return Planted(sound, "inserted", kind, text, (at + 1, at + 1 + len(said)))


def _turned(sound: Sound, rng: Random) -> Iterator[Planted]:
    """A yes made a no, or a denial taken back, in a sentence of what was asked."""
    asked = set(re.findall(r"[a-z]{4,}", sound.request.text.lower()))
    turns = []
    for match in re.finditer(r"[^.!?\n]+[.!?]?", sound.text):
        sentence = match[0]
        if not asked & set(re.findall(r"[a-z]{4,}", sentence.lower())):
            continue
        for pattern, instead in _TURNS:
            turned = re.sub(pattern, instead, sentence, count=1)
            if turned != sentence:
                turns.append((match.span(), turned))
                break
    if turns:
        (begin, end), turned = rng.choice(turns)
        text = sound.text[:begin] + turned + sound.text[end:]
        yield Planted(sound, "turned", "answer", text, (begin, begin + len(turned)))
