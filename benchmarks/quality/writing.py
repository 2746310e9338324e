"""What each arm writes for each query, how near it comes to the true text, and what
that costs; each result is kept as soon as it is there."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from benchmarks.cache import Cache, code_id, sha256_of, versions
from benchmarks.pair import Pair
from benchmarks.quality.arms import (
    RERANKED,
    Arm,
    Likelihood,
    Target,
    as_json,
    measured,
    target_of,
)
from benchmarks.quality.sets import Query, Room
from decoding_core.errors import (
    ContextFullError,
    InvalidSettingsError,
    MessageError,
    StoppedError,
)
from decoding_core.messages import (
    DraftBlock,
    FrameFormat,
    OpenSession,
    SessionOpened,
    Verdict,
)
from decoding_core.protocols import Verifier
from decoding_core.verifier import VerifierHere, role_of
from decoding_core.wire_json import (
    open_from_json,
    open_to_json,
    opened_from_json,
    opened_to_json,
)
from edge_app.decoding.events import Emit, Received, Sent
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import LONGEST_CONTEXT, Prompts, RetrievalContext
from edge_app.retrieval.personalisation import USUAL
from edge_app.service.profiles import Profiler
from models.running.loading import load_reranker
from models.running.settings import EngineSettings
from personal_store.extras import how_to_add


def check_extra() -> None:
    """Raise InvalidSettingsError when a library is missing."""
    try:
        _rouge()
        _words()
    except ImportError as error:
        raise InvalidSettingsError(
            f"ROUGE and METEOR need more libraries: {how_to_add('bench')}"
        ) from error


def scores(query: Query, text: str) -> dict[str, float]:
    """The figures of one text, by name; 0 to 1 but for `error`, which counts stars."""
    text, true = text.strip(), query.text.strip()
    if query.kind == "choice":
        return {"accuracy": float(text == true)}
    if query.kind == "rating":
        return {"error": abs(stars(text, true) - float(true))}
    rouge = _rouge().score(true, text)
    return {
        "rouge1": float(rouge["rouge1"].fmeasure),
        "rougeL": float(rouge["rougeL"].fmeasure),
        "meteor": meteor(text, true),
    }


def meteor(text: str, true: str) -> float:
    """METEOR without synonyms, 0 to 1."""
    from nltk.translate.meteor_score import single_meteor_score

    words, wordnet = _words(), cast(Any, _NoSynonyms())
    return float(single_meteor_score(words(true), words(text), wordnet=wordnet))


def stars(text: str, true: str) -> float:
    """The rating that a text gives. What is no number counts as far from the true one
    as a rating can be, which is how LaMP counts it."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if math.isfinite(found):
        return found
    return 1.0 if abs(1.0 - float(true)) > abs(5.0 - float(true)) else 5.0


class _NoSynonyms:
    """Stands where nltk asks WordNet."""

    def synsets(self, word: str) -> list[Any]:
        """None of any word."""
        del word
        return []


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    make: Any = RougeScorer  # it comes without types
    return make(["rouge1", "rougeL"])


@cache
def _words() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenize: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return tokenize


_PLACE = "in-process"


class FramedVerifier(VerifierHere):
    """Another verifier, to which everything goes as bytes."""

    local = False

    def __init__(self, inner: Verifier, emit: Emit) -> None:
        super().__init__()
        self._inner = inner
        self._emit = emit
        self._format: FrameFormat | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        self._format = role_of(request.terms).frames
        self._out.clear()
        body = self._sent("open", json.dumps(open_to_json(request)).encode())
        checked = json.loads(body)
        del checked["version"]  # as the server's checks leave it
        opened = self._inner.open(open_from_json(checked))
        answer = self._received("open", json.dumps(opened_to_json(opened)).encode())
        return opened_from_json(json.loads(answer))

    def verify(self, block: DraftBlock) -> Verdict:
        """Verify one block; raises what the verifier inside raises."""
        if self._format is None:
            raise MessageError("verify was called before open")
        frame = self._sent("block", self._format.encode_block(block))
        self._inner.submit(self._format.decode_block(frame))
        verdict = self._inner.collect()
        drafted = len(block.drafted)
        answer = self._format.decode_answer(
            self._received("block", self._format.encode_verdict(verdict, drafted))
        )
        assert isinstance(answer, Verdict)
        return answer

    def close(self) -> None:
        """End the text."""
        self._inner.close()

    def _sent(self, what: str, data: bytes) -> bytes:
        self._emit(Sent(time.time(), _PLACE, what, len(data), (), b""))
        return data

    def _received(self, what: str, data: bytes) -> bytes:
        self._emit(Received(time.time(), what, len(data)))
        return data


