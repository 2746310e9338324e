"""Texts of invented writers, and examples: a request, a history, and the answer to it.

Request and text name the same things; how the text sounds can be read from the writer's
other texts alone. Writers without a past write the common way. These writers are for
measuring; `training.invented` has the endless ones that models learn from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from models.prompts import Excerpt, Message, Request, private_messages
from models.synthetic_writers.writers import (
    Filling,
    Writer,
    capitalised,
    grammar,
    named_slots,
    new_writer,
    recipient,
    styled,
)
from personal_store.search.index import SAME_TEXT, Entry, Index, Wanted
from personal_store.text.tokens import overlap, shingles, tokens

_LONG = 0.12  # share of emails that are long and say many things
_MORE, _MORE_WHEN_LONG = 0.02, 0.1
"""Share of the things about which more is said than was asked. Were it large, letters
would say what nobody asked for."""
_PLAINLY = 0.6  # share of the things that are said in the fewest words
_GROUPS = ("team", "all", "everyone")


@dataclass(frozen=True, slots=True)
class Piece:
    """A request and the text a writer answers it with."""

    request: Request
    subject: str
    text: str
    habits: dict[str, str] = field(default_factory=dict)
    """The writer's habits that the text shows, word for word, by kind."""
    named: tuple[str, ...] = ()  # what both request and text name

    def excerpt(self) -> Excerpt:
        """The piece as it stands in a private prompt."""
        request = self.request
        return Excerpt(request.task, request.recipient, self.subject, self.text)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that is asked for, and the sentence that says it."""

    ask: str
    say: str
    more: str
    subject: str
    named: tuple[str, ...]


def piece_of(writer: Writer, rng: Random, task: str) -> Piece:
    """A text of a task by a writer, with the request that asks for it."""
    write = {"email": _email, "review": _review, "post": _post, "note": _note}[task]
    return write(writer, rng)


def answers(act: dict[str, Any], ask: str) -> list[str]:
    """The sentences of an act that name exactly what the request names."""
    return [say for say in act["say"] if named_slots(say) == named_slots(ask)]


def letter(
    writer: Writer, rng: Random, name: str, says: Sequence[str], apart: bool = False
) -> tuple[str, dict[str, str]]:
    """An email that says these sentences to somebody, and the habits it shows."""
    greeting = writer.greeting.replace("{name}", name) if name else "Hello,"
    space = "\n\n" if writer.paragraphs or apart else " "
    joined = space.join(framed(writer, rng, says))
    start = f"{greeting} {joined}" if writer.run_on else f"{greeting}\n\n{joined}"
    end = f"{writer.signoff}\n{writer.name}" if writer.name else writer.signoff
    if writer.postscript and not writer.closes:
        end += f"\n\nPS {styled(writer, rng, writer.words['closer'])}"
    text = writer.cased(f"{start}\n\n{end}")
    habits = {"greeting": greeting, "sign-off": writer.signoff, "name": writer.name}
    return text, shown(writer, text, habits)


def said(act: dict[str, Any], writer: Writer, rng: Random, name: str) -> Said:
    """One thing to ask for, and how the writer says it."""
    them = "them" if name in _GROUPS else rng.choice(("her", "him", "them"))
    filling = Filling(rng, writer.words | {"name": name, "them": them})
    ask = rng.choice(act["ask"])
    slots = named_slots(ask)
    fitting = [s for s in act.get("subject", ("",)) if named_slots(s) <= slots]
    ways = answers(act, ask)
    if rng.random() < _PLAINLY:
        plain = [way for way in ways if "{interjection}" not in way]
        ways = [min(plain or ways, key=len)]
    asked, say = filling.fill(ask), filling.pick(ways)
    more, subject = filling.pick(act["more"]), capitalised(filling.pick(fitting))
    named = tuple(filling.values[slot] for slot in sorted(slots))
    return Said(asked, say, more, subject, named)


def _email(writer: Writer, rng: Random) -> Piece:
    name = recipient(writer, rng)
    long = rng.random() < _LONG
    count = rng.choice((3, 4, 4, 5)) if long else rng.choice((1, 1, 2, 2, 2, 3))
    formal = rng.random() < 0.2
    fitting = [act for act in grammar()["act"] if act.get("formal", False) == formal]
    acts = rng.sample(fitting, min(count, len(fitting)))
    parts = [said(act, writer, rng, name) for act in acts]
    asks, likely = [part.ask for part in parts], _MORE_WHEN_LONG if long else _MORE
    says = [p.say + (f" {p.more}" if rng.random() < likely else "") for p in parts]
    named = any(name in ask for ask in asks)
    if not named and not writer.name and rng.random() < 0.2:
        name = ""
    given = "" if named and rng.random() < 0.4 else name
    text, habits = letter(writer, rng, name, says, apart=long)
    request = Request(asked(asks, rng), "email", given)
    things = tuple(thing for part in parts for thing in part.named)
    return Piece(request, parts[0].subject, text, habits, things)


def _review(writer: Writer, rng: Random) -> Piece:
    kind, words = rng.choice(grammar()["venue"]), grammar()["review"]
    judgements, good = _judgements(writer, rng, kind)
    mood = "good" if good else "bad"
    features = [f"{adjective} {topic}" for adjective, topic, _ in judgements]
    stars = rng.choice(words[f"stars_{mood}"])
    known = {"features": listed(features, rng), "stars": stars}
    filling = Filling(rng, writer.words | known)
    ask = rng.choice(words["ask"])
    extra = sorted(named_slots(ask) - {"features"})
    request = Request(filling.fill(ask), "review", filling.pick(kind["name"]))
    says = [say for _, _, say in judgements]
    says += [filling.pick(words[f"say_{slot}"]) for slot in extra]
    verdict = writer.words[f"verdict_{mood}"]
    own = bool(writer.name)
    if own or rng.random() < 0.4:
        says.append(verdict)
    text = writer.cased(" ".join(framed(writer, rng, says, letter=False)))
    habits = shown(writer, text, {"verdict": verdict} if own else {})
    named = [word for adjective, topic, _ in judgements for word in (adjective, topic)]
    named += [filling.values[slot] for slot in extra]
    return Piece(request, "", text, habits, tuple(named))


def _judgements(
    writer: Writer, rng: Random, kind: dict[str, Any]
) -> tuple[list[tuple[str, str, str]], bool]:
    """What was how, with a sentence for each, and whether it was good on the whole."""
    happy, liked, made = rng.random(), 0, []
    for topic in rng.sample(kind["topic"], rng.choice((1, 2, 2, 3, 3, 4))):
        mood = "good" if rng.random() < happy else "bad"
        liked += 1 if mood == "good" else -1
        adjective = rng.choice(kind[mood])
        was = "were" if topic.endswith("s") else "was"
        known = {"topic": topic, "adjective": adjective, "was": was}
        filling = Filling(rng, writer.words | known)
        say = filling.pick(grammar()["review"][f"say_{mood}"])
        made.append((adjective, topic, say))
    return made, liked > 0


def _post(writer: Writer, rng: Random) -> Piece:
    act = rng.choice(grammar()["post"])
    part = said(act, writer, rng, "")
    says = [part.say, part.more] if rng.random() < _MORE else [part.say]
    text = " ".join(framed(writer, rng, says, letter=False))
    text = writer.cased(" ".join(filter(None, (writer.hail, text, writer.hashtag))))
    habits = shown(writer, text, {"hail": writer.hail, "hashtag": writer.hashtag})
    return Piece(Request(capitalised(part.ask), "post"), "", text, habits, part.named)


def _note(writer: Writer, rng: Random) -> Piece:
    kinds = rng.sample(grammar()["slots"]["chore"], rng.randint(2, 6))
    chores = [Filling(rng, {}).fill(kind) for kind in kinds]
    filling = Filling(rng, {"chores": listed(chores, rng)})
    ask = filling.pick(grammar()["note"]["ask"])
    mark = writer.words["note_mark"]
    lines = [
        (f"{number}. " if mark == "1" else mark) + chore[:1].upper() + chore[1:]
        for number, chore in enumerate(chores, 1)
    ]
    if writer.heading:
        lines.insert(0, writer.heading)
    if writer.emoji:
        lines.append(writer.emoji)
    text = writer.cased("\n".join(lines))
    habits = shown(writer, text, {"heading": writer.heading})
    return Piece(Request(ask, "note"), "", text, habits, tuple(chores))


def framed(
    writer: Writer, rng: Random, says: Sequence[str], letter: bool = True
) -> list[str]:
    """The sentences as the writer puts them, with those they always say."""
    sentences = [styled(writer, rng, say) for say in says]
    if writer.pet:
        last = len(sentences)
        place = {"first": 0, "middle": min(1, last), "last": last}[writer.pet_place]
        sentences.insert(place, writer.cased(writer.pet))
    if letter and rng.random() < writer.opens:
        sentences.insert(0, styled(writer, rng, writer.words["opener"]))
    if letter and rng.random() < writer.closes:
        sentences.append(styled(writer, rng, writer.words["closer"]))
    return sentences


def shown(writer: Writer, text: str, habits: dict[str, str]) -> dict[str, str]:
    """The habits that a text really shows, in the letters it has."""
    if not writer.name:
        return {}  # nobody in particular
    habits = habits | {"pet phrase": writer.pet}
    cased = {kind: writer.cased(phrase) for kind, phrase in habits.items()}
    return {k: phrase for k, phrase in cased.items() if phrase and phrase in text}


def asked(asks: Sequence[str], rng: Random) -> str:
    """A request for several things, as people put it."""
    style = rng.random()
    if style < 0.65:
        return " ".join(f"{capitalised(ask).rstrip('?')}." for ask in asks)
    if style < 0.8:
        return "; ".join(asks)
    if style < 0.9:
        return ", and ".join(asks)
    return "\n".join(f"- {ask}" for ask in asks)


def listed(parts: Sequence[str], rng: Random) -> str:
    """Things in a row."""
    joined = rng.choice((", ", ", ", "; ", " and ")).join(parts)
    return capitalised(joined) if rng.random() < 0.7 else joined


_UNSEEN = 990_000  # seeds from here on belong to writers that no mixture has met
TASKS = ("email",) * 6 + ("review", "review", "post", "note")

Write = Callable[[Writer, Random, str], Piece]
"""Writes a text of a task, with the request that asks for it."""
Meet = Callable[[Random], Writer]  # makes a writer whom nobody has met


@dataclass(frozen=True, slots=True)
class Example:
    """A request and the text that answers it."""

    request: Request
    excerpts: Sequence[Excerpt]
    """Texts by the same writer; the one that fits best stands last."""
    text: str
    background: str = ""
    whole: bool = True
    """Whether the text goes on to its end; only then is an end learnt."""
    habits: Mapping[str, str] = field(default_factory=dict)
    """An invented writer's habits that the text shows, word for word, by kind."""

    def messages(self, history: bool = True) -> list[Message]:
        """The private prompt, or the public one."""
        if not history:
            return private_messages(self.request, ())
        return private_messages(self.request, self.excerpts, self.background)


