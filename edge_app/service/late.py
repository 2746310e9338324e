"""The writing service, imported and made where it is first asked for something.

The libraries that it needs take a fifth of a second to import, and the app paints its
page without them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edge_app.decoding.events import Emit, Source
from edge_app.service.configuration import ServiceConfig
from edge_app.service.requests import Letter, Service, WriteRequest

if TYPE_CHECKING:
    from personal_store.ingest.unfinished import Unfinished


def writing_service(config: ServiceConfig) -> Service:
    """The writing service of this configuration, imported now."""
    from edge_app.service.service import WritingService

    return WritingService(config)


class LateService:
    """Satisfies `requests.Service` by one that is made when something is first asked of
    it. `server_ended` and `close` make nothing."""

    def __init__(self, make: Callable[[], Service]) -> None:
        self._make = make
        self._making = threading.Lock()
        self._closing = threading.Event()
        self._service: Service | None = None

    def _made(self) -> Service:
        """The service; made by the first that asks, while others wait. One that is made
        after `close` is closed, and refuses to load models."""
        with self._making:
            if self._service is None:
                self._service = self._make()
                if self._closing.is_set():
                    self._service.close()
            return self._service

    def prepare(self) -> str:
        """Load the models; the verifier's name."""
        return self._made().prepare()

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text."""
        self._made().write(request, emit, stop)

    def read_ahead(self, request: WriteRequest, stop: threading.Event) -> None:
        """Read on this device what a text would have read."""
        self._made().read_ahead(request, stop)

    def server_ended(self) -> bool:
        """Whether the server that was started here has ended."""
        return self._service is not None and self._service.server_ended()

    def counts(self) -> dict[str, int]:
        """How many own texts of each kind the store holds."""
        return self._made().counts()

    def correspondents(self) -> list[str]:
        """Everybody who can be written to."""
        return self._made().correspondents()

    def identities(self) -> list[str]:
        """What is known to be the owner's."""
        return self._made().identities()

    def own_address(self, answered: int | None = None) -> str:
        """The owner's address to write from."""
        return self._made().own_address(answered)

    def search(self, query: str, limit: int = 20) -> list[Source]:
        """Own texts that match, best first."""
        return self._made().search(query, limit)

    def texts(self, record_ids: Sequence[int]) -> list[Source]:
        """The own texts of these records."""
        return self._made().texts(record_ids)

    def search_received(self, query: str, limit: int = 20) -> list[Letter]:
        """Texts by others that match, best first."""
        return self._made().search_received(query, limit)

    def thread(self, record_id: int) -> list[Letter]:
        """A received text with its thread."""
        return self._made().thread(record_id)

    def references(self, record_id: int) -> list[str]:
        """Identifiers of a received mail and of those that it answers."""
        return self._made().references(record_id)

    def import_letters(
        self,
        kind: str,
        path: Path,
        me: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> str:
        """Read an export into the store."""
        return self._made().import_letters(kind, path, me, progress)

    def unfinished_import(self) -> Unfinished | None:
        """The last import that was begun and is not finished."""
        return self._made().unfinished_import()

    def leave_import(self, asked: Unfinished) -> None:
        """Offer this import no more."""
        self._made().leave_import(asked)

    def close(self) -> None:
        """Close the service, or have it closed as soon as it is made."""
        self._closing.set()
        if self._service is not None:
            self._service.close()
