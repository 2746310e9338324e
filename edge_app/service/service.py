"""The desk: models, server and store together, writing one text at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from decoding_core.errors import (
    CloudUnreachableError,
    DecodingError,
    InvalidSettingsError,
    StoppedError,
)
from decoding_core.methods import build
from decoding_core.protocols import Engine, Method, Verifier
from edge_app.decoding.events import (
    Emit,
    Event,
    Finished,
    FinishReason,
    Notice,
    Source,
    Statistics,
)
from edge_app.decoding.session import Patience
from edge_app.decoding.statistics import Tally
from edge_app.privacy.ledger import Ledger
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import LONGEST_CONTEXT, title
from edge_app.retrieval.passages import RetrievalContext, RetrievalQuery, Retrieved
from edge_app.sample.filling import make_ready
from edge_app.service.profiles import Profile, Profiler, profile_path, summariser
from edge_app.service.requests import WriteRequest
from edge_app.service.text_job import TextJob
from edge_app.transport.addresses import check_token_goes_safely, is_this_machine
from edge_app.transport.child_server import ChildServer
from edge_app.verifiers.base_alone import BaseAloneVerifier
from edge_app.verifiers.cloud import CloudVerifier
from edge_app.verifiers.edge_base import EdgeBaseVerifier
from edge_app.verifiers.offline import OfflineVerifier
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.engines.llama_reranker import LlamaReranker
from models.engines.settings import EngineSettings
from personal_store import Store, import_source

_MOMENT = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What a desk works with."""

    specialist: Path
    generalist: Path
    store: Path
    ledger: Path
    server: str = ""
    """Address of a server; empty: one is started with the first online text."""
    token: str = field(default="", repr=False)
    engine: EngineSettings = field(default_factory=EngineSettings)
    sample_store: Path | None = None
    """Where sample letters are read from while the store holds none of one's own."""
    personalisation: str = personalisation.USUAL
    """What of the history is read where an order does not say."""
    reranker: Path | None = None
    """A GGUF reranker that chooses among the texts found."""
    token_in_clear: bool = False
    """Whether `token` may be sent to `server` without encryption."""


