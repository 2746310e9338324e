"""Both models in this process, writing as a device and a server together would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.protocols import Verifier
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, role_of
from edge_app.decoding.events import (
    Emit,
    Event,
    EventEmitter,
    FinishReason,
    Settled,
    Statistics,
    Tally,
    emit_to,
)
from edge_app.decoding.loop import DecodeLoop
from edge_app.decoding.on_device import verifier_of
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.evaluation.cases import found_for
from edge_app.evaluation.pair import Readers
from edge_app.retrieval.context import PromptBuilder, Prompts
from edge_app.service.profiles import Summarise, summariser
from edge_app.service.text_job import as_read
from models.running.interface import Model
from models.running.loading import load_model
from models.running.settings import EngineSettings
from models.synthetic_writers.examples import Example, unseen_writers

CONTEXT = 2048


def prompts_of(model: Model, example: Example, max_tokens: int) -> Prompts:
    """Both prompts of a request, the history as it was found, best first."""
    builder = PromptBuilder(model.vocabulary.tokenize, model.chat_template, CONTEXT)
    return builder.build(
        example.request, found_for(example), example.background, max_tokens
    )


def emails_asked_for(count: int, seed: int) -> list[Example]:
    """Requests for emails by synthetic writers, to somebody the request names."""
    made = (e for e in unseen_writers(3 * count, seed, "email") if e.request.recipient)
    return [example for _, example in zip(range(count), made, strict=False)]


Connect = Callable[[Emit], Verifier]
"""Makes the verifier of a method that asks the generalist, given a listener."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text and its numbers."""

    text: str
    statistics: Statistics
    ended: FinishReason
    token_ids: tuple[int, ...]


class Pair:
    """Writes the same request with any method."""

    def __init__(
        self,
        specialist: Path,
        generalist: Path,
        threads: int,
        *,
        context: int = CONTEXT,
        stop: threading.Event | None = None,
        settings: EngineSettings | None = None,
    ) -> None:
        """Load the models, each with room for `context` tokens, or as many as it can
        read; `stop` aborts a text; `settings` are taken but for their threads. Raises
        ModelError when one cannot be used."""
        settings = replace(settings or EngineSettings(), threads=threads)
        self._stop = stop or threading.Event()
        with ExitStack() as opened:
            self.small = opened.enter_context(closing(load_model(specialist, settings)))
            large = opened.enter_context(closing(load_model(generalist, settings)))
            self.context_length = min(
                context, self.small.context_length, large.context_length
            )
            sequences = []
            for model in (self.small, self.small, large):
                room = model.open(1, self.context_length)
                room.stop = self._stop
                sequences.append(opened.enter_context(closing(room)).sequence())
            self._private, self._base, self._large = sequences
            self._opened = opened.pop_all()

    def write(
        self, example: Example, settings: MethodSettings, max_tokens: int
    ) -> Written:
        """What a method writes for a request."""
        prompts = prompts_of(self.small, example, max_tokens)
        return self.write_from(prompts, settings, max_tokens)

    def write_from(
        self,
        prompts: Prompts,
        settings: MethodSettings,
        max_tokens: int,
        connect: Connect | None = None,
        patience: Patience | None = None,
    ) -> Written:
        """What a method writes after its prompts; the generalist is in this process,
        or where `connect` leads, and is waited for with `patience`.

        Raises:
            StoppedError: the person stopped.
        """
        method = build(settings)
        prompts = as_read(prompts, method)
        tally, vocabulary = Tally(), self.small.vocabulary
        token_ids: list[int] = []

        def record(event: Event) -> None:
            if isinstance(event, Settled):
                token_ids.extend(token.id for token in event.tokens)

        emitter = EventEmitter(emit_to(tally.add, record), vocabulary.piece)
        terms = settings.terms()
        verifier = verifier_of(
            role_of(terms, method),
            lambda: connect(tally.add) if connect else self.verifier(),
            lambda: self._base,
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
            self._private.rollback(0)
            loop = DecodeLoop(
                settings,
                method,
                self._private,
                prompts.private_ids,
                session,
                emitter,
                max_tokens=max_tokens,
                end_ids=vocabulary.end_ids,
                never=vocabulary.unwritten.after(),
                stop=self._stop,
            )
            for _ in loop.blocks():
                pass
        finally:
            verifier.close()
        return Written(emitter.text(), tally.statistics(), loop.ended, tuple(token_ids))

    def verifier(self) -> Verifier:
        """A verifier in this process, with generalist and base."""
        return EngineVerifier(self._large, self._base)

    def readers(self, prompts: Prompts) -> Readers:
        """The three models, to read a true text after its prompts."""
        ids = prompts.public_ids, prompts.private_ids
        return Readers(self._base, self._private, self._large, *ids)

    def summariser(self) -> Summarise:
        """Writes profiles with the specialist, as the app does."""
        return summariser(self.small, self._private.slots, self._stop)

    def close(self) -> None:
        """Free the models."""
        self._opened.close()
