"""`specsteer` without a command: the terminal app, and the service behind it.

The libraries of the service take a fifth of a second to import, and the app paints its
page without them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decoding_core.errors import DecodingError, ModelError, StoppedError
from edge_app import sample
from edge_app.commands.service_config import service_config
from edge_app.config.settings import read_settings, store_path
from edge_app.decoding.events import Emit, Notice, Opened, Received, Sent
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.tape import RecordedService, by_the_clock, events_of, read_tape
from edge_app.tui.app import SpecSteerApp, run_app
from edge_app.tui.journal import JournalFolder
from edge_app.tui.preferences import Preferences
from models.folders import state_folder
from models.prompts import Request
from personal_store import keys
from personal_store.connection import holds_own_texts

if TYPE_CHECKING:
    from edge_app.service.service import WritingService
else:
    WritingService = object  # imported by the first call

LABEL = "a recorded run: no model can run here yet"


class LazyService(WritingService):
    """A writing service that is made by the first call, but not by `close`."""

    def __init__(self, configured: Callable[[], ServiceConfig]) -> None:
        self._configured = configured
        self._making = threading.Lock()
        self._closed = threading.Event()
        self._service: WritingService | None = None

    def __getattr__(self, name: str) -> Any:
        """A public method of the service, which is made now; calls from other threads
        wait. A service that is made after `close` is closed at once and loads no
        model."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._made(), name)

    def _made(self) -> WritingService:
        with self._making:
            if self._service is None:
                from edge_app.service import service

                self._service = service.WritingService(self._configured())
                if self._closed.is_set():
                    self._service.close()
            return self._service

    def server_ended(self) -> bool:
        """Whether the server that was started here has ended."""
        return self._service is not None and self._service.server_ended()

    def close(self) -> None:
        """Close the service, now or as soon as it is made."""
        self._closed.set()
        if self._service is not None:
            self._service.close()


class FirstRun(LazyService):
    """The service while models may be missing: a recording answers its own request."""

    def __init__(
        self,
        configured: Callable[[], ServiceConfig],
        pace: Callable[[object], None] = by_the_clock,  # type: ignore[assignment]
    ) -> None:
        """`configured` raises ModelError; `pace` waits before each recorded event."""
        super().__init__(configured)
        self._pace = pace
        self._problem: DecodingError | None = ModelError("no model was loaded")

    def prepare(self, **_: Any) -> str:
        """Load the models; the verifier's name, or `LABEL` if they cannot be loaded."""
        try:
            name = self._made().prepare()
        except StoppedError:
            raise
        except DecodingError as error:
            self._problem = error
            return LABEL
        self._problem = None
        return name

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text, or play the recording for its request; raises DecodingError."""
        if self._problem is not None:
            self.prepare()  # what was missing may be there now
        if self._problem is None:
            self._made().write(request, emit, stop)
            return
        if request.brief.text.strip() != sample.REQUEST:
            raise self._problem
        why = f"This is {LABEL} ({self._problem})"
        emit(Notice(f"{why}; 'specsteer doctor' says more"))
        events = [
            replace(event, verifier="a recorded run")
            if isinstance(event, Opened)
            else event
            for event in events_of(read_tape(sample.RECORDED).recorded)
            if not isinstance(event, Sent | Received)  # nothing is sent now
        ]
        RecordedService([events], self._pace).write(request, emit, stop)


def draft_journals() -> JournalFolder:
    """The drafts of this person; under the store's key once the store was opened."""
    return JournalFolder(
        state_folder() / "drafts", lambda: keys.known(store_path()) or ""
    )


def open_app(lora: str | None = None) -> None:
    """Open the app with an adapter, and end the process with the app's exit code."""
    settings = read_settings()
    configured = partial(service_config, settings, lora=lora, may_sample=True)
    if holds_own_texts(store_path()):
        config, first = configured(), None  # a missing model is said before it opens
        service = LazyService(lambda: config)
    else:
        first = Request(sample.REQUEST, "email", sample.RECIPIENT)
        service = FirstRun(configured)
    app = SpecSteerApp(
        service,
        save_folder=Path.cwd(),
        first_request=first,
        defaults=settings.method,
        journals=draft_journals(),
        practice_models=not (settings.specialist or settings.generalist),
        preferences=Preferences(
            settings, options={} if lora is None else {"lora": lora}
        ),
    )
    sys.exit(run_app(app))
