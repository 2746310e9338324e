"""All texts of one sitting: what was asked for, what came, what may be asked next.
Whatever must not be lost goes through `_happen`, into the journal first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from decoding_core.errors import StoppedError
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import (
    Event,
    FinishReason,
    HeldBack,
    Notice,
    Opened,
    Settled,
    Source,
    Verified,
)
from edge_app.service.requests import Finished, Letter, MayLeave, WriteRequest
from edge_app.tui import draft as entries
from edge_app.tui.background import Background, MayItLeave, News, Severity
from edge_app.tui.draft import Draft, Entry, Style, asked, worth_keeping
from edge_app.tui.journal import Journal, JournalError, JournalFolder, changed, in_words
from edge_app.tui.keys import key_of
from edge_app.tui.text import Run, counted, kept_share
from edge_app.tui.variant import Stretch, Traffic, Variant
from models.prompts import Request
from models.revising import revised

if TYPE_CHECKING:
    from edge_app.facts.checking import Checker, Report
    from edge_app.service.service import WritingService
    from personal_store.import_runs import Unfinished

ANEW_TEMPERATURE = 1.0
"""Of a stretch: at less a model often finds the words that stood there."""
PREVIEW_TOKENS = 40
_AT_ONCE, _STRETCHES = 4, 3  # versions of a text, and of a part of one

_NO_WORDS: dict[FinishReason | None, str] = {
    "full": "no word was written: what is to be read leaves no room in the model",
    "refused": "no word was written: the checker refused every draft",
}
_SAME_WORDS = "the words that stood there came again; {again} tries in another way"
_NO_WORD = "no word was written; {again} tries again in another way"

RECORDED = "a recorded run"
"""How the name of the checker begins if a recording is played."""
Import = tuple[str, Path, list[str]]
"""The kind of an import, its path, and whose letters."""


class Writing:
    """The state of one sitting. Only the screen's thread may use it."""

    def __init__(
        self,
        service: WritingService,
        settings: MethodSettings,
        clock: Callable[[], float] = time.monotonic,
        *,
        first: Request | None = None,
        journals: JournalFolder | None = None,
    ) -> None:
        """`first` is the brief to begin with if the store holds sample letters only."""
        self.background = Background()
        self.service = service
        self.settings = settings
        self.clock = clock
        self.journals = journals
        self.news: list[News] = []
        """What is to be said to the person; the screen takes it out."""
        self.samples = first is not None
        """Whether the next version is written from sample letters."""
        self._journal = Journal(None)
        self.draft_state = Draft()
        self._first = first
        self.previews: list[Variant] = []
        """Beginnings that were written to show what a style changes."""
        self._begin_draft(first or Request(""))
        self.reason = ""
        """Why the last attempt ended without a text, until the next action."""
        self.server: str | None = None
        self.problem = ""
        self.checker_silent = False
        """Whether the checker, asked last, gave no answer."""
        self.checker_ended = False
        self.counts: dict[str, int] = {}
        self.reading_back = 0
        """How often letters are being read that a draft knows by name alone."""
        self.importing: tuple[int, int] | None = None
        """How many pieces the import has read, and of how many."""
        self.imported = ""
        """How the last import ended, or where one of an earlier sitting stopped."""
        self.paused: Import | None = None
        """The import that was paused, here or in an earlier sitting."""
        self.pausing = threading.Event()
        """Set: the import ends at its next progress; `resume_import` goes on there."""
        self.threads: dict[int, tuple[tuple[str, ...], str]] = {}
        """By the records of received mails: identifiers of the mail, the last, and of
        those before it, and the person's address to which it came."""
        self.people: tuple[str, ...] = ()
        """Who can be written to, as `Name <address>`, the latest first."""
        self.own_address = ""
        self.identities: tuple[str, ...] = ()
        """Addresses and names that are known to be the person's."""
        self.asked: MayItLeave | None = None
        """What the guard asks the person, until the page has shown it."""
        self._stop = threading.Event()
        self._stop_reading = threading.Event()
        self._read_ahead: WriteRequest | None = None
        """What the specialist was given last, to read or to write."""
        self._being_written: Variant | None = None
        self._next: Variant | None = None
        self._group: list[Variant] = []
        """Those that are written at once, the last of which is `_next`."""
        self._fit: Callable[[str], float] | None = None
        self._said_unkept = ""
        self._said_kept = False
        self._sitting = token_hex(8)
        self._checking: Variant | None = None
        """The version that a checker was asked for last."""
        self._checked: tuple[Checker, str, Report] | None = None
        """What was checked last: by what, which text, with which result."""

    @property
    def request(self) -> Request:
        """The brief as it stands."""
        return self.draft_state.request

    @property
    def attempts(self) -> list[Variant]:
        """Every version requested: each took a seed, and may have sent something."""
        return self.draft_state.attempts

    @property
    def variants(self) -> list[Variant]:
        """Versions that F7 and F8 show."""
        return self.draft_state.variants

    @property
    def variant(self) -> Variant | None:
        """The version on screen."""
        return self.draft_state.variant

    @property
    def offline(self) -> bool:
        """Whether the checker is switched off."""
        return self.draft_state.offline

    @offline.setter
    def offline(self, on: bool) -> None:
        self._happen(entries.Offline(on))

    @property
    def style(self) -> Style:
        """How further versions are to be written."""
        return self.draft_state.style

    @property
    def reply_to(self) -> Source | None:
        """The received text that the draft answers."""
        return self.draft_state.reply_to

    @property
    def ready(self) -> bool:
        """Whether the models are loaded."""
        return self.server is not None

    @property
    def service_busy(self) -> bool:
        """Whether a request is being written or waits for the service."""
        return self._being_written is not None or self._next is not None

    def prepare(self) -> None:
        """Load the models behind the page."""
        self.problem = ""
        self._count()
        service = self.service  # each call of it may import it first
        self.background.run(lambda: service.unfinished_import(), self._offer_import)
        self.background.run(
            lambda: service.prepare(), self._prepared, self._unprepared, waits=False
        )

    def _count(self) -> None:
        """Count the person's texts in the store, and those they write to."""
        service = self.service

        def count() -> Callable[[], None]:
            counts, people = service.counts(), tuple(service.correspondents())
            own, identities = service.own_address(), tuple(service.identities())

            def counted() -> None:
                self.counts, self.people = counts, people
                self.own_address, self.identities = own, identities

            return counted

        self.background.run(count, lambda counted: counted())

    def draft(self, brief: Request) -> None:
        """Write what `brief` asks for."""
        request = self._request(brief, self.settings)
        shown = self.variant
        if shown is not None and shown.unfinished and _asks_the_same(shown, request):
            before = shown.text.rstrip(" ")
            rest = replace(shown.request, before=before)
            self._queue(rest, stretch=Stretch(shown.number, len(before), 0))
            return
        self._queue(self._another(brief) if self._answered(request) else request)

    def again(self, brief: Request) -> None:
        """Write another version of `brief`: the next seed, a temperature above 0."""
        self._queue(self._another(brief))

    def several(self, brief: Request) -> None:
        """Write four versions of `brief` at once, and show the best."""
        request = self._request(brief, self.settings)
        first = self._another(brief) if self._answered(request) else request
        self._queue(*first.tries(_AT_ONCE))

    def turn(self, instruction: str) -> str:
        """Change the version on screen as a line says, as a version of its own; says
        how much stays. Raises InvalidSettingsError if it concerns nothing."""
        from edge_app.tui.outside import changes  # subprocesses take a moment

        self.stop()
        variant = self.variant
        text = "" if variant is None else variant.text
        found = revised(self.request, text, instruction)
        self.ask(replace(self.request, text=found.brief.text))
        if found.brief.tone:
            self.restyle(replace(self.style, tone=found.brief.tone))
        request, stays = self._another(self.request), found.before + found.after
        bare = text.rstrip()
        around = bare.startswith(found.before) and bare.endswith(found.after)
        if variant is not None and not (found.stood and around):
            whole = Stretch(variant.number, len(text), 0)
            self._happen(entries.Begun(request, self.samples, whole))
            number = self.attempts[-1].number
            for begin, end, new in changes(text, stays):
                runs: tuple[Run, ...] = ((new, "typed"),) if new else ()
                self._happen(entries.Edited(number, begin, end - begin, runs))
            self._happen(entries.Ended(number))
            self.sync()
        if found.stood and self.variant is not None:
            asked = request.of_stretch(found.before, found.stood, found.after)
            text = self.variant.text
            rest = len(found.after) + len(text) - len(text.rstrip())
            stretch = Stretch(self.variant.number, len(asked.before), rest)
            self._queue(*asked.tries(_STRETCHES), stretch=stretch, fit=found.fit)
        kept, of = kept_share(bare, stays)
        return f"kept {kept} of {counted(of, 'word')}"

    def go_on(self, brief: Request, at: int) -> None:
        """Write on from letter `at` of the version on screen, as a version of its
        own."""
        self.stop()
        variant = self.variant
        text = "" if variant is None else variant.text
        while 0 < at < len(text) and (text[at - 1].isalnum() and text[at].isalnum()):
            at -= 1  # no model goes on in the middle of a word
        before = text[:at].rstrip(" ")
        if variant is None or not before.strip():
            self.draft(brief)
            return
        request = replace(self._request(brief, self.settings), before=before)
        if self._answered(request):
            request = replace(self._another(brief), before=before)
        self._queue(request, stretch=Stretch(variant.number, len(before), 0))

    def redraw(self, brief: Request, start: int, end: int) -> None:
        """Write the letters from `start` to `end` anew, as a version of its own."""
        self.stop()
        variant = self.variant
        text = "" if variant is None else variant.text
        stood = text[start:end].strip()
        if variant is None or not stood:
            self.again(brief)
            return
        end = start + len(text[start:end].rstrip())
        begin = end - len(stood)
        request = self._another(brief).of_stretch(text[:begin], stood, text[end:])
        hotter = replace(request.settings, temperature=ANEW_TEMPERATURE)
        stretch = Stretch(variant.number, len(request.before), len(text) - end)
        self._queue(replace(request, settings=hotter), stretch=stretch)

    def preview(self, brief: Request, style: Style) -> Variant:
        """Write how the version on screen would begin in another style."""
        shown = self.variant
        asked = self._request(brief, self.settings) if shown is None else shown.request
        request = replace(
            asked,
            brief=style.request(brief),
            settings=style.settings(asked.settings),
            offline=self.offline,
            excluded=frozenset(self.draft_state.excluded),
            max_tokens=PREVIEW_TOKENS,
            length=style.length,
            moves=style.threshold is style.strength is None,
        )
        made = Variant(request, -1, samples=self.samples)
        self.previews.append(made)
        self._next = made
        self._begin()
        return made

    def stop(self, *, keep_empty: bool = False, cut: bool = False) -> None:
        """Stop writing now; what is settled stays."""
        self._stop.set()
        self._next = None
        self.reason = ""
        for known in [known for known in self.attempts if known.writing]:
            self._happen(entries.Stopped(known.number, keep_empty, cut))

    def flip(self, step: int) -> bool:
        """Show an earlier or later version; False when there is none."""
        at = self.draft_state.current + step
        if not 0 <= at < len(self.variants):
            return False
        self._happen(entries.Shown(self.variants[at].number))
        self.reason = ""
        return True

    def ask(self, request: Request) -> None:
        """The person changed the brief."""
        if (entry := asked(self.request, request)) is not None:
            self._happen(entry)

    def edit(self, variant: Variant, at: int, removed: int, runs: list[Run]) -> None:
        """The person put `runs` in the place of `removed` letters of `variant`."""
        if self._ours(variant):
            self._happen(entries.Edited(variant.number, at, removed, tuple(runs)))

    def restyle(self, style: Style) -> None:
        """The person set how further versions are to be written."""
        if style != self.style:
            self._happen(entries.Styled(style))

    def answer(self, letter: Source | None) -> None:
        """The draft answers a received text, or none any more."""
        if letter != self.reply_to:
            self._happen(entries.ReplyTo(letter))

    def saved(self, variant: Variant, text: str) -> None:
        """A file holds `text` of `variant`."""
        if self._ours(variant):
            self._happen(entries.Saved(variant.number, text))
        self.finished(variant, text)
        self.sync()

    def finished(self, variant: Variant, text: str) -> None:
        """The person took `text` of `variant` away: it is kept among their letters,
        with how it was drafted, to be learnt from."""
        if variant.samples or not self._ours(variant) or not text.strip():
            return
        counts = variant.word_counts()
        place = self._sitting if self.kept_in is None else self.kept_in.stem
        done = Finished(
            f"{place}:{variant.number}",
            replace(variant.request.brief, recipient=self.request.recipient),
            "".join(words for words, _ in variant.drafted()),
            text,
            counts["typed"] / max(1, sum(counts.values())),
            None if self.reply_to is None else self.reply_to.record_id,
        )
        service = self.service
        self.background.run(lambda: service.keep_finished(done), lambda _: self._kept())

    def _kept(self) -> None:
        """Say once what becomes of finished texts."""
        if not self._said_kept:
            self._said_kept = True
            self._say(
                "what you take away is kept among your letters and learnt from: "
                f"{key_of('voice')} shows what is learnt"
            )

    def unsaved(self) -> list[Variant]:
        """Versions whose leaving would be a loss."""
        return [
            known
            for known in self.variants
            if not known.empty
            and known.text != known.saved
            and (known is self.variant or known.edited is not None)
        ]

    def take_up(self, path: Path | None = None) -> bool:
        """Open the draft at `path`, or the latest if it was not put aside; whether one
        was."""
        folder, chosen = self.journals, path
        if folder is None or (path is None and self.kept_in is not None):
            return False
        path = path or next(iter(folder.paths()), None)
        if path is None:
            return False
        try:
            with in_words(path, "read"):
                when = f"{changed(path):%Y-%m-%d at %H:%M}"
            journal, draft = folder.open(path)
        except JournalError as error:
            more = "" if chosen else "; this page is a new draft"
            self._say(f"{error}{more}", "warning")
            return False
        if not chosen and (draft.aside or not (draft.attempts or draft.request.text)):
            journal.close()
            return False
        self._leave_draft()
        self._journal, self.draft_state = journal, draft
        self.previews = []
        self.traffic = Traffic.of(draft.attempts)
        self._happen(entries.TakenUp())
        for known in self.attempts:  # the app ended while it was written
            if known.writing:
                self._happen(entries.Stopped(known.number, cut=True))
        if self.reply_to is not None:
            self.read_thread(self.reply_to.record_id)
        # A journal holds no text of a letter.
        read = {one.record_id for known in self.attempts for one in known.sources}
        if read:
            self.reading_back += 1
            service = self.service
            self.background.run(
                lambda: service.texts(sorted(read)),
                self._read_back,
                lambda _: self._read_back(()),
            )
        self._say(
            f"here is what you wrote until {when}; {key_of('new')} begins another"
        )
        return True

    def _read_back(self, letters: Sequence[Source]) -> None:
        self.reading_back -= 1
        texts = {one.record_id: one.excerpt for one in letters}
        for known in self.attempts:
            known.read_back(texts)

    def read_thread(
        self, record_id: int, then: Callable[[list[Letter]], object] = id
    ) -> None:
        """Read the thread of a received text, and what an answer to it needs."""
        service = self.service

        def read() -> tuple[list[Letter], tuple[str, ...], str]:
            letters, references = (
                service.thread(record_id),
                service.references(record_id),
            )
            return letters, tuple(references), service.own_address(record_id)

        def learn(found: tuple[list[Letter], tuple[str, ...], str]) -> None:
            self.threads[record_id] = found[1:]
            then(found[0])

        self.background.run(read, learn)

    def begin_anew(self) -> None:
        """Put the draft aside and begin another, with the checker as it is."""
        offline = self.offline
        self._leave_draft()
        self._begin_draft(Request("", self.request.task))
        if offline:
            self._prepare(entries.Offline(on=True))

    def put_aside(self) -> None:
        """The person is done with the draft: the next start does not open it."""
        if self._journal.path is not None:
            self._happen(entries.PutAside())

    def retry(self) -> None:
        """Try again what the disk refused to keep, and say so once."""
        if self._journal.problem:
            self._journal.retry()
        before, self._said_unkept = self._said_unkept, self.unkept
        if before and not self.unkept:
            self._say("what you write is kept again")
        elif self.unkept and not before:
            saves = f"{key_of('save')} saves it"
            self._say(
                f"what you write now is not kept: {self.unkept}; {saves}", "error"
            )

    @property
    def unkept(self) -> str:
        """Why the journal lacks the last entries; empty if it has all."""
        return self._journal.problem

    @property
    def kept_in(self) -> Path | None:
        """The journal's file; None while there is nothing to keep, or no place."""
        return self._journal.path

    def to_read_ahead(self) -> WriteRequest | None:
        """The request to read while the person pauses, None: none; stops all other
        reading."""
        request = self._request(self.request, self.settings)
        if self.service_busy or request == self._read_ahead:
            return None
        self._stop_reading.set()
        self._read_ahead = None
        return request if self.ready and request.brief.text.strip() else None

    def read_ahead(self, request: WriteRequest) -> None:
        """Have the specialist read a request, so that its first word comes sooner."""
        if request == self.to_read_ahead():
            stop = self._stop_reading = threading.Event()
            self._read_ahead = request
            self.background.run(lambda: self.service.read_ahead(request, stop))

    def report(self) -> Report | None:
        """What is known of the facts of the version on screen, without what the person
        typed; None: nothing yet."""
        variant = self.variant
        if variant is None or variant.writing or variant.empty:
            return None
        if (checker := variant.checker) is None:
            self._ask_for_checker(variant)
            return None
        text = variant.text
        if self._checked is None or self._checked[:2] != (checker, text):
            report = checker.check(text)
            theirs = [
                state in ("typed", "pasted")
                for run, state in variant.runs()
                for _ in run
            ]
            drafted = [
                one for one in report.invented if not any(theirs[slice(*one.span)])
            ]
            report = replace(report, invented=tuple(drafted))
            self._checked = checker, text, report
        return self._checked[2]

    def _ask_for_checker(self, variant: Variant) -> None:
        if self._checking is variant:
            return
        self._checking = variant
        request, service = variant.request, self.service
        read = [one.record_id for one in variant.sources]
        self.background.run(
            lambda: service.checker(request, read),
            lambda checker: setattr(variant, "checker", checker),
        )

    def sync(self) -> None:
        """Have the disk hold the journal, in a thread: it may take a while."""
        journal = self._journal
        if journal.unsynced:
            threading.Thread(target=journal.sync, daemon=True, name="sync").start()

    def exclude(self, source: Source) -> bool:
        """Leave a source out of the next draft, or take it in again."""
        taken = source.record_id in self.draft_state.excluded
        self._happen(entries.LeftOut(source, taken))
        return not taken

    def import_letters(self, kind: str, path: Path, me: list[str]) -> None:
        """Read letters while writing goes on."""
        self.importing, self.imported = (0, 0), ""
        self.paused = None
        closing, pausing = self.background.closing, threading.Event()
        self.pausing = pausing

        def advance(done: int, total: int) -> None:
            if closing.is_set() or pausing.is_set():
                raise StoppedError("stopped; the same import goes on from there")
            self.background.post(lambda: setattr(self, "importing", (done, total)))

        def read() -> str:
            return self.service.import_letters(kind, path, me, advance)

        def ended(sentence: str, *, whole: bool = True) -> None:
            self.importing = None
            paused = not whole and pausing.is_set()
            self.imported = "paused; what was read is kept" if paused else sentence
            self.paused = (kind, path, me) if paused else None
            if whole and self.samples:
                self.samples = False
                if self.request == self._first:
                    self.begin_anew()  # it asked for a sample's letter
            self._count()
            failed = not (whole or paused)
            self._say(self.imported, "error" if failed else "information")

        self.background.run(read, ended, partial(ended, whole=False))

    def resume_import(self) -> None:
        """Go on with the import that was paused."""
        if self.paused is not None:
            self.import_letters(*self.paused)

    def leave_import(self) -> None:
        """Do not go on with it; what was read stays."""
        if self.paused is None:
            return
        kind, path, me = self.paused
        self.paused, self.imported = None, ""

        def leave() -> None:
            from personal_store.import_runs import Unfinished

            self.service.leave_import(Unfinished(kind, path, tuple(me)))

        self.background.run(leave)

    def _offer_import(self, unfinished: Unfinished | None) -> None:
        """Say that an earlier sitting did not finish an import."""
        if unfinished is not None and self.importing is None and self.paused is None:
            self.paused = unfinished.kind, unfinished.path, list(unfinished.me)
            self.imported = unfinished.in_words
            self._say(f"{self.imported}: {key_of('import')} goes on there")

    def close(self) -> bool:
        """Stop writing and close the service; True if all its threads have ended."""
        self._stop.set()
        self._stop_reading.set()
        self._journal.close()
        return self.background.close(self.service.close)

    def _say(self, sentence: str, severity: Severity = "information") -> None:
        self.news.append((sentence, severity))

    def _prepared(self, server: str) -> None:
        self.server = server
        self._begin()

    def _unprepared(self, problem: str) -> None:
        """The models are not there: what waits for them is given up."""
        self.problem = self.reason = problem
        if self._next is not None:
            if self._ours(self._next):
                self._happen(entries.Ended(self._next.number))
            self._next.end(self.clock())
            self._next = None
        self._say(problem, "error")

    def happened(self, variant: Variant, event: Event) -> None:
        """Apply an event to the version that it is of, in the journal first."""
        ours = self._ours(variant)
        if ours or variant in self.previews:
            self.traffic.apply(event)
        match event:
            case Opened(local=False) | Verified():
                self.checker_silent = False
            case Settled(tokens) if variant.went_unchecked(tokens):
                self.checker_silent = True
            case Notice(text):
                self._say(text, "warning")
            case _:
                pass
        durable = worth_keeping(event) if ours else None
        if durable is not None:
            self._journal.add(entries.Written(variant.number, durable))
        variant.apply(event, self.clock())

    def _request(self, brief: Request, settings: MethodSettings) -> WriteRequest:
        letter = self.reply_to
        return WriteRequest(
            brief=self.style.request(brief),
            settings=self.style.settings(settings),
            offline=self.offline,
            excluded=frozenset(self.draft_state.excluded),
            weighs=True,
            moves=self.style.threshold is self.style.strength is None,
            reply_to=None if letter is None else letter.record_id,
            length=self.style.length,
        )

    def _another(self, brief: Request) -> WriteRequest:
        """The request for another version: the next seed, a temperature above 0."""
        return self._request(brief, self.settings).tries(1 + len(self.attempts))[-1]

    def _answered(self, request: WriteRequest) -> bool:
        """Whether a version has come of the very same request."""
        same = [known for known in self.attempts if known.request == request]
        return any(not one.empty or one.reason not in (None, "stopped") for one in same)

    def _queue(
        self,
        *requests: WriteRequest,
        stretch: Stretch | None = None,
        fit: Callable[[str], float] | None = None,
    ) -> None:
        """Stop the current text and let `requests` wait until the service is free. Of
        several, which are written at once, the best is shown then, by `fit`."""
        self.stop()
        for request in requests:
            self._happen(entries.Begun(request, self.samples, stretch))
        self._group, self._fit = self.attempts[-len(requests) :], fit
        self._next = self.attempts[-1]
        if self.problem:  # what was missing may be there now
            self.prepare()
        self._begin()

    def _begin(self) -> None:
        if self._next is None or not self.ready or self._being_written is not None:
            return
        stop = self._stop = threading.Event()
        variant = self._being_written = self._next
        group = self._group if variant in self._group else [variant]
        self._next, fit = None, self._fit
        self._stop_reading.set()
        self._read_ahead = variant.request
        background = self.background

        def emit(one: Variant, event: Event) -> None:
            background.post(lambda: self.happened(one, event))

        def ask(held: HeldBack) -> MayLeave:
            question = MayItLeave(held, stop)
            background.post(lambda: setattr(self, "asked", question))
            return question.wait(background.closing)

        emits = [partial(emit, one) for one in group]
        requests = [replace(one.request, ask=ask) for one in group]
        for one in group:
            one.started = self.clock()

        def write() -> Variant | None:
            if len(group) > 1:
                return group[self.service.write_best(requests, emits, stop, fit)[0]]
            self.service.write(requests[0], emits[0], stop)
            return None

        def ended(problem: str, best: Variant | None = None) -> None:
            for one in group[:-1] if self._ours(variant) else ():
                self._happen(entries.Ended(one.number))
            self._ended(variant, problem)
            if best in self.variants and self.variant is variant and best is not None:
                self._happen(entries.Shown(best.number))

        background.run(write, partial(ended, ""), ended)

    def _ended(self, variant: Variant, problem: str) -> None:
        self._being_written = None
        self._begin()
        if not self._ours(variant):
            variant.end(self.clock())
            if problem and variant in self.previews:
                self._say(problem, "error")
            return
        wanted = variant is self.attempts[-1] and not variant.stopped
        if not problem and wanted and variant.empty:
            problem = _NO_WORDS.get(variant.reason, _NO_WORD)
            if variant.settled and variant.request.instead_of:
                problem = _SAME_WORDS
            problem = problem.format(again=key_of("again"))
        self._happen(entries.Ended(variant.number))
        if wanted:
            self.reason = problem
        self.sync()
        if problem:
            self._say(problem, "error")

    def _happen(self, entry: Entry) -> None:
        """Let `entry` happen to the draft: in the journal first, then here."""
        self._journal.add(entry)
        self.draft_state.apply(entry, self.clock())

    def look_at_checker(self) -> None:
        """Find out whether the server of this machine is still there."""
        self.checker_ended = self.ready and self.service.server_ended()

    def _ours(self, variant: Variant) -> bool:
        """Whether `variant` is of the draft on screen, and not of one put aside."""
        return variant in self.attempts

    def _begin_draft(self, first: Request) -> None:
        """An empty draft with `first` as its brief; a file is made when more comes."""
        self.draft_state = Draft()
        self.previews = []
        self.traffic = Traffic()
        self._journal = Journal(self.journals)
        if (entry := asked(self.request, first)) is not None:
            self._prepare(entry)

    def _prepare(self, entry: Entry) -> None:
        """Let `entry` happen; a file is made when more comes."""
        self.draft_state.apply(entry)
        self._journal.prepare(entry)

    def _leave_draft(self) -> None:
        """Stop, and close the journal of the draft on screen."""
        self.stop()
        self.put_aside()
        self._journal.close()


def _asks_the_same(variant: Variant, request: WriteRequest) -> bool:
    """Whether a version is all of what `request` asks for, or a beginning of it."""
    asked = variant.request
    return not asked.instead_of and request == replace(
        asked, settings=request.settings, max_tokens=request.max_tokens, before=""
    )
