"""One text from its order to its last token."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from decoding_core.errors import StoppedError
from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.protocols import Method, Verifier
from edge_app.decoding.drafter import Drafter
from edge_app.decoding.emitter import EventEmitter
from edge_app.decoding.events import Emit, FinishReason, Notice, Opened, SourcesFound
from edge_app.decoding.loop import DecodeLoop, Limits
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.retrieval.context import PromptBuilder, Prompts
from edge_app.service.requests import WriteRequest
from models.engines.llama_cpp import LlamaContext, LlamaModel
from personal_store import Passage


@dataclass(frozen=True, slots=True)
class TextJob:
    """A text being written with a specialist; `tell` hears all that happens."""

    model: LlamaModel
    context: LlamaContext
    order: WriteRequest
    tell: Emit
    stop: threading.Event
    patience: Patience = field(default_factory=Patience)
    """With a server that is lost in mid-text."""

    def run(self, verifier: Verifier, passages: Sequence[Passage]) -> FinishReason:
        """Write the text; why it ended.

        Raises:
            DecodingError: it cannot be written.
        """
        self.context.stop = self.stop
        try:
            prompts = self._prompts(passages)
            self.tell(SourcesFound(prompts.sources, self.order.personalisation))
            prompts = as_read(prompts, build(self.order.settings))
            loop = self._loop(self._session(verifier, prompts), prompts)
            for _ in loop.blocks():
                if self.stop.is_set():
                    return "stopped"
        except StoppedError:
            return "stopped"
        finally:
            verifier.close()
        return loop.ended

    def _prompts(self, passages: Sequence[Passage]) -> Prompts:
        builder = PromptBuilder(
            self.model.vocabulary.tokenize,
            self.model.chat_template,
            self.context.context_length,
        )
        order = self.order
        return builder.build(
            order.request, passages, order.background, order.max_tokens
        )

    def _session(self, verifier: Verifier, prompts: Prompts) -> VerifierSession:
        """The opened session of the text."""
        request = OpenSession(
            prompts.public_ids,
            (),
            self.model.vocabulary_id,
            self.order.settings.terms(),
        )
        session = VerifierSession(
            verifier,
            request,
            lambda sentence: self.tell(Notice(sentence)),
            may_go_offline=self.order.may_go_offline,
            patience=self.patience,
            stop=self.stop,
        )
        opened = session.open()
        name = "" if opened is None else opened.generalist
        alone = session.alone or not build(self.order.settings).uses_generalist
        self.tell(Opened(name or "this device alone", alone))
        return session

    def _loop(self, session: VerifierSession, prompts: Prompts) -> DecodeLoop:
        settings, vocabulary = self.order.settings, self.model.vocabulary
        method = build(settings)
        drafter = Drafter(
            self.context.sequence(),
            prompts.private_ids,
            settings.draw(),
            vocabulary.end_ids,
            shares_noise=method.shares_noise,
            stop=self.stop,
        )
        return DecodeLoop(
            drafter,
            session,
            method,
            settings.draw(),
            Limits(self.order.max_tokens, settings.draft_length, vocabulary.end_ids),
            EventEmitter(self.tell, vocabulary.piece),
            threshold=settings.threshold,
        )


def as_read(prompts: Prompts, method: Method) -> Prompts:
    """The prompts with the history where the method has it read."""
    if method.reads_history == "nobody":
        return replace(prompts, private_ids=prompts.public_ids)
    if method.reads_history == "generalist":
        return replace(prompts, public_ids=prompts.private_ids)
    return prompts
