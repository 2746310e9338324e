"""The messages that open a session, as JSON, and how a refused version is named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from decoding_core.errors import MessageError
from decoding_core.foreign_text import one_line
from decoding_core.messages import VERSION, OpenSession, SessionOpened, Terms

Json = dict[str, Any]
_SESSION_ID = re.compile(r"[A-Za-z0-9._~-]{1,200}")  # it becomes a part of an address
_LONGEST_NAME = 200
VERSION_HEADER = "SpecSteer-Protocol"  # names the version of a server that refuses


def open_to_json(request: OpenSession) -> Json:
    """The body of `POST /v1/sessions`."""
    return asdict(request)


def open_from_json(body: Mapping[str, Any]) -> OpenSession:
    """The request in a body whose types have been checked."""
    return OpenSession(
        tuple(body["prompt_ids"]),
        tuple(body["text_ids"]),
        body["vocabulary_id"],
        Terms(**body["terms"]),
        body.get("version", VERSION),
    )


def opened_to_json(opened: SessionOpened) -> Json:
    """The answer to `POST /v1/sessions`."""
    return asdict(opened)


def opened_from_json(body: Mapping[str, Any]) -> SessionOpened:
    """The answer, with names that can be shown; raises MessageError for any other."""
    names = [body.get(name) for name in ("session_id", "generalist", "base")]
    texts = [one for one in names if isinstance(one, str)]
    if len(texts) < len(names) or not _SESSION_ID.fullmatch(texts[0]):
        raise MessageError("the server's answer is no session")
    return SessionOpened(
        texts[0], *(one_line(one)[:_LONGEST_NAME] for one in texts[1:])
    )


def which_to_update(device: int, server: int) -> str:
    """A sentence for both screens if device and server speak different versions."""
    older = "the device" if device < server else "the server"
    return (
        f"the device speaks version {device} of the protocol and the server version "
        f"{server}: update SpecSteer on {older}"
    )
