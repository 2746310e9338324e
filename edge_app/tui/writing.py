"""All texts of one sitting: what was asked for, what came, what may be asked next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from decoding_core.settings import MethodSettings
from edge_app.events import Emit, Notice, Source
from edge_app.orders import Desk, Order
from edge_app.tui.desk_threads import DeskThreads
from edge_app.tui.meters import Traffic
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
from edge_app.tui.variant import Variant
from models.prompts import Request

AGAIN_TEMPERATURE = 0.7
"""Used for another version when the settings leave nothing to chance."""


@dataclass(frozen=True, slots=True)
class News:
    """A sentence for the person."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"


class Writing:
    """The state behind the page. One thread uses it; the desk's threads do not."""

    def __init__(
        self,
        desk: Desk,
        settings: MethodSettings,
        ledger: Emit | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.threads = DeskThreads(desk, ledger)
        self.settings = settings
        self.clock = clock
        self.variants: list[Variant] = []
        self.current = -1
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
        """Write `request`; what was already written that way is written anew."""
        order = self._order(request, self.settings)
        if any(known.order == order and known.text for known in self.variants):
            self.again(request)
        else:
            self._queue(order)

    def again(self, request: Request) -> None:
        """Write another version: the next seed, and some chance."""
        settings = replace(
            self.settings,
            seed=self.settings.seed + len(self.variants),
            temperature=self.settings.temperature or AGAIN_TEMPERATURE,
        )
        self._queue(self._order(request, settings))

    def stop(self) -> None:
        """Stop writing now; what is settled stays."""
        self._stop.set()
        self._next = None
        if self.variant is not None and self.variant.writing:
            self.variant.stop(self.clock())

    def flip(self, step: int) -> bool:
        """Show an earlier or later version; False when there is none."""
        if not 0 <= self.current + step < len(self.variants):
            return False
        self.current += step
        return True

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

    def close(self) -> None:
        """Stop everything and end the desk."""
        self._stop.set()
        self.threads.close()

    def drain(self) -> list[News] | None:
        """Take in all that has happened; None when nothing has."""
        inbox = self.threads.inbox
        if not inbox:
            return None
        news: list[News] = []
        while inbox:
            news += self._take(inbox.popleft())
        return news

    def _order(self, request: Request, settings: MethodSettings) -> Order:
        return Order(
            request=request,
            settings=settings,
            offline=self.offline,
            excluded=frozenset(self.excluded),
        )

    def _queue(self, order: Order) -> None:
        """The desk writes one text at a time; the next waits until it is free."""
        self.stop()
        self.variants = [known for known in self.variants if known.text]
        variant = Variant(order, started=self.clock())
        self.variants.append(variant)
        self.current = len(self.variants) - 1
        self._next = variant
        self._begin()

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
        return [News(problem, "error")] if problem else []

    def _cannot(self, problem: str) -> list[News]:
        self.problem = problem
        if self._next is not None:
            self._next.end(self.clock())
            self._next = None
        return [News(problem, "error")]
