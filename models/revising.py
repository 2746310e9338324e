"""A turn of words: what an instruction under a draft changes, and what stays.

Request and instruction become one new request by rules, since a model that was trained
on single requests takes a second turn for something to be written about. Of the draft
only the sentences that the instruction concerns go, or are written anew from the new
request; all others stay letter by letter. What needs no model is done without one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from models.prompts import Request

_LINES = Path(__file__).with_name("revising.toml").read_text("utf-8")
_TABLE = tomllib.loads(_LINES.replace("\\\n", ""))  # a long line goes on behind a \
_PATTERNS = {
    name: [re.compile(one, re.IGNORECASE) for one in some]
    for name, some in _TABLE["patterns"].items()
}
_TONES = {word: tone for tone, said in _TABLE["tones"].items() for word in said.split()}
_ASKS, _COMMON = _TABLE["asks"].split(), frozenset(_TABLE["common"].split())
_NEXT = re.compile(
    r"\s*(?:;|\.(?=\s)|,(?:\s*(?:and|but|then)\b)?|\b(?:and|but|then)\b)\s*"
    rf"(?=(?:{'|'.join([*_ASKS, *_TABLE['changes'].split()])})\b(?! and\b))",
    re.IGNORECASE,
)
_ADD = re.compile(r"(?i)(?:(?:add|include|say)\s+(?P<that>that\b)|add|include)\s+")
_ANSWER = re.compile(r"(?i)(?:say|answer)\s+(?P<answer>yes|no)\s+to\s+(?P<what>.+)")
_POINTS_BACK = re.compile(r"(?i)\b(?:he|she|it|they|them|that|this|these|those)\b")
_BETWEEN = re.compile(r"(\s*(?:,\s*(?:and|but|or)\b|[,;]|\s(?:and|but|or)\b)\s*)")
_POLITE = re.compile(r"(?i)(?:[\s,.!?]|\bplease\b|\bthank(?:s| you)\b)+$")
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|(?<=\S)(?=\n)")
_LONGEST_LINE = 40  # letters of a greeting, and of each line of a sign-off


@dataclass(frozen=True, slots=True)
class Revision:
    """What a draft becomes: what stays, and what a model writes between."""

    brief: Request  # request and instruction as one
    before: str
    stood: str = ""
    """What is written anew, as many sentences as this has; empty: nothing is."""
    after: str = ""
    wanted: Collection[str] = ()  # stems of words that what is written must say
    unwanted: Collection[str] = ()  # and of those that it must not

    def joined(self, written: str) -> str:
        """The whole text with what was written in its place."""
        if self.after[:1].isspace() or not self.after:
            written = written.rstrip()
        elif written[-1:].isalnum() and self.after[0].isalnum():
            written += " "
        return self.before + written + self.after

    def fit(self, written: str) -> float:
        """How well a stretch does what was asked for; at most 1."""
        said = stems(written)
        if not written.strip():
            return -1.0
        share = len(said.intersection(self.wanted)) / max(1, len(self.wanted))
        again = any(piece.strip() in self.before for piece in _pieces(written))
        return share - (not said.isdisjoint(self.unwanted)) - again / 2


@dataclass(slots=True)
class _Plan:
    """The draft while the parts of an instruction are applied one after the other."""

    brief: Request
    head: str  # the greeting
    body: str
    tail: str  # the sign-off
    noted: set[str]  # stems of private notes, which stay where they are
    added: list[str] = field(default_factory=list)  # sentences to be put in
    anew: str = ""  # what stands for the whole body, if that is written anew
    wanted: set[str] = field(default_factory=set)
    unwanted: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The whole draft."""
        return self.head + self.body + self.tail

    def ask(self, words: str) -> None:
        """Ask for one more thing."""
        whole = f"{_sentence(self.brief.text)} {_sentence(words)}".strip()
        self.brief = replace(self.brief, text=whole)

    def put_in(self, words: str) -> None:
        """Have one more sentence written, which says this."""
        self.added.append(_sentence(words))
        self.wanted |= stems(words) - ASKED


