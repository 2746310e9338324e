"""The writing service: models, server and store together, one text at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from decoding_core.byte_space import ByteVocabulary
from decoding_core.errors import (
    DecodingError,
    InvalidSettingsError,
    MessageError,
    StoppedError,
)
from decoding_core.methods import build
from decoding_core.protocols import Engine, Method, Verifier
from decoding_core.verifier import VerifierRole, role_of
from edge_app.config.sealed import key_of
from edge_app.decoding import events
from edge_app.decoding.events import Emit, Notice, Source, emit_to
from edge_app.decoding.on_device import OfflineVerifier, RememberedRows, verifier_of
from edge_app.decoding.session import Patience
from edge_app.decoding.two_vocabularies import AnyVocabulary
from edge_app.privacy.budget import Account, CountingVerifier, PublicText
from edge_app.privacy.guard.gate import GuardGate
from edge_app.privacy.guard.history import PrivateIndex, index_of_store
from edge_app.privacy.ledger import Ledger, SpentToday, check_room, spent_path
from edge_app.privacy.reading import QuoteReader, Quotes
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import LONGEST_CONTEXT, RetrievalQuery, title
from edge_app.retrieval.lessons import Lesson, lesson_for
from edge_app.retrieval.naming import parted
from edge_app.retrieval.voice import Voice, mark, voice_of
from edge_app.sample import make_ready
from edge_app.service import answering
from edge_app.service.kept_states import KeptStates
from edge_app.service.languages import word_on_languages
from edge_app.service.requests import (
    Finished,
    Letter,
    MayLeave,
    ServiceConfig,
    WriteRequest,
)
from edge_app.service.text_job import Shared, TextJob, never_drawn, written_from
from edge_app.transport import check_token_goes_safely, is_this_machine
from edge_app.transport.child_server import ChildServer
from edge_app.transport.token_lists import TokenLists
from models.chat import render
from models.prompts import Message, Request, public_messages
from models.revising import Revision
from models.running.interface import Model, TextSlots, bytes_of
from models.running.loading import load_model, load_reranker
from models.running.machine import fit_threads
from models.running.settings import default_threads
from personal_store import Passage, Store, StoreError
from personal_store.import_runs import Unfinished, dismiss, unfinished
from personal_store.lifecycle.writing import keep_finished
from personal_store.records import Document
from personal_store.text.greetings import is_to

if TYPE_CHECKING:
    from edge_app.facts.checking import Checker
    from edge_app.transport.client import CloudVerifier
    from models.engines.llama_cpp import LlamaReranker

LEARNT = 1000  # newest texts that an adapter may know by heart
_MOMENT = 0.1  # seconds
_STRETCHES = 3  # drafts of a stretch of a text
_POOR = 0.5  # of a fit, with which as many others are tried
_ROOM = 128  # tokens by which each of the next texts at once may be longer
_BASE_HERE = (
    "the server's large model has other tokens than this device's model, so the base "
    "runs on this device"
)


@dataclass(frozen=True, slots=True)
class _Read:
    """What all texts that are written at once are written from."""

    passages: Sequence[Passage]
    given: Sequence[int]  # tokens of the text so far
    index: PrivateIndex | None  # None: no server takes part
    lesson: Lesson
    learnt: bool  # whether history and adapter are used
    cache: TextSlots | None = None  # with a slot for each; None: they are not at once
    shared: Shared | None = None


def _names_fact(text: str) -> bool:
    from edge_app.facts.checking import names_fact  # loads lists of words

    return names_fact(text)


def _source(passage: Passage) -> Source:
    named = passage.record_id, title(passage), passage.score
    return Source(*named, dict(passage.score_parts), passage.text)


class WritingService:
    """What commands and the app ask for; calls may block, and come from any thread."""

    def __init__(self, config: ServiceConfig, child: ChildServer | None = None) -> None:
        """`child` is a server that was started for it already."""
        self._config = config
        self._settings = ours = config.settings
        self._address = ours.server, ours.token, ours.certificate
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._child = child
        self._model: Model | None = None
        self._context: TextSlots | None = None
        self._base: TextSlots | None = None
        self._policy: TextSlots | None = None
        self._more: TextSlots | None = None  # of several texts at once
        self._threads: int | None = None  # the most for drafting; None: all cores
        self._reranker: LlamaReranker | None = None
        self._verifier: CloudVerifier | None = None
        self._beside: list[CloudVerifier] = []  # of further texts written at once
        self._verifier_of: tuple[str, str] = "", ""
        self._own_words: ByteVocabulary | None = None
        self._shown_once: set[str] = set()  # notices
        self._allowed: list[str] = []  # by answers to this service
        self._asking, self._connecting = threading.Lock(), threading.Lock()
        self._answers: dict[str, MayLeave] = {}  # of the person, on the texts at hand
        self._quotes = QuoteReader()
        self._early: list[events.Event] = []  # before the text that reports them
        self._states: KeptStates | None = None  # of the text that is written
        self._keeping: threading.Thread | None = None

    def prepare(
        self, *, offline: bool = False, stop: threading.Event | None = None
    ) -> str:
        """Load the specialist, reach or start the server, and return the verifier's
        name. Raises ModelError, CloudUnreachableError if the started server ended, and
        StoppedError if the person stopped or the service was closed."""
        self._load(offline=offline, stop=stop)
        with self._working():
            # What is computed once is not computed with the first text.
            model = self._model
            assert model is not None
            with suppress(DecodingError, StoreError):
                render(model.chat_template, [Message("user", "x")])
                request, role, _ = self._filled_in(WriteRequest(Request("x")))
                never_drawn(model.vocabulary, request, ())
                _ = model.vocabulary_id, model.vocabulary.begins_with_blank
                _names_fact("")
                if self._reranker is None:  # which would read texts
                    how = [request], role, [lambda _: None], threading.Event()
                    next(self._jobs(*how, learnt=True))
                if self._states is not None:
                    self._states.restore(())  # derives their key
                    self._states = None
            if not offline:
                self._connected(*self._ready_server(stop))
        if offline:
            return "this device alone"
        return self._settings.server or "a server on this machine"

    def _load(self, *, offline: bool, stop: threading.Event | None) -> None:
        """Do what `prepare` does, and wait for no server that was started."""
        with self._working(), ExitStack() as before_leaving:
            config, server = self._config, self._settings.server
            if self._child is not None and self._child.ended and not offline:
                self._child.close()
                self._child = None
            if self._child is None and not (offline or server):
                self._child = ChildServer(
                    config.generalist, config.specialist, config.engine
                )
            if server and not offline and self._verifier is None:
                key_of(config.store)  # which a thread beside this one must not ask for
                # While the models are loaded.
                reaching = threading.Thread(target=self._reach, daemon=True)
                reaching.start()
                before_leaving.callback(reaching.join)
            if self._context is None:
                self._model = load_model(
                    config.specialist, config.engine, self._closing
                )
                length = min(self._model.context_length, LONGEST_CONTEXT)
                self._context = self._model.open(1, length, adapter=config.adapter)
            # A server on this machine verifies while this process drafts.
            here = not server or is_this_machine(server)
            # The event of the text before is set if that was stopped.
            self._context.stop = stop or threading.Event()
            self._threads = default_threads() if here and not offline else None
            fit_threads(self._context, 1, self._threads)
            if self._reranker is None and config.reranker is not None:
                self._reranker = load_reranker(config.reranker, config.engine)

    def _ready_server(self, stop: threading.Event | None) -> tuple[str, str, str]:
        """Address, token and certificate of the server, once one that was started here
        is ready; raises as `ChildServer.wait`."""
        if self._child is None:
            return self._address
        self._child.wait(stop)
        return self._child.url, self._child.token, ""

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text, with its events for `emit`. Raises DecodingError."""
        self.write_tries([request], [emit], stop)

    def write_tries(
        self,
        requests: Sequence[WriteRequest],
        emits: Sequence[Emit],
        stop: threading.Event,
    ) -> None:
        """Write several texts at once, each with its events for its own `emit`: the
        requests differ in their seeds and temperatures alone. Raises DecodingError if
        none of them could be written."""
        filled = [self._filled_in(request) for request in requests]
        request, role, history = filled[0]
        self._check(request, role, history)
        tries = [one for one, _, _ in filled]
        if history == "generalist":  # the server is given the history itself
            tries = [replace(one, guard="off") for one in tries]
        offline = request.offline or not role.uses_generalist
        try:
            self._load(offline=offline, stop=stop)
        except StoppedError:
            for emit in emits:
                emit(events.Finished("stopped", events.Statistics()))
            return
        with self._working(), closing(self._ledger(prune=True)) as ledger:
            self._answers.clear()
            tallies = [events.Tally() for _ in tries]
            notes = ledger.of_texts(len(tries))
            heard = [
                emit_to(tally.add, note, emit)
                for tally, note, emit in zip(tallies, notes, emits, strict=True)
            ]
            for event in self._early:
                emit_to(tallies[0].add, emits[0])(event)
            self._early.clear()
            learnt = history != "nobody"
            reasons = self._written(tries, role, heard, stop, learnt=learnt)
            for emit, reason, tally in zip(heard, reasons, tallies, strict=True):
                if reason is not None:
                    emit(events.Finished(reason, tally.statistics()))
            if self._states is not None:
                self._keeping = threading.Thread(target=self._states.write)
                self._keeping.start()
                self._states = None

    def write_best(
        self,
        requests: Sequence[WriteRequest],
        emits: Sequence[Emit],
        stop: threading.Event,
        fit: Callable[[str], float] | None = None,
    ) -> list[int]:
        """Write several drafts at once, and return their places, the best first: by
        `fit`, or as `answering.best_first` has them."""
        heard: list[list[events.Event]] = [[] for _ in requests]
        both = zip(heard, emits, strict=True)
        self.write_tries(
            requests, [emit_to(one.append, emit) for one, emit in both], stop
        )
        texts = [events.text_of(one) for one in heard]
        if fit is not None:
            return sorted(range(len(texts)), key=lambda at: -fit(texts[at]))
        from edge_app.facts.checking import Checker  # loads lists of words

        request, brief = requests[0], requests[0].brief
        found = (e for e in chain(*heard) if isinstance(e, events.SourcesFound))
        letters = [one.excerpt for e in found for one in e.sources]
        notes = [request.background]
        if request.reply_to is not None:
            with self._store() as store:
                notes.append(answering.notes_on(store, request.reply_to))
        checker = Checker(brief.text, brief.recipient, notes, letters)
        drafts = []
        for text, one in zip(texts, heard, strict=True):
            settled = (e for e in one if isinstance(e, events.Settled))
            own = [t.origin in ("accepted", "local") for e in settled for t in e.tokens]
            drafts.append((text, sum(own) / max(1, len(own))))
        return answering.best_first(checker, brief.text, drafts)

    def write_revision(
        self, wanted: WriteRequest, revision: Revision, stop: threading.Event
    ) -> list[tuple[WriteRequest, list[events.Event]]]:
        """Write a stretch of a text several times at once, and as often again if none
        does what was asked for: the requests and what was heard of each, the best
        first."""
        stretch = revision.before, revision.stood, revision.after
        asked = replace(wanted, brief=revision.brief).of_stretch(*stretch)
        every = [(one, list[events.Event]()) for one in asked.tries(2 * _STRETCHES)]
        for first in (0, _STRETCHES):
            requests, heard = zip(*every[first : first + _STRETCHES], strict=True)
            self.write_tries(requests, [one.append for one in heard], stop)
            done = every[: first + _STRETCHES]
            fits = [revision.fit(events.text_of(one)) for _, one in done]
            if stop.is_set() or not revision.wanted or max(fits) > _POOR:
                break
        return [done[at] for at in sorted(range(len(done)), key=lambda at: -fits[at])]

    def read_ahead(self, request: WriteRequest, stop: threading.Event) -> None:
        """Have the specialist read the prompt of `request`, from whose end the next
        text goes on; nothing is sent, reported or kept. Does nothing before `prepare`,
        without the specialist or a history in the method, and if a reranker would have
        to choose the texts. Raises StoppedError if `stop` was set or the service
        closed, and DecodingError as `write`."""
        request, role, history = self._filled_in(request)
        if not (role.uses_specialist and history == "specialist"):
            return
        with self._working():
            model, context = self._model, self._context
            if model is None or context is None or self._reranker is not None:
                return
            with self._store() as store:
                states = self._states_of(store, request, context)
                request, retrieved = self._found(store, request)
                job = TextJob(
                    *(model, context, request, role.method, lambda _: None, stop),
                    policy=self._policy_slots(request),
                    states=states,
                )
                job.read_ahead(retrieved)

    def _written(
        self,
        tries: Sequence[WriteRequest],
        role: VerifierRole,
        emits: Sequence[Emit],
        stop: threading.Event,
        *,
        learnt: bool,
    ) -> list[events.FinishReason | None]:
        """Write the texts; why each ended, None for one that failed while another did
        not. `learnt`: whether history and adapter are used."""
        try:
            jobs = self._jobs(tries, role, emits, stop, learnt=learnt)
        except StoppedError:
            return ["stopped"] * len(tries)
        try:
            return _all_done(jobs, emits, at_once=self._at_once(tries))
        except MessageError:
            if self._verifier is not None:  # it may have said other tokens than it has
                self._verifier.forget_vocabulary()
            raise
        finally:
            while self._beside:
                self._beside.pop().close()

    def _at_once(self, tries: Sequence[WriteRequest]) -> bool:
        """Whether texts are written at once, and not one after the other: what is read
        beside others may differ in its last bits."""
        request = tries[0]
        assert request.privacy is not None
        apart = self._config.engine.exact or request.privacy.binds
        return len(tries) > 1 and not (apart or request.personalisation == "pad")

    def _jobs(
        self,
        tries: Sequence[WriteRequest],
        role: VerifierRole,
        emits: Sequence[Emit],
        stop: threading.Event,
        *,
        learnt: bool,
    ) -> Iterator[Callable[[], events.FinishReason]]:
        """What writes each of the texts, from what the store has for them; made as they
        are asked for. Raises StoppedError."""
        model, config, request = self._model, self._config, tries[0]
        assert model is not None
        given = model.vocabulary.tokenize(request.before) if request.before else []
        most = request.max_tokens + len(given)
        index, lesson = None, Lesson()
        with self._store() as store:
            asked = request
            request, retrieved = self._found(store, request)
            if learnt:
                lesson = self._lesson(store, asked, request)
            self._states = self._states_of(store, asked, self._cache(learnt=learnt))
            if role.uses_generalist:
                index = self._index(request, store, retrieved, lesson.words)
        word = word_on_languages(config.specialist, request.brief.text)
        if word is not None and word not in self._shown_once:
            self._shown_once.add(word)
            emits[0](Notice(word))
        found = [
            replace(
                one,
                brief=request.brief,
                background=request.background,
                max_tokens=most,
                settings=lesson.settings(one.settings),
            )
            for one in tries
        ]
        role = role_of(found[0].settings.terms(), build(found[0].settings))
        read = _Read(retrieved, given, index, lesson, learnt=learnt)
        at_once = self._at_once(tries)
        read = self._shared(found, read, role.method, stop) if at_once else read
        return (
            self._job(number if at_once else 0, one, len(found), role, emit, stop, read)
            for number, (one, emit) in enumerate(zip(found, emits, strict=True))
        )

    def _cache(self, *, learnt: bool, count: int = 1) -> TextSlots:
        """The specialist's cache of a text; `learnt`: with its adapter."""
        context = self._context
        assert context is not None
        return context if learnt or context.adapter is None else self._base_slots(count)

    def _shared(
        self,
        tries: Sequence[WriteRequest],
        read: _Read,
        method: Method,
        stop: threading.Event,
    ) -> _Read:
        """What texts are written from at once: besides, a cache for all of them, and
        the prompt that they share."""
        model, several = self._model, self._more
        assert model is not None
        cache = self._cache(learnt=read.learnt, count=len(tries))
        how = model, cache, tries[0], method, lambda _: None, stop
        first = TextJob(*how, states=self._states if read.learnt else None)
        prompts = first.prompts(read.passages)
        pool = len(prompts.private_ids) + len(tries) * (tries[0].max_tokens + _ROOM)
        if several is not None and not (
            several.adapter is cache.adapter
            and several.slots >= len(tries)
            and several.pool >= pool
        ):
            several.close()
            several = None
        if several is None:
            length, adapter = cache.context_length, cache.adapter
            several = model.open(len(tries), length, adapter=adapter, pool=pool)
            fit_threads(several, len(tries), self._threads)
        self._more = several
        return replace(read, cache=several, shared=Shared(prompts, first, several))

    def _job(
        self,
        slot: int,
        request: WriteRequest,
        count: int,
        role: VerifierRole,
        emit: Emit,
        stop: threading.Event,
        read: _Read,
    ) -> Callable[[], events.FinishReason]:
        """What writes one of `count` texts, in a slot of the caches."""
        model, config, passages = self._model, self._config, read.passages
        assert model is not None
        gate, heard = None, emit
        if read.index is not None:
            texts = [passage.text for passage in passages]
            quotes = Quotes(read.index, request.brief, texts)
            # Each further text has a session of its own.
            reader = QuoteReader() if slot else self._quotes
            heard = reader.beside(quotes, model.vocabulary.detokenize, emit)
            gate = self._gate(request, read.index, emit) if read.learnt else None

        def connect() -> Verifier:
            check_room(config.ledger)
            with self._connecting:
                address = self._ready_server(stop)
                client = self._connected(*address, beside=slot > 0)
            said = [(one.role, one.content) for one in public_messages(request.brief)]
            own = partial(self._words, model)
            on_server = role.uses_base  # unless the server has other tokens
            others = base_after_all if on_server else None
            verifier = AnyVocabulary(client, own, said, others)
            if account is None:
                client.attach(heard, stop)
                return verifier
            counting = CountingVerifier(verifier, account)
            client.attach(emit_to(counting.hear, heard), stop)
            return counting

        def base_after_all() -> Engine:
            if request.names_base and _BASE_HERE not in self._shown_once:
                self._shown_once.add(_BASE_HERE)
                emit(Notice(_BASE_HERE))
            return account_base()

        def base() -> Engine:
            cache = self._base_slots(1 if read.cache is None else count)
            cache.stop = stop
            return cache.sequence(slot)

        account, account_base = None, base
        if self._needs_account(request, role) and read.learnt:
            # Read twice: by the account, and as part of the verifier if it is one.
            shared = RememberedRows(base())
            assert request.privacy is not None
            limits = request.privacy
            if limits.text is not None:  # of all texts together
                limits = replace(limits, text=limits.text / count)
            address = self._settings.server.rstrip("/")
            server = address if self._child is None else "this machine"
            day, path = datetime.now().astimezone().date(), spent_path(config.ledger)
            spent = SpentToday(path, server, day, config.store)
            account = Account(
                request.settings.draw(),
                shared,
                emit,
                limits,
                judges=role.draft_limit > 0 and not role.adds_draft,
                never=never_drawn(model.vocabulary, request, passages),
                today=spent.read(),
                note=spent.add,
                public=PublicText(gate, request.max_tokens),
            )

            def account_base() -> Engine:
                return shared

        verifier: Callable[[], Verifier] = partial(
            verifier_of, role, connect, account_base
        )
        if request.offline and role.uses_generalist:
            verifier = OfflineVerifier
        context = read.cache or self._cache(learnt=read.learnt)
        # Nobody starts a server that we started again in mid-text.
        patience = Patience() if self._child is None else Patience(pauses=())
        # Its session stays open: another version reads on from where the two differ.
        job = TextJob(
            *(model, context, request, role.method, emit, stop, patience),
            slot=slot,
            keeps_session=slot == 0,
            draws=account,
            gate=gate,
            given_ids=read.given,
            shape=read.lesson.shape(model.vocabulary, written_from(request, passages)),
            policy=self._policy_slots(request),
            states=self._states if read.learnt else None,
            shared=read.shared,
        )
        return lambda: job.run(verifier, passages)

    def _words(self, model: Model) -> ByteVocabulary:
        """The specialist's tokens by their bytes, listed once."""
        if self._own_words is None:
            self._own_words = bytes_of(model)
        return self._own_words

    def _base_slots(self, count: int = 1) -> TextSlots:
        """A cache for several texts over the specialist's weights, without an
        adapter."""
        assert self._model is not None
        assert self._context is not None
        if self._base is not None and self._base.slots < count:
            self._base.close()
            self._base = None
        if self._base is None:
            self._base = self._model.open(count, self._context.context_length)
        return self._base

    def _policy_slots(self, request: WriteRequest) -> TextSlots | None:
        """The cache of the model that PAD rescores, without an adapter; else None."""
        if request.personalisation != "pad":
            return None
        assert self._model is not None
        assert self._context is not None
        if self._policy is None:
            self._policy = self._model.open(1, self._context.context_length)
        return self._policy

    def _filled_in(
        self, request: WriteRequest
    ) -> tuple[WriteRequest, VerifierRole, str]:
        """The request with the configuration's choices for those that it leaves open,
        the role of its method, and who reads the history. Raises InvalidSettingsError
        for an unknown personalisation, or one that lacks its adapter."""
        method = build(request.settings)
        role = role_of(request.settings.terms(), method)
        history = method.reads_history
        if history == "specialist" and not role.uses_specialist:
            history = "nobody"
        reads = request.personalisation or self._settings.personalisation
        personalisation.check(reads)
        if not request.use_history or history == "nobody":
            reads = "none"
        personalisation.check_worn(reads, self._config.adapter)
        privacy = request.privacy or self._config.privacy
        request = replace(request, personalisation=reads, privacy=privacy)
        return request, role, history

    def _found(
        self, store: Store, request: WriteRequest
    ) -> tuple[WriteRequest, list[Passage]]:
        """The request with notes and recipient, and the texts found for it."""
        if request.reply_to is not None and not self._config.tiny:
            notes = answering.notes_on(store, request.reply_to), request.background
            background = "\n\n".join(part for part in notes if part.strip())
            request = replace(request, background=background)
        brief = answering.addressed_brief(store, request.brief, request.reply_to)
        query = RetrievalQuery(
            brief, excluded=request.excluded, seed=request.settings.seed
        )
        name = request.personalisation
        retrieved = personalisation.find(name, store, query, self._reranker)
        brief = answering.as_greeted(store, brief)
        return replace(request, brief=brief), retrieved

    def _lesson(self, store: Store, asked: WriteRequest, found: WriteRequest) -> Lesson:
        """What a request takes from voice and finished drafts; nothing for other words
        within a text, and without a history. `found` greets the recipient."""
        if asked.instead_of or asked.personalisation == "none":
            return Lesson()
        brief = answering.addressed_brief(store, asked.brief, asked.reply_to)
        name = found.brief.recipient
        how = asked.length, asked.excluded, name, _names_fact
        lesson = lesson_for(store.db, brief, *how, adds_nothing=self._config.tiny)
        return lesson if asked.moves else replace(lesson, nearer=0)

    def _states_of(
        self, store: Store, request: WriteRequest, context: TextSlots
    ) -> KeptStates | None:
        """The kept states for a request; None if its prompt holds private words of
        which no record of the store is known."""
        if request.background.strip() or request.personalisation == "pad":
            return None
        brief = answering.addressed_brief(store, request.brief, request.reply_to)
        named = store.written_to(brief.recipient) if brief.recipient else []
        others = {one.record_id for one in named}  # `as_greeted` reads them
        if request.reply_to is not None:
            thread = store.thread(request.reply_to)
            others |= {request.reply_to, *(one.record_id for one in thread)}
        return KeptStates(context, store.path, others)

    def _needs_account(self, request: WriteRequest, role: VerifierRole) -> bool:
        """Whether nats are counted: if there is a limit, or the base is here anyway."""
        assert request.privacy is not None
        if request.offline or not (role.uses_generalist and role.uses_specialist):
            return False
        return request.privacy.binds or request.settings.base == "edge"

    def _index(
        self,
        request: WriteRequest,
        store: Store,
        retrieved: Sequence[Passage],
        learnt: Sequence[str],
    ) -> PrivateIndex:
        """The private phrases that a draft must not hold."""
        passages = list(retrieved)
        if self._config.adapter is not None:  # it may know any text by heart
            passages += store.recent(limit=LEARNT)
        return index_of_store(
            store,
            passages,
            request.brief,
            notes=(request.background, *learnt),
            allowed=(*self._config.allowed, *self._allowed),
            region=self._settings.guard_region,
        )

    def _gate(
        self, request: WriteRequest, index: PrivateIndex, emit: Emit
    ) -> GuardGate | None:
        """What a draft must pass before it leaves; None if the person wants none."""
        mode, person = request.guard or self._settings.guard, request.ask
        if mode == "off":
            return None
        assert self._model is not None
        if mode == "ask" and person is None:
            emit(
                Notice(
                    "nobody can be asked here: what the guard finds stays on this "
                    "device, as with 'placeholder'"
                )
            )

        def may_leave(held: events.HeldBack) -> bool:
            with self._asking:  # one question at a time, and none twice
                if person is not None and held.text not in self._answers:
                    self._answers[held.text] = person(held)
                answer: MayLeave = self._answers.get(held.text, "no")
            if answer == "always":
                phrase = " ".join(held.text.split()).strip(".,;:!?\"'()")
                self._allowed.append(phrase)
                if self._config.allow_always is not None:
                    self._config.allow_always(phrase)
            return answer != "no"

        vocabulary, seed = self._model.vocabulary, request.settings.seed
        return GuardGate(index, vocabulary, mode, may_leave, seed)

    def _check(self, request: WriteRequest, role: VerifierRole, history: str) -> None:
        """Raise InvalidSettingsError for an impossible request."""
        ours, name = self._settings, role.method.name
        server = ours.server
        assert request.privacy is not None
        if request.offline:
            if not role.draft_limit:
                raise InvalidSettingsError(
                    f"the method '{name}' draws every token with the server, so it "
                    "does nothing offline; choose 'specialist', or leave --offline out"
                )
        else:
            request.privacy.check(role)
            if request.privacy.binds and history == "generalist":
                raise InvalidSettingsError(
                    f"the method '{name}' gives your history away; it keeps no privacy "
                    "budget"
                )
            if role.uses_generalist:
                check_token_goes_safely(
                    server, ours.token, in_clear=ours.token_in_clear
                )
        if history == "generalist" and server and not is_this_machine(server):
            raise InvalidSettingsError(
                f"the method '{name}' gives your history to the large model, so "
                f"it runs on this machine only, not at {server}"
            )

    def checker(self, request: WriteRequest, letters: Sequence[int]) -> Checker:
        """What compares drafts of a request with it, its thread and these records."""
        with self._store() as store:
            return answering.checker_of(store, request, letters)

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
            return answering.correspondents(store)

    def identities(self) -> list[str]:
        """The addresses and names that are known to be the owner's."""
        with Store.open(self._config.store) as store:
            return store.identities()

    def own_address(self, answered: int | None = None) -> str:
        """The owner's address to write a mail from, or to answer a received one."""
        with self._store() as store:
            return store.own_address(answered)

    def search(self, query: str, limit: int = 20) -> list[Source]:
        """Own texts that match a typed query, best first, with the whole text."""
        with self._store() as store:
            return [_source(found) for found in store.find(query, limit=limit)]

    def texts(
        self, record_ids: Sequence[int], *, excluded: bool = False
    ) -> list[Source]:
        """The own texts of these records that the store still has, excluded ones if
        asked for."""
        with self._store() as store:
            found = [store.passage(one, excluded=excluded) for one in record_ids]
        return [_source(passage) for passage in found if passage is not None]

    def voice(self, kind: str, to: str) -> Voice:
        """How the owner writes texts of a kind, to a person or to everybody."""
        with self._store() as store:
            return voice_of(store.db, kind, to)

    def mark_voice(
        self, kind: str, to: str, line: str, state: str, value: str = ""
    ) -> None:
        """Set, pin or strike out a line of a voice; raises StoreError."""
        with self._store() as store:
            mark(store.db, kind, to, line, state, value)

    def keep_finished(self, finished: Finished) -> None:
        """Keep a text that the person finished as a letter of theirs, beside how it was
        drafted; raises StoreError."""
        brief, now = finished.brief, int(datetime.now().timestamp())
        with Store.open(self._config.store) as store:
            name, address = parted(brief.recipient)
            if brief.task == "email" and not address:
                known = {
                    to for whom, to in store.correspondents() if is_to(name, whom, "")
                }
                address = known.pop() if len(known) == 1 else ""
            document = Document(
                0,
                finished.name,
                brief.task,
                finished.text.strip(),
                recipient=name,
                recipient_address=address,
                sender=store.own_address(finished.reply_to),
                sent_at=now,
                asked=brief.text.strip(),
                drafted=finished.drafted,
                own_share=finished.own_share,
            )
            keep_finished(store.db, finished.name, document)

    def search_received(self, query: str, limit: int = 20) -> list[Letter]:
        """Texts by others, as `answering.received` finds them."""
        with self._store() as store:
            found = answering.received(store, query, limit)
            return answering.letters(store, found)

    def thread(self, record_id: int) -> list[Letter]:
        """All texts of the thread of a received one, the oldest first."""
        with self._store() as store:
            return answering.letters(store, store.thread(record_id))

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
        """Read an export into the store; returns the closing sentence."""
        from edge_app.service.import_plan import import_noted  # loads all importers

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
        """End the server that was started, and free the models; waits for no model."""
        self._closing.set()
        # Who holds the lock frees all; the moment is for one who is just letting go.
        if self._lock.acquire(timeout=_MOMENT):
            try:
                self._free()
            finally:
                self._lock.release()
        elif (child := self._child) is not None:
            child.close()
        if self._keeping is not None:
            self._keeping.join()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Hold the service alone; raises StoppedError if it is or was closed."""
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

    def _connected(
        self, url: str, token: str, certificate: str = "", *, beside: bool = False
    ) -> CloudVerifier:
        """The verifier at an address; its connection is kept from text to text, unless
        it is one `beside` that."""
        # Loads the HTTP client, while the specialist reads.
        from edge_app.transport.client import CloudVerifier

        made = partial(
            CloudVerifier,
            *(url, token, lambda _: None),
            certificate=certificate,
            cadence=self._settings.cadence,
            token_lists=TokenLists(self._config.ledger.parent / "token-lists"),
            others=() if self._child else tuple(self._settings.also_at.split()),
        )
        if beside:
            self._beside.append(made())
            return self._beside[-1]
        if self._verifier_of != (url, token):
            self._hang_up()
        if self._verifier is None:
            self._verifier = made()
            self._verifier_of = url, token
        return self._verifier

    def _reach(self) -> None:
        """Connect before the first text needs it, which meets the same errors."""
        ours = self._settings
        with closing(self._ledger()) as ledger, suppress(DecodingError):
            check_token_goes_safely(
                ours.server, ours.token, in_clear=ours.token_in_clear
            )
            verifier = self._connected(*self._address)
            emit = emit_to(ledger.add, self._early.append)
            verifier.attach(emit, self._closing)
            verifier.reach()

    def _ledger(self, *, prune: bool = False) -> Ledger:
        days = self._settings.ledger_days if prune else 0.0
        return Ledger(self._config.ledger, self._config.store, days)

    def _hang_up(self) -> None:
        """End the session that is open, and note in the ledger what that sends."""
        if self._verifier is not None:
            with closing(self._ledger()) as ledger:
                self._verifier.attach(ledger.add, threading.Event())
                self._verifier.close()
        self._verifier = None

    def _free(self) -> None:
        try:
            self._hang_up()
        finally:  # also if the ledger cannot be written
            caches = self._context, self._base, self._policy, self._more
            loaded = *caches, self._reranker, self._model
            for one in (self._child, *loaded):
                if one is not None:
                    one.close()
            self._child = self._context = self._base = self._model = None
            self._policy = self._more = None
            self._own_words = None
            self._reranker = None

    def _store(self) -> Store:
        """One's own texts, or the sample while there are none."""
        own, sample = self._config.store, self._config.sample_store
        if own != sample:
            store = Store.open(own)
            if sample is None or store.counts()["own"]:
                return store
            store.close()
        assert sample is not None
        store = Store.open(sample)
        make_ready(store)
        return store


def _all_done(
    jobs: Iterable[Callable[[], events.FinishReason]],
    emits: Sequence[Emit],
    *,
    at_once: bool,
) -> list[events.FinishReason | None]:
    """What all jobs return, run at once or one after the other. If some fail, None
    stands for each of these, whose `emit` gets the reason; if all do, the first error
    is raised."""
    if at_once:
        with ThreadPoolExecutor(len(emits), "try") as pool:
            jobs = [pool.submit(job).result for job in jobs]
    done = list[events.FinishReason | None]()
    errors = dict[int, DecodingError]()
    for number, job in enumerate(jobs):
        try:
            done.append(job())
        except DecodingError as error:
            errors[number] = error
            done.append(None)
    if len(errors) == len(emits):
        raise errors[0]
    for number, why in errors.items():
        emits[number](Notice(f"one of {len(emits)} drafts was given up: {why}"))
    return done
