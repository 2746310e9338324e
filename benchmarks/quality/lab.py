"""The models at work: what an arm writes, and what a true text costs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.pair.pair import Connect, Pair
from benchmarks.quality import likely, metrics
from benchmarks.quality.cache import code_id, sha256_of, versions
from benchmarks.quality.query import Query, Room
from benchmarks.quality.sweep import RERANKED, Arm
from benchmarks.quality.wire import framed, over_socket
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import LONGEST_CONTEXT, Prompts, RetrievalContext
from edge_app.service.profiles import Profiler
from edge_app.transport.child_server import ChildServer
from models.running.loading import load_reranker
from models.running.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class How:
    """What is the same for all texts of a run."""

    max_tokens: int
    passages: int
    threads: int
    socket: bool = False
    """Ask a server over a real socket."""
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
        self._connect: Connect | None = None
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
    def connect(self) -> Connect:
        """The way to the generalist; starts a server where that is asked for."""
        if self._connect is None and self.how.socket:
            engine = EngineSettings(threads=self.how.threads)
            files = self.models["generalist"], self.models["specialist"]
            server = self._opened.enter_context(closing(ChildServer(*files, engine)))
            server.wait(self.stop)
            self._connect = over_socket(server, self.stop)
        elif self._connect is None:
            self._connect = framed(self.pair)
        return self._connect

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
        """End the server and free the models."""
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
        connect, limit = lab.connect, lab.how.max_tokens
        written = lab.pair.write_from(prompts, settings, limit, connect)
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
            scores=metrics.scores(self.query, written.text),
        )
        return asdict(outcome)

    def measured(
        self, targets: Sequence[likely.Target], history: str
    ) -> dict[str, Any]:
        """What the true text costs."""
        limit = self._lab.how.max_tokens
        found = likely.measured(
            self._lab.pair, self.query, self._ready(history), list(targets), limit
        )
        return likely.as_json(found)

    def _ready(self, history: str) -> Prompts:
        if history not in self._prompts:
            self._prompts[history] = self.query.prompts(self._lab.room(history))
        return self._prompts[history]
