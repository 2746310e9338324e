"""How good a text is: how near it comes to the true one, and what a judge of one's own
says (`--scorer module:function`), as for the preference sets, which have no true text.

ROUGE is Google's rouge-score, as LaMP and the papers use it: F-measure, no stemmer. It
knows the letters a to z and digits alone. METEOR is nltk's with exact and stemmed
words. Its third stage, synonyms, needs WordNet, which must be downloaded; it is left
out, and the figure is named accordingly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from benchmarks.quality.query import Query
from decoding_core.errors import InvalidSettingsError
from personal_store.extras import how_to_add


def check_extra() -> None:
    """Raise InvalidSettingsError when a library is missing."""
    try:
        _rouge()
        _words()
    except ImportError as error:
        raise InvalidSettingsError(
            f"ROUGE and METEOR need more libraries: {how_to_add('bench')}"
        ) from error


def scores(query: Query, text: str) -> dict[str, float]:
    """The figures of one text, by name; 0 to 1 but for `error`, which counts stars."""
    text, true = text.strip(), query.text.strip()
    if query.kind == "open":
        return {}
    if query.kind == "choice":
        return {"accuracy": float(text == true)}
    if query.kind == "rating":
        return {"error": abs(stars(text, true) - float(true))}
    rouge = _rouge().score(true, text)
    return {
        "rouge1": float(rouge["rouge1"].fmeasure),
        "rougeL": float(rouge["rougeL"].fmeasure),
        "meteor": meteor(text, true),
    }


def meteor(text: str, true: str) -> float:
    """METEOR without synonyms, 0 to 1."""
    from nltk.translate.meteor_score import single_meteor_score

    words, wordnet = _words(), cast(Any, _NoSynonyms())
    return float(single_meteor_score(words(true), words(text), wordnet=wordnet))


def stars(text: str, true: str) -> float:
    """The rating that a text gives. What is no number counts as far from the true one
    as a rating can be, which is how LaMP counts it."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if math.isfinite(found):
        return found
    return 1.0 if abs(1.0 - float(true)) > abs(5.0 - float(true)) else 5.0


class _NoSynonyms:
    """Stands where nltk asks WordNet."""

    def synsets(self, word: str) -> list[Any]:
        """None of any word."""
        del word
        return []


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    make: Any = RougeScorer  # it comes without types
    return make(["rouge1", "rougeL"])


@cache
def _words() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenize: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return tokenize


@dataclass(frozen=True, slots=True)
class Answer:
    """What a scorer is shown."""

    dataset: str
    asked: str
    wish: str
    """Such as `concise`; empty outside of the preference sets."""
    text: str
    true_text: str
    """Empty where there is none."""


class Scorer(Protocol):
    """Says how good an answer is. The same answer must get the same score."""

    def __call__(self, answer: Answer) -> float:
        """A finite number; more is better."""


@dataclass(frozen=True, slots=True)
class NamedScorer:
    """A scorer, and what it was asked for by."""

    name: str
    judge: Scorer

    def score(self, query: Query, text: str) -> float:
        """The score of a text; raises InvalidSettingsError when it is no number."""
        answer = Answer(query.dataset, query.asked, query.wish, text, query.text)
        found = self.judge(answer)
        if not isinstance(found, int | float) or not math.isfinite(found):
            raise InvalidSettingsError(
                f"the scorer {self.name} gave {found!r}; it must give a finite number"
            )
        return float(found)


def find_scorer(name: str) -> NamedScorer:
    """The scorer at `module:function`.

    Raises:
        InvalidSettingsError: there is none.
    """
    module, colon, function = name.partition(":")
    if not (module and colon and function):
        raise InvalidSettingsError(
            f"--scorer takes module:function, such as my_judges:concise, not '{name}'"
        )
    try:
        judge = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InvalidSettingsError(
            f"the scorer {name} cannot be found: {error}; PYTHONPATH says where "
            "modules are looked for"
        ) from error
    if not callable(judge):
        raise InvalidSettingsError(f"the scorer {name} is no function")
    return NamedScorer(name, judge)
