"""The models at work: what an arm writes, and what a true text costs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.pair.pair import Connect, Pair
from benchmarks.quality import likely, metrics
from benchmarks.quality.cache import code_id, sha256_of, versions
from benchmarks.quality.query import Query, Room
from benchmarks.quality.sweep import Arm
from benchmarks.quality.wire import framed, over_socket
from edge_app.retrieval.context import LONGEST_CONTEXT, Prompts
from edge_app.transport.child_server import ChildServer
from models.running.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class How:
    """What is the same for all texts of a run."""

    max_tokens: int
    passages: int
    threads: int
    socket: bool = False
    """Ask a server over a real socket."""


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
    ) -> None:
        self.models = dict(models)
        self.hashes = {role: sha256_of(path) for role, path in models.items()}
        self.how = how
        self.stop = stop
        self._opened = ExitStack()
        self._pair: Pair | None = None
        self._connect: Connect | None = None

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

    def room(self) -> Room:
        """What prompts are made for."""
        vocabulary = self.pair.small.vocabulary
        return Room(
            vocabulary.tokenize,
            vocabulary.detokenize,
            self.pair.small.chat_template,
            self.pair.context_length,
            self.how.max_tokens,
            self.how.passages,
        )

    def close(self) -> None:
        """End the server and free the models."""
        self._opened.close()


class Asked:
    """A query, and its prompts once somebody needs them."""

    def __init__(self, query: Query, lab: Lab) -> None:
        self.query = query
        self._lab = lab
        self._prompts: Prompts | None = None

    def depends(self, kind: str) -> dict[str, Any]:
        """What every result on this query depends on."""
        query, how = self.query, self._lab.how
        return {
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
        prompts, settings = self._ready(), arm.settings
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

    def measured(self, targets: Sequence[likely.Target]) -> dict[str, Any]:
        """What the true text costs."""
        limit = self._lab.how.max_tokens
        found = likely.measured(
            self._lab.pair, self.query, self._ready(), list(targets), limit
        )
        return likely.as_json(found)

    def _ready(self) -> Prompts:
        if self._prompts is None:
            self._prompts = self.query.prompts(self._lab.room())
        return self._prompts
