"""Examples: a request, what is known of the writer, and the text that answers it.

Those of invented writers that training has not met are made here, for measuring;
`training.writers` has the endless ones for training. A writer's past texts are found
for a request as a store finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from models.prompts import Excerpt, Message, Request, private_messages
from models.synthetic_writers import synthetic
from models.synthetic_writers.synthetic import Piece, Writer
from personal_store.search.ranking import SAME_TEXT, Entry, Wanted
from personal_store.search.retrieval import Corpus
from personal_store.text.tokens import overlap, shingles, tokens

_UNSEEN = 990_000
"""Seeds from here on belong to writers that no mixture has met."""
TASKS = ("email",) * 6 + ("review", "review", "post", "note")

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
    return [with_history(rng, task or rng.choice(TASKS)) for _ in range(count)]


def texts_of_unseen_writer(count: int, seed: int = 0) -> list[Piece]:
    """`count` texts by one writer that training has not met, of all tasks."""
    rng = Random(_UNSEEN + seed)
    writer = synthetic.new_writer(rng)
    tasks = [rng.choice(TASKS) for _ in range(count)]
    return [next(synthetic.pieces(writer, rng, task, 1)) for task in tasks]


def piece_of(writer: Writer, rng: Random, task: str) -> Piece:
    """One text of a task by a writer."""
    return next(synthetic.pieces(writer, rng, task, 1))


def with_history(
    rng: Random, task: str, write: Write = piece_of, meet: Meet = synthetic.new_writer
) -> Example:
    """A text by a writer, with older ones that are found for its request."""
    writer = meet(rng)
    piece = write(writer, rng, task)
    return example_of(
        piece, found_for(past_of(writer, rng, task, write), piece.request, rng)
    )


def past_of(
    writer: Writer, rng: Random, task: str, write: Write = piece_of
) -> list[Piece]:
    """Older texts of a writer, most of them of one task."""
    same = [write(writer, rng, task) for _ in range(rng.choice((2, 3, 4, 5, 7)))]
    other = rng.choice(TASKS)
    others = [write(writer, rng, other) for _ in range(rng.choice((0, 0, 1, 2)))]
    past = [*same, *others]
    rng.shuffle(past)
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
    excerpts = [other.excerpt() for other in reversed(found)]
    return Example(
        piece.request, excerpts, piece.text, notes, habits=dict(piece.habits)
    )
