"""Questions in the terminal.

What is asked may name a stranger's address or path, and neither `input` nor `getpass`
writes through standard output: the gate there sees no question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import click

from decoding_core.foreign_text import one_line

_Answer = TypeVar("_Answer", bound=str)


def confirm(question: str, *, default: bool = False) -> bool:
    """Whether the person says yes."""
    return click.confirm(one_line(question), default=default, err=True)


def choose(question: str, answers: Sequence[_Answer]) -> _Answer:
    """Which of the answers the person gives; the first one with enter alone."""
    given: _Answer = click.prompt(
        one_line(question), type=click.Choice(answers), default=answers[0], err=True
    )
    return given


def ask_secret(question: str, *, twice: bool = False) -> str:
    """What the person types unseen; with `twice` until both answers are the same."""
    answer: str = click.prompt(
        one_line(question), hide_input=True, confirmation_prompt=twice, err=True
    )
    return answer
