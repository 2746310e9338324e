"""How `write` and `demo` show a text: on stdout the text, on stderr what was done."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict

import click

from decoding_core.foreign_text import legible, one_line
from edge_app.commands.terminal import CYAN, UNDERLINED, echo_ours, may_style, styled
from edge_app.decoding.events import (
    Event,
    Finished,
    HeldBack,
    Notice,
    Reckoned,
    Settled,
    Source,
    SourcesFound,
    Statistics,
    Tally,
    Token,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.text import count_words

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORTH_A_WORD = 0.01
_BY_CHECKER = ("recovered", "bonus")
_BROKEN_OFF = {
    "full": "there is no more room in the model",
    "refused": "the checker kept no draft here; a lower --threshold keeps more",
}


class Output:
    """A reader of the event stream. `close` shows also a text that was broken off."""

    def __init__(
        self,
        request: WriteRequest,
        *,
        as_json: bool,
        plain: bool,
        verbose: bool = False,
        aside: bool = True,
    ) -> None:
        """`verbose`: say all figures; `aside`: say what is no text on stderr."""
        self._aside = aside
        self._request = request
        self._as_json = as_json
        self._plain = plain
        self._verbose = verbose
        self._looks = may_style() and not plain
        self._tokens: list[Token] = []
        self._held: list[HeldBack] = []
        self._found = SourcesFound(())
        self._tally = Tally()
        self._finished: Finished | None = None
        self._reckoned: list[Reckoned] = []

    def warn_of_no_history(self, counts: Mapping[str, int]) -> None:
        """Say so when there is nothing to learn the voice from."""
        if self._request.use_history and not counts["own"]:
            self._say(
                "there is no history yet; 'specsteer import --help' says how to "
                "give it, and --sample uses the sample letters"
            )

    def add(self, event: Event) -> None:
        """Show one event."""
        self._tally.add(event)
        match event:
            case SourcesFound():
                self._found = event
            case Settled(tokens=tokens):
                for token in tokens:
                    self._tokens.append(token)
                    if self._as_json or self._plain:
                        continue
                    if self._looks and self._is_held_back(len(self._tokens) - 1):
                        echo_ours(styled(token.text, CYAN), nl=False)
                    elif self._looks and token.origin == "recovered":
                        echo_ours(styled(token.text, UNDERLINED), nl=False)
                    else:
                        click.echo(legible(token.text), nl=False)
            case HeldBack():
                self._held.append(event)
            case Notice(text=text):
                self._say(text)
            case Reckoned():
                self._reckoned.append(event)
            case Finished():
                self._finished = event
            case _:
                pass

    def close(self) -> None:
        """Show what is shown at the end."""
        if self._finished is None and not self._tokens:
            return
        if self._as_json:
            click.echo(json.dumps(self._as_object()))
        elif self._plain:
            lines = (line.strip() for line in _SENTENCE.split(legible(self.text)))
            click.echo("\n".join(line for line in lines if line))
        elif self._tokens:
            click.echo()
        if self._finished is not None and self._finished.reason in _BROKEN_OFF:
            self._say(f"the text ends here: {_BROKEN_OFF[self._finished.reason]}")
        self._say(self._in_brief())
        if self._verbose:
            self._say(self._figures())

    def _in_brief(self) -> str:
        """How many words the text has, and whose they are."""
        reason = self._finished.reason if self._finished else "failed"
        ended = {"stopped": "stopped", "failed": "broken off"}.get(reason, "done")
        counts = count_words(
            (token.text, "replaced" if token.origin in _BY_CHECKER else "kept")
            for token in self._tokens
        )
        here, there = counts["kept"], counts["replaced"]
        words = "1 word" if here + there == 1 else f"{here + there} words"
        if not self._statistics().bytes_up:
            return f"{ended}: {words}, written on this device alone; nothing left it"
        return (
            f"{ended}: {words}, {here} drafted here, {there} from the checker; "
            "specsteer sent shows what left"
        )

    def _figures(self) -> str:
        said = [numbers(self._statistics())]
        if self._reckoned:
            said.append(told(self._reckoned[-1]))
        if self._found.personalisation:
            count = len(self.sources)
            texts = "1 text" if count == 1 else f"{count} texts"
            said.insert(0, f"read {texts} ({self._found.personalisation})")
        if self._found.adapter:
            said.insert(0, f"with the adapter {self._found.adapter}")
        return " · ".join(said)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(token.text for token in self._tokens)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The texts that were read for it."""
        return self._found.sources

    def _is_held_back(self, position: int) -> bool:
        """Whether the token at a place of the text was kept from the server."""
        return any(
            held.position <= position < held.position + held.tokens
            for held in self._held
        )

    def _say(self, sentence: str) -> None:
        click.echo(one_line(sentence), err=self._aside)

    def _statistics(self) -> Statistics:
        if self._finished is None:
            return self._tally.statistics()
        return self._finished.statistics

    def _as_object(self) -> dict[str, object]:
        request = self._request
        return {
            "text": self.text,
            "held_back": [asdict(held) for held in self._held],
            "tokens": [asdict(token) for token in self._tokens],
            "sources": [asdict(source) for source in self.sources],
            "statistics": asdict(self._statistics()),
            "privacy": self._privacy(),
            "settings": {
                **asdict(request.settings),
                "task": request.brief.task,
                "recipient": request.brief.recipient,
                "max_tokens": request.max_tokens,
                "history": request.use_history,
                "personalisation": self._found.personalisation,
                "adapter": self._found.adapter,
                "offline": request.offline,
                "guard": request.guard,
            },
            "ended": self._finished.reason if self._finished else "failed",
        }

    def _privacy(self) -> dict[str, object]:
        """What was told of the history, in all and by each message; `reckoned` is false
        where nobody had the base to reckon it."""
        if not self._reckoned:
            return {"reckoned": False}
        last = self._reckoned[-1]
        return {
            "reckoned": True,
            "nats": last.total,
            "tokens": last.total_tokens,
            "largest": last.largest,
            "today": last.today,
            "limit": last.limit,
            "exact": last.exact,
            "unread": last.unread,
            "blocks": [
                {"nats": one.nats, "tokens": one.tokens} for one in self._reckoned
            ],
        }


