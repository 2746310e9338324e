"""Decoding methods: one per file, found by the file's name.

Other packages add theirs by entry points of the group `specsteer.methods`; each leads
to a class like the `Method` of a file here.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from decoding_core.errors import UnknownMethodError
from decoding_core.messages import Terms
from decoding_core.protocols import Method
from decoding_core.settings import MethodSettings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "specsteer.methods"


@cache
def own() -> tuple[str, ...]:
    """Names of the methods of this package, from the listing of this folder."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def entry_points(group: str, **wanted: Any) -> EntryPoints:
    """What installed packages offer; the module that looks takes 30 ms to import, and
    our own methods do without."""
    from importlib import metadata

    return metadata.entry_points(group=group, **wanted)


@cache
def available() -> tuple[str, ...]:
    """Names of all methods, those of other packages too."""
    return tuple(sorted({*own(), *entry_points(group=GROUP).names}))


def build(settings: MethodSettings) -> Method:
    """The method that the settings name.

    Raises:
        UnknownMethodError: there is no such method, or it cannot be loaded.
        InvalidSettingsError: the method cannot work with these settings.
    """
    if settings.method not in own() and settings.method not in available():
        names = ", ".join(available())
        raise UnknownMethodError(
            f"there is no method '{settings.method}'; choose one of: {names}"
        )
    return cast(Method, _class(settings.method).from_settings(settings))


def summary(name: str) -> str:
    """One line on a method of `available()`."""
    return cast(str, _class(name).summary)


def _class(name: str) -> Any:
    if name in own():
        return import_module(f"{__name__}.{name}").Method
    (entry, *_) = entry_points(group=GROUP, name=name)
    try:
        return entry.load()
    except Exception as error:  # what somebody else's import may raise
        raise UnknownMethodError(
            f"the method '{name}' of another package cannot be loaded: "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from error


def build_for_server(terms: Terms) -> Method:
    """The method as the server needs it, from the terms of a session."""
    return build(
        MethodSettings(
            method=terms.method,
            strength=terms.strength,
            rule=terms.rule,
            temperature=terms.temperature,
            seed=terms.seed,
            candidates=terms.candidates,
            candidate_rule=terms.candidate_rule,
            draft_length=terms.draft_limit,
            base=terms.base,
            bonus_from="steered" if terms.bonus else "none",
            costeer_steps=terms.costeer_steps,
            costeer_alpha=terms.costeer_alpha,
            costeer_lambda=terms.costeer_lambda,
            costeer_eta=terms.costeer_eta,
        )
    )