@dataclass(frozen=True, slots=True)
class How:
    """What is the same for all texts of a run."""

    max_tokens: int
    passages: int
    threads: int
    seed: int = 0
    """Of past texts that are drawn by chance."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A text that was written, and its numbers."""

    text: str
    tokens: int
    drafted: int
    accepted: int
    rounds: int
    up: int
    """Bytes to the generalist, the opening among them."""
    down: int
    seconds: float
    ended: str
    scores: dict[str, float]


class Lab:
    """The models, loaded with the first result that nobody kept."""

    def __init__(
        self,
        models: Mapping[str, Path],
        how: How,
        stop: threading.Event,
        reranker: Path | None = None,
    ) -> None:
        self.models = dict(models)
        self.hashes = {role: sha256_of(path) for role, path in models.items()}
        self.reranker = "" if reranker is None else sha256_of(reranker)
        self.how = how
        self.stop = stop
        self._opened = ExitStack()
        self._pair: Pair | None = None
        self._reranker_file = reranker
        self._context: RetrievalContext | None = None

    @property
    def pair(self) -> Pair:
        """Both models; raises ModelError when one cannot be used."""
        if self._pair is None:
            pair = Pair(
                self.models["specialist"],
                self.models["generalist"],
                self.how.threads,
                context=LONGEST_CONTEXT,
                stop=self.stop,
            )
            self._pair = self._opened.enter_context(closing(pair))
        return self._pair

    @property
    def context(self) -> RetrievalContext:
        """What chooses among past texts, besides their words; raises ModelError when
        the reranker cannot be used."""
        if self._context is None:
            reranker = None
            if self._reranker_file is not None:
                settings = EngineSettings(threads=self.how.threads)
                loaded = load_reranker(self._reranker_file, settings)
                reranker = self._opened.enter_context(closing(loaded))
            profiler = Profiler(self.pair.summariser(), self.hashes["specialist"])
            self._context = RetrievalContext(profiler, reranker)
        return self._context

    def room(self, history: str) -> Room:
        """What prompts are made for, with past texts that were chosen so."""
        context, name = self.context, history
        if history == RERANKED:
            name = personalisation.USUAL
        else:
            context = replace(context, reranker=None)
        choice, seed = personalisation.build(name), self.how.seed
        vocabulary = self.pair.small.vocabulary
        return Room(
            vocabulary.tokenize,
            vocabulary.detokenize,
            self.pair.small.chat_template,
            self.pair.context_length,
            self.how.max_tokens,
            self.how.passages,
            lambda texts, query: choice.find(texts, replace(query, seed=seed), context),
        )

    def close(self) -> None:
        """Free the models."""
        self._opened.close()


