"""What each arm writes for each text that was asked for, how near it comes to the true
one, and what that costs; each result is kept as soon as it is there.

ROUGE is Google's rouge-score, as the papers use it: F-measure, no stemmer. It knows the
letters a to z and digits alone. METEOR is nltk's with exact and stemmed words; without
synonyms, which need WordNet.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, cast

from base.extras import how_to_add
from benchmarks.cache import key_of
from benchmarks.pair import Bench
from benchmarks.quality.arms import RERANKED, Arm, Target, nats_of, target_of
from decoding_core.byte_space import ByteVocabulary
from decoding_core.errors import (
    ContextFullError,
    InvalidSettingsError,
    MessageError,
)
from decoding_core.messages import (
    BYTES_VERSION,
    DraftBlock,
    FrameFormat,
    OpenSession,
    SessionOpened,
    Verdict,
)
from decoding_core.protocols import Verifier
from decoding_core.verifier import (
    ByteEngineVerifier,
    VerifierHere,
    bytes_role,
    role_of,
)
from decoding_core.wire_json import (
    open_from_json,
    open_to_json,
    opened_from_json,
    opened_to_json,
)
from edge_app.decoding.events import Emit, Received, Sent
from edge_app.evaluation.cases import Case
from edge_app.evaluation.pair import Measuring
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import Prompts, Reranker
from models.local.finding import sha256_of
from models.running.loading import load_reranker


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
    speaks_bytes = False  # until it is asked in tokens

    def __init__(self, inner: Verifier, emit: Emit) -> None:
        super().__init__()
        self._inner = inner
        self._emit = emit
        self._format: FrameFormat | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        role, in_bytes = role_of(request.terms), request.version == BYTES_VERSION
        self._format = (bytes_role(role) if in_bytes else role).frames
        self._out.clear()
        body = self._sent("open", json.dumps(open_to_json(request)).encode())
        opened = self._inner.open(open_from_json(json.loads(body)))
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

    def vocabulary(self) -> ByteVocabulary:
        """The generalist's tokens, not counted: a device asks for them once."""
        assert isinstance(self._inner, ByteEngineVerifier)
        return self._inner.vocabulary()

    def close(self) -> None:
        """End the text."""
        self._inner.close()

    def _sent(self, what: str, data: bytes) -> bytes:
        self._emit(Sent(time.time(), "in-process", what, len(data), (), data))
        return data

    def _received(self, what: str, data: bytes) -> bytes:
        self._emit(Received(time.time(), what, len(data)))
        return data


@dataclass(frozen=True, slots=True)
class Outcome:
    """A text that was written, and its numbers."""

    text: str
    tokens: int
    drafted: int
    accepted: int
    rounds: int
    up: int  # bytes to the generalist, the opening among them
    down: int
    seconds: float
    ended: str
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Result:
    """One arm on one text that was asked for."""

    case: Case
    arm: Arm
    outcome: Outcome | None  # None if the arm cannot write so
    size: int  # bytes of the true text that were counted
    nats: float | None  # of those, under the arm's target; None if it has none


