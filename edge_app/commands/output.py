"""How `write` and `demo` show a text: on stdout the text, on stderr what was done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict

import click

from decoding_core.foreign_text import legible, one_line
from edge_app.commands.terminal import (
    CYAN,
    UNDERLINED,
    echo_json,
    echo_ours,
    may_style,
    styled,
)
from edge_app.decoding import events
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
        as_json: bool = False,
        plain: bool = False,
        verbose: bool = False,
        aside: bool = True,
    ) -> None:
        """`verbose`: show all figures; `aside`: show what is no text on stderr."""
        self._request = request
        self._as_json, self._plain, self._verbose = as_json, plain, verbose
        self._aside = aside
        self._looks = may_style() and not plain
        self._tokens: list[events.Token] = []
        self._held: list[events.HeldBack] = []
        self._found = events.SourcesFound(())
        self._tally = events.Tally()
        self._finished: events.Finished | None = None
        self._reckoned: list[events.PrivacySpent] = []

    def warn_of_no_history(self, counts: Mapping[str, int]) -> None:
        """Say so when there is nothing to learn the voice from."""
        if self._request.use_history and not counts["own"]:
            self._say(
                "there is no history yet; 'specsteer import --help' says how to "
                "give it, and --sample uses the sample letters"
            )

    def add(self, event: events.Event) -> None:
        """Show one event."""
        self._tally.add(event)
        match event:
            case events.SourcesFound():
                self._found = event
            case events.Settled(tokens=tokens):
                for token in tokens:
                    self._tokens.append(token)
                    if not (self._as_json or self._plain):
                        self._show(token)
            case events.HeldBack():
                self._held.append(event)
            case events.Notice(text=text):
                self._say(text)
            case events.PrivacySpent():
                self._reckoned.append(event)
            case events.Finished():
                self._finished = event

    def _show(self, token: events.Token) -> None:
        at, look = len(self._tokens) - 1, ""
        if any(one.position <= at < one.position + one.tokens for one in self._held):
            look = CYAN
        elif token.origin == "recovered":
            look = UNDERLINED
        if look and self._looks:
            echo_ours(styled(token.text, look), nl=False)
        else:
            click.echo(legible(token.text), nl=False)

    def close(self) -> None:
        """Show what is shown at the end."""
        if self._finished is None and not self._tokens:
            return
        if self._as_json:
            echo_json(self._as_object())
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
            said.append(of_history(self._reckoned[-1]))
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
    def sources(self) -> tuple[events.Source, ...]:
        """The texts that were read for it."""
        return self._found.sources

    def _say(self, sentence: str) -> None:
        click.echo(one_line(sentence), err=self._aside)

    def _statistics(self) -> events.Statistics:
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
        if there was no base to reckon it with."""
        if not self._reckoned:
            return {"reckoned": False}
        last = asdict(self._reckoned[-1])
        named = {"nats": "total", "tokens": "total_tokens"}
        same = ("largest", "today", "limit", "exact", "unread")
        return {
            "reckoned": True,
            **{name: last[field] for name, field in named.items()},
            **{name: last[name] for name in same},
            "blocks": [
                {"nats": one.nats, "tokens": one.tokens} for one in self._reckoned
            ],
        }


def of_history(reckoned: events.PrivacySpent) -> str:
    """What was told of the history, in a few words."""
    limit = "" if reckoned.limit is None else f" of {reckoned.limit:g}"
    kind = "" if reckoned.exact else " (an indication: temperature 0)"
    return f"told {reckoned.total:.1f}{limit} nats of your history{kind}"


def numbers(statistics: events.Statistics) -> str:
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
    if count := statistics.held_back:
        parts.append(f"held back {'1 span' if count == 1 else f'{count} spans'}")
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
