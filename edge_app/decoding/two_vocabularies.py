"""A verifier whose model has other tokens than the specialist.

Between the loop, which counts the device's tokens, and a server that reads bytes: what
is drafted goes out as bytes, and the rows that come back, of the server's tokens at
their own borders, become rows of the device's tokens at its places (`byte_space`). The
base has the specialist's weights, so it reads on the device. What decides and draws
sees no difference.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from decoding_core.byte_space import ByteVocabulary, ProjectedRows, Wording, borders_of
from decoding_core.errors import (
    InvalidSettingsError,
    MessageError,
    SessionLostError,
    VocabularyMismatchError,
)
from decoding_core.messages import (
    BYTES_VERSION,
    Candidates,
    DraftBlock,
    FrameFormat,
    OpenSession,
    SessionOpened,
    Verdict,
    digest,
)
from decoding_core.protocols import Engine, Verifier
from decoding_core.verifier import VerifierRole, bytes_role, common_prefix, role_of
from edge_app.decoding.on_device import EdgeBaseVerifier


class ByteVerifier(Verifier, Protocol):
    """A verifier of texts in bytes that says what its tokens are."""

    @property
    def speaks_bytes(self) -> bool:
        """Whether it is known to have other tokens, from a text before."""

    def vocabulary(self) -> ByteVocabulary:
        """The generalist's tokens; raises CloudError, MessageError."""


@dataclass(frozen=True, slots=True)
class _Out:
    """A block that is out: the text with it, in the device's tokens."""

    block: DraftBlock
    token_ids: tuple[int, ...]
    begin: int  # how many of them stand before the draft
    begun: int  # bytes before it that begin a character, and were sent as drafted
    whole: bytes  # the text with it, as it was sent


