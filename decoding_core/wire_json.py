"""The JSON twin of the frames, and the message that opens a session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from decoding_core.errors import MessageError
from decoding_core.foreign_text import one_line
from decoding_core.messages import (
    VERSION,
    Candidates,
    DraftBlock,
    Kind,
    OpenSession,
    SessionOpened,
    Signal,
    Terms,
    Verdict,
    check_verdict,
)

Json = dict[str, Any]
_SESSION_ID = re.compile(r"[A-Za-z0-9._~-]{1,200}")
"""It becomes a part of an address."""
_LONGEST_NAME = 200
_SIGNALS = {one.name.lower(): one for one in (Kind.RESYNC, Kind.BUSY, Kind.ERROR)}


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
    """The answer, with names that can be shown and kept; raises MessageError when it is
    none."""
    names = [body.get(name) for name in ("session_id", "generalist", "base")]
    texts = [one for one in names if isinstance(one, str)]
    if len(texts) < len(names) or not _SESSION_ID.fullmatch(texts[0]):
        raise MessageError("the server's answer is no session")
    return SessionOpened(
        texts[0], *(one_line(one)[:_LONGEST_NAME] for one in texts[1:])
    )


def block_to_json(block: DraftBlock) -> Json:
    """The body of `POST .../verify`."""
    return asdict(block)


def block_from_json(body: Mapping[str, Any]) -> DraftBlock:
    """The block in a body whose types have been checked."""
    return DraftBlock(
        **{**body, "settled": tuple(body["settled"]), "drafted": tuple(body["drafted"])}
    )


def answer_to_json(answer: Verdict | Signal, drafted: int) -> Json:
    """The answer to `POST .../verify`."""
    body: Json = {"epoch": answer.epoch, "round": answer.round}
    if isinstance(answer, Signal):
        return {**body, "type": answer.kind.name.lower(), "value": answer.value}
    kind = "accept" if answer.accepted == drafted else "reject"
    return {
        **body,
        "type": kind,
        "accepted": answer.accepted,
        "ratio_sum": answer.ratio_sum,
        "seconds": answer.seconds,
        "rows": [
            {
                "token_ids": row.token_ids.tolist(),
                "generalist_logprobs": row.generalist_logprobs.tolist(),
                "base_logprobs": None
                if (base := row.base_logprobs) is None
                else base.tolist(),
                "tail_log_ratio": row.tail_log_ratio,
            }
            for row in answer.rows
        ],
    }


def answer_from_json(body: Mapping[str, Any]) -> Verdict | Signal:
    """The answer; raises MessageError when it is none."""
    try:
        epoch, round_, kind = _count(body["epoch"]), _count(body["round"]), body["type"]
        if kind in ("accept", "reject"):
            rows = tuple(_row_from_json(row) for row in body["rows"])
            sums = float(body["ratio_sum"]), float(body["seconds"])
            verdict = Verdict(epoch, round_, _count(body["accepted"]), rows, *sums)
            check_verdict(verdict)
            return verdict
        return Signal(_SIGNALS[kind], epoch, round_, _count(body["value"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MessageError("the server's answer is no verdict") from error


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError("no count")
    return value


def _row_from_json(row: Mapping[str, Any]) -> Candidates:
    base = row["base_logprobs"]
    ids = [_count(one) for one in row["token_ids"]]
    return Candidates(
        np.asarray(ids, np.int32),
        np.asarray(row["generalist_logprobs"], np.float32),
        None if base is None else np.asarray(base, np.float32),
        float(row["tail_log_ratio"]),
    )
