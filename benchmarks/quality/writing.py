"""What each arm writes for each text that was asked for, how near it comes to the true
one, and what that costs; each result is kept as soon as it is there.

ROUGE is Google's rouge-score, as the papers use it: F-measure, no stemmer. It knows the
letters a to z and digits alone. METEOR is nltk's with exact and stemmed words; without
synonyms, which need WordNet.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

from base.extras import how_to_add
from benchmarks.cache import Cache, code_id, key_of, sha256_of, versions
from benchmarks.pair import Pair
from benchmarks.quality.arms import RERANKED, Arm, nats_of, target_of
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
from edge_app.evaluation.cases import Case
from edge_app.evaluation.pair import end_of_turn
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import (
    LONGEST_CONTEXT,
    PromptBuilder,
    Prompts,
    RetrievalContext,
    RetrievalQuery,
)
from edge_app.service.profiles import Profiler
from models.running.loading import load_reranker
from models.running.settings import EngineSettings


def check_extra() -> None:
    """Raise InvalidSettingsError when a library is missing."""
    try:
        _rouge()
        _words()
    except ImportError as error:
        raise InvalidSettingsError(
            f"ROUGE and METEOR need more libraries: {how_to_add('bench')}"
        ) from error


def scores(text: str, true: str) -> dict[str, float]:
    """The figures of one text, by name, from 0 to 1."""
    text, true = text.strip(), true.strip()
    rouge = _rouge().score(true, text)
    found = {name: float(rouge[name].fmeasure) for name in ("rouge1", "rougeL")}
    return {**found, "meteor": meteor(text, true)}


def meteor(text: str, true: str) -> float:
    """METEOR without synonyms, 0 to 1."""
    from nltk.translate.meteor_score import single_meteor_score

    class NoSynonyms:
        """Stands where nltk asks WordNet."""

        def synsets(self, _: str) -> list[Any]:
            return []

    words, wordnet = _words(), cast(Any, NoSynonyms())
    return float(single_meteor_score(words(true), words(text), wordnet=wordnet))


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


class FramedVerifier(VerifierHere):
    """Another verifier, to which everything goes as bytes: each message is encoded,
    counted and decoded. What HTTP and WebSocket add is not counted."""

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
        self._emit(Sent(time.time(), "in-process", what, len(data), (), b""))
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


@dataclass(frozen=True, slots=True)
class Result:
    """One arm on one text that was asked for."""

    case: Case
    arm: Arm
    outcome: Outcome | None
    """None if the arm cannot write so."""
    size: int
    """Bytes of the true text that were counted."""
    nats: float | None
    """Of those, under the arm's target; None if it has none."""