class Asked:
    """A query, and its prompts once somebody needs them."""

    def __init__(self, query: Query, lab: Lab) -> None:
        self.query = query
        self._lab = lab
        self._prompts: dict[str, Prompts] = {}

    def histories(self, arms: Sequence[Arm]) -> list[str]:
        """The ways to choose past texts that arms ask for and the query has, the usual
        one for those that read none. Others are the business of other queries."""
        found = dict.fromkeys(arm.history or personalisation.USUAL for arm in arms)
        usual = personalisation.USUAL
        return [one for one in found if self.query.searches or one == usual]

    def depends(self, kind: str, history: str) -> dict[str, Any]:
        """What every result on this query depends on."""
        query, how = self.query, self._lab.how
        chosen = [history, self._lab.reranker if history == RERANKED else "", how.seed]
        return {
            **({} if history == personalisation.USUAL else {"history": chosen}),
            "kind": kind,
            "query": [query.source, query.dataset, query.user, query.name],
            "models": self._lab.hashes,
            "how": [how.max_tokens, how.passages, how.threads],
            "code": code_id(),
            "versions": versions(),
        }

    def written(self, arm: Arm) -> dict[str, Any]:
        """What an arm writes."""
        lab = self._lab
        prompts = self._ready(arm.history or personalisation.USUAL)
        settings = arm.settings
        pair, limit = lab.pair, lab.how.max_tokens
        written = pair.write_from(
            prompts,
            settings,
            limit,
            lambda emit: FramedVerifier(pair.verifier(), emit),
        )
        told = written.statistics
        tokens = told.accepted + told.recovered + told.bonus + told.local
        outcome = Outcome(
            text=written.text,
            tokens=tokens,
            drafted=told.drafted,
            accepted=told.accepted,
            rounds=told.rounds,
            up=told.bytes_up,
            down=told.bytes_down,
            seconds=told.seconds,
            ended=written.ended,
            scores=scores(self.query, written.text),
        )
        return asdict(outcome)

    def measured(self, targets: Sequence[Target], history: str) -> dict[str, Any]:
        """What the true text costs."""
        limit = self._lab.how.max_tokens
        found = measured(
            self._lab.pair, self.query, self._ready(history), list(targets), limit
        )
        return as_json(found)

    def _ready(self, history: str) -> Prompts:
        if history not in self._prompts:
            self._prompts[history] = self.query.prompts(self._lab.room(history))
        return self._prompts[history]


@dataclass(frozen=True, slots=True)
class Result:
    """One arm on one query."""

    query: Query
    arm: Arm
    outcome: Outcome | None
    """None where the arm cannot write so."""
    size: int
    """Bytes of the true text that were counted."""
    nats: float | None
    """Of those, under the arm's target; None where it has none."""


class Runner:
    """Goes through queries and arms."""

    def __init__(self, lab: Lab, cache: Cache, arms: Sequence[Arm]) -> None:
        self._lab = lab
        self._cache = cache
        self._arms = arms
        found = {target_of(arm.settings) for arm in arms} - {None}
        self._targets = sorted((t for t in found if t), key=lambda t: t.key)
        self.crowded = 0
        """Queries whose prompts left no room for a text."""

    def run(
        self, queries: Sequence[Query], progress: Callable[[int, int], None]
    ) -> Iterator[Result]:
        """A result for each query and arm; `progress` is told of each.

        Raises:
            StoppedError: the person stopped.
        """
        total = len(queries) * len(self._arms)
        for number, query in enumerate(queries):
            try:
                yield from self._query(query, number * len(self._arms), total, progress)
            except ContextFullError:
                self.crowded += 1
            progress((number + 1) * len(self._arms), total)

    def _query(
        self, query: Query, done: int, total: int, progress: Callable[[int, int], None]
    ) -> Iterator[Result]:
        asked = Asked(query, self._lab)
        there = asked.histories(self._arms)
        likelihoods = {}
        for history in there if query.text else ():
            keys = {"targets": [target.key for target in self._targets]}
            found = self._kept(
                asked.depends("nats", history) | keys,
                partial(asked.measured, self._targets, history),
            )
            likelihoods[history] = Likelihood.of(found)
        for count, arm in enumerate(self._arms):
            if self._lab.stop.is_set():
                raise StoppedError("stopped")
            history = arm.history or USUAL
            if history not in there:
                continue
            outcome = None
            if not arm.refusal:
                depends = asked.depends("text", history)
                depends |= {"settings": asdict(arm.settings)}
                outcome = Outcome(**self._kept(depends, partial(asked.written, arm)))
            target = target_of(arm.settings)
            likelihood = likelihoods.get(history)
            nats = likelihood.nats.get(target.key) if target and likelihood else None
            size = likelihood.size if likelihood else 0
            yield Result(query, arm, outcome, size, nats)
            progress(done + count, total)

    def _kept(
        self, depends: dict[str, Any], compute: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """A result, from the cache or for it; prompts without room are kept, too."""
        found = self._cache.get(depends)
        if found is None:
            try:
                found = compute()
            except ContextFullError as error:
                found = {"crowded": str(error)}
            self._cache.put(depends, found)
        if "crowded" in found:
            raise ContextFullError(found["crowded"])
        return found
