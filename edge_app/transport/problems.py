"""What a server's refusal means for the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoding_core.errors import (
    CloudBusyError,
    CloudRefusedError,
    CloudUnreachableError,
    ContextFullError,
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
    VersionRefusedError,
    VocabularyRefusedError,
)
from decoding_core.foreign_text import one_line
from decoding_core.messages import Kind, Problem, Signal
from decoding_core.versions import SPOKEN, versions_of_refusal, which_to_update

_MOST_WAIT = 10.0
"""Seconds; what a server asks for is not to be trusted."""
_LONGEST_DETAIL = 400
"""Characters of a server's reason that are shown: a sentence or two."""


def error_of(
    url: str,
    status: int,
    problem: Mapping[str, Any],
    retry_after: str | None,
    versions: str | None = None,
) -> DecodingError:
    """The error for an HTTP status and the problem+json body that came with it;
    `versions` is the header in which the server says which it speaks."""
    said = problem.get("detail") or problem.get("title")
    detail = one_line((said if isinstance(said, str) else "")[:_LONGEST_DETAIL])
    detail = detail.strip() or f"status {status}"
    if status == 403 and problem.get("code") == "pairing-refused":
        return CloudRefusedError(f"the server at {url} refused: {detail}")
    if status == 403 and problem.get("code") == "forbidden":
        return CloudRefusedError(
            f"the server at {url} knows this device, but its token is not good for "
            "this: pair the device again, with other scopes"
        )
    if status in (401, 403):
        return CloudRefusedError(
            f"the server at {url} refused the token; pair this device with it, or "
            "give the server's own with --token or SPECSTEER_TOKEN"
        )
    if status == 413 and problem.get("code") == "context-full":
        return ContextFullError(f"the server at {url}: {detail}")
    if status == 404 and problem.get("code") == "session-lost":
        return SessionLostError(detail)
    if status == 409 and problem.get("code") == "vocabulary-mismatch":
        return VocabularyRefusedError(f"the server at {url} refused: {detail}")
    if status == 400 and problem.get("code") == "protocol-version":
        return _other_version(url, detail, versions)
    if status in (404, 405, 501):
        return CloudRefusedError(f"there is no SpecSteer server at {url}")
    if 300 <= status < 400:
        return CloudRefusedError(
            f"{url} sends its visitors elsewhere (status {status}), which is not "
            "followed, as the token would go along: give the server's own address"
        )
    if status in (429, 503):
        return CloudBusyError(f"the server at {url}: {detail}", _seconds(retry_after))
    if status >= 500 or status == 408:
        return CloudUnreachableError(f"the server at {url} failed: {detail}")
    return CloudRefusedError(f"the server at {url} refused: {detail}")


def _other_version(url: str, detail: str, header: str | None) -> VersionRefusedError:
    """The refusal of a version of the protocol."""
    theirs = versions_of_refusal(header, detail)
    if theirs is None:
        return VersionRefusedError(
            f"the server at {url} speaks another version of the protocol; update "
            "SpecSteer on the server and on this device"
        )
    sentence = which_to_update(SPOKEN, theirs)
    return VersionRefusedError(f"{sentence} ({url})", SPOKEN.common(theirs))


def error_of_signal(signal: Signal) -> DecodingError:
    """The error for a frame that is no verdict."""
    if signal.kind is Kind.RESYNC:
        return SessionLostError("the server holds another text")
    if signal.kind is Kind.BUSY:
        seconds = min(signal.value / 1000, _MOST_WAIT)
        return CloudBusyError("the server is busy", seconds)
    if signal.value == Problem.CONTEXT_FULL:
        return ContextFullError("the text no longer fits into the server's model")
    if signal.value == Problem.ENGINE:
        return EngineError("the server's model failed")
    if signal.value == Problem.STOPPING:
        return CloudUnreachableError("the server is stopping")
    return MessageError("the server did not understand a block")


def _seconds(retry_after: str | None) -> float:
    try:
        seconds = float(retry_after or 1.0)
    except ValueError:
        return 1.0
    return min(seconds, _MOST_WAIT) if seconds >= 0.0 else 1.0  # "nan" is no number
