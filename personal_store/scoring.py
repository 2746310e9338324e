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
    found_in: Mapping[str, int]
    """Texts that hold a term, at least for every term that is asked about."""
    mean_weight: float
    """What rank_bm25 calls the average idf, over all terms of all texts."""

    def asked(self, query: Sequence[str], *, telling: bool) -> list[str]:
        """The terms to score by: all known ones, or those that tell texts apart."""
        return self.telling(query) if telling else self.known(query)

    def known(self, query: Sequence[str]) -> list[str]:
        """The terms of a query that stand in any text, each once."""
        return [term for term in dict.fromkeys(query) if self.found_in.get(term)]

    def telling(self, query: Sequence[str]) -> list[str]:
        """Those of them that tell texts apart."""
        few = self.texts < SMALL
        most = self.texts if few else math.floor(_TELLING * self.texts)
        return [term for term in self.known(query) if self.found_in[term] <= most]


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
        """Those of these texts, where they are all that there are."""
        found_in = Counter(term for terms in self._frequencies for term in terms)
        texts = len(self._lengths)
        mean = mean_weight(texts, Counter(found_in.values()))
        return Statistics(texts, sum(self._lengths), found_in, mean)

    def scores(
        self, terms: Sequence[str], statistics: Statistics
    ) -> NDArray[np.float64]:
        """BM25 of every text (N,) for terms that are known."""
        if not terms or not self._lengths:
            return np.zeros(len(self._lengths))
        index = self._index(terms, statistics)
        scores = np.asarray(index.get_scores(terms), dtype=np.float64)
        return _without_gifts(scores, index, terms)

    def shares(
        self, place: int, weighed: Mapping[str, float], statistics: Statistics
    ) -> dict[str, float]:
        """What each term of these weights gives to the score of the text at `place`,
        largest first."""
        counts = self._frequencies[place]
        there = [term for term in weighed if term in counts]
        said = share(
            np.array([counts[term] for term in there], np.float64),
            np.float64(self._lengths[place]),
            statistics,
        )
        given = zip(there, said.tolist(), strict=True)
        gave = {term: weighed[term] * part for term, part in given}
        return dict(sorted(gave.items(), key=lambda pair: -pair[1]))

    def _index(self, terms: Sequence[str], statistics: Statistics) -> Any:
        """A BM25 of rank_bm25 that takes these texts for the whole, but weighs terms
        and lengths as among all."""
        index = _weighed(terms, statistics)
        index.corpus_size = len(self._lengths)
        index.doc_freqs, index.doc_len = self._frequencies, self._lengths
        return index


def weights(terms: Sequence[str], statistics: Statistics) -> dict[str, float]:
    """What rank_bm25 multiplies the share of each term with."""
    return dict(_weighed(terms, statistics).idf) if terms else {}


def mean_weight(texts: int, spread: Mapping[int, int]) -> float:
    """The mean weight of terms; `spread` says how many stand in how many texts."""
    if not spread:
        return 0.0
    found_in = np.array(list(spread), np.float64)
    weighed = np.log(texts - found_in + 0.5) - np.log(found_in + 0.5)
    return float(np.average(weighed, weights=list(spread.values())))


def share(
    counts: NDArray[_Float], lengths: NDArray[_Float] | _Float, statistics: Statistics
) -> NDArray[_Float]:
    """How much a term says of texts (N,) where it stands so often, before its weight:
    rank_bm25's formula, without what BM25+ gives to every text."""
    k1, b = _OKAPI.k1, _OKAPI.b
    norm = lengths * (k1 * b * statistics.texts / statistics.words) + counts
    norm += k1 * (1 - b)
    said = counts * (k1 + 1)
    said /= norm
    return np.asarray(said)


def _weighed(terms: Sequence[str], statistics: Statistics) -> Any:
    """A BM25 of rank_bm25 without texts."""
    few = statistics.texts < SMALL
    index = _unweighed(BM25Plus if few else BM25Okapi)
    index.idf = {}
    index.corpus_size = statistics.texts
    index.avgdl = statistics.words / statistics.texts
    found_in = {term: statistics.found_in[term] for term in terms}
    if few:
        index._calc_idf(found_in)
    else:  # the package would measure the floor by these terms alone
        index.idf = {t: _weight(n, statistics.texts) for t, n in found_in.items()}
        floor = index.epsilon * statistics.mean_weight
        index.idf = {t: w if w >= 0 else floor for t, w in index.idf.items()}
    return index


def _weight(found_in: int, texts: int) -> float:
    """BM25Okapi's, before its floor."""
    return math.log(texts - found_in + 0.5) - math.log(found_in + 0.5)


def _without_gifts(
    scores: NDArray[np.float64], index: Any, terms: Sequence[str]
) -> NDArray[np.float64]:
    """BM25+ gives something to every text; what holds no term gets nothing here."""
    if not isinstance(index, BM25Plus):
        return scores
    given = index.delta * sum(index.idf[term] for term in terms)
    return np.where(scores - given > _NOTHING, scores - given, 0)
