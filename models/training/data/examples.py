"""What training reads: a request, what is known of the writer, and the text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from models.excerpts import PromptPacker
from models.prompts import Excerpt, Message, Request, private_messages
from models.training.data.tokenizer import CHAT_TEMPLATE, PAD, Vocabulary
from personal_store.search.ranking import SAME_TEXT, Entry, Wanted
from personal_store.search.retrieval import Corpus
from personal_store.text.tokens import overlap, shingles, tokens

_MARGIN = 8
"""Tokens kept free, so that an example surely fits."""


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


def fitted(example: Example, vocabulary: Vocabulary, room: int) -> Example:
    """The example with its excerpts shortened, and as many as go into `room` tokens
    together with the text: what a device would have put into the prompt."""
    if not example.excerpts:
        return example
    shelf = PromptPacker(vocabulary.ids, CHAT_TEMPLATE)
    found = [
        shelf.excerpt(e.task, e.recipient, e.subject, e.text)
        for e in reversed(example.excerpts)
    ]
    left = room - len(vocabulary.ids(example.text)) - _MARGIN
    chosen = shelf.fitting(example.request, found, example.background, left)
    return replace(example, excerpts=[found[i] for i in reversed(chosen)])


def example_ids(vocabulary: Vocabulary, example: Example) -> list[int]:
    """Token ids of a whole conversation; a text that breaks off ends in padding."""
    ids = vocabulary.example(example.messages(), example.text)
    return ids if example.whole else [*ids[:-1], PAD]


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
