"""The writing service: models, server and store together, one text at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from decoding_core.errors import (
    CloudUnreachableError,
    DecodingError,
    InvalidSettingsError,
    StoppedError,
    VocabularyRefusedError,
)
from decoding_core.methods import build
from decoding_core.protocols import Engine, Verifier
from decoding_core.verifier import VerifierRole, role_of
from edge_app.config.sealed import key_of
from edge_app.decoding.events import (
    Emit,
    Event,
    Finished,
    FinishReason,
    HeldBack,
    Notice,
    Source,
    Statistics,
    Tally,
    emit_to,
)
from edge_app.decoding.on_device import OfflineVerifier, RememberedRows, verifier_of
from edge_app.decoding.session import Patience, go_alone
from edge_app.privacy.budget import Account, CountingVerifier, PublicText
from edge_app.privacy.guard.gate import GuardGate
from edge_app.privacy.guard.history import PrivateIndex, index_of_store
from edge_app.privacy.ledger import Ledger, SpentToday, check_room, spent_path
from edge_app.privacy.reading import QuoteReader, Quotes
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import (
    LONGEST_CONTEXT,
    RetrievalContext,
    RetrievalQuery,
    Retrieved,
    title,
)
from edge_app.sample import make_ready
from edge_app.service.answering import (
    addressed_brief,
    as_greeted,
    correspondents,
    letters,
    notes_on,
    received,
)
from edge_app.service.import_plan import import_noted
from edge_app.service.languages import word_on_languages
from edge_app.service.profiles import (
    Profile,
    Profiler,
    Summary,
    profile_path,
    summariser,
)
from edge_app.service.requests import Letter, MayLeave, ServiceConfig, WriteRequest
from edge_app.service.text_job import TextJob, never_drawn
from edge_app.transport import check_token_goes_safely, is_this_machine
from edge_app.transport.child_server import ChildServer
from edge_app.transport.verifier import CloudVerifier
from models.never_drawn import NeverDrawn
from models.running.interface import Model, TextScorer, TextSlots
from models.running.loading import load_model, load_reranker
from models.running.machine import fit_threads
from models.running.settings import default_threads
from personal_store import Passage, Store
from personal_store.import_runs import Unfinished, dismiss, unfinished

LEARNT = 1000
"""How many of the newest texts are private besides those that are read, if an
adapter was trained on them."""
_MOMENT = 0.1  # seconds


class _NoProfileYetError(Exception):
    """A profile would have to be written."""


def _no_profile_yet(passages: Sequence[Passage]) -> Summary:
    """Write no profile before a text is asked for: that takes as long as a text."""
    del passages
    raise _NoProfileYetError


def _source(passage: Passage) -> Source:
    parts = dict(passage.score_parts)
    named = passage.record_id, title(passage), passage.score
    return Source(*named, parts, passage.text)


class WritingService:
    """Everything that commands and the app ask for; calls may block, and come from any
    thread."""

    def __init__(self, config: ServiceConfig) -> None:
        self._config = config
        self._address = config.server, config.token, config.certificate
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._child: ChildServer | None = None
        self._model: Model | None = None
        self._context: TextSlots | None = None
        self._base: TextSlots | None = None
        self._reranker: TextScorer | None = None
        self._verifier: CloudVerifier | None = None
        self._verifier_of: tuple[str, str] = "", ""
        self._said: set[str] = set()
        """Notices that are shown once."""
        self._allowed: list[str] = []  # by answers of this sitting
        self._quotes = QuoteReader()
        self._early: list[Event] = []
        """Events before the text to which they are reported."""

    def prepare(
        self, *, offline: bool = False, stop: threading.Event | None = None
    ) -> str:
        """Load the specialist and reach or start the server; the name of the
        verifier.

        Raises:
            ModelError: a model cannot be used.
            CloudUnreachableError: the server that was started ended.
            StoppedError: the person stopped, or the service was closed.
        """
        with self._working(), ExitStack() as before_leaving:
            config = self._config
            if not offline and not config.server:
                if self._child is not None and self._child.ended:
                    self._child.close()
                    self._child = None
                if self._child is None:
                    self._child = ChildServer(
                        config.generalist, config.specialist, config.engine
                    )
            if config.server and not offline and self._verifier is None:
                key_of(config.store)  # which a thread beside this one must not ask for
                # While the models are loaded.
                reaching = threading.Thread(target=self._reach, daemon=True)
                reaching.start()
                before_leaving.callback(reaching.join)
            if self._context is None:
                model = load_model(config.specialist, config.engine, self._closing)
                length = min(model.context_length, LONGEST_CONTEXT)
                self._model = model
                self._context = model.open(1, length, adapter=config.adapter)
            # A server on this machine verifies while this process drafts.
            shares = not offline and is_this_machine(
                config.server or "http://127.0.0.1"
            )
            # That of the text before is set where it was stopped.
            self._context.stop = stop or threading.Event()
            fit_threads(self._context, 1, default_threads() if shares else None)
            if self._reranker is None and config.reranker is not None:
                self._reranker = load_reranker(config.reranker, config.engine)
            if self._child is not None and not offline:
                self._child.wait(stop)
        if offline:
            return "this device alone"
        return self._config.server or "a server on this machine"

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text; `emit` is called with all that happens, `Finished` last.

        Raises:
            DecodingError: it cannot be written; nothing is lost.
        """
        request, role, history = self._filled_in(request)
        notice = None
        self._check(request, role, history)
        if history == "generalist":  # the server is given the history itself
            request = replace(request, guard="off")
        try:
            offline = request.offline or not role.uses_generalist
            try:
                if not offline:
                    check_room(self._config.ledger)
                self.prepare(offline=offline, stop=stop)
            except CloudUnreachableError as error:
                allowed = request.may_go_offline
                notice = Notice(go_alone(error, "the text is", allowed=allowed))
                self.prepare(offline=True, stop=stop)
                request = replace(request, offline=True)
        except StoppedError:
            emit(Finished("stopped", Statistics()))
            return
        with self._working(), closing(self._ledger(prune=True)) as ledger:
            tally = Tally()
            for event in self._early:
                emit_to(tally.add, emit)(event)
            self._early.clear()
            emit = emit_to(tally.add, ledger.add, emit)
            if notice is not None:
                emit(notice)
            nobody = history == "nobody"
            reason = self._written(request, role, emit, stop, learnt=not nobody)
            emit(Finished(reason, tally.statistics()))

    def read_ahead(self, request: WriteRequest, stop: threading.Event) -> None:
        """Have the specialist read what it is to read for `request`, on this device
        alone: nothing is sent, told or kept. The text that is written next reads on
        from there. Nothing is read ahead before `prepare`, if the specialist has no
        part in a method or reads no history, if a reranker would have to choose the
        texts, or if a profile would have to be written first. Raises StoppedError if
        `stop` was set, or the service was closed and DecodingError if it cannot be
        written either."""
        request, role, history = self._filled_in(request)
        if not (role.uses_specialist and history == "specialist"):
            return
        with self._working():
            model, context = self._model, self._context
            if model is None or context is None or self._reranker is not None:
                return
            with self._store() as store, suppress(_NoProfileYetError):
                path = profile_path(store.path)
                profiler = Profiler(_no_profile_yet, str(model.path), path)
                request, retrieved = self._found(store, request, profiler)
                job = TextJob(
                    model, context, request, role.method, lambda _: None, stop
                )
                job.read_ahead(retrieved.passages)

    def write_profile(self, emit: Emit, stop: threading.Event) -> Profile:
        """Write the profile of the history anew, and keep it. Raises
        InvalidSettingsError if there is no history and StoppedError if the person
        stopped."""
        self.prepare(offline=True, stop=stop)
        with self._working(), self._store() as store:
            if not store.counts()["own"]:
                raise InvalidSettingsError(
                    "there is no history yet; 'specsteer import --help' says how to "
                    "give it, and --sample uses the sample letters"
                )
            return self._profiler(store, emit, stop).renew(store)

    def _written(
        self,
        request: WriteRequest,
        role: VerifierRole,
        emit: Emit,
        stop: threading.Event,
        *,
        learnt: bool,
    ) -> FinishReason:
        """Why the text ended, after it was written with what the history holds, and by
        what was `learnt` of it if an adapter is worn."""
        model, context = self._model, self._context
        assert model is not None
        assert context is not None
        given = model.vocabulary.tokenize(request.before) if request.before else []
        request = replace(request, max_tokens=request.max_tokens + len(given))
        try:
            with self._store() as store:
                profiler = self._profiler(store, emit, stop)
                request, retrieved = self._found(store, request, profiler)
                gate = None
                if role.uses_generalist:
                    index = self._index(request, store, retrieved)
                    letters = (passage.text for passage in retrieved.passages)
                    quotes = Quotes(index, request.brief, letters)
                    detokenize = model.vocabulary.detokenize
                    emit = self._quotes.beside(quotes, detokenize, emit)
                    gate = self._gate(request, index, emit) if learnt else None
        except StoppedError:
            return "stopped"
        texts = [passage.text for passage in retrieved.passages]
        word = word_on_languages(self._config.specialist, request.brief.text, texts)
        if word is not None and word not in self._said:
            self._said.add(word)
            emit(Notice(word))

        def connect() -> Verifier:
            child = self._child
            address = self._address if child is None else (child.url, child.token, "")
            verifier = self._connected(*address)
            if account is None:
                verifier.attach(emit, stop)
                return verifier
            counting = CountingVerifier(verifier, account)
            verifier.attach(emit_to(counting.hear, emit), stop)
            return counting

        def base_slots(length: int = context.context_length) -> TextSlots:
            if self._base is None:  # a second cache over the same weights; no adapter
                self._base = model.open(1, length)
            return self._base

        def base() -> Engine:
            slots = base_slots()
            slots.stop = stop
            return slots.sequence()

        account, account_base = None, base
        if self._reckons(request, role) and learnt:
            # Read twice: by the account, and as part of the verifier if it is one.
            shared = RememberedRows(base())
            public = PublicText(gate, request.max_tokens)
            never = never_drawn(model.vocabulary, request, retrieved.passages)
            account = self._account(request, role, shared, emit, public, never)

            def account_base() -> Engine:
                return shared

        verifier: Verifier = OfflineVerifier()
        if context.adapter is not None and not learnt:
            context = base_slots()
        if not (request.offline and role.uses_generalist):
            verifier = verifier_of(role, connect, account_base)
        patience = Patience()
        if self._child is not None:
            patience = Patience(pauses=())  # nobody starts it again in mid-text
        # Its session stays open: another version reads on from where the two differ.
        job = TextJob(
            *(model, context, request, role.method, emit, stop, patience),
            keeps_session=True,
            draws=account,
            gate=gate,
            given_ids=given,
        )
        try:
            return job.run(verifier, retrieved.passages)
        except VocabularyRefusedError as error:
            assert self._verifier is not None
            where = ""
            with suppress(DecodingError):  # one that does not tell refuses all the same
                names = model.vocabulary.names()
                where = f": {self._verifier.first_difference(names)}"
            raise VocabularyRefusedError(f"{error}{where}") from error

    def _filled_in(
        self, request: WriteRequest
    ) -> tuple[WriteRequest, VerifierRole, str]:
        """The request with the configuration's choices where it has none of its own,
        the role of its method, and who reads the history. Raises InvalidSettingsError
        for a personalisation that is unknown."""
        method = build(request.settings)
        role = role_of(request.settings.terms(), method)
        history = method.reads_history
        if history == "specialist" and not role.uses_specialist:
            history = "nobody"
        reads = request.personalisation or self._config.personalisation
        personalisation.build(reads)
        if not request.use_history or history == "nobody":
            reads = "none"
        privacy = request.privacy or self._config.privacy
        request = replace(request, personalisation=reads, privacy=privacy)
        return request, role, history

    def _found(
        self, store: Store, request: WriteRequest, profiler: Profiler
    ) -> tuple[WriteRequest, Retrieved]:
        """The request with all that is to be read beside it, and what was found in the
        history. Raises StoppedError when the person stops."""
        if request.reply_to is not None:
            notes = notes_on(store, request.reply_to), request.background
            background = "\n\n".join(part for part in notes if part.strip())
            request = replace(request, background=background)
        brief = addressed_brief(store, request.brief, request.reply_to)
        query = RetrievalQuery(
            brief, excluded=request.excluded, seed=request.settings.seed
        )
        choice = personalisation.build(request.personalisation)
        context = RetrievalContext(profiler, self._reranker)
        retrieved = choice.find(store, query, context)
        beside = retrieved.beside(request.background)
        brief = as_greeted(store, brief)
        return replace(request, brief=brief, background=beside), retrieved

    def _reckons(self, request: WriteRequest, role: VerifierRole) -> bool:
        """Whether to reckon what leaves: where there is a limit, and where the base is
        on this device anyway."""
        assert request.privacy is not None
        told = role.uses_generalist and not request.offline
        on_edge = request.settings.base == "edge"
        return told and role.uses_specialist and (request.privacy.binds or on_edge)

    def _account(
        self,
        request: WriteRequest,
        role: VerifierRole,
        base: Engine,
        emit: Emit,
        public: PublicText,
        never: NeverDrawn,
    ) -> Account:
        """The account of a text, which goes on with what this server was told today."""
        assert self._model is not None
        config = self._config
        spent = SpentToday(
            spent_path(config.ledger),
            "this machine" if self._child is not None else config.server.rstrip("/"),
            datetime.now().astimezone().date(),
            config.store,
        )
        return Account(
            request.settings.draw(),
            base,
            emit,
            request.privacy,
            judges=role.draft_limit > 0 and not role.adds_draft,
            never=never,
            today=spent.read(),
            note=spent.add,
            public=public,
        )

    def _index(
        self, request: WriteRequest, store: Store, retrieved: Retrieved
    ) -> PrivateIndex:
        """What of the history a draft may hold."""
        passages = list(retrieved.passages)
        if self._config.adapter is not None:  # it may know any text by heart
            passages += store.recent(limit=LEARNT)
        return index_of_store(
            store,
            passages,
            request.brief,
            notes=(request.background,),
            allowed=(*self._config.allowed, *self._allowed),
            region=self._config.guard_region,
        )

    def _gate(
        self, request: WriteRequest, index: PrivateIndex, emit: Emit
    ) -> GuardGate | None:
        """What a draft must pass before it leaves; None if the person wants none."""
        mode = request.guard or self._config.guard
        if mode == "off":
            return None
        assert self._model is not None
        person = request.ask
        if mode == "ask" and person is None:
            emit(
                Notice(
                    "nobody can be asked here: what the guard finds stays on this "
                    "device, as with 'placeholder'"
                )
            )

        def may_leave(held: HeldBack) -> bool:
            answer: MayLeave = "no" if person is None else person(held)
            if answer == "always":
                phrase = " ".join(held.text.split()).strip(".,;:!?\"'()")
                self._allowed.append(phrase)
                if self._config.allow_always is not None:
                    self._config.allow_always(phrase)
            return answer != "no"

        seed = request.settings.seed
        return GuardGate(index, self._model.vocabulary, mode, may_leave, seed)

    def _check(self, request: WriteRequest, role: VerifierRole, history: str) -> None:
        """Raise InvalidSettingsError for what cannot be, before anything is sent."""
        server, name = self._config.server, role.method.name
        assert request.privacy is not None
        if not request.offline:
            request.privacy.check(role)
            if request.privacy.binds and history == "generalist":
                raise InvalidSettingsError(
                    f"the method '{name}' gives your history away; it keeps no privacy "
                    "budget"
                )
        if request.offline and not role.draft_limit:
            raise InvalidSettingsError(
                f"the method '{name}' draws every token with the server, so it "
                "does nothing offline; choose 'specialist', or leave --offline out"
            )
        if role.uses_generalist and not request.offline:
            check_token_goes_safely(
                server, self._config.token, in_clear=self._config.token_in_clear
            )
        away = server and not is_this_machine(server)
        if history == "generalist" and away:
            raise InvalidSettingsError(
                f"the method '{name}' gives your history to the large model, so "
                f"it runs on this machine only, not at {server}"
            )

    def server_ended(self) -> bool:
        """Whether the server that was started here has ended; sends nothing."""
        child = self._child
        return child is not None and child.ended

    def counts(self) -> dict[str, int]:
        """How many own texts of each kind the store holds."""
        with self._store() as store:
            return store.counts()

    def correspondents(self) -> list[str]:
        """Everybody who can be written to, as `Name <address>`, the latest first."""
        with self._store() as store:
            return correspondents(store)

    def identities(self) -> list[str]:
        """The addresses and names that are known to be the owner's."""
        with Store.open(self._config.store) as store:
            return store.identities()

    def own_address(self, answered: int | None = None) -> str:
        """The owner's address to write a mail from, or to answer a received one."""
        with self._store() as store:
            return store.own_address(answered)

    def search(self, query: str, limit: int = 20) -> list[Source]:
        """Own texts that match a typed query, best first; the excerpt is all of it."""
        with self._store() as store:
            return [_source(found) for found in store.find(query, limit=limit)]

    def texts(self, record_ids: Sequence[int]) -> list[Source]:
        """The own texts of these records that the store still has."""
        with self._store() as store:
            found = [store.passage(record_id) for record_id in record_ids]
        return [_source(passage) for passage in found if passage is not None]

    def search_received(self, query: str, limit: int = 20) -> list[Letter]:
        """Texts by others: those by a person of that name or address, then those that
        hold the words, best first; the newest where nothing was typed."""
        with self._store() as store:
            return letters(store, received(store, query, limit))

    def thread(self, record_id: int) -> list[Letter]:
        """All texts of a received one's thread, the oldest first."""
        with self._store() as store:
            return letters(store, store.thread(record_id))

    def references(self, record_id: int) -> list[str]:
        """Identifiers of a received mail and of those that it answers."""
        with self._store() as store:
            return store.references(record_id)

    def import_letters(
        self,
        kind: str,
        path: Path,
        me: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> str:
        """Read an export into the store; the closing sentence."""
        asked = Unfinished(kind, path.absolute(), tuple(me))
        with Store.open(self._config.store) as store:
            return import_noted(store, asked, progress).summary()

    def unfinished_import(self) -> Unfinished | None:
        """The last import that was begun and is not finished, nor running."""
        with Store.open(self._config.store) as store:
            return next(iter(unfinished(store)), None)

    def leave_import(self, asked: Unfinished) -> None:
        """Offer this import no more."""
        with Store.open(self._config.store) as store:
            dismiss(store, asked)

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
        """The service to oneself. What goes wrong because it is closed meanwhile, or
        was before, is a StoppedError."""
        with self._lock:
            if self._closing.is_set():
                raise StoppedError("the service is closed")
            try:
                yield
            except DecodingError as error:
                if not self._closing.is_set():
                    raise
                raise StoppedError("the service was closed") from error
            finally:
                if self._closing.is_set():
                    self._free()

    def _connected(self, url: str, token: str, certificate: str = "") -> CloudVerifier:
        """The verifier at an address; its connection is kept from text to text."""
        if self._verifier_of != (url, token):
            self._hang_up()
        if self._verifier is None:
            self._verifier = CloudVerifier(
                *(url, token, lambda _: None),
                certificate=certificate,
                cadence=self._config.cadence,
            )
            self._verifier_of = url, token
        return self._verifier

    def _reach(self) -> None:
        """Open the connection to the server before the first text needs it; what goes
        wrong goes wrong again there, and is told then."""
        config = self._config
        with closing(self._ledger()) as ledger, suppress(DecodingError):
            check_token_goes_safely(
                config.server, config.token, in_clear=config.token_in_clear
            )
            verifier = self._connected(*self._address)
            tell = emit_to(ledger.add, self._early.append)
            verifier.attach(tell, self._closing)
            verifier.reach()

    def _ledger(self, *, prune: bool = False) -> Ledger:
        days = self._config.ledger_days if prune else 0.0
        return Ledger(self._config.ledger, self._config.store, days)

    def _hang_up(self) -> None:
        """End the session that is open, and tell the ledger what that sends."""
        if self._verifier is not None:
            with closing(self._ledger()) as ledger:
                self._verifier.attach(ledger.add, threading.Event())
                self._verifier.close()
        self._verifier = None

    def _free(self) -> None:
        try:
            self._hang_up()
        finally:  # also where the ledger cannot be written
            if self._child is not None:
                self._child.close()
            held = self._context, self._base, self._reranker, self._model
            for one in held:
                if one is not None:
                    one.close()
            self._child = self._context = self._base = self._model = None
            self._reranker = None

    def _store(self) -> Store:
        """One's own texts, or the sample while there are none."""
        own, sample = self._config.store, self._config.sample_store
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

    def _profiler(self, store: Store, emit: Emit, stop: threading.Event) -> Profiler:
        assert self._model is not None
        assert self._context is not None
        return Profiler(
            summariser(self._model, self._context, stop),
            str(self._model.path),
            profile_path(store.path),
            lambda sentence: emit(Notice(sentence)),
        )
