"""Questions in the terminal.

What is asked may name a stranger's address or path, and neither `input` nor `getpass`
writes through standard output: the gate there sees no question.
"""

from __future__ import annotations

import click

from decoding_core.foreign_text import one_line


def confirm(question: str, *, default: bool = False) -> bool:
    """Whether the person says yes."""
    return click.confirm(one_line(question), default=default, err=True)


def ask_secret(question: str, *, twice: bool = False) -> str:
    """What the person types unseen; with `twice` until both answers are the same."""
    answer: str = click.prompt(
        one_line(question), hide_input=True, confirmation_prompt=twice, err=True
    )
    return answer
