"""Logging that never shows content: exceptions are named, not quoted."""

from __future__ import annotations

import logging
import sys
from typing import Any

from decoding_core.foreign_text import escaped

_OURS = "cloud_api"


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
        kind, _, trace = ei
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        name = getattr(kind, "__name__", "no exception")
        if trace is None:
            return name
        return f"{name} in {trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}"

    def formatStack(self, stack_info: str) -> str:  # noqa: ARG002, N802
        """Nothing: a stack says no more than the exception's place."""
        return ""


def _is_no_denial(record: logging.LogRecord) -> bool:
    """uvicorn takes a WebSocket that was denied with a full answer for a fault."""
    return record.msg != "ASGI callable returned without completing handshake."


def configure() -> None:
    """Send warnings and errors to standard error, named and not quoted."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(NamingFormatter("%(levelname)s %(name)s: %(message)s"))
    handler.addFilter(_is_no_denial)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def fault(where: str) -> None:
    """Note the exception being handled, by its type and place."""
    logging.getLogger(_OURS).error("a fault in %s", where, exc_info=True)
