"""Texts for requests, written as the app would, and kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.content.requests import Asked
from benchmarks.pair.pair import Pair
from benchmarks.quality.cache import Cache, code_id, key_of, sha256_of
from decoding_core.settings import MethodSettings
from edge_app.retrieval.context import PromptBuilder, Prompts, Searchable, find_passages
from models.folders import state_folder

SAMPLE_HABITS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "email": {
        "greeting": ("Hullo",),
        "sign-off": (
            "Yours in a hurry,",
            "Love from the hill,",
            "Yours, and not in any hurry,",
        ),
    },
    "review": {"greeting": ("Came for",), "verdict": ("Would go again:",)},
}
"""The ways of the sample's writer, by task, each in all its forms; what is called a
greeting stands first in a text. edge_app/sample/README.md describes them."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request and whose history it is written with."""

    asked: Asked
    history: Searchable
    habits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By kind, what of it a text may hold."""


@dataclass(frozen=True, slots=True)
class Text:
    """What was written for a request."""

    text: str
    tokens: int
    drafted: int
    accepted: int
    ended: str


class ContentWriter:
    """Writes requests with both models in this process; what was written once is
    kept."""

    def __init__(
        self,
        specialist: Path,
        generalist: Path,
        threads: int,
        stop: threading.Event,
        *,
        folder: Path | None = None,
        fresh: bool = False,
        keeps: bool = True,
    ) -> None:
        """Load the models; `folder` holds what was written, where anything is kept.

        Raises:
            ModelError: one cannot be used.
            InvalidSettingsError: nothing can be kept there.
        """
        self.models = {
            role: sha256_of(path)
            for role, path in (("specialist", specialist), ("generalist", generalist))
        }
        self.pair = Pair(specialist, generalist, threads, stop=stop)
        self._cache: Cache | None = None
        if keeps:
            kept = folder or state_folder() / "bench"
            path = kept / f"texts-{key_of(self.models)[:12]}.jsonl"
            self._cache = Cache(path, fresh=fresh)

    def prompts(self, task: Task, max_tokens: int, history: bool = True) -> Prompts:
        """Both prompts of a request, with the texts that are found for it."""
        model, request = self.pair.small, task.asked.request
        builder = PromptBuilder(
            model.vocabulary.tokenize, model.chat_template, self.pair.context_length
        )
        found = find_passages(task.history, request) if history else []
        return builder.build(request, found, task.asked.notes, max_tokens)

    def text(self, task: Task, settings: MethodSettings, max_tokens: int) -> Text:
        """What a method writes, from the kept texts or anew.

        Raises:
            StoppedError: the person stopped.
            ContextFullError: the request leaves no room for a text.
        """
        prompts = self.prompts(task, max_tokens)
        depends = {
            "models": self.models,
            "code": code_id(),
            "prompts": key_of(
                {"public": prompts.public_ids, "private": prompts.private_ids}
            ),
            "settings": asdict(settings),
            "max_tokens": max_tokens,
        }
        found: dict[str, Any] | None = None
        if self._cache is not None:
            found = self._cache.get(depends)
        if found is None:
            written = self.pair.write_from(prompts, settings, max_tokens)
            numbers = written.statistics
            found = asdict(
                Text(
                    written.text,
                    len(written.token_ids),
                    numbers.drafted,
                    numbers.accepted,
                    written.ended,
                )
            )
            if self._cache is not None:
                self._cache.put(depends, found)
        return Text(**found)

    def close(self) -> None:
        """Free the models, and let the kept texts go."""
        self.pair.close()
        if self._cache is not None:
            self._cache.close()
