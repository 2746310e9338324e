"""Real texts as examples: plain requests, and requests with the author's own texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle
from random import Random

from models.synthetic_writers.examples import Example, Library
from training.data import corpus
from training.data.corpus import Text

PLAIN = {
    "post": 20,
    "review": 20,
    "conversation": 18,
    "letter": 12,
    "abstract": 22,
    "article": 5,
    "story": 3,
}
"""How often a genre is met without history: near to what people ask for, and abstracts,
which are forgotten first."""
AUTHORED = {"post": 44, "conversation": 16, "abstract": 22, "letter": 14, "story": 4}
"""How often with history."""
_REMEMBERED = {"letter": 300, "post": 300, "abstract": 300}
_REMEMBERED_ELSE = 40
"""How many texts of one author are kept, by genre and in other genres."""
_KEPT = {"article": 0.1, "review": 0.5}
"""Share of the texts without an author that are read."""
_FEWEST = 3
"""Texts that make an author known."""
_LONGER = 0.25
"""Share of texts that may be half as long again."""
_SHORTEST = 40


class RealTexts:
    """A fair part of all texts, an author's together."""

    def __init__(self, texts: Iterable[Text], rng: Random) -> None:
        self._rng = rng
        self._by_author: dict[tuple[str, str], list[Text]] = {}
        self._met: dict[tuple[str, str], int] = {}
        self._libraries: dict[tuple[str, str], Library] = {}
        for text in texts:
            if len(text.text) < _SHORTEST:
                continue
            key = text.genre, text.author
            kept = self._by_author.setdefault(key, [])
            self._met[key] = met = self._met.get(key, 0) + 1
            room = _REMEMBERED.get(text.genre, _REMEMBERED_ELSE)
            if not text.author:
                if rng.random() < _KEPT.get(text.genre, 1.0):
                    kept.append(text)
            elif len(kept) < room:
                kept.append(text)
            # Each text of an author is as likely to stay.
            elif (place := rng.randrange(met)) < room:
                kept[place] = text

    def examples(self, private: float, longest: int) -> Iterator[Example]:
        """Endless examples, a share of them with history, for texts up to about
        `longest` characters."""
        plain = self._rounds(PLAIN, fewest=1)
        authored = self._rounds(AUTHORED, fewest=_FEWEST)
        while plain:
            with_history = bool(authored) and self._rng.random() < private
            rounds, weights = (authored, AUTHORED) if with_history else (plain, PLAIN)
            genres = [genre for genre in weights if genre in rounds]
            chances = [weights[genre] for genre in genres]
            (genre,) = self._rng.choices(genres, chances)
            author, place = next(rounds[genre])
            limit = int(longest * (1.5 if self._rng.random() < _LONGER else 1))
            yield self._example((genre, author), place, limit, with_history)

    def _example(
        self, key: tuple[str, str], place: int, limit: int, with_history: bool
    ) -> Example:
        rng, text = self._rng, self._by_author[key][place]
        task = corpus.task_of(text.genre, rng)
        request = corpus.request(text, task, rng)
        kept, whole = corpus.cut(text, limit)
        if not with_history:
            return Example(request, [], kept, whole=whole)
        library = self._libraries.get(key)
        if library is None:
            one_task = corpus.task_of(text.genre, rng)
            texts = [corpus.excerpt(one, one_task) for one in self._by_author[key]]
            library = self._libraries[key] = Library(texts)
        # As many as the device asks for, or fewer, as from somebody with few texts.
        wanted = rng.choice((1, 2, 3, 4, 5, 5, 5, 5, 6))
        found = library.found(request, wanted, library.same_as(place))
        excerpts = [library.texts[i] for i in reversed(found)]
        return Example(request, excerpts, kept, whole=whole)

    def _rounds(
        self, weights: dict[str, int], fewest: int
    ) -> dict[str, Iterator[tuple[str, int]]]:
        """By genre, authors and the places of their texts, round and round."""
        places: dict[str, list[tuple[str, int]]] = {}
        for (genre, author), texts in self._by_author.items():
            if genre in weights and (fewest == 1 or (author and len(texts) >= fewest)):
                places.setdefault(genre, []).extend(
                    (author, place) for place in range(len(texts))
                )
        for listed in places.values():
            self._rng.shuffle(listed)
        return {genre: cycle(listed) for genre, listed in places.items()}
