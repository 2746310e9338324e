"""What of a history the specialist is given: the choices by their names.

The names are known without loading what searches a store, as `--help` lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding_core.errors import InvalidSettingsError

if TYPE_CHECKING:
    from edge_app.retrieval.context import Reranker, RetrievalQuery, Searchable
    from personal_store import Passage

USUAL = "bm25"
_SUMMARIES = {
    "bm25": "texts with the words of the request; the usual",
    "noise": "texts that do not fit, to test robustness",
    "none": "no text of yours is read",
    "pad": "as bm25; a task adapter rescores likely tokens",
    "random": "texts of the kind by chance; the seed decides",
    "rank_bm25": "the best by the package rank_bm25, to compare",
    "recency": "the newest texts of the kind",
    "tam": "no text; an adapter of others' texts is worn",
}
WEARING = frozenset({"pad", "tam"})  # the choices that need an adapter


def available() -> tuple[str, ...]:
    """Names of the choices."""
    return tuple(_SUMMARIES)


def summary(name: str) -> str:
    """One line on a choice of `available()`."""
    return _SUMMARIES[name]


def check(name: str) -> None:
    """Raises InvalidSettingsError for a name that is no choice's."""
    if name not in _SUMMARIES:
        raise InvalidSettingsError(
            f"there is no personalisation '{name}'; choose one of: "
            + ", ".join(available())
        )


def check_worn(name: str, adapter: object | None) -> None:
    """Raises InvalidSettingsError for a choice that needs an adapter without one."""
    if name in WEARING and adapter is None:
        raise InvalidSettingsError(
            f"the personalisation '{name}' needs an adapter, and --lora or the line "
            "lora of settings.toml says that none is worn"
        )


def without_adapter(name: str) -> str:
    """The choice, or the usual one in the place of one that needs an adapter."""
    return USUAL if name in WEARING else name


def find(
    name: str,
    texts: Searchable,
    query: RetrievalQuery,
    reranker: Reranker | None = None,
) -> list[Passage]:
    """What to read for a request by a choice; raises as `check`, and StoppedError."""
    from edge_app.retrieval.context import FINDERS

    check(name)
    return FINDERS[name](texts, query, reranker)
