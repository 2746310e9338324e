"""Records as `specsteer store export` writes them, a line of JSON each, read again."""

import base64
import zlib
from typing import Any

from personal_store.reading.letters import unpack
from personal_store.records import Author, Document, ImportFailure, Item

MARK = "specsteer"
"""The field that says which version of this format a line is in."""
VERSION = 1


def is_exported(value: Any) -> bool:
    """Whether an object of a JSON lines file is a record that an export wrote."""
    return isinstance(value, dict) and value.get(MARK) == VERSION


def exported_item(value: dict[str, Any], position: int, where: str) -> Item:
    """The record in a line, with nothing lost; a failure if somebody damaged it."""
    try:
        raw = None if value["raw"] is None else base64.b64decode(value["raw"])
        if raw is not None:
            unpack(raw)  # raises where somebody damaged it
        return Document(
            position=position,
            key=str(value["key"]),
            kind=str(value["kind"]),
            text=str(value["text"]),
            title=str(value["title"]),
            recipient=str(value["recipient"]),
            recipient_address=str(value["recipient_address"]),
            sender=str(value["sender"]),
            sender_name=str(value["sender_name"]),
            sent_at=_whole(value["sent_at"]),
            rating=None if value["rating"] is None else float(value["rating"]),
            labels=tuple(map(str, value["labels"])),
            thread=str(value["thread"]),
            reply_to=str(value["reply_to"]),
            trimmed=bool(value["trimmed"]),
            cleaning=int(value["cleaning"]),
            raw=raw,
            origin=(str(value["source_kind"]), str(value["source"])),
            author=Author[str(value["author"]).upper()],
            excluded=bool(value["excluded"]),
            trashed_at=_whole(value["trashed_at"]),
        )
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        reason = f"it is not as it was exported ({type(error).__name__}: {error})"
        return ImportFailure(position, where, reason)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