class Library:
    """One writer's texts, found for a request as a store finds them."""

    def __init__(self, texts: Sequence[Excerpt]) -> None:
        self.texts = texts
        self._terms = [tokens(f"{text.subject}\n{text.text}") for text in texts]
        self._index = Index.of(
            [
                Entry(i, text.task, text.recipient, "", None, terms)
                for i, (text, terms) in enumerate(zip(texts, self._terms, strict=True))
            ]
        )

    def found(
        self, request: Request, limit: int, excluded: Collection[int] = ()
    ) -> list[int]:
        """Places of texts that match the request, best first, then others of its
        kind."""
        kind, recipient = request.task, request.recipient or None
        query = tokens(f"{request.recipient} {request.text}")
        wanted = Wanted(limit, kind, recipient, excluded, distinctive_only=True)
        hits = [hit.id for hit in self._index.search(query, wanted)]
        if len(hits) < limit:
            others = Wanted(limit - len(hits), kind, None, {*excluded, *hits})
            hits += [hit.id for hit in self._index.recent(others)]
        return hits

    def same_as(self, place: int) -> set[int]:
        """A text and those that say nearly the same: none may answer for it."""
        own, all_terms = shingles(self._terms[place]), enumerate(self._terms)
        alike = (i for i, one in all_terms if overlap(shingles(one), own) >= SAME_TEXT)
        return {place, *alike}


