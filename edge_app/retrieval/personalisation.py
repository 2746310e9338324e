"""What of a history the specialist is given: the choices by their names.

The names are known without loading what searches a store, as `--help` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding_core.errors import InvalidSettingsError

if TYPE_CHECKING:
    from edge_app.retrieval.context import (
        RetrievalContext,
        RetrievalQuery,
        Retrieved,
        Searchable,
    )

USUAL = "bm25"
_SUMMARIES = {
    "bm25": "texts with the words of the request; the usual",
    "noise": "texts that do not fit, to test robustness",
    "none": "no text of yours is read",
    "profile": "a written profile of you, and texts as with bm25",
    "random": "texts of the kind by chance; the seed decides",
    "rank_bm25": "the best by the package rank_bm25, to compare",
    "recency": "the newest texts of the kind",
}


@dataclass(frozen=True, slots=True)
class Personalisation:
    """One choice."""

    name: str

    def find(
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """What to read for a request; raises StoppedError when the person stops."""
        from edge_app.retrieval.context import FINDERS

        return FINDERS[self.name](texts, query, context)


def available() -> tuple[str, ...]:
    """Names of the choices."""
    return tuple(_SUMMARIES)


def build(name: str) -> Personalisation:
    """The choice of that name; raises InvalidSettingsError for an unknown one."""
    if name not in _SUMMARIES:
        raise InvalidSettingsError(
            f"there is no personalisation '{name}'; choose one of: "
            + ", ".join(available())
        )
    return Personalisation(name)


def summary(name: str) -> str:
    """One line on a choice of `available()`."""
    return _SUMMARIES[name]
