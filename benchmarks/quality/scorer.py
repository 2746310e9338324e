"""A judge of texts that somebody else wrote: `--scorer module:function`.

For the preference sets, which have no true text, and for whatever else a model or a
person may be asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from benchmarks.quality.query import Query
from decoding_core.errors import InvalidSettingsError


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
