"""The connection to a server, and the server that the app starts.

Here stands what whoever listens on the way could learn: whether an address is in clear,
the sizes of openings, and the times of rounds. Frames have one size for a whole session
(`decoding_core/messages.py`). An opening holds the prompt, so it is filled up with
spaces to one of a few sizes: JSON may end in spaces, so every server takes it. Rounds
may leave at a fixed cadence.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from base.addresses import is_loopback
from decoding_core.errors import InvalidSettingsError, StoppedError


def is_this_machine(address: str) -> bool:
    """Whether an address is on loopback, where a tunnel may listen all the same."""
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False


def check_token_goes_safely(address: str, token: str, *, in_clear: bool) -> None:
    """Raise InvalidSettingsError if a token would travel in clear, unless allowed."""
    encrypted = address.strip().lower().startswith("https://")
    if token and address and not encrypted and not in_clear:
        raise InvalidSettingsError(
            f"{address} is not encrypted, so whoever listens there or on the way could "
            "read the token, and nothing was sent. Give an https address (docs/"
            "household-server.md says how), or say --token-in-clear (token_in_clear = "
            "true in settings.toml) if you know who listens"
        )


SIZES = tuple(1 << bits for bits in (12, 14, 16, 18, 20, 21))
"""Bytes of an opening: 4 KiB, four times as many and so on, and 2 MiB, the largest body
that a server takes."""
LONGEST_CADENCE = 10_000.0  # milliseconds between two rounds at most


def padded(body: bytes) -> bytes:
    """A body of JSON, filled up with spaces to the next of `SIZES`."""
    size = next((one for one in SIZES if one >= len(body)), len(body))
    return body.ljust(size, b" ")


class Cadence:
    """Times at which rounds may leave: multiples of an interval after the text began.

    A round that is ready waits for the next of them, and no two share one. Nothing is
    sent in the place of a round that is not ready.
    """

    def __init__(
        self,
        milliseconds: float,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        """0: no round waits. Raises InvalidSettingsError for an impossible interval."""
        if not 0.0 <= milliseconds <= LONGEST_CADENCE:
            raise InvalidSettingsError(
                f"cadence must lie between 0 and {LONGEST_CADENCE:g} milliseconds, not "
                f"{milliseconds:g}"
            )
        self._interval = milliseconds / 1000.0
        self._clock, self._wait = clock, wait
        self._began, self._last = clock(), 0

    def begin(self) -> None:
        """A text begins now."""
        self._began, self._last = self._clock(), 0

    def wait(self, stop: threading.Event) -> None:
        """Return when a round may leave; raises StoppedError when `stop` is set."""
        if not self._interval:
            return
        passed = (self._clock() - self._began) / self._interval
        self._last = max(self._last + 1, int(passed) + 1)
        left = self._began + self._last * self._interval - self._clock()
        if left > 0.0 and self._wait(stop, left):
            raise StoppedError("stopped while waiting for the next round")
