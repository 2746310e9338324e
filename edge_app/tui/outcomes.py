"""What the desk's threads put into the inbox that the screen empties."""

from __future__ import annotations

from dataclasses import dataclass

from edge_app.decoding.events import Event, Source
from edge_app.tui.variant import Variant


@dataclass(frozen=True, slots=True)
class Prepared:
    """Models are loaded; `server` says which checker there is."""

    server: str


@dataclass(frozen=True, slots=True)
class PrepareFailed:
    """Nothing can be written; `problem` says why."""

    problem: str


@dataclass(frozen=True, slots=True)
class Told:
    """Something happened while `variant` is written."""

    variant: Variant
    event: Event


@dataclass(frozen=True, slots=True)
class WriteEnded:
    """The desk is free again; `problem` is empty when all went well."""

    variant: Variant
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ImportAdvanced:
    """So many pieces of the file are read."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ImportEnded:
    """The import is over: its closing sentence, or the problem."""

    sentence: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """How many own texts of each kind there are."""

    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search among the letters."""

    query: str
    sources: tuple[Source, ...]
    problem: str = ""
    """Why there is no answer."""


Outcome = (
    Prepared
    | PrepareFailed
    | Told
    | WriteEnded
    | ImportAdvanced
    | ImportEnded
    | Counted
    | Found
)
