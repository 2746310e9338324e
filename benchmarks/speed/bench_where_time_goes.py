"""`specsteer bench where-time-goes`: specialist, server and loop, by the clock."""

from __future__ import annotations

import json
import platform
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from benchmarks.options import NEW_FILE
from benchmarks.speed.timing import TimedEngine, TimedVerifier
from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from edge_app import sample
from edge_app.decoding.events import EventEmitter, Tally, emit_to
from edge_app.decoding.loop import decode_loop
from edge_app.decoding.session import VerifierSession
from edge_app.privacy.ledger import Ledger
from edge_app.retrieval.context import PromptBuilder, Prompts
from edge_app.sample.filling import make_ready
from edge_app.transport.child_server import ChildServer
from edge_app.verifiers.cloud import CloudVerifier
from models.files import locate
from models.prompts import Request
from models.running.interface import Model, TextSlots
from models.running.loading import load_model
from models.running.settings import EngineSettings
from personal_store import Store

_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """The seconds of one text."""

    method: str
    temperature: float
    tokens: int
    total: float
    specialist: float
    server: float
    loop: float
    loop_share: float


@dataclass(frozen=True, slots=True)
class Bench:
    """What all runs share."""

    model: Model
    context: TextSlots
    prompts: Prompts
    child: ChildServer
    ledger: Path

    def run(self, settings: MethodSettings) -> Row:
        """Write one text, with clocks in the engine and in the verifier."""
        vocabulary, terms = self.model.vocabulary, settings.terms()
        public, private = self.prompts.public_ids, self.prompts.private_ids
        with closing(Ledger(self.ledger)) as ledger:
            emit = emit_to(Tally().add, ledger.add)
            engine = TimedEngine(self.context.sequence())
            client = CloudVerifier(self.child.url, self.child.token, emit)
            verifier = TimedVerifier(client)
            started = time.perf_counter()
            emitter = EventEmitter(emit, vocabulary.piece)
            session = VerifierSession(
                verifier,
                OpenSession(public, (), self.model.vocabulary_id, terms),
                emitter.notice,
                may_go_offline=False,
            )
            session.open()
            loop = decode_loop(
                settings,
                build(settings),
                engine,
                private,
                session,
                emitter,
                max_tokens=_TOKENS,
            )
            count = sum(len(block.token_ids) for block in loop.blocks())
            total = time.perf_counter() - started
            verifier.close()
        rest = total - engine.seconds - verifier.seconds
        return Row(
            settings.method,
            settings.temperature,
            count,
            total,
            engine.seconds,
            verifier.seconds,
            rest,
            rest / total,
        )


@click.command("where-time-goes")
@click.option(
    "--json",
    "target",
    type=NEW_FILE,
    metavar="FILE",
    help="Write all settings and figures there too.",
)
def command(target: Path | None) -> None:
    """Where the time of a text goes: specialist, server, loop.

    Three methods, greedy and drawn, each write the sample letter three times: two
    processes, a real socket, the embedded pair. The specialist's and the server's
    seconds are those spent waiting for them; what is left is the loop's own.
    """
    model = load_model(locate("specialist"), EngineSettings())
    context = model.open()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(ChildServer(locate("generalist"), locate("specialist"))) as child,
    ):
        child.wait(threading.Event())
        with Store.open(Path(folder) / "store.db") as store:
            make_ready(store)
            passages = store.search(
                sample.REQUEST, limit=5, kind="email", recipient=sample.RECIPIENT
            )
        builder = PromptBuilder(
            model.vocabulary.tokenize, model.chat_template, model.context_length
        )
        request = Request(sample.REQUEST, "email", sample.RECIPIENT)
        bench = Bench(
            model,
            context,
            builder.build(request, passages, "", _TOKENS),
            child,
            Path(folder) / "ledger.jsonl",
        )
        rows = [
            bench.run(
                MethodSettings(
                    method=method, temperature=temperature, top_p=top_p, seed=seed
                )
            )
            for method in ("steering", "coupled", "generalist")
            for temperature, top_p in ((0.0, 1.0), (0.7, 0.95))
            for seed in (0, 1, 2)
        ]
    print("method      temp  tokens  seconds  specialist  server  loop   loop %")
    for row in rows:
        print(
            f"{row.method:11} {row.temperature:4.1f} {row.tokens:7} {row.total:8.2f}"
            f"{row.specialist:12.2f}{row.server:8.2f}{row.loop:6.3f}{row.loop_share:9.1%}"
        )
    if target:
        threads = model.settings.thread_count
        figures = {
            "machine": f"{platform.machine()}, {threads} threads a model",
            "rows": [asdict(row) for row in rows],
        }
        target.write_text(json.dumps(figures, indent=1))
