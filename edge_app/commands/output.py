"""How `write` and `demo` show a text: on stdout the text, on stderr what was done."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict

import click

from edge_app.events import (
    Event,
    Finished,
    Notice,
    Settled,
    Source,
    SourcesFound,
    Statistics,
    Token,
)
from edge_app.orders import Order

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_UNDERLINED, _PLAIN = "\x1b[4m", "\x1b[0m"


class Output:
    """A reader of the event stream."""

    def __init__(
        self, order: Order, *, as_json: bool, plain: bool, stop: threading.Event
    ) -> None:
        self._order = order
        self._as_json = as_json
        self._plain = plain
        self._stop = stop
        self._looks = sys.stdout.isatty() and not plain and "NO_COLOR" not in os.environ
        self._tokens: list[Token] = []
        self._sources: tuple[Source, ...] = ()
        self._finished: Finished | None = None

    def warn_of_no_history(self, counts: Mapping[str, int]) -> None:
        """Say so when there is nothing to learn the voice from."""
        if self._order.use_history and not counts["own"]:
            self._say(
                "there is no history yet; 'specsteer import --help' says how to "
                "give it, and --sample uses the sample letters"
            )

    def add(self, event: Event) -> None:
        """Show one event."""
        match event:
            case SourcesFound(sources=sources):
                self._sources = sources
            case Settled(tokens=tokens):
                self._tokens += tokens
                if not (self._as_json or self._plain):
                    self._stream(tokens)
            case Notice(text=text):
                self._say(text)
            case Finished():
                self._finished = event
            case _:
                pass

    def close(self) -> None:
        """Show what is shown at the end."""
        if self._finished is None:
            return
        if self._as_json:
            click.echo(json.dumps(self._as_object(self._finished), ensure_ascii=False))
        elif self._plain:
            lines = (line.strip() for line in _SENTENCE.split(self.text))
            click.echo("\n".join(line for line in lines if line))
        else:
            click.echo()
        if self._finished.reason == "full":
            self._say("the text ends here: there is no more room in the model")
        self._say(numbers(self._finished.statistics))

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(token.text for token in self._tokens)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The texts that were read for it."""
        return self._sources

    def _stream(self, tokens: tuple[Token, ...]) -> None:
        for token in tokens:
            replaced = self._looks and token.origin == "recovered"
            word = f"{_UNDERLINED}{token.text}{_PLAIN}" if replaced else token.text
            click.echo(word, nl=False)

    def _say(self, sentence: str) -> None:
        click.echo(sentence, err=True)

    def _as_object(self, finished: Finished) -> dict[str, object]:
        order = self._order
        return {
            "text": self.text,
            "tokens": [asdict(token) for token in self._tokens],
            "sources": [
                {
                    "record": source.record_id,
                    "score": source.score,
                    "score_parts": source.score_parts,
                    "title": source.title,
                    "excerpt": source.excerpt,
                }
                for source in self._sources
            ],
            "statistics": asdict(finished.statistics),
            "settings": {
                **asdict(order.settings),
                "task": order.request.task,
                "recipient": order.request.recipient,
                "max_tokens": order.max_tokens,
                "history": order.use_history,
                "offline": order.offline,
            },
            "ended": finished.reason,
        }


def numbers(statistics: Statistics) -> str:
    """One line of numbers."""
    parts = []
    if statistics.rounds:
        rate = statistics.acceptance_rate
        share = f" ({rate:.0%} of the drafted)" if rate is not None else ""
        parts.append(f"kept {statistics.accepted}{share}")
        parts.append(f"redrawn {statistics.recovered}")
        parts.append(f"added {statistics.bonus}")
    if statistics.local:
        parts.append(f"written on this device alone {statistics.local}")
    parts.append(
        f"sent {statistics.bytes_up:,} bytes in {statistics.rounds} rounds, "
        f"{statistics.bytes_down:,} came back"
    )
    if statistics.round_trip_ms is not None:
        parts.append(f"round trip {statistics.round_trip_ms:.1f} ms")
    parts.append(
        f"{statistics.tokens_per_second:.0f} tokens/s, {statistics.seconds:.1f} s"
    )
    return " · ".join(parts)