def revised(brief: Request, text: str, instruction: str, notes: str = "") -> Revision:
    """What `instruction` makes of a request and the draft that was written for it and
    for private notes; raises InvalidSettingsError if it concerns neither."""
    if not instruction.strip():
        raise InvalidSettingsError("the instruction is empty: say what is to change")
    text = text.rstrip()
    start, end = body_of(text)
    plan = _Plan(brief, text[:start], text[start:end], text[end:], stems(notes))
    for part in _NEXT.split(instruction.strip()):
        if words := _POLITE.sub("", part.strip()):
            _apply(plan, _PATTERNS["leads"][0].sub("", words, count=1).strip() or words)
    if (plan.brief, plan.text, plan.added, plan.anew) == (brief, text, [], ""):
        raise InvalidSettingsError(
            f"neither the draft nor its request has what '{one_line(instruction)}' "
            "is to change: name words that stand there"
        )
    wanted = plan.wanted or (stems(plan.brief.text) - ASKED if plan.anew else set())
    before = plan.head + ("" if plan.anew else plan.body)
    stood = " ".join(filter(None, [plan.anew, *plan.added]))
    if not (plan.body or stood):
        raise InvalidSettingsError(f"'{one_line(instruction)}' leaves nothing of it")
    return Revision(plan.brief, before, stood, plan.tail, wanted, plan.unwanted)


def _apply(plan: _Plan, words: str) -> None:
    """Apply a part of an instruction; what is no other kind is to be mentioned."""
    if _first("shorter", words):
        _shorten(plan)
    elif _first("longer", words):
        plan.added += ["One more.", "And one more."]
    elif found := _first("drop", words):
        if place := _first("place", found["what"]):
            kept = slice(-1) if place["place"].casefold() == "last" else slice(1, None)
            plan.body = "".join(_pieces(plan.body)[kept]).strip()
        else:
            _drop(plan, stems(found["what"]))
    elif found := _first("swap", words):
        old, new = (found[name].strip("\"'“”") for name in ("old", "new"))
        _swap(plan, old, re.sub(r"(?i)^(?:say|write|put|use)\s+", "", new))
    elif (found := _first("tone", words)) and found["word"].casefold() in _TONES:
        tone = _TONES[found["word"].casefold()]
        if found["how"] == "less":
            tone = "plain" if tone == "formal" else "formal"
        plan.brief, plan.anew = replace(plan.brief, tone=tone), plan.body
    elif _first("unable", words):
        raise InvalidSettingsError(
            f"'{one_line(words)}' is nothing that a draft can be asked: say shorter, "
            "longer, a tone such as warmer, drop X, mention X, or X instead of Y"
        )
    else:
        if found := _ADD.match(words):
            start = "say that" if found["that"] else "mention"
            words = f"{start} {words[found.end() :]}"
        if found := _ANSWER.match(words):
            _turn(plan, stems(found["what"]), found["answer"].casefold())
        plan.ask(words)
        plan.put_in(words)


def _first(name: str, words: str) -> re.Match[str] | None:
    """The first pattern of these that matches."""
    return next(filter(None, (one.match(words) for one in _PATTERNS[name])), None)


def _shorten(plan: _Plan) -> None:
    """Take the sentences out that say nothing of the request; if there is none, the
    body is written anew with a sentence less."""
    asked = stems(plan.brief.text) | plan.noted
    if not _without(plan, lambda one: not asked & stems(one), asked):
        parts = [piece.strip() for piece in _pieces(plan.body)]
        plan.brief = replace(plan.brief, tone="brief")
        plan.anew = " ".join(parts[: max(1, len(parts) - 1)])


def _drop(plan: _Plan, named: set[str]) -> None:
    """Take what is named out of the request, and its sentences out of the draft."""
    whole = any(named <= stems(piece) for piece in _pieces(plan.text))
    said = stems(plan.text)

    def concerned(one: str) -> bool:
        return named <= stems(one) if whole else bool(named & stems(one))

    request = "".join(
        _clipped(piece, concerned) if concerned(piece) else piece
        for piece in _pieces(plan.brief.text)
    ).strip()
    plan.brief = replace(plan.brief, text=request)
    plan.unwanted |= named
    _without(plan, concerned, stems(request) | plan.noted)
    for words in _BETWEEN.split(request)[::2]:  # what went with it, and is asked for
        if said & (stems(words) - ASKED) - stems(plan.text):
            plan.put_in(words)


def _turn(plan: _Plan, named: set[str], answer: str) -> None:
    """Drop what is named if the request gives the opposite answer to it."""
    told = re.compile(r"(?i)\bno\b" if answer == "yes" else r"(?i)\byes\b")
    pieces = [a for piece in _pieces(plan.brief.text) for a in _BETWEEN.split(piece)]
    if named and any(told.search(one) and named <= stems(one) for one in pieces):
        _drop(plan, named)
        plan.unwanted -= named


