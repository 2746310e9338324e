"""All texts of one sitting: what was asked for, what came, what may be asked next.

What would be a loss goes through `_happen`: into the journal first, then into the draft
that it folds to. All else here is of this sitting alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import (
    Emit,
    Event,
    FinishReason,
    Notice,
    Opened,
    Settled,
    Source,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.background import (
    Asked,
    Counted,
    Emitted,
    Found,
    Heard,
    ImportAdvanced,
    ImportEnded,
    InThread,
    News,
    Prepared,
    PrepareFailed,
    ReadingAhead,
    ServiceThreads,
    TextsRead,
    WasImporting,
    WriteEnded,
)
from edge_app.tui.draft import (
    Begun,
    Draft,
    Edited,
    Ended,
    Entry,
    LeftOut,
    Offline,
    PutAside,
    ReplyTo,
    Saved,
    Shown,
    Stopped,
    Style,
    Styled,
    TakenUp,
    Written,
    asked,
    worth_keeping,
)
from edge_app.tui.journal import Journal, JournalError, JournalFolder
from edge_app.tui.keys import key_of
from edge_app.tui.meters import Traffic
from edge_app.tui.saving import why_not
from edge_app.tui.text import Run
from edge_app.tui.variant import Stretch, Variant
from models.prompts import Request

if TYPE_CHECKING:
    from edge_app.service.service import WritingService

AGAIN_TEMPERATURE = 0.7
"""Used for another version when the settings leave nothing to chance."""
ANEW_TEMPERATURE = 1.0
"""Of a stretch: at less a model often finds the words that stood there."""
_TIMES = 3
"""So many times a stretch is tried whose words are those that stood there."""
PREVIEW_TOKENS = 40
_BEHIND = 80
"""Letters behind a stretch that tell where it ends."""
_LEAST_TOKENS = 32
"""For a stretch; and a letter more for each that stood there."""

_NO_WORDS: dict[FinishReason | None, str] = {
    "full": "no word was written: what is to be read leaves no room in the model",
    "refused": "no word was written: the checker refused every draft",
}
_SAME_WORDS = "the words that stood there came again; {again} tries in another way"
_NO_WORD = "no word was written; {again} tries again in another way"

RECORDED = "a recorded run"
"""How the name of a checker begins that is none."""


class Writing:
    """The state of one sitting. Only the screen's thread may use it."""

    def __init__(
        self,
        service: WritingService,
        settings: MethodSettings,
        ledger: Emit | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        first: Request | None = None,
        journals: JournalFolder | None = None,
        samples: bool = False,
    ) -> None:
        """`first` is the brief to begin with; without `journals` nothing is kept;
        `samples` says that the store holds sample letters only."""
        self.threads = ServiceThreads(service, ledger)
        self.settings = settings
        self.clock = clock
        self.journals = journals
        self.samples = samples
        """Whether the next version is written from sample letters."""
        self._journal: Journal | None = None
        self.draft_state = Draft()
        self._first = first
        self.previews: list[Variant] = []
        """Beginnings that were written to show what a style changes."""
        self._anew(first or Request(""))
        self.reason = ""
        """Why the last attempt ended without a text, until the next action."""
        self.server: str | None = None
        self.arriving = ""
        """The model that is on its way where there is none, in words."""
        self.checker_silent = False
        """Whether the checker, asked last, gave no answer."""
        self.checker_ended = False
        """Whether the server of this machine has ended."""
        self.problem = ""
        self.counts: dict[str, int] = {}
        self.found = Found("", ())
        self.reading_back = 0
        """How often letters are being read that a draft knows by name alone."""
        self.importing: ImportAdvanced | None = None
        self.imported: ImportEnded | None = None
        self.paused: tuple[str, Path, list[str]] | None = None
        """The import that was paused, here or in an earlier sitting: its kind, its
        path, whose letters."""
        self.paused_at = ""
        """Where one of an earlier sitting stopped, in words."""
        self.pausing = False
        self._asked_import: tuple[str, Path, list[str]] | None = None
        self.heard = Heard("", ())
        """Received texts that were searched for."""
        self.thread = InThread(0, ())
        """The thread that was asked for last."""
        self.references: dict[int, tuple[str, ...]] = {}
        """Identifiers of received mails and those before them, by their records."""
        self.answered_from: dict[int, str] = {}
        """The person's addresses to which received mails came, by their records."""
        self.people: tuple[str, ...] = ()
        """Who can be written to, as `Name <address>`, the latest first."""
        self.own_address = ""
        self.identities: tuple[str, ...] = ()
        """Addresses and names that are known to be the person's."""
        self.most_tokens = WriteRequest(Request("")).max_tokens
        self.asked: Asked | None = None
        """What the guard asks the person, until the page has shown it."""
        self._stop = threading.Event()
        self._reading_ahead = ReadingAhead(self.threads.read_ahead, self.clock)
        self._being_written: Variant | None = None
        self._next: Variant | None = None
        self._told_unkept = ""

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
    def current(self) -> int:
        """The place of the version on screen among `variants`."""
        return self.draft_state.current

    @property
    def variant(self) -> Variant | None:
        """The version on screen."""
        return self.draft_state.variant

    @property
    def excluded(self) -> dict[int, Source]:
        """Sources that no further version reads, by their records."""
        return self.draft_state.excluded

    @property
    def offline(self) -> bool:
        """Whether the checker is switched off."""
        return self.draft_state.offline

    @offline.setter
    def offline(self, on: bool) -> None:
        self._happen(Offline(on))

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
    def busy(self) -> bool:
        """Whether the version on screen is still being written or waited for."""
        return self.variant is not None and self.variant.writing

    @property
    def service_busy(self) -> bool:
        """Whether a request is being written or waits for the service."""
        return self._being_written is not None or self._next is not None

    @property
    def without_models(self) -> bool:
        """Whether there is none that could write."""
        return bool(self.problem) or (self.server or "").startswith(RECORDED)

    def hear_of_models(self, arriving: str) -> None:
        """Which model is on its way, in words; once none is any more, those that are
        here are looked for."""
        before, self.arriving = self.arriving, arriving
        if before and not arriving and not self.service_busy:
            self.prepare()

    def prepare(self) -> None:
        """Load the models behind the page."""
        self.problem = ""
        self.threads.count()
        self.threads.look_for_import()
        self.threads.prepare()

    def draft(self, brief: Request) -> None:
        """Write what `brief` asks for: what was cut off goes on where it ended; of what
        was answered comes another version."""
        request = self._request(brief, self.settings)
        shown = self.variant
        if shown is not None and shown.unfinished and _asks_the_same(shown, request):
            before = shown.text.rstrip(" ")
            rest = replace(shown.request, before=before)
            self._queue(rest, Stretch(shown.number, len(before), 0))
            return
        self._queue(self._another(brief) if self._answered(request) else request)

    def again(self, brief: Request) -> None:
        """Write another version of `brief`: the next seed, a temperature above 0."""
        self._queue(self._another(brief))

    def go_on(self, brief: Request, at: int) -> None:
        """Write on from letter `at` of the version on screen, as a version of its own;
        what stands behind it is not in that."""
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
        self._queue(request, Stretch(variant.number, len(before), 0))

    def redraw(self, brief: Request, start: int, end: int) -> None:
        """Write the letters from `start` to `end` of the version on screen anew, as a
        version of its own that has all others as they are."""
        self.stop()
        variant = self.variant
        text = "" if variant is None else variant.text
        stood = text[start:end].strip()
        if variant is None or not stood:
            self.again(brief)
            return
        end = start + len(text[start:end].rstrip())
        begin = end - len(stood)
        before = text[:begin].rstrip(" ")
        request = self._another(brief)
        hotter = replace(request.settings, temperature=ANEW_TEMPERATURE)
        request = replace(
            request,
            settings=hotter,
            before=before,
            instead_of=stood,
            behind=text[end:][:_BEHIND],
            max_tokens=min(self.most_tokens, _LEAST_TOKENS + len(stood)),
        )
        self._queue(request, Stretch(variant.number, len(before), len(text) - end))

    def preview(self, brief: Request, style: Style) -> Variant:
        """Write how the version on screen would begin in another style; it is none of
        the draft's versions."""
        shown = self.variant
        request = (
            self._request(brief, self.settings) if shown is None else shown.request
        )
        request = replace(
            request,
            brief=style.request(brief),
            settings=style.settings(request.settings),
            offline=self.offline,
            excluded=frozenset(self.excluded),
            max_tokens=PREVIEW_TOKENS,
        )
        made = Variant(request, -1, samples=self.samples)
        self.previews.append(made)
        self._next = made
        self._begin()
        return made

    def stop(self, *, keep_empty: bool = False, cut: bool = False) -> None:
        """Stop writing now; what is settled stays. A version without a word gives way
        to the one before it, unless the person is to go on from it. One that is `cut`
        off is not finished."""
        self._stop.set()
        self._next = None
        self.reason = ""
        stopped = self.variant
        if stopped is not None and stopped.writing:
            self._happen(Stopped(stopped.number, keep_empty, cut))

    def flip(self, step: int) -> bool:
        """Show an earlier or later version; False when there is none."""
        if not 0 <= self.current + step < len(self.variants):
            return False
        self._happen(Shown(self.variants[self.current + step].number))
        self.reason = ""
        return True

    def ask(self, request: Request) -> None:
        """The person changed the brief."""
        entry = asked(self.request, request)
        if entry is not None:
            self._happen(entry)

    def edit(self, variant: Variant, at: int, removed: int, runs: list[Run]) -> None:
        """The person put `runs` in the place of `removed` letters of `variant`."""
        if self._ours(variant):
            self._happen(Edited(variant.number, at, removed, tuple(runs)))

    def restyle(self, style: Style) -> None:
        """The person set how further versions are to be written."""
        if style != self.style:
            self._happen(Styled(style))

    def answer(self, letter: Source | None) -> None:
        """The draft answers a received text, or none any more."""
        if letter != self.reply_to:
            self._happen(ReplyTo(letter))

    def saved(self, variant: Variant, text: str) -> None:
        """A file holds `text` of `variant`."""
        if self._ours(variant):
            self._happen(Saved(variant.number, text))
        self.sync()

    def unsaved(self) -> list[Variant]:
        """Versions whose leaving would be a loss: the one on screen, and those that the
        person worked on, unless a file has them as they are."""
        return [
            known
            for known in self.variants
            if not known.empty
            and known.text != known.saved
            and (known is self.variant or known.edited is not None)
        ]

    def take_up(self, path: Path | None = None) -> list[News]:
        """Go on with the draft at `path`, or, without one, with the latest if the
        person was not done with it; what is to be said of that."""
        folder, chosen = self.journals, path
        if folder is None or (path is None and self.kept_in is not None):
            return []
        if path is None:
            path = next(iter(folder.paths()), None)
        if path is None:
            return []
        try:
            changed = datetime.fromtimestamp(path.stat().st_mtime)
            journal, draft = folder.open(path)
        except JournalError as error:
            more = "" if chosen else "; this page is a new draft"
            return [News(f"{error}{more}", "warning")]
        except OSError as error:
            return [News(f"the draft {path} cannot be read: {why_not(error)}")]
        if not chosen and (draft.aside or not (draft.attempts or draft.request.text)):
            journal.close()
            return []
        self._leave_draft()
        self._journal, self.draft_state = journal, draft
        self.previews = []
        self.traffic = Traffic.of(draft.attempts)
        for entry in (TakenUp(), *draft.unended()):
            self._happen(entry)
        if self.reply_to is not None:
            self.threads.read_thread(self.reply_to.record_id)
        known_by_name = draft.known_by_name()
        if known_by_name:
            self.reading_back += 1
            self.threads.read_texts(known_by_name)
        when = f"{changed:%Y-%m-%d at %H:%M}"
        return [
            News(f"here is what you wrote until {when}; {key_of('new')} begins another")
        ]

    def begin_anew(self) -> None:
        """Put the draft aside and begin another, with the checker as it is."""
        offline = self.offline
        self._leave_draft()
        self._anew(Request("", self.request.task))
        if offline:
            self.draft_state.apply(Offline(on=True))
            if self._journal is not None:
                self._journal.prepare(Offline(on=True))

    def put_aside(self) -> None:
        """The person is done with the draft: the next start does not open it."""
        if self._journal is not None and self._journal.path is not None:
            self._happen(PutAside())

    def retry(self) -> list[News]:
        """Try again what the disk refused to keep, and say so once."""
        journal = self._journal
        if journal is not None and journal.problem:
            journal.retry()
        told, self._told_unkept = self._told_unkept, self.unkept
        if told and not self.unkept:
            return [News("what you write is kept again")]
        if told or not self.unkept:
            return []
        sentence = (
            f"what you write now is not kept: {self.unkept}; {key_of('save')} saves it"
        )
        return [News(sentence, "error")]

    @property
    def unkept(self) -> str:
        """Why the journal lacks the last entries; empty if it has all."""
        return self._journal.problem if self._journal is not None else ""

    @property
    def kept_in(self) -> Path | None:
        """The journal's file; None while there is nothing to keep, or no place."""
        return self._journal.path if self._journal is not None else None

    def read_ahead(self) -> None:
        """Have the specialist read what the brief asks for, once the person pauses and
        while nothing is written."""
        if self.ready and not self.service_busy:
            self._reading_ahead.look(self._request(self.request, self.settings))

    def sync(self) -> None:
        """Have the disk hold the journal, in a thread: it may take a while."""
        journal = self._journal
        if journal is not None and journal.unsynced:
            threading.Thread(target=journal.sync, daemon=True, name="sync").start()

    def exclude(self, source: Source) -> bool:
        """Leave a source out of the next draft, or take it in again."""
        taken = source.record_id in self.excluded
        self._happen(LeftOut(source, taken))
        return not taken

    def import_letters(self, kind: str, path: Path, me: list[str]) -> None:
        """Read letters while writing goes on."""
        self.importing, self.imported = ImportAdvanced(0, 0), None
        self.paused, self.paused_at, self.pausing = None, "", False
        self._asked_import = kind, path, me
        self.threads.import_letters(kind, path, me)

    def pause_import(self) -> None:
        """Have the import end where it is; `resume_import` goes on from there."""
        self.pausing = True
        self.threads.pause_import()

    def resume_import(self) -> None:
        """Go on with the import that was paused."""
        if self.paused is not None:
            self.import_letters(*self.paused)

    def leave_import(self) -> None:
        """Do not go on with it; what was read stays."""
        if self.paused is not None:
            self.threads.leave_import(*self.paused)
            self.paused, self.paused_at, self.imported = None, "", None

    def close(self) -> bool:
        """Stop writing and close the service; True if all its threads have ended."""
        self._stop.set()
        self._reading_ahead.stop()
        if self._journal is not None:
            self._journal.close()
        return self.threads.close()

    def drain(self) -> list[News] | None:
        """Apply all outcomes of the inbox; the messages, None if the inbox is empty."""
        inbox = self.threads.inbox
        if not inbox:
            return None
        news: list[News] = []
        while inbox:
            match inbox.popleft():
                case Emitted(variant, event):
                    news += self._hear(variant, event)
                case Asked() as asked:
                    self.asked = asked
                case WriteEnded(variant, problem):
                    news += self._ended(variant, problem)
                case Prepared(server):
                    self.server = server
                    self._begin()
                case PrepareFailed(problem):
                    news.append(self._unprepared(problem))
                case ImportAdvanced() | ImportEnded() | WasImporting() as told:
                    news += self._hear_of_import(told)
                case Counted(counts, people, own_address, identities):
                    self.counts, self.people = counts, people
                    self.own_address, self.identities = own_address, identities
                case TextsRead(texts):
                    self.reading_back -= 1
                    for known in self.attempts:
                        known.read_back(texts)
                case Found() | Heard() | InThread() as answer:
                    self._learn(answer)
        return news

    def _hear(self, variant: Variant, event: Event) -> list[News]:
        """Let an event happen to the version that it is of, in the journal first."""
        ours = self._ours(variant)
        if ours or self._previewed(variant):
            self.traffic.apply(event)
        self._hear_of_checker(variant, event)
        durable = worth_keeping(event) if ours else None
        if durable is not None and self._journal is not None:
            self._journal.add(Written(variant.number, durable))
        variant.apply(event, self.clock())
        return [News(event.text, "warning")] if isinstance(event, Notice) else []

    def _unprepared(self, problem: str) -> News:
        """The models are not there: what waits for them is given up."""
        self.problem = self.reason = problem
        if self._next is not None:
            if self._ours(self._next):
                self._happen(Ended(self._next.number))
            self._next.end(self.clock())
            self._next = None
        return News(problem, "error")

    def _hear_of_import(
        self, told: ImportAdvanced | ImportEnded | WasImporting
    ) -> list[News]:
        """How far an import is, that it ended, or that an earlier one did not."""
        match told:
            case ImportAdvanced():
                self.importing = told
            case ImportEnded(sentence, failed, paused):
                self.importing, self.imported, self.pausing = None, told, False
                self.paused = self._asked_import if paused else None
                began_with_samples = self.samples
                self.samples = self.samples and (failed or paused)
                if began_with_samples > self.samples and self.request == self._first:
                    self.begin_anew()  # it asked for a sample's letter
                self.threads.count()
                return [News(sentence, "error" if failed else "information")]
            case WasImporting(asked) if asked is not None:
                if self.importing is None and self.paused is None:
                    self.paused = asked.kind, asked.path, list(asked.me)
                    self.paused_at = asked.in_words
                    goes_on = f"{key_of('import')} goes on there"
                    return [News(f"{self.paused_at}: {goes_on}")]
        return []

    def _learn(self, answer: Found | Heard | InThread) -> None:
        """What the store was asked for is there; another search may be since."""
        last = self.threads.is_last(answer)
        match answer:
            case Found() if last:
                self.found = answer
            case Heard() if last:
                self.heard = answer
            case InThread():
                self.thread = answer if last else self.thread
                self.references[answer.record_id] = answer.references
                self.answered_from[answer.record_id] = answer.own_address

    def _request(self, brief: Request, settings: MethodSettings) -> WriteRequest:
        letter = self.reply_to
        return WriteRequest(
            brief=self.style.request(brief),
            settings=self.style.settings(settings),
            offline=self.offline,
            excluded=frozenset(self.excluded),
            weighs=True,
            reply_to=None if letter is None else letter.record_id,
        )

    def _another(self, brief: Request) -> WriteRequest:
        """The request for another version: the next seed, a temperature above 0."""
        settings = replace(
            self.settings,
            seed=self.settings.seed + len(self.attempts),
            temperature=self.settings.temperature or AGAIN_TEMPERATURE,
        )
        return self._request(brief, settings)

    def _answered(self, request: WriteRequest) -> bool:
        """Whether a version has come of the very same request."""
        same = [known for known in self.attempts if known.request == request]
        return any(not one.empty or one.reason not in (None, "stopped") for one in same)

    def _queue(self, request: WriteRequest, stretch: Stretch | None = None) -> None:
        """Stop the current text and let `request` wait until the service is free."""
        self.stop()
        self._happen(Begun(request, self.samples, stretch))
        variant = self.attempts[-1]
        self._next = variant
        if self.problem:  # what was missing may be there now
            self.prepare()
        self._begin()

    def _begin(self) -> None:
        if self._next is None or not self.ready or self._being_written is not None:
            return
        self._stop = threading.Event()
        self._being_written, self._next = self._next, None
        self._being_written.started = self.clock()
        self._reading_ahead.written(self._being_written.request)
        self.threads.write(self._being_written, self._stop)

    def _ended(self, variant: Variant, problem: str) -> list[News]:
        self._being_written = None
        self._begin()
        if not self._ours(variant):
            variant.end(self.clock())
            wanted = problem and self._previewed(variant)
            return [News(problem, "error")] if wanted else []
        wanted = variant is self.attempts[-1] and not variant.stopped
        again = wanted and not problem and variant.empty and bool(variant.settled)
        if again and variant.request.instead_of:
            problem = _SAME_WORDS
        elif not problem and wanted and variant.empty:
            problem = _NO_WORDS.get(variant.reason, _NO_WORD)
            problem = problem.format(again=key_of("again"))
        self._happen(Ended(variant.number))
        if problem == _SAME_WORDS and self._try_again(variant):
            return []
        if wanted:
            self.reason = problem
        self.sync()
        return [News(problem, "error")] if problem else []

    def _try_again(self, variant: Variant) -> bool:
        """Write a stretch once more that has the words that stood there; False where
        that was done often enough."""
        request = variant.request
        place = request.before, request.instead_of
        tried = self.attempts[-_TIMES:]
        if len(tried) == _TIMES and all(
            (known.request.before, known.request.instead_of) == place for known in tried
        ):
            return False
        seed = self.settings.seed + len(self.attempts)
        settings = replace(request.settings, seed=seed)
        self._queue(replace(request, settings=settings), variant.stretch)
        return True

    def _happen(self, entry: Entry) -> None:
        """Let `entry` happen to the draft: in the journal first, then here."""
        if self._journal is not None:
            self._journal.add(entry)
        self.draft_state.apply(entry, self.clock())

    def look_at_checker(self) -> None:
        """Find out whether the server of this machine is still there."""
        self.checker_ended = self.ready and self.threads.server_ended()

    def _hear_of_checker(self, variant: Variant, event: Event) -> None:
        """What an event tells of the checker, where it was asked for."""
        match event:
            case Opened(local=False) | Verified():
                self.checker_silent = False
            case Settled(tokens) if variant.went_unchecked(tokens):
                self.checker_silent = True
            case _:
                pass

    def _ours(self, variant: Variant) -> bool:
        """Whether `variant` is of the draft on screen, and not of one put aside."""
        return any(known is variant for known in self.attempts)

    def _previewed(self, variant: Variant) -> bool:
        """Whether `variant` shows what a style of the draft on screen changes."""
        return any(known is variant for known in self.previews)

    def _anew(self, first: Request) -> None:
        """An empty draft with `first` as its brief; a file is made when more comes."""
        self.draft_state = Draft()
        self.previews = []
        self.traffic = Traffic()
        self._journal = self.journals.begin() if self.journals is not None else None
        entry = asked(self.request, first)
        if entry is not None:
            self.draft_state.apply(entry)
            if self._journal is not None:
                self._journal.prepare(entry)

    def _leave_draft(self) -> None:
        """Stop, and close the journal of the draft on screen."""
        self.stop()
        self.put_aside()
        if self._journal is not None:
            self._journal.close()


def _asks_the_same(variant: Variant, request: WriteRequest) -> bool:
    """Whether a version is all of what `request` asks for, or a beginning of it."""
    asked = variant.request
    return not asked.instead_of and request == replace(
        asked,
        settings=request.settings,
        max_tokens=request.max_tokens,
        before="",
    )
