"""The pair of models, both on this machine, reading true texts."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from edge_app.evaluation.cases import Case
from edge_app.evaluation.likelihood import Readers, read
from edge_app.evaluation.speed import Speed, speed_of
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import (
    LONGEST_CONTEXT,
    PASSAGES,
    PromptBuilder,
    Reranker,
    RetrievalContext,
    RetrievalQuery,
)
from edge_app.service.profiles import Profiler, summariser
from models.chat import render
from models.prompts import Message
from models.running.adapter import PersonalAdapter
from models.running.interface import Model, SlotEngine, check_one_vocabulary
from models.running.loading import load_model
from models.running.settings import EngineSettings

STRENGTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
THRESHOLDS = (0.5, 0.1)


@dataclass(frozen=True, slots=True)
class Measuring:
    """What is measured of each text, and how."""

    strengths: tuple[float, ...] = STRENGTHS
    thresholds: tuple[float, ...] = THRESHOLDS
    passages: int = PASSAGES
    """Past texts looked for, as for writing."""
    max_tokens: int = 400
    """Where a longer text is cut."""
    personalisation: str = personalisation.USUAL
    """What of the history is read."""
    seed: int = 0
    """Of a personalisation that draws."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one text costs, in nats of the whole text."""

    case: Case
    tokens: int
    """How many were counted, the end of the text among them if it is whole."""
    size: int
    """Bytes of the text that was counted."""
    whole: bool
    """Whether the text was read to its end."""
    read: int
    """How many past texts stood in the private prompt."""
    base: float
    specialist: float
    generalist: float
    steered: tuple[float, ...]
    """One for each strength."""
    kept: tuple[float, ...]
    """For each threshold, how many of the specialist's tokens would be kept, if it
    drew one at each place of the true text."""
    emitted: tuple[tuple[float, ...], ...] = ()
    """For each strength and threshold, what the text costs under what steering emits at
    a drafted place."""


class Pair:
    """Specialist, base and generalist over one vocabulary."""

    def __init__(
        self,
        specialist: Path,
        generalist: Path,
        settings: EngineSettings,
        stop: threading.Event | None = None,
        reranker: Reranker | None = None,
        adapter: PersonalAdapter | None = None,
    ) -> None:
        """Load the models; `stop` aborts a reading from a signal or another thread. The
        specialist wears the adapter, the base none.

        Raises:
            ModelError: one cannot be used.
            VocabularyMismatchError: they do not fit together.
        """
        self._stop = stop or threading.Event()
        with ExitStack() as opened:
            self._small = opened.enter_context(
                closing(load_model(specialist, settings))
            )
            large = opened.enter_context(closing(load_model(generalist, settings)))
            check_one_vocabulary(self._small, large)
            # Two contexts, not two sequences of one: a text alone in its cache.
            self._specialist = self._sequence(opened, self._small, adapter)
            self._base = self._sequence(opened, self._small)
            self._generalist = self._sequence(opened, large)
            self._opened = opened.pop_all()
        self._end = end_of_turn(self._small)
        write = summariser(self._small, self._specialist.slots, self._stop)
        self._context = RetrievalContext(Profiler(write, str(specialist)), reranker)

    def measure(self, case: Case, how: Measuring) -> Measured:
        """What the text of `case` costs.

        Raises:
            ContextFullError: the request and its notes leave no room for the text.
            StoppedError: the person stopped.
        """
        vocabulary = self._small.vocabulary
        beginning = vocabulary.tokenize(case.beginning)
        text = vocabulary.tokenize(case.text)
        ids = text[: how.max_tokens]
        whole = len(ids) == len(text)
        size = sum(len(vocabulary.piece(token)) for token in ids)
        if whole and self._end is not None:
            ids = [*ids, self._end]
        query = RetrievalQuery(case.request, how.passages, seed=how.seed)
        choice = personalisation.build(how.personalisation)
        retrieved = choice.find(case.history(), query, self._context)
        builder = PromptBuilder(
            vocabulary.tokenize,
            self._small.chat_template,
            self._specialist.slots.context_length,
        )
        prompts = builder.build(
            case.request,
            retrieved.passages,
            retrieved.beside(case.background),
            how.max_tokens + len(beginning),
        )
        readers = Readers(
            self._base,
            self._specialist,
            self._generalist,
            (*prompts.public_ids, *beginning),
            (*prompts.private_ids, *beginning),
        )
        opinions = read(readers, ids, how.strengths, how.thresholds)
        emitted = opinions.emitted(how.thresholds).sum(axis=-1)
        return Measured(
            case,
            tokens=len(opinions.base),
            size=size,
            whole=whole,
            read=len(prompts.sources),
            base=float(opinions.base.sum()),
            specialist=float(opinions.specialist.sum()),
            generalist=float(opinions.generalist.sum()),
            steered=tuple(map(float, opinions.steered.sum(axis=1))),
            kept=tuple(map(float, opinions.kept.sum(axis=1))),
            emitted=tuple(tuple(map(float, row)) for row in emitted),
        )

    def speeds(self) -> tuple[Speed, Speed]:
        """How fast the small and the large model are on this machine, measured for some
        seconds each. Raises StoppedError where the person stopped."""
        return speed_of(self._specialist), speed_of(self._generalist)

    def close(self) -> None:
        """Free the models."""
        self._opened.close()

    def _sequence(
        self, opened: ExitStack, model: Model, adapter: PersonalAdapter | None = None
    ) -> SlotEngine:
        length = min(model.context_length, LONGEST_CONTEXT)
        context = model.open(1, length, adapter=adapter)
        opened.callback(context.close)
        context.stop = self._stop
        return context.sequence()


def end_of_turn(model: Model) -> int | None:
    """The token with which the chat template ends an answer; None if it has none."""
    turns = [Message("user", "Q"), Message("assistant", "A")]
    segments = render(model.chat_template, turns)
    answer = max(i for i, segment in enumerate(segments) if not segment.control)
    for segment in segments[answer + 1 :]:
        for token in model.vocabulary.tokenize(segment.text, segment.control):
            if token in model.vocabulary.end_ids:
                return token
    return None