class BytesVerifier:
    """Speaks bytes with the verifier inside, and tokens with the loop."""

    local = False

    def __init__(
        self, inner: ByteVerifier, wording: Wording, messages: Sequence[tuple[str, str]]
    ) -> None:
        """`messages` are role and text of each message of the public prompt."""
        self._inner, self._wording = inner, wording
        self._messages = tuple(messages)
        self._role: VerifierRole | None = None
        self._frames: FrameFormat | None = None
        self._text: list[int] = []
        self._held = b""  # the text as the server has it once it has read all blocks
        self._read = b""  # what of it is known to be read
        self._out: deque[_Out] = deque()

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises, and
        InvalidSettingsError if the method cannot do with two vocabularies."""
        self._role = role_of(request.terms)
        self._frames = bytes_role(self._role).frames
        self._out.clear()
        self._text = list(request.text_ids)
        self._held = whole_characters(self._wording.own.text(self._text))
        self._read = self._held
        in_bytes = replace(
            request,
            prompt_ids=(),
            text_ids=tuple(self._held),
            terms=replace(request.terms, base="edge"),
            version=BYTES_VERSION,
            messages=self._messages,
        )
        return self._inner.open(in_bytes)

    def submit(self, block: DraftBlock) -> None:
        """Hand over a block in bytes; raises SessionLostError if it settles more than a
        frame carries, and what the verifier inside raises."""
        assert self._frames is not None
        if digest(self._text[: block.position]) != block.digest:
            raise MessageError("the block does not follow the text")
        if self._out and self._out[-1].block.epoch < block.epoch:
            self._out.clear()
            self._held = self._read  # void blocks are never read, or not any more
        self._text[block.position :] = [*block.settled, *block.drafted]
        begin = block.position + len(block.settled)
        own = self._wording.own
        before = own.text(self._text[:begin])
        # A character that the draft only ends is drafted whole: what is settled and
        # what is drafted can each be read as it left.
        start = len(whole_characters(before))
        most = start + self._frames.most_drafted
        whole = whole_characters((before + own.text(block.drafted))[:most])
        if len(whole) < len(before):
            whole = before  # for a row within the character, or it would never end
        known = min(common_prefix(self._held, whole), start)
        known = len(whole_characters(whole[:known]))
        settled = whole[known:start]
        if len(settled) > self._frames.most_settled:
            raise SessionLostError("more was settled than a block carries")
        sent = replace(
            block,
            position=known,
            digest=digest(whole[:known]),
            settled=tuple(settled),
            drafted=tuple(whole[start:]),
        )
        try:
            self._inner.submit(sent)
        except BaseException:
            self._out.clear()
            raise
        self._held = whole
        out = _Out(block, tuple(self._text), begin, len(before) - start, whole)
        self._out.append(out)

    def collect(self) -> Verdict:
        """The verdict with a row before each drafted token that the server's reach, and
        one behind them if a bonus is drawn. Raises MessageError for rows that do not
        spell the text, and what the verifier inside raises."""
        if self._role is None or not self._out:
            raise MessageError("collect was called before submit")
        try:
            answer = self._inner.collect()
            out = self._out.popleft()
            self._read = out.whole
            rows = self._rows(out, answer.rows, self._role)
            return replace(answer, rows=rows, reaches=len(rows))
        except BaseException:
            self._out.clear()
            raise

    def ready(self) -> bool:
        """Whether the answer of the verifier inside is there."""
        return self._inner.ready()

    def close(self) -> None:
        """End the text on both sides."""
        self._inner.close()

    def _rows(
        self, out: _Out, rows: Sequence[Candidates], role: VerifierRole
    ) -> tuple[Candidates, ...]:
        """Rows over the device's tokens, from those of the server's."""
        own, first, reach = self._wording.own, out.begin, -out.begun
        # A token of the server may be many of the device's: back to where it begins.
        while first and rows and reach + rows[0].start < 0:
            first -= 1
            reach += len(own.pieces[out.token_ids[first]])
        stretch = out.token_ids[first:]
        borders = borders_of(rows, own.text(stretch), self._wording.other, reach)
        most = None if role.adds_draft else role.terms.candidates
        projected = ProjectedRows(self._wording, borders, stretch, most)
        found = list[Candidates]()
        ends, drafted = own.end_ids, out.block.drafted
        for index in range(role.rows(len(drafted))):
            token = drafted[index] if index < len(drafted) else None
            end_id = own.end_id if token is None or token not in ends else token
            added = token if role.adds_draft else None
            row = projected.row(out.begin - first + index, end_id, added)
            within = not projected.at_border(out.begin - first + index)
            if found and (row is None or within):
                break  # how that is cut hangs on the draft: it begins the next block
            if row is None:
                # Within a character that no candidate has: it is nobody's choice.
                if token is None:
                    raise MessageError("the server's answer lacks the row of a token")
                row = Candidates(
                    np.array([token], np.int32), np.zeros(1, np.float32), None
                )
            found.append(row)
        return tuple(found)


class AnyVocabulary:
    """A server's client in tokens if both sides share them, and else in bytes."""

    local = False

    def __init__(
        self,
        inner: ByteVerifier,
        own: Callable[[], ByteVocabulary],
        messages: Sequence[tuple[str, str]],
        base: Callable[[], Engine] | None,
    ) -> None:
        """`base` loads the base if the server has none for this method; None: whoever
        calls brings one."""
        self._inner, self._own = inner, own
        self._messages, self._base = messages, base
        self._in_use: Verifier = inner

    @property
    def in_bytes(self) -> bool:
        """Whether the two sides have different vocabularies."""
        return self._in_use is not self._inner

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        if not self.in_bytes and not self._inner.speaks_bytes:
            with suppress(VocabularyMismatchError):
                return self._inner.open(request)
        if not self.in_bytes:
            self._in_use = self._over_bytes(request)
        return self._in_use.open(request)

    def _over_bytes(self, request: OpenSession) -> Verifier:
        role = role_of(request.terms)
        if role.method.reads_history == "generalist":
            raise InvalidSettingsError(
                f"the method '{role.method.name}' needs a specialist with the "
                "generalist's vocabulary: choose another method, or another specialist"
            )
        wording = self._own().wording(self._inner.vocabulary())
        verifier = BytesVerifier(self._inner, wording, self._messages)
        if role.method.needs_base and self._base is not None:
            return EdgeBaseVerifier(verifier, self._base())
        return verifier

    def submit(self, block: DraftBlock) -> None:
        """Hand over a block."""
        self._in_use.submit(block)

    def collect(self) -> Verdict:
        """The verdict on the oldest block that is out."""
        return self._in_use.collect()

    def ready(self) -> bool:
        """Whether the verdict is there."""
        return self._in_use.ready()

    def close(self) -> None:
        """End the text."""
        self._in_use.close()


def whole_characters(data: bytes) -> bytes:
    """The bytes without those at the end that only begin a character."""
    for size in range(1, min(4, len(data) + 1)):
        lead = data[-size]
        if lead >= 0xC0:
            wanted = 2 + (lead >= 0xE0) + (lead >= 0xF0)
            return data[:-size] if wanted > size else data
        if lead < 0x80:
            break
    return data
