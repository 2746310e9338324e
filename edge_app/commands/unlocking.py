"""The passphrase of an encrypted store, asked for in the terminal."""

from __future__ import annotations

import sys

from models.asking import ask_secret
from personal_store.database import keys


def ask_in_terminal() -> None:
    """From now on, an encrypted store is asked about, where there is a terminal."""

    def ask(question: str) -> str:
        return ask_secret(question) if sys.stdin.isatty() else ""

    keys.ask = ask
