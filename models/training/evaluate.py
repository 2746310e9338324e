"""What history is worth: nats per byte of true texts, read with and without it."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

import torch
from torch.nn import functional

from models.prompts import Excerpt, Request, private_messages
from models.training.config import Recipe
from models.training.data import Example, synthetic_examples
from models.training.network import Network
from models.training.tokenizer import Vocabulary
from models.training.train import load

_UNSEEN = 990_000
"""Seed of writers that no mixture has met."""
_LONGEST = 1400
SETS = ("email_enron", "letter_pd", "post_gov", "answer_se", "abstract_acl")
_TASKS = {"email_enron": "email", "letter_pd": "letter", "abstract_acl": "abstract"}


def report(plan: Recipe, vocabulary: Vocabulary, folder: Path) -> Iterator[str]:
    """A line per set: nats per byte without and with history."""
    network = Network(plan.shape)
    network.load_state_dict(load(plan.checkpoint)["network"])
    sets = {"unseen synthetic writers": unseen_writers(100)}
    for name in SETS:
        if (folder / "eval" / f"{name}.dev.jsonl.xz").exists():
            sets[name] = development_set(folder, name, 15)
    for name, examples in sets.items():
        without = nats_per_byte(network, vocabulary, examples, history=False)
        with_it = nats_per_byte(network, vocabulary, examples, history=True)
        yield f"{plan.name}  {name}  {without:.4f}  {with_it:.4f}  ({len(examples)})"


def unseen_writers(count: int) -> list[Example]:
    """Examples with history by synthetic writers that training has not seen."""
    return list(islice(synthetic_examples(Random(_UNSEEN), private=1.0), count))


def development_set(folder: Path, name: str, users: int) -> list[Example]:
    """One query of each of the first users, with the user's last three texts."""
    with lzma.open(folder / "eval" / f"{name}.dev.jsonl.xz", "rt") as lines:
        return [_query(json.loads(line), name) for line in islice(lines, users)]


def nats_per_byte(
    network: Network, vocabulary: Vocabulary, examples: Iterable[Example], history: bool
) -> float:
    """Mean over all bytes of the answers, with or without the history."""
    nats, size = 0.0, 0
    for request, excerpts, text in examples:
        messages = private_messages(request, excerpts if history else [])
        ids = vocabulary.example(messages, text)
        answer = len(vocabulary.ids(text)) + 1
        nats += _nats(network, ids, answer)
        size += len(text.encode())
    return nats / size


def samples(
    network: Network, vocabulary: Vocabulary, examples: Iterable[Example]
) -> Iterator[str]:
    """What the network writes, most likely token by token."""
    for request, excerpts, _ in examples:
        ids = vocabulary.example(private_messages(request, excerpts), "")[:-1]
        yield vocabulary.text(_continued(network, ids))


def _nats(network: Network, ids: list[int], answer: int) -> float:
    row = torch.tensor([ids])
    with torch.no_grad():
        logits = network(row[:, :-1])[0, -answer:]
    return float(functional.cross_entropy(logits, row[0, -answer:], reduction="sum"))


def _continued(network: Network, ids: list[int], limit: int = 120) -> list[int]:
    written: list[int] = []
    while len(written) < limit:
        with torch.no_grad():
            token = int(network(torch.tensor([ids + written]))[0, -1].argmax())
        if token < 4:
            break
        written.append(token)
    return written


def _query(user: dict[str, list[dict[str, str]]], name: str) -> Example:
    task = _TASKS.get(name, "post")
    past = [
        Excerpt(task, "", text.get("prompt", "")[-80:], text["text"][:600])
        for text in user["history"][-3:]
    ]
    query = user["queries"][0]
    return Request(query["prompt"][-400:], task), past, query["target"][:_LONGEST]
