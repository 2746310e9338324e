"""`lab bench vocabularies`: what a drafted token costs besides the models if specialist
and generalist have different vocabularies, against one vocabulary."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import click
import numpy as np

from benchmarks.options import AT_LEAST_ONE, JSON, SEED, option
from decoding_core.byte_space import ByteVocabulary, Wording
from decoding_core.errors import MessageError
from decoding_core.messages import (
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
    digest,
)
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings
from decoding_core.verifier import (
    bytes_role,
    read_in_bytes,
    role_of,
    verify,
    verify_in_bytes,
)
from edge_app.decoding.on_device import EdgeBaseVerifier
from edge_app.decoding.two_vocabularies import BytesVerifier
from edge_app.evaluation import tables
from models.command_line import Command

DEVICE, SERVER = 151_936, 128_256  # tokens, as of Qwen3 and Llama 3.1
_SHARED = 0.72  # of the device's strings the server has, too
_WORD = re.compile(r" ?[^ ]+| +")
_SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "in", "o", "ur")]
_POOL = 32  # rows of logits of each model, used again and again
_TERMS = MethodSettings(base="edge").terms()


def strings(count: int, rng: Random) -> list[bytes]:
    """Strings as tokens have them, the short ones first, most with a blank."""
    found = dict[str, None]()
    for size in itertools.count(1):
        for _ in range(min(count, 30 * 80 ** min(size, 3))):
            word = "".join(rng.choices(_SYLLABLES, k=size))
            found[word if rng.random() < 0.3 else f" {word}"] = None
            if len(found) == count:
                return [one.encode() for one in found]
    raise AssertionError


def vocabulary(words: Sequence[bytes]) -> ByteVocabulary:
    """The bytes, these words, and an end; the tokenizer cuts each word but once, as
    those of models do."""
    pieces = [bytes([byte]) for byte in range(256)] + list(words) + [b""]
    greedy = ByteVocabulary(pieces, [len(pieces) - 1])

    @cache
    def cut(word: str) -> list[int]:
        return greedy.tokens_of(word.encode())[:1] or greedy.spelled(word.encode())

    def tokenize(text: str) -> list[int]:
        return [token for word in _WORD.findall(text) for token in cut(word)]

    return ByteVocabulary(pieces, [len(pieces) - 1], tokenize)


@dataclass(slots=True)
class Logits:
    """An engine that takes no time, with random logits."""

    pool: Floats  # (2 * _POOL, V)
    vocabulary_id: str = ""
    tokens: list[int] = field(default_factory=list)  # that it has read

    @property
    def position(self) -> int:
        """How many those are."""
        return len(self.tokens)

    @classmethod
    def of(cls, size: int, rng: np.random.Generator) -> Logits:
        """Logits as peaked as those of a model."""
        rows = rng.gumbel(0.0, 1.6, (_POOL, size)).astype(np.float32)
        return cls(np.concatenate([rows, rows]))

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Logits (rows, V)."""
        self.tokens += token_ids
        start = self.position % _POOL
        return self.pool[start : start + rows]

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        del self.tokens[position:]

    def close(self) -> None:
        """Nothing is held."""