def told(reckoned: Reckoned) -> str:
    """What was told of the history, in a few words."""
    limit = "" if reckoned.limit is None else f" of {reckoned.limit:g}"
    kind = "" if reckoned.exact else " (an indication: temperature 0)"
    return f"told {reckoned.total:.1f}{limit} nats of your history{kind}"


def numbers(statistics: Statistics) -> str:
    """One line of numbers."""
    parts = []
    if statistics.rounds:
        rate = statistics.acceptance_rate
        share = f" ({rate:.0%} of the drafted)" if rate is not None else ""
        if statistics.drafted:  # some methods draw every token at the server
            parts.append(f"kept {statistics.accepted}{share}")
        if statistics.drafted or statistics.recovered:
            parts.append(f"redrawn {statistics.recovered}")
        if statistics.bonus:
            parts.append(f"added {statistics.bonus}")
        if statistics.in_vain:
            parts.append(f"drafted in vain {statistics.in_vain}")
    if statistics.truncation_bound is not None:
        bound = statistics.truncation_bound
        exact = f"exact to {bound:.1g} a token"
        lacked = f"candidates lacked up to {bound:.0%} of a target"
        parts.append(exact if bound < _WORTH_A_WORD else lacked)
    if statistics.held_back:
        spans = (
            "1 span" if statistics.held_back == 1 else f"{statistics.held_back} spans"
        )
        parts.append(f"held back {spans}")
    if statistics.local:
        parts.append(f"written on this device alone {statistics.local}")
    rounds = "1 round" if statistics.rounds == 1 else f"{statistics.rounds} rounds"
    parts.append(
        f"sent {statistics.bytes_up:,} bytes in {rounds}, "
        f"{statistics.bytes_down:,} came back"
    )
    if statistics.round_trip_ms is not None:
        parts.append(f"round trip {statistics.round_trip_ms:.1f} ms")
    parts.append(
        f"{statistics.tokens_per_second:.0f} tokens/s, {statistics.seconds:.1f} s"
    )
    return " · ".join(parts)
