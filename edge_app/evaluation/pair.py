"""The pair of models, both on this machine: nats of true texts by token, and speed.

T tokens of the text, V vocabulary, N strengths, K thresholds. The temperature is 1.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from decoding_core.errors import EngineError, VocabularyMismatchError
from decoding_core.methods.steering import clipped_share, log_steered
from decoding_core.protocols import Engine
from decoding_core.sampling import Floats, log_softmax
from edge_app.decoding.rescoring import RescoredEngine
from edge_app.evaluation.cases import Case
from edge_app.evaluation.other_tokens import BLOCK, OtherTokens, spread
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import (
    LONGEST_CONTEXT,
    PASSAGES,
    PromptBuilder,
    Prompts,
    Reranker,
    RetrievalQuery,
)
from models.chat import render
from models.prompts import Message, Request
from models.running.interface import Model, SlotEngine
from models.running.loading import load_model
from models.running.machine import fit_threads
from models.running.settings import EngineSettings, PersonalAdapter
from personal_store import Passage

_MOST_ROWS = 128
_MOST_LOGITS = 1 << 22  # numbers of one model in memory at once: 32 MB in float64


@dataclass(frozen=True, slots=True)
class Opinions:
    """What each token costs, in nats: -log of its probability."""

    base: Floats  # (T,)
    specialist: Floats  # (T,)
    generalist: Floats  # (T,)
    steered: Floats  # (N, T), a row per strength
    kept: Floats
    """(K, T): the share of the specialist's tokens that the server would keep at this
    place by the stochastic rule, a row per threshold."""

    def emitted(self, thresholds: Sequence[float]) -> Floats:
        """Costs (N, K, T) of what steering emits at a drafted place by the stochastic
        rule: S * min(1, (L/B) / threshold) + (1 - kept) * T."""
        log_ratio = self.base - self.generalist  # costs: log L - log B of the token
        costs = []
        for threshold, kept in zip(thresholds, self.kept, strict=True):
            clipped = 0.0
            if threshold > 0.0:
                clipped = np.minimum(log_ratio - np.log(threshold), 0.0)
            with np.errstate(divide="ignore"):  # all kept: nothing is drawn from T
                drawn = np.log(np.maximum(1.0 - kept, 0.0)) - self.steered
            costs.append(-np.logaddexp(clipped - self.specialist, drawn))
        return np.stack(costs, axis=1)


@dataclass(frozen=True, slots=True)
class Readers:
    """The three engines, each with the prompt it reads."""

    base: Engine
    specialist: Engine
    generalist: Engine
    public_ids: tuple[int, ...]
    private_ids: tuple[int, ...]

    def logits(
        self, token_ids: Sequence[int], rows: int
    ) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Logits (up to `rows`, V) of the next tokens: specialist, generalist, base."""
        return zip(
            _rows(self.specialist, self.private_ids, token_ids, rows),
            _rows(self.generalist, self.public_ids, token_ids, rows),
            _rows(self.base, self.public_ids, token_ids, rows),
            strict=True,
        )

    def nats_of_generalist(self, token_ids: Sequence[int], costs: Floats) -> float:
        """What a text costs the generalist, whose opinions (T,) of its tokens are known
        already."""
        del token_ids
        return float(costs.sum())


@dataclass(frozen=True, slots=True)
class ReadersOfTwo(Readers):
    """Engines of two vocabularies, all read in the specialist's tokens."""

    other: OtherTokens
    request: Request
    beginning: tuple[int, ...]  # of the text, at the ends of both prompts

    def logits(
        self, token_ids: Sequence[int], rows: int
    ) -> Iterator[tuple[Floats, Floats, Floats]]:
        """As above; the generalist's are log-probabilities."""
        large = self.other.rows(self.request, self.beginning, token_ids)
        for specialist, base in zip(
            _rows(self.specialist, self.private_ids, token_ids, rows),
            _rows(self.base, self.public_ids, token_ids, rows),
            strict=True,
        ):
            known = log_softmax(base.astype(np.float64))
            yield (
                specialist,
                np.stack([spread(next(large), row) for row in known]),
                base,
            )

    def nats_of_generalist(self, token_ids: Sequence[int], costs: Floats) -> float:
        """What the text costs the generalist in its own tokens."""
        del costs
        return self.other.nats(self.request, self.beginning, token_ids)


