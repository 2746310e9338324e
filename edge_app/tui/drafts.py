"""All texts of one sitting: what was asked for, what came, what may be asked next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Emit, FinishReason, Notice, Source
from edge_app.service.requests import Service, WriteRequest
from edge_app.tui.outcomes import (
    Counted,
    Found,
    ImportAdvanced,
    ImportEnded,
    Outcome,
    Prepared,
    PrepareFailed,
    Told,
    WriteEnded,
)
from edge_app.tui.recovery import Sitting
from edge_app.tui.service_threads import ServiceThreads
from edge_app.tui.variant import Variant
from edge_app.tui.words.meters import Traffic
from models.prompts import Request

AGAIN_TEMPERATURE = 0.7
"""Used for another version when the settings leave nothing to chance."""

_NO_WORDS: dict[FinishReason | None, str] = {
    "full": "no word was written: what is to be read leaves no room in the model",
    "refused": "no word was written: the checker refused every draft",
}
_NO_WORD = "no word was written; ^R tries again in another way"


@dataclass(frozen=True, slots=True)
class News:
    """A sentence for the person."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"


class Writing:
    """The state behind the page. One thread uses it; the desk's threads do not."""

    def __init__(
        self,
        desk: Service,
        settings: MethodSettings,
        ledger: Emit | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.threads = ServiceThreads(desk, ledger)
        self.settings = settings
        self.clock = clock
        self.variants: list[Variant] = []
        """What can be shown: versions with words, and the one that is being written."""
        self.attempts: list[Variant] = []
        """All that was ever ordered: each took a seed, and may have sent something."""
        self.current = -1
        self.reason = ""
        """Why the last attempt ended without a text, until the next action."""
        self.traffic = Traffic()
        self.offline = False
        self.excluded: dict[int, Source] = {}
        self.server: str | None = None
        self.problem = ""
        self.counts: dict[str, int] = {}
        self.found = Found("", ())
        self.importing: ImportAdvanced | None = None
        self.imported: ImportEnded | None = None
        self._stop = threading.Event()
        self._at_desk: Variant | None = None
        self._next: Variant | None = None
        self._before: Variant | None = None
        """What was shown before the newest attempt."""

    @property
    def variant(self) -> Variant | None:
        """The version on screen."""
        return self.variants[self.current] if self.variants else None

    @property
    def ready(self) -> bool:
        """Whether the models are loaded."""
        return self.server is not None

    @property
    def busy(self) -> bool:
        """Whether the version on screen is still being written or waited for."""
        return self.variant is not None and self.variant.writing

    @property
    def at_desk(self) -> bool:
        """Whether the desk is still writing, or will as soon as it is ready."""
        return self._at_desk is not None or self._next is not None

    def prepare(self) -> None:
        """Load the models behind the page."""
        self.problem = ""
        self.threads.count()
        self.threads.prepare()

    def draft(self, request: Request) -> None:
        """Write `request`; what came to an end that way is written in another way."""
        order = self._order(request, self.settings)
        same = [known for known in self.attempts if known.order == order]
        if any(known.text or known.reason not in (None, "stopped") for known in same):
            self.again(request)
        else:
            self._queue(order)

    def again(self, request: Request) -> None:
        """Write another version: the next seed, and some chance."""
        settings = replace(
            self.settings,
            seed=self.settings.seed + len(self.attempts),
            temperature=self.settings.temperature or AGAIN_TEMPERATURE,
        )
        self._queue(self._order(request, settings))

    def stop(self, *, keep_empty: bool = False) -> None:
        """Stop writing now; what is settled stays. A version without a word gives way
        to the one before it, unless the person is to go on from it."""
        self._stop.set()
        self._next = None
        self.reason = ""
        stopped = self.variant
        if stopped is not None and stopped.writing:
            stopped.stop(self.clock())
            if not keep_empty:
                self._give_way(stopped)

    def flip(self, step: int) -> bool:
        """Show an earlier or later version; False when there is none."""
        if not 0 <= self.current + step < len(self.variants):
            return False
        self.current += step
        self.reason = ""
        return True

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

    def bring_back(self, sitting: Sitting) -> None:
        """Go on from a sitting that ended; its versions come before those of this."""
        at = self.current
        self.attempts = [*sitting.variants, *self.attempts]
        self.variants = [*sitting.variants, *self.variants]
        self.current = sitting.current if at < 0 else at + len(sitting.variants)

    def exclude(self, source: Source) -> bool:
        """Leave a source out of the next draft, or take it in again."""
        if self.excluded.pop(source.record_id, None) is None:
            self.excluded[source.record_id] = source
            return True
        return False

    def import_letters(self, kind: str, path: Path, me: list[str]) -> None:
        """Read letters while writing goes on."""
        self.importing, self.imported = ImportAdvanced(0, 0), None
        self.threads.import_letters(kind, path, me)

    def close(self) -> bool:
        """Stop everything and end the desk; whether all its threads have ended."""
        self._stop.set()
        return self.threads.close()

    def drain(self) -> list[News] | None:
        """Take in all that has happened; None when nothing has."""
        inbox = self.threads.inbox
        if not inbox:
            return None
        news: list[News] = []
        while inbox:
            news += self._take(inbox.popleft())
        return news

    def _order(self, request: Request, settings: MethodSettings) -> WriteRequest:
        return WriteRequest(
            brief=request,
            settings=settings,
            offline=self.offline,
            excluded=frozenset(self.excluded),
        )

    def _queue(self, order: WriteRequest) -> None:
        """The desk writes one text at a time; the next waits until it is free."""
        self.stop()
        self._before = self.variant
        variant = Variant(order, started=self.clock())
        self.attempts.append(variant)
        self.variants = [known for known in self.variants if not known.empty]
        self.variants.append(variant)
        self.current = len(self.variants) - 1
        self._next = variant
        if self.problem:  # what was missing may be there now
            self.prepare()
        self._begin()

    def _give_way(self, variant: Variant) -> None:
        """Show again what was shown before a version that has no word."""
        if not variant.empty or all(known is not variant for known in self.variants):
            return
        self.variants = [known for known in self.variants if known is not variant]
        places = [at for at, one in enumerate(self.variants) if one is self._before]
        self.current = places[0] if places else len(self.variants) - 1

    def _begin(self) -> None:
        if self._next is None or not self.ready or self._at_desk is not None:
            return
        self._stop = threading.Event()
        self._at_desk, self._next = self._next, None
        self._at_desk.started = self.clock()
        self.threads.write(self._at_desk, self._stop)

    def _take(self, outcome: Outcome) -> list[News]:
        match outcome:
            case Told(variant, event):
                variant.apply(event, self.clock())
                self.traffic.apply(event)
                if isinstance(event, Notice):
                    return [News(event.text, "warning")]
            case WriteEnded(variant, problem):
                return self._ended(variant, problem)
            case Prepared(server):
                self.server = server
                self._begin()
            case PrepareFailed(problem):
                return self._cannot(problem)
            case _:
                return self._take_letters(outcome)
        return []

    def _take_letters(self, outcome: Outcome) -> list[News]:
        match outcome:
            case ImportAdvanced():
                self.importing = outcome
            case ImportEnded(sentence, failed):
                self.importing, self.imported = None, outcome
                self.threads.count()
                return [News(sentence, "error" if failed else "information")]
            case Counted(counts):
                self.counts = counts
            case Found():
                self.found = outcome
            case _:
                pass
        return []

    def _ended(self, variant: Variant, problem: str) -> list[News]:
        variant.end(self.clock())
        self._at_desk = None
        self._begin()
        wanted = variant is self.attempts[-1] and not variant.stopped
        if not problem and wanted and variant.empty:
            problem = _NO_WORDS.get(variant.reason, _NO_WORD)
        if wanted:
            self.reason = problem
            self._give_way(variant)
        return [News(problem, "error")] if problem else []

    def _cannot(self, problem: str) -> list[News]:
        self.problem = self.reason = problem
        if self._next is not None:
            self._next.end(self.clock())
            self._give_way(self._next)
            self._next = None
        return [News(problem, "error")]
