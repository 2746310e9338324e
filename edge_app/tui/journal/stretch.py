"""Where in another version a stretch stood that was written anew."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a version, which another one has in other words."""

    version: int
    at: int
    """How many letters stand before it."""
    rest: int
    """How many letters are put back behind it."""
