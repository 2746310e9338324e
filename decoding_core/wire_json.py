"""The messages that open a session, as JSON, and how a refused version is named."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from decoding_core.byte_space import LONGEST_PIECE
from decoding_core.errors import MessageError
from decoding_core.foreign_text import one_line
from decoding_core.messages import VERSION, OpenSession, SessionOpened
from decoding_core.settings import Terms

Json = dict[str, Any]
_SESSION_ID = re.compile(r"[A-Za-z0-9._~-]{1,200}")  # it becomes a part of an address
_LONGEST_NAME = 200
_PAGE = 32 << 10  # bytes of the tokens that one answer holds
_MOST_ENDS = 64
MOST_TOKENS = 1 << 20  # of a vocabulary
VERSION_HEADER = "SpecSteer-Protocol"  # names the version of a server that refuses


def open_to_json(request: OpenSession) -> Json:
    """The body of `POST /v1/sessions`."""
    body = asdict(request)
    if not request.messages:  # a server of version 3 knows no such field
        del body["messages"]
    return body


def open_from_json(body: Mapping[str, Any]) -> OpenSession:
    """The request in a body whose types have been checked."""
    return OpenSession(
        tuple(body["prompt_ids"]),
        tuple(body["text_ids"]),
        body["vocabulary_id"],
        Terms(**body["terms"]),
        body.get("version", VERSION),
        tuple((role, text) for role, text in body.get("messages", ())),
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


def tokens_to_bytes(pieces: Sequence[bytes], end_ids: Collection[int]) -> bytes:
    """A vocabulary as it is kept and hashed: in a line which tokens end a
    text, as JSON, then the bytes of each token behind their length in two bytes."""
    ends = json.dumps(sorted(end_ids)[:_MOST_ENDS]).encode()
    return ends + b"\n" + _packed(pieces)


def tokens_from_bytes(data: bytes) -> tuple[list[bytes], list[int]]:
    """The vocabulary of `tokens_to_bytes`; raises ValueError if it is none."""
    ends, _, packed = data.partition(b"\n")
    return _unpacked(packed), json.loads(ends)


def tokens_id(data: bytes) -> str:
    """The id of a vocabulary of `tokens_to_bytes`."""
    return hashlib.sha256(data).hexdigest()


def pieces_to_json(
    pieces: Sequence[bytes], end_ids: Collection[int], tokens: str, start: int
) -> Json:
    """The answer to `GET /v1/vocabulary/pieces/{start}`: the bytes of as many tokens as
    it holds, packed and in base 64, and the id of them all."""
    size, end = 0, start
    while end < len(pieces) and size + len(pieces[end]) + 2 <= _PAGE:
        size += len(pieces[end]) + 2
        end += 1
    return {
        "id": tokens,
        "size": len(pieces),
        "end_ids": sorted(end_ids)[:_MOST_ENDS],
        "pieces": base64.b64encode(_packed(pieces[start:end])).decode(),
    }


def take_pieces(body: Mapping[str, Any], known: list[bytes]) -> tuple[int, list[int]]:
    """Add the tokens of an answer to those `known`; how many there are in all, and
    which of them end a text. Raises MessageError if that cannot be a vocabulary."""
    size, ends, text = (body.get(name) for name in ("size", "end_ids", "pieces"))
    try:
        if not (type(size) is int and 0 < size <= MOST_TOKENS):
            raise ValueError
        if not (isinstance(ends, list) and isinstance(text, str)):
            raise ValueError
        if len(ends) > _MOST_ENDS:
            raise ValueError
        if not all(type(one) is int and 0 <= one < size for one in ends):
            raise ValueError
        found = _unpacked(base64.b64decode(text, validate=True))
        if not 0 < len(found) <= size - len(known):
            raise ValueError
    except ValueError:
        raise MessageError("the server's tokens are no vocabulary") from None
    known += found
    return size, ends


def _packed(pieces: Sequence[bytes]) -> bytes:
    return b"".join(len(one).to_bytes(2, "little") + one for one in pieces)


def _unpacked(data: bytes) -> list[bytes]:
    found, at = list[bytes](), 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2], "little")
        piece = data[at + 2 : at + 2 + length]
        if len(piece) < length or length > LONGEST_PIECE:
            raise ValueError("no tokens")
        found.append(piece)
        at += 2 + length
    return found


def which_to_update(device: int, server: int) -> str:
    """A sentence for both screens if device and server speak different versions."""
    older = "the device" if device < server else "the server"
    return (
        f"the device speaks version {device} of the protocol and the server version "
        f"{server}: update SpecSteer on {older}"
    )
