"""What was written and not saved, kept in a file when the app ends unasked.

One file for a sitting that ended: the brief, every version with the origin of its
words, and which one was on screen. The next start offers it. The files are plain text
in a folder for the owner's eyes alone, also beside an encrypted store.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from decoding_core.errors import InvalidSettingsError
from decoding_core.messages import Origin
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Token
from edge_app.service.requests import WriteRequest
from edge_app.tui.variant import State, Variant
from models.prompts import Request
from personal_store.files.private_files import part_of, put_in_place, shred

_STATES: tuple[State, ...] = ("kept", "replaced", "typed", "held")
"""States of words in a version that is no longer being written."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """The brief and the versions that the person would lose."""

    request: Request
    """The brief as it stood."""
    variants: Sequence[Variant]
    current: int


@dataclass(frozen=True, slots=True)
class KeptSitting:
    """An ended sitting and its recovery file."""

    path: Path
    ended: datetime
    sitting: Sitting


class RecoveryFolder:
    """The recovery files of ended sittings and of the running one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._own: Path | None = None

    def kept(self) -> tuple[list[KeptSitting], list[Path]]:
        """Ended sittings, the latest first, and recovery files that cannot be read."""
        readable, damaged = [], []
        for path in sorted(self.folder.glob("draft-*.json"), reverse=True):
            try:
                readable.append(_read(path))
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                damaged.append(path)
        return readable, damaged

    def go_on_from(self, kept: KeptSitting) -> None:
        """Take over the recovery file of `kept`; `clear` deletes it."""
        self._own = kept.path

    def keep(self, sitting: Sitting) -> Path:
        """Write the running sitting, in the place of what was kept of it before.

        Raises:
            OSError: it cannot be written; what was kept before is still there.
        """
        if self._own is None:
            name = f"draft-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.json"
            self._own = self.folder / name
        part = part_of(self._own)
        try:
            part.write_bytes(_as_json(sitting))
            put_in_place(part, self._own)
        finally:
            shred(part)
        return self._own

    def clear(self) -> None:
        """Delete the running sitting's recovery file; raises OSError."""
        if self._own is not None:
            shred(self._own)
            self._own = None


def _as_json(sitting: Sitting) -> bytes:
    body = {
        "ended": datetime.now().astimezone().isoformat(),
        "request": asdict(sitting.request),
        "current": sitting.current,
        "versions": [
            {
                "request": asdict(variant.request.brief),
                "settings": asdict(variant.request.settings),
                "tokens": [[t.id, t.text, t.origin] for t in variant.settled],
                "edited": variant.edited,
                "saved": variant.saved,
            }
            for variant in sitting.variants
        ],
    }
    # Half a surrogate pair, which UTF-8 lacks, becomes the escape that JSON has for it.
    text = json.dumps(body, ensure_ascii=False, indent=1)
    return text.encode("utf-8", "backslashreplace")


def _read(path: Path) -> KeptSitting:
    body = json.loads(path.read_text(encoding="utf-8"))
    variants = [_variant(version) for version in body["versions"]]
    current = int(body["current"])
    if not -1 <= current < len(variants):
        raise ValueError("no such version")
    sitting = Sitting(_request(body["request"]), variants, current)
    return KeptSitting(path, datetime.fromisoformat(body["ended"]), sitting)


def _variant(version: dict[str, Any]) -> Variant:
    """The version that `_as_json` wrote; raises ValueError, KeyError or TypeError."""
    tokens = [Token(int(i), str(text), origin) for i, text, origin in version["tokens"]]
    edited = version["edited"]
    runs = None if edited is None else [(str(text), state) for text, state in edited]
    if any(token.origin not in get_args(Origin) for token in tokens) or any(
        state not in _STATES for _, state in runs or ()
    ):
        raise ValueError("words of no known origin")
    known = {field.name for field in fields(MethodSettings)}
    try:
        settings = MethodSettings(
            **{name: v for name, v in version["settings"].items() if name in known}
        )
    except (InvalidSettingsError, TypeError):  # of another version of the program
        settings = MethodSettings()
    request = WriteRequest(_request(version["request"]), settings=settings)
    saved = version["saved"] if isinstance(version["saved"], str) else None
    return Variant(request, settled=tokens, edited=runs, saved=saved, ended=0.0)


def _request(body: dict[str, Any]) -> Request:
    return Request(**{name: str(body[name]) for name in ("text", "task", "recipient")})
