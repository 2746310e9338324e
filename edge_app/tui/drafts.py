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
    Emitted,
    Found,
    ImportAdvanced,
    ImportEnded,
    Prepared,
    PrepareFailed,
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
    """A message to show to the person."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"


class Writing:
    """The state of one sitting. Only the screen's thread may use it."""

    def __init__(
        self,
        service: Service,
        settings: MethodSettings,
        ledger: Emit | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.threads = ServiceThreads(service, ledger)
        self.settings = settings
        self.clock = clock
        self.variants: list[Variant] = []
        """Versions that F7 and F8 show: those with words, and the one being written."""
        self.attempts: list[Variant] = []
        """Every version requested: each took a seed, and may have sent something."""
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
        self._being_written: Variant | None = None
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
    def service_busy(self) -> bool:
        """Whether a request is being written or waits for the service."""
        return self._being_written is not None or self._next is not None

    def prepare(self) -> None:
        """Load the models behind the page."""
        self.problem = ""
        self.threads.count()
        self.threads.prepare()

    def draft(self, brief: Request) -> None:
        """Write what `brief` asks for; another version if the same request has already
        been answered."""
        request = self._request(brief, self.settings)
        same = [known for known in self.attempts if known.request == request]
        if any(known.text or known.reason not in (None, "stopped") for known in same):
            self.again(brief)
        else:
            self._queue(request)

    def again(self, brief: Request) -> None:
        """Write another version of `brief`: the next seed, a temperature above 0."""
        settings = replace(
            self.settings,
            seed=self.settings.seed + len(self.attempts),
            temperature=self.settings.temperature or AGAIN_TEMPERATURE,
        )
        self._queue(self._request(brief, settings))

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
        """Put the versions of an ended sitting before those of this one."""
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
        """Stop writing and close the service; True if all its threads have ended."""
        self._stop.set()
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
                    variant.apply(event, self.clock())
                    self.traffic.apply(event)
                    if isinstance(event, Notice):
                        news.append(News(event.text, "warning"))
                case WriteEnded(variant, problem):
                    news += self._ended(variant, problem)
                case Prepared(server):
                    self.server = server
                    self._begin()
                case PrepareFailed(problem):
                    self.problem = self.reason = problem
                    if self._next is not None:
                        self._next.end(self.clock())
                        self._give_way(self._next)
                        self._next = None
                    news.append(News(problem, "error"))
                case ImportAdvanced() as advanced:
                    self.importing = advanced
                case ImportEnded(sentence, failed) as ended:
                    self.importing, self.imported = None, ended
                    self.threads.count()
                    news.append(News(sentence, "error" if failed else "information"))
                case Counted(counts):
                    self.counts = counts
                case Found() as found:
                    self.found = found
        return news

    def _request(self, brief: Request, settings: MethodSettings) -> WriteRequest:
        return WriteRequest(
            brief=brief,
            settings=settings,
            offline=self.offline,
            excluded=frozenset(self.excluded),
        )

    def _queue(self, request: WriteRequest) -> None:
        """Stop the current text and let `request` wait until the service is free."""
        self.stop()
        self._before = self.variant
        variant = Variant(request, started=self.clock())
        self.attempts.append(variant)
        self.variants = [known for known in self.variants if not known.empty]
        self.variants.append(variant)
        self.current = len(self.variants) - 1
        self._next = variant
        if self.problem:  # what was missing may be there now
            self.prepare()
        self._begin()

    def _give_way(self, variant: Variant) -> None:
        """Remove `variant` if it has no word, and show the version before it."""
        if not variant.empty or all(known is not variant for known in self.variants):
            return
        self.variants = [known for known in self.variants if known is not variant]
        places = [at for at, one in enumerate(self.variants) if one is self._before]
        self.current = places[0] if places else len(self.variants) - 1

    def _begin(self) -> None:
        if self._next is None or not self.ready or self._being_written is not None:
            return
        self._stop = threading.Event()
        self._being_written, self._next = self._next, None
        self._being_written.started = self.clock()
        self.threads.write(self._being_written, self._stop)

    def _ended(self, variant: Variant, problem: str) -> list[News]:
        variant.end(self.clock())
        self._being_written = None
        self._begin()
        wanted = variant is self.attempts[-1] and not variant.stopped
        if not problem and wanted and variant.empty:
            problem = _NO_WORDS.get(variant.reason, _NO_WORD)
        if wanted:
            self.reason = problem
            self._give_way(variant)
        return [News(problem, "error")] if problem else []
