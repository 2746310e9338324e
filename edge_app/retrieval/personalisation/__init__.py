"""What of a history the specialist is given: one choice per file, found by its name."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from decoding_core.errors import InvalidSettingsError

if TYPE_CHECKING:
    from edge_app.retrieval.passages import (
        Personalisation,
    )  # loads what --help does without

USUAL = "bm25"


@cache
def available() -> tuple[str, ...]:
    """Names of the choices, from the listing of this folder."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def build(name: str) -> Personalisation:
    """The choice of that name.

    Raises:
        InvalidSettingsError: there is no such file.
    """
    if name not in available():
        raise InvalidSettingsError(
            f"there is no personalisation '{name}'; choose one of: "
            + ", ".join(available())
        )
    module = import_module(f"{__name__}.{name}")
    return cast("Personalisation", module.Choice())


def summary(name: str) -> str:
    """One line on a choice of `available()`."""
    return build(name).summary