class Canned:
    """A server whose next answer is given."""

    local = False
    speaks_bytes = True

    def __init__(self) -> None:
        self.asked: DraftBlock | None = None
        self.answer: Callable[[DraftBlock], Verdict] | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text."""
        del request
        return SessionOpened("canned", "generalist", "")

    def submit(self, block: DraftBlock) -> None:
        """Keep the block."""
        self.asked = block

    def collect(self) -> Verdict:
        """The answer."""
        if self.asked is None or self.answer is None:
            raise MessageError("collect was called before submit")
        return self.answer(self.asked)

    def ready(self) -> bool:
        """Whether it is there."""
        return True

    def vocabulary(self) -> ByteVocabulary:
        """Whoever measures has it."""
        raise NotImplementedError

    def close(self) -> None:
        """End the text."""


def blocks(token_ids: Sequence[int], length: int) -> Iterator[DraftBlock]:
    """A text as it is drafted, each block kept whole."""
    for number, start in enumerate(range(0, len(token_ids) - length, length)):
        settled = tuple(token_ids[max(0, start - length) : start])
        before = start - len(settled)
        yield DraftBlock(
            *(0, number, before, digest(token_ids[:before]), settled),
            tuple(token_ids[start : start + length]),
        )


@dataclass(slots=True)
class Spent:
    """Seconds of CPU by what they were spent on."""

    device: float = 0.0
    server: float = 0.0


def measured(
    token_ids: Sequence[int],
    length: int,
    words: Wording,
    engines: tuple[Logits, Logits, Logits],
) -> tuple[Spent, Spent]:
    """What a text costs with one vocabulary and with two, block by block in turns."""
    same, other, base = engines
    role = role_of(_TERMS)
    inside = bytes_role(role)
    one, two = Spent(), Spent()
    request = OpenSession((0,), (), "", _TERMS)
    servers = Canned(), Canned()
    plain = EdgeBaseVerifier(servers[0], Logits(base.pool))
    across = EdgeBaseVerifier(BytesVerifier(servers[1], words, ()), Logits(base.pool))
    plain.open(request)
    across.open(request)
    held = bytearray()

    def in_tokens(block: DraftBlock) -> Verdict:
        began = time.process_time()
        rows = same.evaluate(block.drafted, len(block.drafted))
        verdict = verify(block, rows, None, role)
        one.server += time.process_time() - began
        return verdict

    def in_bytes(block: DraftBlock) -> Verdict:
        began = time.process_time()
        held[block.position :] = bytes([*block.settled, *block.drafted])
        reading, own = read_in_bytes(block, bytes(held), words.other, inside)
        rows = other.evaluate(own.drafted, len(own.drafted) + 1)
        verdict = verify_in_bytes(own, rows, None, inside, reading.starts)
        two.server += time.process_time() - began
        return verdict

    servers[0].answer, servers[1].answer = in_tokens, in_bytes
    for block in blocks(token_ids, length):
        for verifier, spent in ((plain, one), (across, two)):
            began, before = time.process_time(), spent.server
            verifier.submit(block)
            verifier.collect()
            taken = time.process_time() - began
            spent.device += taken - (spent.server - before)
    return one, two


@click.command("vocabularies", cls=Command)
@option("--tokens", AT_LEAST_ONE, 400, "Of a text.")
@option("--texts", AT_LEAST_ONE, 5, "How many; the first is not counted.")
@option("--length", AT_LEAST_ONE, 8, "Drafted tokens of a block.")
@option("--seed", SEED, 0, "Of logits, vocabularies and texts.")
@JSON
def command(**options: Any) -> None:
    """What a drafted token costs if the two models have different vocabularies.

    Seconds of CPU of all but the models, on the device (the base's probabilities, rows
    into its tokens, the decision) and on the server (its tokens of the text, its
    candidates), against one vocabulary with the base on the device, too. The device has
    151,936 tokens, the server 128,256; strings, logits and texts are made up. The first
    text, in which each string is met for the first time, has a row of its own.
    """
    rng = np.random.default_rng(options["seed"])
    most, alone = DEVICE - 257, int((1 - _SHARED) * DEVICE)
    order = Random(options["seed"])
    every = strings(alone + SERVER - 257, order)
    order.shuffle(every)
    words = Wording(vocabulary(every[:most]), vocabulary(every[-(SERVER - 257) :]))
    engines = (
        Logits.of(DEVICE, rng),
        Logits.of(SERVER, rng),
        Logits.of(DEVICE, rng),
    )
    sums: dict[str, tuple[Spent, Spent]] = {}
    for number in range(options["texts"]):
        # Frequent strings are in both lists, as those of real ones are.
        picked = (len(every) // 3 + rng.zipf(1.3, options["tokens"])) % len(every)
        text = b"".join(every[one] for one in picked)
        token_ids = words.own.spelled(text)[: options["tokens"]]
        name = "first text" if number == 0 else "later texts"
        found = measured(token_ids, options["length"], words, engines)
        total = sums.setdefault(name, (Spent(), Spent()))
        for all_of, of in zip(total, found, strict=True):
            all_of.device += of.device
            all_of.server += of.server
    lines = [["ms a drafted token", "", "one", "two", "ratio"]]
    rows = []
    for name, (one, two) in sums.items():
        texts = 1 if name == "first text" else options["texts"] - 1
        count = texts * options["tokens"]
        for side in ("device", "server"):
            pair = [1000 * getattr(spent, side) / count for spent in (one, two)]
            rows.append({"text": name, "side": side, "ms": pair})
            figures = [f"{ms:.3f}" for ms in pair]
            lines.append([name, side, *figures, f"{pair[1] / pair[0]:.2f}"])
    click.echo("\n".join(tables.aligned(lines, left=2)))
    if options["json_file"]:
        tables.write(options["json_file"], {"settings": options, "rows": rows})
