"""Examples as a model reads them: shortened to its context, and as token ids."""

from __future__ import annotations

from dataclasses import replace

from models.excerpts import PromptPacker
from models.synthetic_writers.examples import Example
from training.data.tokenizer import CHAT_TEMPLATE, PAD, Vocabulary

_MARGIN = 8
"""Tokens kept free, so that an example surely fits."""


def fitted(example: Example, vocabulary: Vocabulary, room: int) -> Example:
    """The example with its excerpts shortened, and as many as go into `room` tokens
    together with the text: what a device would have put into the prompt."""
    if not example.excerpts:
        return example
    packer = PromptPacker(vocabulary.ids, CHAT_TEMPLATE)
    found = [
        packer.excerpt(e.task, e.recipient, e.subject, e.text)
        for e in reversed(example.excerpts)
    ]
    left = room - len(vocabulary.ids(example.text)) - _MARGIN
    chosen = packer.fitting(example.request, found, example.background, left)
    return replace(example, excerpts=[found[i] for i in reversed(chosen)])


def example_ids(vocabulary: Vocabulary, example: Example) -> list[int]:
    """Token ids of a whole conversation; a text that breaks off ends in padding."""
    ids = vocabulary.example(example.messages(), example.text)
    return ids if example.whole else [*ids[:-1], PAD]