def read(
    readers: Readers,
    token_ids: Sequence[int],
    strengths: Sequence[float],
    thresholds: Sequence[float],
    rows: int | None = None,
) -> Opinions:
    """What the engines think of `token_ids` (T,) after their prompts; raises
    ContextFullError, StoppedError, and EngineError for what is no probability."""
    parts, start = [], 0
    for logits in readers.logits(token_ids, rows or _MOST_ROWS):
        specialist, generalist, base = (
            log_softmax(rows_of_one.astype(np.float64)) for rows_of_one in logits
        )
        ids = np.asarray(token_ids[start : start + len(specialist)])
        at = np.arange(len(ids)), ids
        costs = [-base[at], -specialist[at], -generalist[at]]
        costs += [
            -log_steered(specialist, generalist, base, strength)[at]
            for strength in strengths
        ]
        drafted, ratio = np.exp(specialist), generalist - base
        costs += [
            (drafted * clipped_share(ratio, threshold)).sum(axis=-1)
            for threshold in thresholds
        ]
        parts.append(np.stack(costs))
        start += len(ids)
    columns = np.concatenate(parts, axis=1)  # (3 + N + K, T)
    if not np.isfinite(columns).all():
        raise EngineError("a model gave numbers that are no probabilities")
    base, specialist, generalist, *others = columns
    targets, kept = others[: len(strengths)], others[len(strengths) :]
    return Opinions(base, specialist, generalist, np.array(targets), np.array(kept))