class Lab:
    """The models, loaded with the first result that is not kept."""

    def __init__(
        self,
        models: Mapping[str, Path],
        how: How,
        stop: threading.Event,
        reranker: Path | None = None,
    ) -> None:
        self.models = dict(models)
        self.hashes = {role: sha256_of(path) for role, path in models.items()}
        self.how = how
        self.stop = stop
        self.crowded = 0
        """Texts whose prompts left no room for them."""
        self._reranker = reranker
        self._opened = ExitStack()

    @cached_property
    def pair(self) -> Pair:
        """Both models; raises ModelError when one cannot be used."""
        files = self.models["specialist"], self.models["generalist"]
        pair = Pair(*files, self.how.threads, context=LONGEST_CONTEXT, stop=self.stop)
        return self._opened.enter_context(closing(pair))

    @cached_property
    def context(self) -> RetrievalContext:
        """What chooses among past texts, besides their words; raises ModelError when
        the reranker cannot be used."""
        reranker = None
        if self._reranker is not None:
            settings = EngineSettings(threads=self.how.threads)
            loaded = load_reranker(self._reranker, settings)
            reranker = self._opened.enter_context(closing(loaded))
        profiler = Profiler(self.pair.summariser(), self.hashes["specialist"])
        return RetrievalContext(profiler, reranker)

    def prompts(self, case: Case, history: str) -> Prompts:
        """The prompts of the app, with how the text begins at their ends."""
        context, name, how = self.context, history, self.how
        if history == RERANKED:
            name = personalisation.USUAL
        else:
            context = replace(context, reranker=None)
        model = self.pair.small
        beginning = model.vocabulary.tokenize(case.beginning, False)
        found = personalisation.find(
            name,
            case.history(),
            RetrievalQuery(case.request, how.passages, seed=how.seed),
            context,
        )
        built = PromptBuilder(
            model.vocabulary.tokenize, model.chat_template, self.pair.context_length
        ).build(
            case.request,
            found.passages,
            found.beside(case.background),
            how.max_tokens + len(beginning),
        )
        return replace(
            built,
            public_ids=(*built.public_ids, *beginning),
            private_ids=(*built.private_ids, *beginning),
        )

    def results(
        self,
        cases: Sequence[Case],
        arms: Sequence[Arm],
        kept: Cache,
        progress: Callable[[int, int], None],
    ) -> Iterator[Result]:
        """A result for each text and arm, from `kept` or computed and put there.

        Raises:
            StoppedError: the person stopped.
        """
        for number, case in enumerate(cases):
            try:
                for one in self._of_case(case, arms, kept):
                    yield one
                    done = number * len(arms) + arms.index(one.arm) + 1
                    progress(done, len(cases) * len(arms))
            except ContextFullError:
                self.crowded += 1

    def close(self) -> None:
        """Free the models."""
        self._opened.close()

    def _of_case(
        self, case: Case, arms: Sequence[Arm], kept: Cache
    ) -> Iterator[Result]:
        usual = personalisation.USUAL
        made: dict[str, Prompts] = {}
        past = case.history()
        texts = [one.text for one in map(past.passage, past.kinds()) if one]
        depends = {
            "case": [asdict(case.request), case.text, case.beginning, case.background],
            "history": key_of({"texts": texts}),
            "models": self.hashes,
            "how": asdict(self.how),
            "code": code_id(),
            "versions": versions(),
        }
        if self._reranker is not None:
            depends["reranker"] = sha256_of(self._reranker)

        def prompts(history: str) -> Prompts:
            if history not in made:
                made[history] = self.prompts(case, history)
            return made[history]

        def result(of: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
            def or_crowded() -> dict[str, Any]:
                try:
                    return dict(compute())
                except ContextFullError as error:
                    return {"crowded": str(error)}

            found = kept.result({**depends, **of}, or_crowded)
            if "crowded" in found:
                raise ContextFullError(found["crowded"])
            return found

        targets = {t.key: t for t in (target_of(arm.settings) for arm in arms) if t}
        costs: dict[str, Any] = {}
        for arm in arms:
            if self.stop.is_set():
                raise StoppedError("stopped")
            history = arm.history or usual
            if targets and history not in costs:
                costs[history] = result(
                    {"kind": "nats", "reads": history, "targets": sorted(targets)},
                    lambda h=history: self._nats(case, prompts(h), targets.values()),  # type: ignore[misc]
                )
            outcome = None
            if not arm.refusal:
                settings = asdict(arm.settings)
                body = result(
                    {"kind": "text", "reads": history, "settings": settings},
                    lambda a=arm, h=history: self.written(case, prompts(h), a),  # type: ignore[misc]
                )
                outcome = Outcome(**body)
            target, cost = target_of(arm.settings), costs.get(history)
            nats = cost["nats"][target.key] if target and cost else None
            yield Result(case, arm, outcome, cost["size"] if cost else 0, nats)

    def written(self, case: Case, prompts: Prompts, arm: Arm) -> dict[str, Any]:
        """What an arm writes."""
        pair = self.pair
        written = pair.write_from(
            prompts,
            arm.settings,
            self.how.max_tokens,
            lambda emit: FramedVerifier(pair.verifier(), emit),
        )
        told = written.statistics
        outcome = Outcome(
            text=written.text,
            tokens=told.accepted + told.recovered + told.bonus + told.local,
            drafted=told.drafted,
            accepted=told.accepted,
            rounds=told.rounds,
            up=told.bytes_up,
            down=told.bytes_down,
            seconds=told.seconds,
            ended=written.ended,
            scores=scores(written.text, case.text),
        )
        return asdict(outcome)

    def _nats(self, case: Case, prompts: Prompts, targets: Any) -> dict[str, Any]:
        """What the true text costs, and how many of its bytes were counted."""
        vocabulary = self.pair.small.vocabulary
        text = vocabulary.tokenize(case.text)
        ids = text[: self.how.max_tokens]
        size = sum(len(vocabulary.piece(token)) for token in ids)
        end = end_of_turn(self.pair.small)
        if len(ids) == len(text) and end is not None:
            ids = [*ids, end]
        readers = self.pair.readers(prompts)
        return {"size": size, "nats": nats_of(readers, ids, list(targets))}