class WritingService:
    """Serves orders; satisfies `orders.Service`."""

    def __init__(self, equipment: ServiceConfig) -> None:
        self._equipment = equipment
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._child: ChildServer | None = None
        self._model: LlamaModel | None = None
        self._context: LlamaContext | None = None
        self._base: LlamaContext | None = None
        self._reranker: LlamaReranker | None = None

    def prepare(
        self, *, offline: bool = False, stop: threading.Event | None = None
    ) -> str:
        """Load the specialist and reach or start the server; what judges then.

        Raises:
            ModelError: a model cannot be used.
            CloudUnreachableError: the server that was started ended.
            StoppedError: the person stopped, or the desk was closed.
        """
        with self._working():
            if not offline and not self._equipment.server:
                self._start_child()
            self._load()
            if self._child is not None and not offline:
                self._child.wait(stop)
        return self._judge_name(offline)

    def write(self, order: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text; `emit` hears all that happens, `Finished` last.

        Raises:
            DecodingError: it cannot be written; nothing is lost.
        """
        method = build(order.settings)
        self._check(order, method)
        order = self._personal(order, method)
        try:
            order, notice = self._ready(order, stop)
        except StoppedError:
            emit(Finished("stopped", Statistics()))
            return
        with self._working(), closing(Ledger(self._equipment.ledger)) as ledger:
            tally = Tally()

            def tell(event: Event) -> None:
                tally.add(event)
                ledger.add(event)
                emit(event)

            if notice is not None:
                tell(notice)
            reason = self._written(order, tell, stop)
            tell(Finished(reason, tally.statistics()))

    def write_profile(self, emit: Emit, stop: threading.Event) -> Profile:
        """Write the profile of the history anew, and keep it.

        Raises:
            InvalidSettingsError: there is no history.
            StoppedError: the person stopped.
        """
        self.prepare(offline=True, stop=stop)
        with self._working(), self._store() as store:
            if not store.counts()["own"]:
                raise InvalidSettingsError(
                    "there is no history yet; 'specsteer import --help' says how to "
                    "give it, and --sample uses the sample letters"
                )
            return self._profiler(store, emit, stop).renew(store)

    def _personal(self, order: WriteRequest, method: Method) -> WriteRequest:
        """The order with its personalisation named; raises InvalidSettingsError."""
        name = order.personalisation or self._equipment.personalisation
        personalisation.build(name)
        if not order.use_history or method.reads_history == "nobody":
            name = "none"
        return replace(order, personalisation=name)

    def _written(
        self, order: WriteRequest, tell: Emit, stop: threading.Event
    ) -> FinishReason:
        assert self._model is not None
        assert self._context is not None
        try:
            found = self._found(order, tell, stop)
        except StoppedError:
            return "stopped"
        order = replace(order, background=found.beside(order.background))
        patience = Patience()
        if self._child is not None:
            patience = Patience(pauses=())  # nobody starts it again in mid-text
        job = TextJob(self._model, self._context, order, tell, stop, patience)
        return job.run(self._verifier(order, tell, stop), found.passages)

    def _check(self, order: WriteRequest, method: Method) -> None:
        """Raise InvalidSettingsError for what cannot be, before anything is sent."""
        server = self._equipment.server
        if order.offline and not method.drafts:
            raise InvalidSettingsError(
                f"the method '{method.name}' draws every token with the server, so it "
                "does nothing offline; choose 'specialist', or leave --offline out"
            )
        if not (order.offline or _needs_no_server(order)):
            check_token_goes_safely(
                server, self._equipment.token, in_clear=self._equipment.token_in_clear
            )
        away = server and not is_this_machine(server)
        if method.reads_history == "generalist" and away:
            raise InvalidSettingsError(
                f"the method '{method.name}' gives your history to the large model, so "
                f"it runs on this machine only, not at {server}"
            )

    def _ready(
        self, order: WriteRequest, stop: threading.Event
    ) -> tuple[WriteRequest, Notice | None]:
        """The order as it can be served: offline where no server comes up."""
        try:
            self.prepare(offline=order.offline or _needs_no_server(order), stop=stop)
        except CloudUnreachableError as error:
            if not order.may_go_offline:
                raise
            self.prepare(offline=True, stop=stop)
            alone = f"{error}; the text is written on this device alone"
            return replace(order, offline=True), Notice(alone)
        return order, None

    def counts(self) -> dict[str, int]:
        """How many own texts of each kind the store holds."""
        with self._store() as store:
            return store.counts()

    def search(self, query: str, limit: int = 20) -> list[Source]:
        """Own texts that match what a person typed, best first."""
        with self._store() as store:
            return [
                Source(p.record_id, title(p), p.score, dict(p.score_parts), p.text)
                for p in store.find(query, limit=limit)
            ]

    def import_letters(
        self,
        kind: str,
        path: Path,
        me: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> str:
        """Read an export into the store; the closing sentence."""
        with Store.open(self._equipment.store) as store:
            report = import_source(store, kind, path, me=me, progress=progress)
        return report.summary()

    def close(self) -> None:
        """End the server that was started, and free the models. Waits for no model: a
        thread that is loading one gives up and frees what there is when it can."""
        self._closing.set()
        # Who holds the lock frees all; the moment is for one who is just letting go.
        if self._lock.acquire(timeout=_MOMENT):
            try:
                self._free()
            finally:
                self._lock.release()
        elif (child := self._child) is not None:
            child.close()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """The desk to oneself. What goes wrong because it is closed meanwhile, or was
        before, is a StoppedError."""
        with self._lock:
            if self._closing.is_set():
                raise StoppedError("the desk is closed")
            try:
                yield
            except DecodingError as error:
                if not self._closing.is_set():
                    raise
                raise StoppedError("the desk was closed") from error
            finally:
                if self._closing.is_set():
                    self._free()

    def _free(self) -> None:
        if self._child is not None:
            self._child.close()
        for context in (self._context, self._base):
            if context is not None:
                context.close()
        if self._reranker is not None:
            self._reranker.close()
        if self._model is not None:
            self._model.close()
        self._child = self._context = self._base = self._model = None
        self._reranker = None

    def _store(self) -> Store:
        """One's own texts, or the sample while there are none."""
        own, sample = self._equipment.store, self._equipment.sample_store
        if sample is None:
            return Store.open(own)
        if own != sample:
            store = Store.open(own)
            if store.counts()["own"]:
                return store
            store.close()
        store = Store.open(sample)
        make_ready(store)
        return store

    def _start_child(self) -> None:
        if self._child is not None and self._child.ended:
            self._child.close()
            self._child = None
        if self._child is None:
            self._child = ChildServer(
                self._equipment.generalist,
                self._equipment.specialist,
                self._equipment.engine,
            )

    def _load(self) -> None:
        if self._context is None:
            model = LlamaModel(
                self._equipment.specialist, self._equipment.engine, self._closing
            )
            length = min(model.context_length, LONGEST_CONTEXT)
            self._model, self._context = model, LlamaContext(model, 1, length)
        if self._reranker is None and self._equipment.reranker is not None:
            self._reranker = LlamaReranker(
                self._equipment.reranker, self._equipment.engine
            )

    def _judge_name(self, offline: bool) -> str:
        if offline:
            return "this device alone"
        return self._equipment.server or "a server on this machine"

    def _found(
        self, order: WriteRequest, tell: Emit, stop: threading.Event
    ) -> Retrieved:
        """What the specialist reads besides the request."""
        wish = RetrievalQuery(
            order.request, excluded=order.excluded, seed=order.settings.seed
        )
        with self._store() as store:
            tools = RetrievalContext(self._profiler(store, tell, stop), self._reranker)
            return personalisation.build(order.personalisation).find(store, wish, tools)

    def _profiler(self, store: Store, tell: Emit, stop: threading.Event) -> Profiler:
        assert self._model is not None
        assert self._context is not None
        return Profiler(
            summariser(self._model, self._context, stop),
            str(self._model.path),
            profile_path(store.path),
            lambda sentence: tell(Notice(sentence)),
        )

    def _verifier(
        self, order: WriteRequest, tell: Emit, stop: threading.Event
    ) -> Verifier:
        method = build(order.settings)
        if method.uses_base and not method.uses_generalist:
            return BaseAloneVerifier(self._edge_base(stop))
        if order.offline or _needs_no_server(order):
            return OfflineVerifier()
        url, token = self._equipment.server, self._equipment.token
        if self._child is not None:
            url, token = self._child.url, self._child.token
        verifier: Verifier = CloudVerifier(url, token, tell, stop)
        if order.settings.base == "edge" and method.uses_base:
            verifier = EdgeBaseVerifier(verifier, self._edge_base(stop))
        return verifier

    def _edge_base(self, stop: threading.Event) -> Engine:
        """The base on this device, a second cache over the specialist's weights."""
        if self._base is None:
            assert self._model is not None
            assert self._context is not None
            length = self._context.context_length
            self._base = LlamaContext(self._model, 1, length)
        self._base.stop = stop
        return self._base.sequence()


def _needs_no_server(order: WriteRequest) -> bool:
    return not build(order.settings).uses_generalist
