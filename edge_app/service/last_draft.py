"""The last draft of `specsteer write`, kept for an instruction to change it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from decoding_core.errors import InvalidSettingsError
from edge_app.config.sealed import read_file, write_file
from edge_app.config.settings import store_path
from edge_app.decoding.events import decoded, dumped
from edge_app.service.requests import WriteRequest

LAST_DRAFT = "last draft"  # what the file is, if it is sealed


@dataclass(frozen=True, slots=True)
class LastDraft:
    """A draft and what it was written for."""

    request: WriteRequest
    text: str
    samples: bool = False  # whether it was written from the sample letters


def last_draft_path() -> Path:
    """Where the file lies."""
    return store_path().with_name("last-draft.json")


def keep_last_draft(draft: LastDraft) -> None:
    """Keep a draft in the place of the one before; raises OSError, StoreLockedError."""
    bare = replace(draft, request=replace(draft.request, ask=None))
    data = dumped(asdict(bare)).encode()
    write_file(last_draft_path(), data, LAST_DRAFT, store_path())


def read_last_draft() -> LastDraft:
    """The draft that was kept last. Raises InvalidSettingsError if there is none that
    can be read, and StoreLockedError without the store's key."""
    try:
        data = read_file(last_draft_path(), LAST_DRAFT, store_path())
        return decoded(LastDraft, json.loads(data))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InvalidSettingsError(
            "there is no draft that could be changed: write one first, or give a text "
            "with --draft FILE"
        ) from error
