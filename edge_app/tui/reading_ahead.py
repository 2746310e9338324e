"""The specialist reads the brief and its letters while the person pauses in typing, so
that the first word comes sooner; nothing of it leaves the device."""

from __future__ import annotations

import threading
from collections.abc import Callable

from edge_app.service.requests import WriteRequest

PAUSE_SECONDS = 0.4
"""So long must a brief stand unchanged: letters of a word come faster."""


class ReadingAhead:
    """Gives the specialist the brief to read at each pause. Only the screen's thread
    may use it."""

    def __init__(
        self,
        read: Callable[[WriteRequest, threading.Event], None],
        clock: Callable[[], float],
    ) -> None:
        """`read` begins to read a request, until its event is set."""
        self._read = read
        self._clock = clock
        self._stop = threading.Event()
        self._seen: WriteRequest | None = None
        """What the brief asked for when it was last looked at."""
        self._since = 0.0
        """When it was first seen so."""
        self._given: WriteRequest | None = None
        """What the specialist was given last, to read or to write."""

    def look(self, request: WriteRequest) -> None:
        """Have `request` read once it has stood for a while, in the place of any other.
        Called again and again, while nothing is written."""
        now = self._clock()
        if request != self._seen:
            self._seen, self._since = request, now
            if request != self._given:
                self.stop()
        elif (
            request != self._given
            and request.brief.text.strip()
            and now - self._since >= PAUSE_SECONDS
        ):
            self._given, self._stop = request, threading.Event()
            self._read(request, self._stop)

    def written(self, request: WriteRequest) -> None:
        """Leave the specialist to a text that is written now."""
        self.stop()
        self._given = request

    def stop(self) -> None:
        """Read no further."""
        self._stop.set()
        self._given = None
