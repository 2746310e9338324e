"""Decoding methods: one per file, found by the file's name."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import cast

from decoding_core.errors import UnknownMethodError
from decoding_core.messages import Terms
from decoding_core.protocols import Method
from decoding_core.settings import MethodSettings


def available() -> list[str]:
    """Names of the methods, from the listing of this folder."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def build(settings: MethodSettings) -> Method:
    """The method that the settings name.

    Raises:
        UnknownMethodError: there is no such file.
    """
    if settings.method not in available():
        names = ", ".join(available())
        raise UnknownMethodError(
            f"there is no method '{settings.method}'; choose one of: {names}"
        )
    module = import_module(f"{__name__}.{settings.method}")
    return cast(Method, module.Method.from_settings(settings))


def build_for_server(terms: Terms) -> Method:
    """The method as the server needs it, from what it is told."""
    return build(
        MethodSettings(
            method=terms.method,
            threshold=terms.threshold,
            rule=terms.rule,
            temperature=terms.temperature,
            seed=terms.seed,
            candidates=terms.candidates,
            draft_length=terms.draft_limit,
        )
    )
