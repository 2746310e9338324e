"""What the small model drafts itself, for its teacher to comment.

A token is refused where the specialist without the history, the base, holds it likelier
than the generalist does. Texts as people write them show few such places: a model errs
where its own drafts have led it. So the specialist as it was drafts with histories, and
both then read the drafts without them ("On-Policy Distillation of Language Models",
Agarwal et al., 2024; here the drafts are made once, before the run).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from decoding_core.protocols import Reading
from decoding_core.sampling import Draw, Noise, Use
from models.chat import prompt_ids
from models.running.loading import load_model
from models.running.settings import EngineSettings, usable_cores
from models.synthetic_writers.examples import Example
from training.tokenizer import CHAT_TEMPLATE, END, PAD, Vocabulary, fitted

_AT_ONCE = 16  # texts that are drafted in one pass
_PROMPT = 640
"""Tokens of a prompt at most: drafting from shorter histories takes less time."""
_TEXT = 160  # tokens of a draft at most; it then breaks off
_TEMPERATURES = (0.5, 0.7, 0.7, 1.0)
"""Each as often: those that the app is used with, and bolder ones."""


class Drafter:
    """A model that answers requests from histories, many at once."""

    def __init__(self, path: Path, vocabulary: Vocabulary, seed: int) -> None:
        """Load the GGUF file at `path`, whose tokens are those of `vocabulary`."""
        self._model = load_model(path, EngineSettings(threads=usable_cores()))
        self._slots = self._model.open(_AT_ONCE, _PROMPT + _TEXT)
        self._vocabulary = vocabulary
        self._seed = seed
        self._drafted = 0

    def answers(self, examples: Iterator[Example]) -> Iterator[Example]:
        """The same requests, each with the draft in the place of its text and without
        the history that it was drafted from. A request whose prompt is too long to be
        read is left out."""
        while batch := list(islice(examples, _AT_ONCE)):
            yield from self._answered(batch)

    def _answered(self, examples: list[Example]) -> Iterator[Example]:
        unread: dict[int, list[int]] = {}
        draws = []
        for slot, example in enumerate(examples):
            self._slots.rollback(slot, 0)
            short = fitted(replace(example, text=""), self._vocabulary, _PROMPT)
            ids = prompt_ids(self._vocabulary.ids, CHAT_TEMPLATE, short.messages())
            if len(ids) <= _PROMPT:
                unread[slot] = ids
            temperature = _TEMPERATURES[self._drafted % len(_TEMPERATURES)]
            draws.append(Draw(temperature, 1.0, Noise(self._seed + self._drafted)))
            self._drafted += 1
        drafts: dict[int, list[int]] = {slot: [] for slot in unread}
        for position in range(_TEXT):
            readings = [Reading(slot, ids) for slot, ids in unread.items()]
            logits = self._slots.evaluate(readings) if readings else []
            drawn = {}
            for slot, rows in zip(unread, logits, strict=True):
                rows[0, PAD] = -np.inf
                drawn[slot] = draws[slot].from_logits(rows[0], Use.DRAFT, position)
            unread = {slot: [token] for slot, token in drawn.items() if token != END}
            for slot, (token,) in unread.items():
                drafts[slot].append(token)
        for slot, ids in drafts.items():
            yield replace(
                examples[slot],
                excerpts=[],
                background="",
                text=self._vocabulary.text(ids),
                whole=slot not in unread,
            )
