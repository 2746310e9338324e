"""Reading the training texts: JSON lines, packed with xz, one shard after another."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

_TASKS = {"letter": ("email", "letter"), "conversation": ("reply",)}


@dataclass(frozen=True, slots=True)
class Text:
    """A real text and what is known about it."""

    genre: str
    prompt: str
    text: str
    author: str
    item: str


def read(folder: Path, shards: int = 5) -> Iterator[Text]:
    """The texts of the first shards; each shard is a fair sample of all."""
    for path in sorted((folder / "train").glob("train-*.jsonl.xz"))[:shards]:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield _text(json.loads(line))


def task_of(genre: str, rng: Random) -> str:
    """What a person would ask for to get a text of this genre."""
    return rng.choice(_TASKS.get(genre, (genre,)))


def cut(text: str, limit: int, rng: Random) -> str:
    """A stretch of whole paragraphs of about `limit` characters, often the first."""
    paragraphs = text.strip().split("\n\n")
    start = rng.randrange(len(paragraphs)) if len(text) > 2 * limit else 0
    kept = paragraphs[start][:limit]
    for paragraph in paragraphs[start + 1 :]:
        if len(kept) + len(paragraph) > limit:
            break
        kept += "\n\n" + paragraph
    return kept


def brief(text: Text, kept: str) -> str:
    """A short request for a text: its title, what went before, or how it begins."""
    if text.prompt:
        return text.prompt[-200:]
    return " ".join(kept.split()[:9])


def _text(row: dict[str, Any]) -> Text:
    keys = ("genre", "prompt", "text", "author", "item")
    return Text(*(str(row.get(key) or "") for key in keys))
