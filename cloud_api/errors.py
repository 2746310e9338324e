"""The errors of the service, and a log that neither shows content nor fills a disk:
exceptions are named, not quoted, and repeated records are counted."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from decoding_core.errors import CloudBusyError, DecodingError
from decoding_core.foreign_text import escaped

_OURS = "cloud_api"
LINES = 5  # how many records of one place in the code are shown in one period
PERIOD_SECONDS = 60.0


class LoadingError(DecodingError):
    """The models are not loaded yet. Answered 503; the client comes back."""


class StoppingError(DecodingError):
    """The server is about to end. Answered 503; the client goes elsewhere or waits."""


class StaleBlockError(DecodingError):
    """A block whose place in the text is void, after a refusal, a failed block or
    another text. The service answers `resync`; the device no longer waits for it."""


class ServerError(DecodingError):
    """The server cannot start. The command line says why and exits."""


class QuotaError(CloudBusyError):
    """A user has as much at once as one may have. Answered 429, with the time after
    which the sender is let in."""


class UnknownModelError(DecodingError):
    """A client names a model that is not served. Answered 404."""


class PeopleError(DecodingError):
    """Users, devices or codes cannot be changed as asked. The command line says why and
    what to do."""


class PairingRefusedError(DecodingError):
    """A code is not, or no longer, good for pairing. Answered 403, with the reason."""


class NamingFormatter(logging.Formatter):
    """Writes the type of an exception and where it was raised, never its message.

    A message of a library may quote what it was given: ids, prompts, frames. A line of
    the log is one line, whatever a client put into its path or headers.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """The message on one line, with what would steer a terminal escaped."""
        said = escaped(super().formatMessage(record))
        return said.replace("\n", "\\n").replace("\t", "\\t")

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """The exception's type and the line that raised it."""
        return named(ei)

    def formatStack(self, stack_info: str) -> str:  # noqa: ARG002, N802
        """Nothing: a stack says no more than the exception's place."""
        return ""


def named(exc_info: Any) -> str:
    """An exception's type and the line that raised it."""
    kind, _, trace = exc_info
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = getattr(kind, "__name__", "no exception")
    if trace is None:
        return name
    return f"{name} in {trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}"


class SeldomFilter(logging.Filter):
    """Shows a few records of each fault and each place in the code in a period, and
    counts the rest: strangers can make the server log, by bad requests or by using up
    its files. The next record that is shown says how many were not.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to show a record."""
        fault = named(record.exc_info) if record.exc_info else ""
        key, now = (record.pathname, record.lineno, fault), self._clock()
        began, count = self._seen.get(key, (now, 0))
        note = ""
        if now - began >= PERIOD_SECONDS:
            if count > LINES:
                note = f" ({count - LINES} more of these were not shown)"
            began, count = now, 0
        self._seen[key] = began, count + 1
        if count == LINES - 1:
            note += " (what follows of these is counted, not shown)"
        if note:
            record.msg, record.args = record.getMessage() + note, ()
        return count < LINES


def _is_no_denial(record: logging.LogRecord) -> bool:
    """uvicorn takes a WebSocket that was denied with a full answer for a fault."""
    return record.msg != "ASGI callable returned without completing handshake."


def configure_logging() -> None:
    """Send warnings and errors to standard error, named and not quoted."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(NamingFormatter("%(levelname)s %(name)s: %(message)s"))
    handler.addFilter(_is_no_denial)
    handler.addFilter(SeldomFilter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def log_fault(where: str) -> None:
    """Note the exception being handled, by its type and place."""
    logging.getLogger(_OURS).error("a fault in %s", where, exc_info=True)