def _rows(
    engine: Engine, prompt_ids: Sequence[int], token_ids: Sequence[int], rows: int
) -> Iterator[Floats]:
    """Logits (up to `rows`, V) of each next of `token_ids`, in bounded chunks."""
    engine.rollback(0)
    first = engine.evaluate(prompt_ids, 1)
    yield first
    rows = max(1, min(rows, _MOST_LOGITS // first.shape[-1]))
    for start in range(0, len(token_ids) - 1, rows):
        chunk = token_ids[start : min(start + rows, len(token_ids) - 1)]
        yield engine.evaluate(chunk, len(chunk))


_PROMPT = 128
_STEPS = 24
_SECONDS = 3.0  # after so long a slow model takes no further step


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one model."""

    prompt: float  # tokens a second, of a prompt
    step: float  # tokens a second, one by one
    block: float  # seconds for a block of `BLOCK` tokens and the one before it


def speed_of(engine: SlotEngine) -> Speed:
    """The speed of an engine with its fastest number of threads; it forgets what it
    had read. Raises StoppedError."""
    engine.rollback(0)
    fit_threads(engine.slots, 1)
    size, room = engine.slots.vocabulary_size, engine.slots.context_length
    token_ids = [(7 * at + 5) % size for at in range(min(_PROMPT, room // 2))]
    began = time.perf_counter()
    engine.evaluate(token_ids)
    read = time.perf_counter() - began
    start = engine.position
    steps, began = 0, time.perf_counter()
    while steps < _STEPS and time.perf_counter() - began < _SECONDS:
        engine.evaluate(token_ids[steps : steps + 1])
        steps += 1
    stepped = time.perf_counter() - began
    blocks, began = 0, time.perf_counter()
    while blocks < 3 and time.perf_counter() - began < _SECONDS:
        engine.rollback(start)
        engine.evaluate(token_ids[: BLOCK + 1], BLOCK + 1)
        blocks += 1
    checked = time.perf_counter() - began
    engine.rollback(0)
    return Speed(len(token_ids) / read, steps / stepped, checked / blocks)


STRENGTHS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
THRESHOLDS = (0.5, 0.1)


@dataclass(frozen=True, slots=True)
class Measuring:
    """What is measured of each text, and how."""

    strengths: tuple[float, ...] = STRENGTHS
    thresholds: tuple[float, ...] = THRESHOLDS
    passages: int = PASSAGES  # past texts looked for, as for writing
    max_tokens: int = 400  # where a longer text is cut
    personalisation: str = personalisation.USUAL  # what of the history is read
    seed: int = 0  # of a personalisation that draws


@dataclass(frozen=True, slots=True)
class Measured:
    """What one text costs, in nats of the whole text."""

    case: Case
    tokens: int  # how many were counted, the end of the text among them if it is whole
    size: int  # bytes of the text that was counted
    whole: bool  # whether the text was read to its end
    read: int  # how many past texts stood in the private prompt
    base: float
    specialist: float
    generalist: float
    steered: tuple[float, ...]  # one for each strength
    kept: tuple[float, ...]
    """For each threshold, how many of the specialist's tokens would be kept, if it
    drew one at each place of the true text."""
    emitted: tuple[tuple[float, ...], ...] = ()
    """For each strength and threshold, what the text costs under what steering emits at
    a drafted place."""


class Pair:
    """Specialist and base, and a generalist of their vocabulary or of another."""

    def __init__(
        self,
        specialist: Path,
        generalist: Path,
        settings: EngineSettings,
        stop: threading.Event | None = None,
        reranker: Reranker | None = None,
        adapter: PersonalAdapter | None = None,
        task: PersonalAdapter | None = None,
    ) -> None:
        """Load the models; `stop` aborts a reading. The specialist wears the adapter,
        and `task` instead for the personalisations that need one.

        Raises ModelError.
        """
        self._stop, self._task = stop or threading.Event(), task
        with ExitStack() as opened:
            self.small = opened.enter_context(closing(load_model(specialist, settings)))
            large = opened.enter_context(closing(load_model(generalist, settings)))
            # Two contexts, not two sequences of one: a text alone in its cache.
            self.specialist = self._sequence(opened, self.small, adapter)
            self.base = self._sequence(opened, self.small)
            self.generalist = self._sequence(opened, large)
            self.other: OtherTokens | None = None
            if self.small.vocabulary_id != large.vocabulary_id:
                self.other = OtherTokens(self.small, large, self.generalist)
            self._opened = opened.pop_all()
        self.end = end_of_turn(self.small)
        self._reranker = reranker

    def measure(self, case: Case, how: Measuring) -> Measured:
        """What the text of `case` costs; raises ContextFullError and StoppedError."""
        prompts = self.prompts(case, how)
        ids, size, whole = self.counted(case.text, how.max_tokens)
        readers = self.readers(prompts, case, how.personalisation)
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
            generalist=readers.nats_of_generalist(ids, opinions.generalist),
            steered=tuple(map(float, opinions.steered.sum(axis=1))),
            kept=tuple(map(float, opinions.kept.sum(axis=1))),
            emitted=tuple(tuple(map(float, row)) for row in emitted),
        )

    def prompts(
        self, case: Case, how: Measuring, reranker: Reranker | None = None
    ) -> Prompts:
        """The prompts of the app, with how the text begins at their ends; raises
        ContextFullError. Past texts are chosen with `reranker`, or the
        pair's own."""
        given = len(self.small.vocabulary.tokenize(case.beginning))
        query = RetrievalQuery(case.request, how.passages, seed=how.seed)
        found = personalisation.find(
            how.personalisation, case.history(), query, reranker or self._reranker
        )
        room = how.max_tokens + given
        return self.built(case.request, found, case.background, room, case.beginning)

    def built(
        self,
        request: Request,
        passages: Sequence[Passage],
        background: str,
        max_tokens: int,
        beginning: str = "",
    ) -> Prompts:
        """As `PromptBuilder.build`, with how the text begins at the ends, and for a
        generalist of another vocabulary the public prompt in its tokens."""
        prompts = self.builder().build(request, passages, background, max_tokens)
        begun = self.small.vocabulary.tokenize(beginning)
        theirs = self.other.prompt(request, begun) if self.other else ()
        return replace(
            prompts,
            public_ids=(*prompts.public_ids, *begun),
            private_ids=(*prompts.private_ids, *begun),
            generalist_ids=tuple(theirs),
        )

    def builder(self) -> PromptBuilder:
        """Builds prompts that both models have room for."""
        engines = (self.specialist, self.generalist)
        length = min(engine.slots.context_length for engine in engines)
        return PromptBuilder(
            self.small.vocabulary.tokenize, self.small.chat_template, length
        )

    def counted(self, text: str, max_tokens: int) -> tuple[list[int], int, bool]:
        """The tokens of a text that are counted, with its end if it is whole; the bytes
        of the text in them; whether it is whole."""
        vocabulary = self.small.vocabulary
        every = vocabulary.tokenize(text)
        ids = every[:max_tokens]
        whole = len(ids) == len(every)
        size = sum(len(vocabulary.piece(token)) for token in ids)
        ending = [self.end] if whole and self.end is not None else []
        return ids + ending, size, whole

    def readers(
        self,
        prompts: Prompts,
        case: Case | None = None,
        reads: str = personalisation.USUAL,
    ) -> Readers:
        """The three models, to read the text of `case` after its prompts; the
        specialist as in `specialist_as`. Raises VocabularyMismatchError for two
        vocabularies without a case."""
        ids = prompts.public_ids, prompts.private_ids
        engines = self.base, self.specialist_as(reads), self.generalist
        if self.other is None:
            return Readers(*engines, *ids)
        if case is None:
            raise VocabularyMismatchError(
                "this needs two models of one vocabulary, and these have two"
            )
        beginning = tuple(self.small.vocabulary.tokenize(case.beginning))
        return ReadersOfTwo(*engines, *ids, self.other, case.request, beginning)

    def specialist_as(self, reads: str) -> Engine:
        """The specialist that a personalisation asks for; raises InvalidSettingsError
        if it needs an adapter and there is none."""
        personalisation.check_worn(reads, self._task)
        if reads == "pad":
            return RescoredEngine(self.specialist, self._tuned)
        return self._tuned if reads == "tam" else self.specialist

    @cached_property
    def _tuned(self) -> SlotEngine:
        """The specialist that wears `task`."""
        return self._sequence(self._opened, self.small, self._task)

    def speeds(self) -> tuple[Speed, Speed]:
        """The speeds of the small and the large model here; raises StoppedError."""
        return speed_of(self.specialist), speed_of(self.generalist)

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