def unseen_writers(count: int, seed: int = 0, task: str | None = None) -> list[Example]:
    """Examples with history by writers that training has not met."""
    rng = Random(_UNSEEN + seed)
    return [with_history(rng, task or rng.choice(TASKS)) for _ in range(count)]


def texts_of_unseen_writer(count: int, seed: int = 0) -> list[Piece]:
    """`count` texts by one writer that training has not met, of all tasks."""
    rng = Random(_UNSEEN + seed)
    writer = new_writer(rng)
    tasks = [rng.choice(TASKS) for _ in range(count)]
    return [piece_of(writer, rng, task) for task in tasks]


def with_history(
    rng: Random, task: str, write: Write = piece_of, meet: Meet = new_writer
) -> Example:
    """A text by a writer, with older ones that are found for its request."""
    writer = meet(rng)
    piece = write(writer, rng, task)
    past = past_of(writer, rng, task, write)
    return example_of(piece, found_for(past, piece.request, rng))


def past_of(
    writer: Writer, rng: Random, task: str, write: Write = piece_of
) -> list[Piece]:
    """Older texts of a writer, most of them of one task."""
    same = [write(writer, rng, task) for _ in range(rng.choice((2, 3, 4, 5, 7)))]
    other = rng.choice(TASKS)
    others = [write(writer, rng, other) for _ in range(rng.choice((0, 0, 1, 2)))]
    rng.shuffle(past := [*same, *others])
    return past


def found_for(past: Sequence[Piece], request: Request, rng: Random) -> list[Piece]:
    """Some of the past, best first; at least one text of the kind that is asked for,
    from which the writer's ways can be read."""
    library = Library([piece.excerpt() for piece in past])
    wanted = rng.choice((1, 2, 3, 4, 5, 5, 5, 6))
    found = [past[i] for i in library.found(request, wanted)]
    if not any(piece.request.task == request.task for piece in found):
        found[-1] = next(p for p in past if p.request.task == request.task)
    return found


def example_of(piece: Piece, found: Sequence[Piece], notes: str = "") -> Example:
    """The example of a text with the older ones that were found, the best first."""
    texts = [other.excerpt() for other in reversed(found)]
    return Example(piece.request, texts, piece.text, notes, habits=dict(piece.habits))
