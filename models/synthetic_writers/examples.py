"""Examples: a request, what is known of the writer, and the text that answers it.

Those of invented writers are made here: endless ones for training, and ones by writers
that training has not met, for measuring. A writer's past texts are found for a request
as a store finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from models.prompts import Excerpt, Message, Request, private_messages
from models.synthetic_writers import persona, synthetic
from models.synthetic_writers.everyday import Everyday
from models.synthetic_writers.synthetic import Piece, Writer
from personal_store.search.ranking import SAME_TEXT, Entry, Wanted
from personal_store.search.retrieval import Corpus
from personal_store.text.tokens import overlap, shingles, tokens

_UNSEEN = 990_000
"""Seeds from here on belong to writers that no mixture has met."""
_TASKS = ("email",) * 6 + ("review", "review", "post", "note")
_EVERYDAY_TASKS = ("email", "email", "review", "post", "note")
"""Everyday requests are of all kinds alike, but for mails, which say the most ways of
things."""
OWN_WAY = 0.4
"""Share of the plain examples whose writers have ways of their own, which nothing
tells. Both models then know how likely such ways are before anything is known of a
writer, which is what a history is measured against; where that is left to chance, their
guesses at strange words differ by orders of magnitude."""
_NOTES = 0.2
"""Share of the examples with history that hold notes about the writer, or those
alone."""
_OTHER_KINDS = 0.15
"""Share of the examples with history that show texts of other kinds alone, as a store
does that has none of the kind that is asked for."""

_QUIET = 0.75
"""Share of the writers with ways of their own who are met without their pet phrase. A
specialist that has met few such writers gives one to people who have none."""
_QUIET_PLAIN = 0.5
"""The same where nothing tells the writer's ways: a generalist that has met few pet
phrases refuses them all."""

Write = Callable[[Writer, Random, str], Piece]
"""Writes a text of a task, with the request that asks for it."""
Meet = Callable[[Random], Writer]
"""Makes a writer whom nobody has met."""


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
    """What of an invented writer's ways the text shows, word for word, by kind."""

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
        self._corpus = Corpus(
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
        hits = [hit.id for hit in self._corpus.search(query, wanted)]
        if len(hits) < limit:
            others = Wanted(limit - len(hits), kind, None, {*excluded, *hits})
            hits += [hit.id for hit in self._corpus.recent(others)]
        return hits

    def same_as(self, place: int) -> set[int]:
        """A text and those that say nearly the same: none may answer for it."""
        own = shingles(self._terms[place])
        return {
            i
            for i, terms in enumerate(self._terms)
            if i == place or overlap(shingles(terms), own) >= SAME_TEXT
        }


def unseen_writers(count: int, seed: int = 0, task: str | None = None) -> list[Example]:
    """Examples with history by writers that training has not met."""
    rng = Random(_UNSEEN + seed)
    return [_with_history(rng, task or rng.choice(_TASKS)) for _ in range(count)]


def texts_of_unseen_writer(count: int, seed: int = 0) -> list[Piece]:
    """`count` texts by one writer that training has not met, of all tasks."""
    rng = Random(_UNSEEN + seed)
    writer = synthetic.new_writer(rng)
    tasks = [rng.choice(_TASKS) for _ in range(count)]
    return [next(synthetic.pieces(writer, rng, task, 1)) for task in tasks]


def synthetic_examples(
    rng: Random,
    private: float,
    everyday: Everyday | None = None,
    share: float = 0.0,
    own_way: float = OWN_WAY,
) -> Iterator[Example]:
    """Endless examples by writers who are each met once: a share of them with history,
    a share of `everyday` requests, and of the plain ones a share by writers with ways
    of their own."""

    def write(writer: Writer, rng: Random, task: str) -> Piece:
        if everyday is not None and rng.random() < share:
            return everyday.piece(writer, rng, task)
        return _piece(writer, rng, task)

    while True:
        everyday_task = everyday is not None and rng.random() < share
        task = rng.choice(_EVERYDAY_TASKS if everyday_task else _TASKS)
        if rng.random() >= private:
            own = rng.random() < own_way
            writer = _met(rng, _QUIET_PLAIN) if own else synthetic.common_writer(rng)
            piece = write(writer, rng, task)
            yield Example(piece.request, [], piece.text)
        elif rng.random() < _NOTES:
            yield _with_notes(rng)
        elif rng.random() < _OTHER_KINDS:
            yield _with_other_kinds(rng, task, write)
        else:
            yield _with_history(rng, task, write, _met)


def _met(rng: Random, quiet: float = _QUIET) -> Writer:
    """A writer as training meets them: often without a pet phrase."""
    writer = synthetic.new_writer(rng)
    return replace(writer, pet="") if rng.random() < quiet else writer


def _piece(writer: Writer, rng: Random, task: str) -> Piece:
    return next(synthetic.pieces(writer, rng, task, 1))


def _with_history(
    rng: Random, task: str, write: Write = _piece, meet: Meet = synthetic.new_writer
) -> Example:
    writer = meet(rng)
    piece = write(writer, rng, task)
    return _example(piece, _found(_past(writer, rng, task, write), piece.request, rng))


def _with_other_kinds(rng: Random, task: str, write: Write) -> Example:
    """What was found is all of other kinds than the text that is asked for."""
    writer = _met(rng)
    others = [kind for kind in _TASKS if kind != task]
    count = rng.choice((1, 2, 3, 5))
    past = [write(writer, rng, rng.choice(others)) for _ in range(count)]
    return _example(write(writer, rng, task), past)


def _with_notes(rng: Random) -> Example:
    """A request that needs the notes, with or without older texts."""
    if rng.random() < 0.5:
        person = persona.new_person(rng)
        piece = persona.piece(person, rng)
        return _example(piece, [], person.notes)
    writer = _met(rng)
    person = persona.new_person(rng, writer)
    piece = persona.piece(person, rng)
    past = _past(writer, rng, piece.request.task)
    return _example(piece, _found(past, piece.request, rng), person.notes)


def _past(writer: Writer, rng: Random, task: str, write: Write = _piece) -> list[Piece]:
    same = [write(writer, rng, task) for _ in range(rng.choice((2, 3, 4, 5, 7)))]
    other = rng.choice(_TASKS)
    others = [write(writer, rng, other) for _ in range(rng.choice((0, 0, 1, 2)))]
    past = [*same, *others]
    rng.shuffle(past)
    return past


def _found(past: Sequence[Piece], request: Request, rng: Random) -> list[Piece]:
    """Some of the past, best first; at least one text of the kind that is asked for,
    from which the writer's ways can be read."""
    library = Library([piece.excerpt() for piece in past])
    wanted = rng.choice((1, 2, 3, 4, 5, 5, 5, 6))
    found = [past[i] for i in library.found(request, wanted)]
    if not any(piece.request.task == request.task for piece in found):
        found[-1] = next(p for p in past if p.request.task == request.task)
    return found


def _example(piece: Piece, found: Sequence[Piece], notes: str = "") -> Example:
    excerpts = [other.excerpt() for other in reversed(found)]
    return Example(
        piece.request, excerpts, piece.text, notes, habits=dict(piece.habits)
    )