def _swap(plan: _Plan, old: str, new: str) -> None:
    """Put other words in the place of some, in the request and in the draft."""
    pattern = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE)
    request, asked = pattern.subn(lambda _: new, plan.brief.text)
    parts = plan.head, plan.body, plan.tail
    stood = any(map(pattern.search, parts))
    plan.head, plan.body, plan.tail = (pattern.sub(lambda _: new, o) for o in parts)
    plan.brief = replace(plan.brief, text=request)
    if not asked:
        plan.ask(f"say {new}, not {old}")
    if not stood:
        plan.put_in(new)


def _without(plan: _Plan, concerned: Callable[[str], bool], asked: set[str]) -> bool:
    """Take sentences out of the body, or the clauses of one of which the rest is asked
    for, and sentences that point back at them; whether any went."""
    kept, pointing = list[str](), False
    for piece in _pieces(plan.body):
        known = not stems(piece).isdisjoint(asked)
        if concerned(piece):
            rest = _clipped(piece, concerned) if known else ""
            pointing = not rest
        elif pointing and _POINTS_BACK.search(piece) and not known:
            rest = ""
        else:
            rest, pointing = piece, False
        kept.append(rest or re.sub(r"\S.*\S|\S|[ \t]", "", piece, flags=re.DOTALL))
    body = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+(?=\n)", "", "".join(kept)))
    went = body.strip() != plan.body
    plan.body = body.strip()
    return went


def _clipped(sentence: str, concerned: Callable[[str], bool]) -> str:
    """A sentence without its clauses that are concerned; empty if what is left would
    lack its subject, or the verb that the first of them has."""
    bare, space = sentence.strip(), sentence[len(sentence.rstrip()) :]
    clauses = _BETWEEN.split(bare)  # every other one stands between two
    kept = [at for at in range(0, len(clauses), 2) if not concerned(clauses[at])]
    if not kept:
        return ""
    first, begun = clauses[kept[0]], None
    if kept[0] and first.split()[0].casefold() not in _ASKS:
        clause = _first("clause", clauses[kept[0] - 1] + first)
        begun = _first("asking" if clause else "up_to_named", clauses[0])
        if not begun or not (clause or first.count(" ") < 3):
            return ""
    joined = "".join("".join(clauses[max(0, at - 1) : at + 1]) for at in kept[1:])
    joined = (begun[0] if begun else "") + first + joined
    mark = bare[-1] if bare[-1] in ".!?" and joined[-1:] != bare[-1] else ""
    first = joined[:1].upper() if bare[0].isupper() else joined[:1]
    return first + joined[1:] + mark + space


def body_of(text: str) -> tuple[int, int]:
    """Where the body of a text begins and ends: behind its greeting, before its
    sign-off."""
    start, end = 0, len(text.rstrip())
    first, newline, _ = text.partition("\n")
    if (
        newline
        and len(first) <= _LONGEST_LINE
        and first.rstrip()[-1:] not in (".", "?")
    ):
        start = len(text) - len(text[len(first) :].lstrip())
    lines = list(re.finditer(r"[^\n]+", text[start:end]))
    for line in reversed(lines[1:]):
        words = line[0].strip()
        if len(words) > _LONGEST_LINE or words[-1:] in (".", "?", "!"):
            break
        end = start + line.start()
    return start, max(start, len(text[:end].rstrip()))


def strangers(text: str, asked: Collection[str]) -> int:
    """How many sentences of a text's body have no word of which these are the stems."""
    start, end = body_of(text)
    return sum(stems(one).isdisjoint(asked) for one in _pieces(text[start:end]))


def stems(words: str) -> set[str]:
    """The telling words of a text, without what a plural or a form adds."""
    found = re.findall(r"[^\W_]+(?:[:.][0-9]+)*", words.casefold().replace("'s", ""))
    return {_stem(word) for word in found if word not in _COMMON and _stem(word)}


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def sentence_ends(text: str) -> list[int]:
    """The ends of the sentences of a text, lines without a full stop among them."""
    return sorted({found.end() for found in _END.finditer(text)})


def _pieces(text: str) -> list[str]:
    """The sentences of a text, each with the space behind it."""
    ends = [at for at in sentence_ends(text) if at < len(text)]
    starts = [at + len(text[at:]) - len(text[at:].lstrip()) for at in ends]
    cuts = [0, *starts, len(text)]
    return [text[a:b] for a, b in pairwise(cuts) if a < b]


def _sentence(words: str) -> str:
    words = words.strip()
    end = "" if not words or words[-1] in ".!?" else "."
    return words[:1].upper() + words[1:] + end


ASKED = stems(" ".join(_ASKS))
