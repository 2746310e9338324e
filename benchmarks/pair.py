"""Both models in this process, writing as a device and a server together would, and
what was written once, which is kept."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.cache import Body, Cache, code_id, key_of, versions
from decoding_core.errors import StoppedError
from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.protocols import Verifier
from decoding_core.settings import MethodSettings
from decoding_core.verifier import ByteEngineVerifier, EngineVerifier, role_of
from edge_app.commands.service_config import service_config
from edge_app.commands.terminal import STOPPED, note, stoppable
from edge_app.config.settings import read_settings
from edge_app.decoding.events import (
    Emit,
    EventEmitter,
    FinishReason,
    Statistics,
    Tally,
)
from edge_app.decoding.loop import DecodeLoop
from edge_app.decoding.on_device import verifier_of
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.decoding.shaping import Shape
from edge_app.decoding.two_vocabularies import AnyVocabulary
from edge_app.evaluation import pair as evaluation
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import Prompts
from edge_app.service.text_job import as_read
from models.folders import state_folder
from models.local.finding import sha256_of
from models.running.settings import EngineSettings, PersonalAdapter

Connect = Callable[[Emit], Verifier]
"""Makes the verifier of a method that asks the generalist, given a listener."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text and its numbers."""

    text: str
    statistics: Statistics
    ended: FinishReason
    token_ids: tuple[int, ...]


class Pair(evaluation.Pair):
    """Writes the same request with any method, over one vocabulary or two."""

    def write_from(
        self,
        prompts: Prompts,
        settings: MethodSettings,
        max_tokens: int,
        connect: Connect | None = None,
        patience: Patience | None = None,
        reads: str = personalisation.USUAL,
        shape: Shape | None = None,
    ) -> Written:
        """What a method writes after its prompts; the generalist is in this process, or
        where `connect` leads, and is waited for with `patience`; the specialist is that
        of the personalisation `reads`. Raises StoppedError if the person stopped."""
        specialist = self.specialist_as(reads)
        method = build(settings)
        prompts = as_read(prompts, method)
        tally, vocabulary = Tally(), self.small.vocabulary
        emitter = EventEmitter(tally.add, vocabulary.piece)
        terms = settings.terms()
        verifier = verifier_of(
            role_of(terms, method),
            lambda: connect(tally.add) if connect else self.verifier(prompts),
            lambda: self.base,
        )
        try:
            request = OpenSession(
                prompts.public_ids, (), self.small.vocabulary_id, terms
            )
            session = VerifierSession(
                verifier,
                request,
                emitter.notice,
                may_go_offline=False,
                patience=patience,
            )
            session.open()
            specialist.rollback(0)
            loop = DecodeLoop(
                settings,
                method,
                specialist,
                prompts.private_ids,
                session,
                emitter,
                max_tokens=max_tokens,
                end_ids=vocabulary.end_ids,
                never=vocabulary.unwritten.after(),
                shape=shape,
                stop=self._stop,
            )
            for _ in loop.blocks():
                pass
        finally:
            verifier.close()
        token_ids = tuple(token.id for token in emitter.tokens)
        return Written(emitter.text(), tally.statistics(), loop.ended, token_ids)

    def verifier(
        self,
        prompts: Prompts,
        around: Callable[[Verifier], Any] = lambda inner: inner,
    ) -> Verifier:
        """A verifier in this process, with generalist and base; `around` puts another
        around the part that a server would be."""
        words, ids = self.other, prompts.generalist_ids
        if words is None:
            alone: Verifier = around(EngineVerifier(self.generalist, self.base))
            return alone
        theirs = ByteEngineVerifier(self.generalist, words.large, lambda _: ids)
        return AnyVocabulary(around(theirs), lambda: words.small, (), lambda: self.base)


class Bench:
    """The models of a measurement, loaded with the first result that is not kept."""

    def __init__(
        self,
        models: Mapping[str, Path],
        threads: int,
        cache: Cache,
        stop: threading.Event,
        task: PersonalAdapter | None = None,
    ) -> None:
        """`task` is what the personalisations tam and pad wear."""
        self.task = task
        self.models = dict(models)
        self.hashes = hashes_of(models)
        self.engine = EngineSettings(threads=threads)
        self.cache = cache
        self.stop = stop
        self.opened = ExitStack()
        """What is to be closed at the end."""

    @cached_property
    def pair(self) -> Pair:
        """Both models; raises ModelError when one cannot be used."""
        files = self.models["specialist"], self.models["generalist"]
        return self.opened.enter_context(
            closing(Pair(*files, self.engine, stop=self.stop, task=self.task))
        )

    def result(self, depends: Mapping[str, Any], compute: Callable[[], Body]) -> Body:
        """The kept result that depends on these and on models, threads and code, or
        else the one computed now, which is kept. Raises StoppedError if the person
        stopped."""
        if self.stop.is_set():
            raise StoppedError("stopped")
        common = {
            "models": self.hashes,
            "threads": self.engine.threads,
            "code": code_id(),
            "versions": versions(),
        }
        return self.cache.result({**common, **depends}, compute)


def hashes_of(models: Mapping[str, Path]) -> dict[str, str]:
    """The SHA-256 of each model's file."""
    return {role: sha256_of(path) for role, path in models.items()}


@contextmanager
def measuring(name: str, options: Mapping[str, Any]) -> Iterator[Bench]:
    """A measurement with the options `MODELS` and `KEPT`. If the person stops, a line
    says that the results are kept, and the program ends.

    Raises:
        ModelError: a file is no model, or missing.
        InvalidSettingsError: nothing can be kept in the folder.
    """
    adapted = personalisation.WEARING.intersection(options.get("personalisation", ()))
    reads = min(adapted, default=personalisation.USUAL)
    found = service_config(
        replace(read_settings(), personalisation=reads),
        server="",  # both models run here
        lora=options.get("lora"),
        specialist=options["specialist"],
        generalist=options["generalist"],
    )
    models = {"specialist": found.specialist, "generalist": found.generalist}
    folder = options["cache"] or state_folder() / "bench"
    path = folder / f"{name}-{key_of(hashes_of(models))[:12]}.jsonl"
    with (
        stoppable() as stop,
        closing(Cache(path, fresh=options["fresh"])) as cache,
    ):
        task = found.adapter if adapted else None
        bench = Bench(models, options["threads"], cache, stop, task)
        try:
            with bench.opened:
                yield bench
        except StoppedError as error:
            note(f"{error}; what is done is kept: the same command goes on from there")
            sys.exit(STOPPED)
