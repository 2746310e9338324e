"""A notice if a request is in a language that the model does not write."""

from __future__ import annotations

from pathlib import Path

from decoding_core.errors import ModelError
from models.files import locate
from models.gguf_header import read_layout
from personal_store.text.languages import NAMES, language_of


def languages_of(model: Path) -> frozenset[str] | None:
    """The codes of the languages that a model writes; None if it does not say."""
    if model == locate("specialist"):
        return frozenset(["en"])
    try:
        said = read_layout(model).values.get("general.languages")
    except (ModelError, OSError):
        return None
    return frozenset(map(str, said)) if isinstance(said, list) and said else None


def word_on_languages(model: Path, request: str) -> str | None:
    """A sentence if the request is in a language that the model does not write."""
    asked = language_of(request)
    if asked in (None, "en"):
        return None
    writes = languages_of(model)
    if writes is None or asked in writes:
        return None
    known = " and ".join(sorted(NAMES.get(code, code) for code in writes))
    return (
        f"your request seems to be in {NAMES[str(asked)]}: the small model writes "
        f"{known}; 'specsteer models' finds others"
    )
