"""Devices that write at a server, many in one process: what each round took."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.load.household import Household, token_of
from decoding_core import wire_json
from decoding_core.messages import DraftBlock, OpenSession, Terms, Verdict, digest
from decoding_core.verifier import role_of


@dataclass(frozen=True, slots=True)
class Text:
    """What one device writes: a prompt, then blocks of which few tokens are kept."""

    user: str = "owner"
    prompt: int = 300
    rounds: int = 20
    drafted: int = 8
    pause: float = 0.02
    """Seconds that it drafts between a verdict and the next block."""
    seed: int = 0


@dataclass(slots=True)
class Times:
    """What the device saw."""

    first: float = 0.0
    """Seconds from asking for the session to the first verdict."""
    rounds: list[float] = field(default_factory=list)
    """Seconds from each further block to its verdict."""
    refused: int = 0
    """How often it was asked to come back."""


def headers(user: str) -> dict[str, str]:
    """What shows the user's token."""
    return {"Authorization": f"Bearer {token_of(user)}"}


def opening(home: Household, text: Text, **terms: Any) -> dict[str, Any]:
    """The body that begins a text of random tokens."""
    choose = random.Random(text.seed)
    size = home.models["limits"]["vocabulary_size"]
    prompt = tuple(choose.randrange(size) for _ in range(text.prompt))
    vocabulary = home.models["generalist"]["vocabulary_id"]
    chosen = Terms("steering", seed=text.seed, draft_limit=16)
    request = OpenSession(prompt, (), vocabulary, chosen)
    body = wire_json.open_to_json(request)
    body["terms"].update(terms)
    return body


async def write(home: Household, client: httpx.AsyncClient, text: Text) -> Times:
    """Write a text to its end over a stream, as the client of a device does."""
    times = Times()
    body = opening(home, text)
    began = time.perf_counter()
    while True:
        answer = await client.post(
            "/v1/sessions", json=body, headers=headers(text.user)
        )
        if answer.status_code == 201:
            break
        if answer.status_code not in (429, 503):
            answer.raise_for_status()
        times.refused += 1
        await asyncio.sleep(float(answer.headers["Retry-After"]))
    session_id = answer.json()["session_id"]
    url = f"{home.url.replace('http', 'ws', 1)}/v1/sessions/{session_id}/stream"
    async with connect(
        url, additional_headers=headers(text.user), compression=None
    ) as socket:
        await _write_rounds(home, socket, text, body, times, began)
    return times


async def _write_rounds(
    home: Household,
    socket: ClientConnection,
    text: Text,
    body: dict[str, Any],
    times: Times,
    began: float,
) -> None:
    """Send block after block, each once the one before is answered."""
    frames = role_of(wire_json.open_from_json(body).terms).frames
    choose = random.Random(text.seed + 1)
    size = home.models["limits"]["vocabulary_size"]
    ids: list[int] = []
    settled: tuple[int, ...] = ()
    epoch = 0
    for number in range(text.rounds):
        await asyncio.sleep(text.pause)
        drafted = tuple(choose.randrange(size) for _ in range(text.drafted))
        block = DraftBlock(epoch, number, len(ids), digest(ids), settled, drafted)
        sent = time.perf_counter()
        await socket.send(frames.encode_block(block))
        answer = frames.decode_answer(bytes(await socket.recv(decode=False)))
        done = time.perf_counter()
        if not isinstance(answer, Verdict):
            raise WebSocketException(f"the server answered {answer.kind.name}")
        if number:
            times.rounds.append(done - sent)
        else:
            times.first = done - began
        ids += [*settled, *drafted[: answer.accepted]]
        settled = ()
        if answer.accepted < len(drafted):
            epoch += 1
        if answer.rows:
            row = answer.rows[0]
            best = int(np.argmax(row.generalist_logprobs))
            settled = (int(row.token_ids[best]),)


async def write_all(
    home: Household, texts: Sequence[Text], *, at_once: bool = True
) -> list[Times]:
    """Write texts at once, or one after the other."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    async with httpx.AsyncClient(
        base_url=home.url, timeout=600, limits=limits, verify=False
    ) as client:
        if at_once:
            return list(
                await asyncio.gather(*(write(home, client, one) for one in texts))
            )
        return [await write(home, client, one) for one in texts]


def percentile(times: Iterable[Times], share: float) -> float:
    """Of the rounds but each text's first, in seconds."""
    return float(np.percentile([r for one in times for r in one.rounds], share))
