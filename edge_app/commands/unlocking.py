"""The passphrase of an encrypted store, asked for in the terminal."""

from __future__ import annotations

import sys

import click

from personal_store import keys


def ask_in_terminal() -> None:
    """From now on, an encrypted store is asked about, where there is a terminal."""
    keys.ask = _ask


def _ask(question: str) -> str:
    if not sys.stdin.isatty():
        return ""
    answer: str = click.prompt(question, hide_input=True, err=True)
    return answer