class Lab:
    """Writes with each arm, and measures; each result is kept."""

    def __init__(
        self, bench: Bench, how: Measuring, reranker: Path | None = None
    ) -> None:
        self.bench = bench
        self.how = how
        self.crowded = 0
        """Texts whose prompts left no room for them."""
        self._reranker = reranker

    @cached_property
    def _reranking(self) -> Reranker:
        """The reranker; raises ModelError if it is invalid."""
        assert self._reranker is not None
        loaded = load_reranker(self._reranker, self.bench.engine)
        return self.bench.opened.enter_context(closing(loaded))

    def prompts(self, case: Case, history: str) -> Prompts:
        """The prompts of the app, with how the text begins at their ends."""
        if history == RERANKED:
            usual = replace(self.how, personalisation=personalisation.USUAL)
            return self.bench.pair.prompts(case, usual, self._reranking)
        how = replace(self.how, personalisation=history)
        return self.bench.pair.prompts(case, how)

    def results(
        self,
        cases: Sequence[Case],
        arms: Sequence[Arm],
        progress: Callable[[int, int], None],
    ) -> Iterator[Result]:
        """A result for each text and arm. Raises StoppedError if the person stopped."""
        for number, case in enumerate(cases):
            try:
                for place, one in enumerate(self._of_case(case, arms), 1):
                    yield one
                    progress(number * len(arms) + place, len(cases) * len(arms))
            except ContextFullError:
                self.crowded += 1

    def _of_case(self, case: Case, arms: Sequence[Arm]) -> Iterator[Result]:
        past = case.history()
        texts = [one.text for one in map(past.passage, past.kinds()) if one]
        depends = {
            "case": [asdict(case.request), case.text, case.beginning, case.background],
            "history": key_of({"texts": texts}),
            "how": asdict(self.how),
            "reranker": self._reranker and sha256_of(self._reranker),
        }
        prompts = cache(partial(self.prompts, case))

        def result(
            history: str,
            of: Mapping[str, Any],
            compute: Callable[[Prompts, str], dict[str, Any]],
        ) -> Any:
            def or_crowded() -> dict[str, Any]:
                try:
                    return compute(prompts(history), history)
                except ContextFullError as error:
                    return {"crowded": str(error)}

            read = {"reads": history, "wears": self._worn(history)}
            found = self.bench.result({**depends, **read, **of}, or_crowded)
            if "crowded" in found:
                raise ContextFullError(found["crowded"])
            return found

        targets = {t.key: t for t in (target_of(arm.settings) for arm in arms) if t}
        measure = partial(self._nats, case, list(targets.values()))
        for arm in arms:
            history = arm.history or personalisation.USUAL
            cost: dict[str, Any] = {"size": 0, "nats": {}}
            if targets:
                cost = result(history, {"targets": sorted(targets)}, measure)
            outcome = None
            if not arm.refusal:
                of = {"settings": asdict(arm.settings)}
                body = result(history, of, partial(self.written, case, arm))
                outcome = Outcome(**body) if body else None
            target = target_of(arm.settings)
            nats = cost["nats"].get(target.key) if target else None
            yield Result(case, arm, outcome, cost["size"], nats)

    def _worn(self, history: str) -> str | None:
        """The key of the adapter that a personalisation wears; None: it wears none.
        Raises InvalidSettingsError if it lacks one."""
        personalisation.check_worn(history, task := self.bench.task)
        if task is None or history not in personalisation.WEARING:
            return None
        kept = task.path.iterdir() if task.path.is_dir() else [task.path]
        files = [one for one in kept if one.suffix in (".gguf", ".safetensors")]
        hashes = {one.name: sha256_of(one) for one in files}
        return key_of({"scale": task.scale, "files": hashes})

    def written(
        self, case: Case, arm: Arm, prompts: Prompts, history: str
    ) -> dict[str, Any]:
        """What an arm writes; nothing if two vocabularies let it not."""
        pair = self.bench.pair
        reads = role_of(arm.settings.terms()).method.reads_history
        if pair.other is not None and reads == "generalist":
            return {}
        written = pair.write_from(
            prompts,
            arm.settings,
            self.how.max_tokens,
            lambda emit: pair.verifier(
                prompts, lambda inner: FramedVerifier(inner, emit)
            ),
            reads=history,
        )
        counts = written.statistics
        outcome = Outcome(
            text=written.text,
            tokens=counts.accepted + counts.recovered + counts.bonus + counts.local,
            drafted=counts.drafted,
            accepted=counts.accepted,
            rounds=counts.rounds,
            up=counts.bytes_up,
            down=counts.bytes_down,
            seconds=counts.seconds,
            ended=written.ended,
            scores=scores(written.text, case.text),
        )
        return asdict(outcome)

    def _nats(
        self, case: Case, targets: Sequence[Target], prompts: Prompts, history: str
    ) -> dict[str, Any]:
        """What the true text costs, and how many of its bytes were counted."""
        pair = self.bench.pair
        ids, size, _ = pair.counted(case.text, self.how.max_tokens)
        readers = pair.readers(prompts, case, history)
        return {"size": size, "nats": nats_of(readers, ids, targets)}
