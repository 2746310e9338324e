"""Limits that depend on the models: what a session may ask for."""

from __future__ import annotations

from collections.abc import Sequence

from cloud_api.engine.batch_engine import Models
from cloud_api.settings import ServerSettings
from decoding_core.errors import (
    ContextFullError,
    InvalidSettingsError,
    MessageError,
    VocabularyMismatchError,
)
from decoding_core.messages import SETTLED_LIMIT, OpenSession, Terms
from decoding_core.wire import FrameFormat


def reserve(terms: Terms) -> int:
    """Tokens of the context that prompt and text must leave for the next block."""
    return SETTLED_LIMIT + terms.draft_limit


def check_base(uses_base: bool, models: Models) -> None:
    """Raise InvalidSettingsError where a session needs the base that is not here."""
    if uses_base and models.base is None:
        raise InvalidSettingsError(
            "this server runs no base: run it on the device with --base edge, or start "
            "the server with --base and the device's specialist"
        )


def candidate_limit(models: Models, settings: ServerSettings) -> int:
    """The most candidates that a row may hold."""
    size = models.vocabulary_size
    return min(size, settings.candidates or size)


def check_request(
    request: OpenSession, models: Models, settings: ServerSettings
) -> None:
    """Raise what speaks against a session.

    Raises:
        VocabularyMismatchError: the device's tokens are not the server's.
        InvalidSettingsError: too many candidates.
        MessageError: an id outside the vocabulary.
        ContextFullError: prompt and text leave no room; a text that is begun must leave
            some for a block, one that goes on may be at its end.
    """
    _check_vocabulary(request, models)
    most = candidate_limit(models, settings)
    if request.terms.candidates > most:
        raise InvalidSettingsError(
            f"this server gives at most {most} candidates per token"
        )
    check_ids(request.prompt_ids, models)
    check_ids(request.text_ids, models)
    room = models.context_length
    if not request.text_ids:
        room -= reserve(request.terms)
    if len(request.prompt_ids) + len(request.text_ids) > room:
        raise ContextFullError(
            f"prompt and text may hold {room} tokens together on this server"
        )


def check_ids(token_ids: Sequence[int], models: Models) -> None:
    """Raise MessageError when an id is not in the vocabulary."""
    if token_ids and not 0 <= min(token_ids) <= max(token_ids) < models.vocabulary_size:
        raise MessageError(
            f"a token id outside the vocabulary of {models.vocabulary_size}"
        )


def check_frames(frames: FrameFormat, settings: ServerSettings) -> None:
    """Raise InvalidSettingsError when an answer would be too large."""
    if frames.down_size > settings.answer_bytes:
        raise InvalidSettingsError(
            f"answers would be larger than {settings.answer_bytes} bytes; "
            "ask for fewer candidates or shorter drafts"
        )


def _check_vocabulary(request: OpenSession, models: Models) -> None:
    if request.vocabulary_id != models.generalist.vocabulary_id:
        served = f"generalist '{models.generalist.name}'"
        if models.base is not None:
            served += f" and base '{models.base.name}'"
        raise VocabularyMismatchError(
            f"the device's model has another vocabulary than this server's {served}; "
            "use a specialist that shares theirs"
        )
