"""The passphrase of an encrypted store, asked for in the terminal."""

from __future__ import annotations

import sys

from edge_app.commands.asking import ask_secret
from personal_store.database import keys


def ask_in_terminal() -> None:
    """From now on, an encrypted store is asked about, where there is a terminal."""
    keys.ask = _ask


def _ask(question: str) -> str:
    if not sys.stdin.isatty():
        return ""
    return ask_secret(question)
