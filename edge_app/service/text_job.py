"""One text from its request to its last token, and where a stretch of a text ends."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from decoding_core.errors import CloudUnreachableError, StoppedError
from decoding_core.messages import OpenSession
from decoding_core.protocols import Engine, Method, Verifier
from decoding_core.verifier import common_prefix, hold_text, read_text, role_of
from edge_app.decoding import events
from edge_app.decoding.deciders import Draws
from edge_app.decoding.events import Emit, Event
from edge_app.decoding.loop import DecodeLoop, Gate
from edge_app.decoding.on_device import OfflineVerifier
from edge_app.decoding.rescoring import RescoredEngine
from edge_app.decoding.session import Patience, VerifierSession, go_alone
from edge_app.decoding.shaping import Shape
from edge_app.decoding.together import Together
from edge_app.retrieval.context import PromptBuilder, Prompts
from edge_app.service.kept_states import KeptStates
from edge_app.service.requests import WriteRequest
from models.never_drawn import NeverDrawn
from models.prompts import without_controls
from models.revising import sentence_ends
from models.running.interface import Model, TextSlots, Vocabulary
from personal_store import Passage

_PIECE = 128  # tokens that are read ahead at once, and lost at most


class Shared:
    """What texts that are written at once have in common: a prompt, which one slot
    reads and the others hold as well, and the passes over their drafts."""

    def __init__(self, prompts: Prompts, first: TextJob, context: TextSlots) -> None:
        """`first` is a job in a cache of its own, which holds the prompt of a text that
        was read ahead."""
        self.prompts, self.passes = prompts, Together(context)
        self._first, self._context = first, context
        self._held = False
        self._lock = threading.Lock()

    def hold(self, slot: int) -> None:
        """Have a slot hold the prompt, but for the token that is drafted from."""
        token_ids = list(self.prompts.private_ids[:-1])
        context, source = self._context, self._first.context
        with self._lock:
            if not self._held:
                if source.saves and context.tokens(0)[: len(token_ids)] != token_ids:
                    self._first.hold_prompt(self.prompts)
                    context.restore(0, token_ids, source.save(0), len(token_ids))
                hold_text(context.sequence(), token_ids)
                self._held = True
            if slot:
                context.share(0, slot, len(token_ids))
        hold_text(context.sequence(slot), token_ids)


@dataclass(frozen=True, slots=True)
class TextJob:
    """A text that a specialist writes; `method` is that of the request's settings."""

    model: Model
    context: TextSlots
    request: WriteRequest
    method: Method
    emit: Emit
    stop: threading.Event
    patience: Patience = field(default_factory=Patience)  # with a lost server
    slot: int = 0  # of the context, and of the policy's
    keeps_session: bool = False  # open for another version of the text
    draws: Draws | None = None  # a privacy account that draws; None: nothing is counted
    gate: Gate | None = None  # the guard of the drafts; None: all may leave
    given_ids: Sequence[int] = ()  # the text so far; `max_tokens` counts them
    shape: Shape | None = None  # shifts what the specialist thinks
    policy: TextSlots | None = None
    """The specialist without its adapter, whose likeliest tokens it weighs anew; None:
    it writes by itself."""
    states: KeptStates | None = None  # prompts as read; None: none is used or kept
    shared: Shared | None = None  # with other texts that are written at once

    def read_ahead(self, passages: Sequence[Passage]) -> None:
        """Have the specialist read its prompt before the text is asked for; `run` goes
        on from there. Raises StoppedError once `stop` is set, and keeps the tokens read
        so far."""
        token_ids = self.prompts(passages).private_ids[:-1]
        engine = self._engine()
        if self.states is not None:
            self.states.restore(token_ids)
        # One that was read already may have a text behind it: it stays.
        read = common_prefix(engine.tokens, token_ids)
        while read < len(token_ids):
            read = min(read + _PIECE, len(token_ids))
            read_text(engine, token_ids[:read])

    def run(
        self, connect: Callable[[], Verifier], passages: Sequence[Passage]
    ) -> events.FinishReason:
        """Write the text and return why it ended; raises DecodingError. `connect`
        gives the verifier, and may wait until one is there: the specialist reads its
        prompt meanwhile. If it raises CloudUnreachableError, the text is written on
        this device alone, where that may be."""
        request, settings = self.request, self.request.settings
        vocabulary = self.model.vocabulary
        engine = self._engine()
        verifier: Verifier = OfflineVerifier()
        try:
            prompts = self.shared.prompts if self.shared else self.prompts(passages)
            worn = self.context.adapter
            adapter = "" if worn is None else worn.name
            reads = request.personalisation
            self.emit(events.SourcesFound(prompts.sources, reads, adapter))
            span = SpanEnd(self.emit, request.instead_of, request.behind)
            emitter = events.EventEmitter(
                span.hear if request.instead_of.strip() else self.emit,
                vocabulary.piece,
                weighs=request.weighs,
                blank=vocabulary.begins_with_blank,
            )
            if self.given_ids:
                emitter.given(self.given_ids)
            role, waiting = role_of(settings.terms(), self.method), None
            if self.shared is not None:
                waiting = partial(self.shared.passes.away, self.slot)
            with ThreadPoolExecutor(1) as readers:
                # The specialist reads its prompt while the server is asked and reads
                # its own. What goes wrong here goes wrong again in the loop.
                if request.offline or role.uses_specialist:
                    readers.submit(self.hold_prompt, prompts)
                never = never_drawn(vocabulary, request, passages)
                try:
                    verifier = connect()
                except CloudUnreachableError as error:
                    allowed = request.may_go_offline
                    emitter.notice(go_alone(error, "the text is", allowed=allowed))
                if not verifier.local:
                    emitter.prompted(prompts.public_ids)
                session = VerifierSession(
                    verifier,
                    OpenSession(
                        *(prompts.public_ids, (), self.model.vocabulary_id),
                        settings.terms(),
                    ),
                    emitter.notice,
                    may_go_offline=request.may_go_offline,
                    patience=self.patience,
                    stop=self.stop,
                )
                opened = session.open()
            generalist = "" if opened is None else opened.generalist
            self.emit(events.Opened(generalist or "this device alone", not generalist))

            loop = DecodeLoop(
                settings,
                self.method,
                engine,
                prompts.private_ids,
                session,
                emitter,
                max_tokens=request.max_tokens,
                end_ids=vocabulary.end_ids,
                never=never,
                shape=self.shape,
                stop=self.stop,
                draws=self.draws,
                gate=self.gate,
                given_ids=self.given_ids,
                waiting=waiting,
            )
            for _ in loop.blocks():
                if self.stop.is_set():
                    return "stopped"
                if span.reached:
                    return "end"
            if emitter.thinking:
                emitter.notice(
                    "the model thought aloud until the end and wrote no text: allow it "
                    "more with --max-tokens, or choose a model that does not think"
                )
        except StoppedError:
            return "stopped"
        finally:
            if self.shared is not None:
                self.shared.passes.leave(self.slot)
            if not self.keeps_session:
                verifier.close()
        return loop.ended

    def hold_prompt(self, prompts: Prompts) -> None:
        """Have the specialist hold its prompt, but for the token it drafts from."""
        if self.shared is not None:
            self.shared.hold(self.slot)
            return
        token_ids = prompts.private_ids[:-1]
        if self.states is not None:
            self.states.restore(token_ids)
        hold_text(self._engine(), token_ids)
        if self.states is not None:
            self.states.copy(token_ids, prompts.sources)

    def _engine(self) -> Engine:
        """The specialist that drafts; `stop` aborts its readings."""
        self.context.stop = self.stop
        if self.shared is not None:
            return self.shared.passes.engine(self.slot)
        if self.policy is None:
            return self.context.sequence(self.slot)
        self.policy.stop = self.stop
        return RescoredEngine(self.policy.sequence(), self.context.sequence())

    def prompts(self, passages: Sequence[Passage]) -> Prompts:
        """The prompts of both models."""
        request = self.request
        builder = PromptBuilder(
            self.model.vocabulary.tokenize,
            self.model.chat_template,
            self.context.context_length,
        )
        reserved = request.reserved
        prompts = builder.build(
            request.brief,
            passages,
            request.background,
            request.max_tokens if reserved is None else reserved,
            clamps=reserved is not None,
        )
        return as_read(prompts, self.method)


