"""The JSON twin of the frames, and the message that opens a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

import numpy as np

from decoding_core.errors import MessageError
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
    check_finite,
)

Json = dict[str, Any]


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
    """The answer; raises MessageError when it is none."""
    try:
        return SessionOpened(**{k: str(v) for k, v in body.items()})
    except (TypeError, AttributeError) as error:
        raise MessageError("the server's answer is no session") from error


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
        epoch, round_, kind = body["epoch"], body["round"], body["type"]
        if kind in ("accept", "reject"):
            rows = tuple(_row_from_json(row) for row in body["rows"])
            sums = float(body["ratio_sum"]), float(body["seconds"])
            verdict = Verdict(epoch, round_, cast(int, body["accepted"]), rows, *sums)
            check_finite(verdict)
            return verdict
        return Signal(Kind[kind.upper()], epoch, round_, body["value"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MessageError("the server's answer is no verdict") from error


def _row_from_json(row: Mapping[str, Any]) -> Candidates:
    base = row["base_logprobs"]
    return Candidates(
        np.asarray(row["token_ids"], np.int32),
        np.asarray(row["generalist_logprobs"], np.float32),
        None if base is None else np.asarray(base, np.float32),
        float(row["tail_log_ratio"]),
    )
