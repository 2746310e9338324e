"""rank_bm25's own scores of some texts, with the statistics of all of them.

The package scores a whole corpus. A large store looks at few texts of it, and they get
the very scores that they would have among all: the formulas are the package's, and what
they need to know of the others is counted in the store.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi, BM25Plus

SMALL = 20
"""Below so many texts Okapi's weights turn negative; BM25+ has positive ones."""
_TELLING = 0.5
"""Share of the texts up to which a term tells texts apart."""
_NOTHING = 1e-9
_Float = TypeVar("_Float", bound=np.floating[Any])


def _unweighed(kind: type[Any]) -> Any:
    """A BM25 of rank_bm25, which wants a text to begin with."""
    return kind([["some text"]])


_OKAPI = _unweighed(BM25Okapi)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of all texts."""

    texts: int
    words: int
    """The lengths of all texts together."""
    document_frequencies: Mapping[str, int]
    """Texts that hold a term, at least for every term that is asked about."""
    average_idf: float
    """Over all terms of all texts, before a floor, which rank_bm25 measures by it."""

    def asked(self, query: Sequence[str], *, distinctive_only: bool) -> list[str]:
        """The terms to score by: all known ones, or those that tell texts apart."""
        return self.distinctive_only(query) if distinctive_only else self.known(query)

    def known(self, query: Sequence[str]) -> list[str]:
        """The terms of a query that stand in any text, each once."""
        return [
            term for term in dict.fromkeys(query) if self.document_frequencies.get(term)
        ]

    def distinctive_only(self, query: Sequence[str]) -> list[str]:
        """The known terms of a query that stand in at most half of the texts."""
        few = self.texts < SMALL
        most = self.texts if few else math.floor(_TELLING * self.texts)
        return [
            term
            for term in self.known(query)
            if self.document_frequencies[term] <= most
        ]


class Scorer:
    """Some texts, ready to be scored. Read-only, so threads may share it."""

    def __init__(
        self,
        documents: Sequence[Sequence[str]],
        asked: Collection[str] | None = None,
    ) -> None:
        """The terms of each text. Where it is known which will be `asked` about, no
        others are counted, and `statistics` knows of no others."""
        if asked is None:
            self._frequencies = [Counter(terms) for terms in documents]
        else:
            counted = frozenset(asked)
            self._frequencies = [
                Counter(filter(counted.__contains__, terms)) for terms in documents
            ]
        self._lengths = [len(terms) for terms in documents]

    def statistics(self) -> Statistics:
        """The statistics of these texts, for a store that holds no others."""
        frequencies = Counter(term for terms in self._frequencies for term in terms)
        texts = len(self._lengths)
        mean = average_idf(texts, Counter(frequencies.values()))
        return Statistics(texts, sum(self._lengths), frequencies, mean)

    def scores(
        self, terms: Sequence[str], statistics: Statistics
    ) -> NDArray[np.float64]:
        """BM25 of every text (N,) for terms that are known."""
        if not terms or not self._lengths:
            return np.zeros(len(self._lengths))
        # A BM25 of rank_bm25 that takes these texts for the whole, but weighs terms and
        # lengths as among all.
        index = _weighed(terms, statistics)
        index.corpus_size = len(self._lengths)
        index.doc_freqs, index.doc_len = self._frequencies, self._lengths
        scores = np.asarray(index.get_scores(terms), dtype=np.float64)
        # BM25+ gives something to every text; what holds no term gets nothing here.
        if not isinstance(index, BM25Plus):
            return scores
        given = index.delta * sum(index.idf[term] for term in terms)
        return np.where(scores - given > _NOTHING, scores - given, 0)

    def shares(
        self, place: int, idf: Mapping[str, float], statistics: Statistics
    ) -> dict[str, float]:
        """What each term with this idf gives to the score of the text at `place`,
        largest first."""
        counts = self._frequencies[place]
        there = [term for term in idf if term in counts]
        saturated = share(
            np.array([counts[term] for term in there], np.float64),
            norms(np.float64(self._lengths[place]), statistics),
        )
        pairs = zip(there, saturated.tolist(), strict=True)
        given = {term: idf[term] * part for term, part in pairs}
        return dict(sorted(given.items(), key=lambda pair: -pair[1]))


def idf_of(terms: Sequence[str], statistics: Statistics) -> dict[str, float]:
    """The idf of each term, with rank_bm25's floor: what its share is multiplied by."""
    return dict(_weighed(terms, statistics).idf) if terms else {}


def average_idf(texts: int, spread: Mapping[int, int]) -> float:
    """The mean idf of all terms; `spread` says how many stand in how many texts."""
    if not spread:
        return 0.0
    idf = _okapi_idf(np.array(list(spread), np.float64), texts)
    return float(np.average(idf, weights=list(spread.values())))


def norms(lengths: NDArray[_Float] | _Float, statistics: Statistics) -> NDArray[_Float]:
    """What rank_bm25 adds to the count of a term below the line, for texts (N,) of
    these lengths: the longer a text, the less a count says."""
    k1, b = _OKAPI.k1, _OKAPI.b
    by_length = k1 * b * statistics.texts / statistics.words
    return np.asarray(lengths * by_length + k1 * (1 - b))


def share(counts: NDArray[_Float], norms: NDArray[_Float]) -> NDArray[_Float]:
    """How much a term says of texts (N,) where it stands so often, before its weight:
    rank_bm25's formula, without what BM25+ gives to every text."""
    said = counts * (_OKAPI.k1 + 1)
    said /= norms + counts
    return np.asarray(said)


def _weighed(terms: Sequence[str], statistics: Statistics) -> Any:
    """A BM25 of rank_bm25 that knows the idf of terms, and no texts."""
    few = statistics.texts < SMALL
    index = _unweighed(BM25Plus if few else BM25Okapi)
    index.idf = {}
    index.corpus_size = statistics.texts
    index.avgdl = statistics.words / statistics.texts
    frequencies = [statistics.document_frequencies[term] for term in terms]
    if few:
        index._calc_idf(dict(zip(terms, frequencies, strict=True)))
    else:  # the package would measure the floor by these terms alone
        idf = _okapi_idf(np.array(frequencies, np.float64), statistics.texts)
        floor = index.epsilon * statistics.average_idf
        floored = np.where(idf < 0, floor, idf).tolist()
        index.idf = dict(zip(terms, floored, strict=True))
    return index


def _okapi_idf(
    document_frequencies: NDArray[np.float64], texts: int
) -> NDArray[np.float64]:
    """BM25Okapi's idf (N,), before its floor."""
    rest = texts - document_frequencies
    return np.asarray(np.log(rest + 0.5) - np.log(document_frequencies + 0.5))
