"""What terminals send and Textual 8 misreads, put right before an app is run.

Older terminals, and most over SSH, send Alt with a key as ESC and the key. Textual
reads ESC c as `alt+c` with the character c, which every text field then types, and
ESC CR as Enter. And a byte that is no UTF-8 (a Latin-1 terminal, a cut paste) ends its
input thread, and so the app.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable
from enum import Enum

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


class _MoreKeys(Enum):
    """Keys that Textual's table of sequences lacks."""

    ALT_ENTER = "alt+enter"


def put_right() -> None:
    """Know ESC CR, and read bytes that are no text as the replacement character."""
    ANSI_SEQUENCES_KEYS["\x1b\r"] = (_MoreKeys.ALT_ENTER,)  # type: ignore[index]
    if sys.platform != "win32":
        from textual.drivers import linux_driver

        linux_driver.getincrementaldecoder = _forgiving_decoder  # type: ignore[assignment,attr-defined]


def without_letter(event: events.Key) -> events.Key:
    """Alt with a letter is a command: no field may type the letter."""
    if event.key.startswith("alt+"):
        event.character = None
    return event


def _forgiving_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    def make() -> codecs.IncrementalDecoder:
        return codecs.getincrementaldecoder(encoding)(errors="replace")

    return make