def never_drawn(
    vocabulary: Vocabulary, request: WriteRequest, passages: Sequence[Passage]
) -> NeverDrawn:
    """The tokens that may not stand in a text written from `passages`."""
    is_mail = request.brief.task == "email"
    shown = without_controls(written_from(request, passages))
    return vocabulary.unwritten.after(shown, is_mail=is_mail)


def written_from(request: WriteRequest, passages: Sequence[Passage]) -> str:
    """All that the specialist reads."""
    letters = (one.text for one in passages)
    return "\n".join((request.brief.text, request.background, *letters))


def as_read(prompts: Prompts, method: Method) -> Prompts:
    """The prompts with the history where the method has it read."""
    match method.reads_history:
        case "nobody":
            return replace(prompts, private_ids=prompts.public_ids)
        case "generalist":
            return replace(prompts, public_ids=prompts.private_ids)
        case "specialist":
            return prompts


_WHOLE = re.compile(r"[.!?…][\"'”’)\]]*$")
_MORE_WORDS = 4  # how many more words may replace a part of a sentence


class SpanEnd:
    """Passes events on up to the end of a stretch that is written anew.

    The stretch ends with as many sentences as stood there; a part of a sentence ends
    before the words behind it, or with its sentence.
    """

    def __init__(self, emit: Emit, instead_of: str, behind: str) -> None:
        self._emit = emit
        self._instead_of = instead_of.strip()
        self._behind = behind
        self._text = ""
        self.reached = False  # whether the stretch has ended

    def hear(self, event: Event) -> None:
        """Pass an event on, without what is settled behind the end."""
        match event:
            case events.Settled(tokens):
                self._emit(events.Settled(self._kept(tokens)))
            case events.Drafted() if self.reached:
                pass
            case _:
                self._emit(event)

    def _kept(self, tokens: tuple[events.Token, ...]) -> tuple[events.Token, ...]:
        """The tokens before the end; a space that belongs to the last is kept."""
        if self.reached:
            return ()
        at = len(self._text)
        self._text += "".join(token.text for token in tokens)
        end = span_end(self._text, self._instead_of, self._behind)
        if end is None:
            return tokens
        self.reached, kept = True, []
        for token in tokens:
            if at >= end:
                break
            kept.append(token)
            at += len(token.text)
        return tuple(kept)


def span_end(text: str, instead_of: str, behind: str) -> int | None:
    """How many letters of `text` replace `instead_of`; None if it goes on. A sentence
    has ended when something stands behind it."""
    stood = instead_of.strip()
    if _WHOLE.search(stood) or not behind.strip() or behind.lstrip(" ")[:1] == "\n":
        wanted = len(sentence_ends(stood + "\n"))
        found = sentence_ends(text)
        return found[wanted - 1] if len(found) >= wanted else None
    stop = re.search(r"(?<=\S)\s*(?:[.!?…]+(?=\s)|\n)", text)
    ends = [stop.start()] if stop else []
    next_word = re.match(r"\W*(\w+)", behind)
    if next_word:
        word = re.escape(next_word[1])
        again = re.search(rf"(?<=[\w,;:])\s+{word}(?=\W)", text)
        ends += [again.start()] if again else []
    words = [found.end() for found in re.finditer(r"\w+(?=\W)", text)]
    most = len(re.findall(r"\w+", stood)) + _MORE_WORDS
    ends += words[most - 1 : most]
    return min(ends, default=None)
