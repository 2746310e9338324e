"""How `write` and `demo` show a text: on stdout the text, on stderr what was done."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from decoding_core.foreign_text import legible, one_line
from edge_app.commands import terminal
from edge_app.commands.terminal import counted
from edge_app.decoding import events
from edge_app.service.requests import WriteRequest
from edge_app.tui.text import count_words, kept_share
from models.revising import Revision

if TYPE_CHECKING:
    from edge_app.facts.checking import Checker, Report

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
        revision: Revision | None = None,
        stood: str = "",
    ) -> None:
        """`verbose`: show all figures; `aside`: show what is no text on stderr. With a
        `revision` what is written is a stretch of the text that `stood`."""
        self._request = request
        self._revision, self._stood = revision, stood
        self._others: dict[int, str] = {}  # other drafts, by their seeds
        self._as_json, self._plain, self._verbose = as_json, plain, verbose
        self._aside = aside
        self._looks = terminal.may_style() and not plain
        self._tokens: list[events.Token] = []
        self._held: list[events.HeldBack] = []
        self._found = events.SourcesFound(())
        self._tally = events.Tally()
        self._finished: events.Finished | None = None
        self._spent: list[events.PrivacySpent] = []
        self.checker: Callable[[WriteRequest, Sequence[int]], Checker] | None = None
        """Makes what checks the facts of a finished text; None: nothing is checked."""

    def warn_of_no_history(self, counts: Mapping[str, int]) -> None:
        """Say so if there is nothing to learn the voice from."""
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
                    if not (self._as_json or self._plain or self._revision):
                        self._show(token, len(self._tokens))
                    self._tokens.append(token)
            case events.HeldBack():
                self._held.append(event)
            case events.Notice(text=text):
                self._say(text)
            case events.PrivacySpent():
                self._spent.append(event)
            case events.Finished():
                self._finished = event

    def _show(self, token: events.Token, at: int) -> None:
        look = terminal.UNDERLINED if token.origin == "recovered" else ""
        if any(one.position <= at < one.position + one.tokens for one in self._held):
            look = terminal.CYAN
        if look and self._looks:
            terminal.echo_ours(terminal.styled(token.text, look), nl=False)
        else:
            click.echo(legible(token.text), nl=False)

    def add_other(self, request: WriteRequest, heard: Sequence[events.Event]) -> None:
        """Count what another draft sent, which is not shown."""
        told = (events.Sent, events.Received, events.PrivacySpent)
        for event in heard:
            if isinstance(event, told):
                self.add(event)
        self._others[request.settings.seed] = events.text_of(heard)

    @property
    def text(self) -> str:
        """The whole text so far."""
        written = "".join(token.text for token in self._tokens)
        return self._revision.joined(written) if self._revision else written

    def close(self) -> None:
        """Show what is shown at the end."""
        if self._finished is None and not self._tokens:
            return
        text, reason = self.text, "failed"
        statistics = self._tally.statistics()
        if self._finished is not None:
            up, down = statistics.bytes_up, statistics.bytes_down
            statistics, reason = self._finished.statistics, self._finished.reason
            if self._others:  # what they sent was sent for this text
                statistics = replace(statistics, bytes_up=up, bytes_down=down)
        report = None
        if self.checker is not None and reason not in ("stopped", "failed"):
            read = [source.record_id for source in self.sources]
            report = self.checker(self._request, read).check(text)
        if self._as_json:
            body = self._as_object(text, statistics, reason, report)
            terminal.echo_json(body)
        elif self._plain:
            lines = (line.strip() for line in _SENTENCE.split(legible(text)))
            click.echo("\n".join(line for line in lines if line))
        elif self._tokens or self._revision:
            click.echo(legible(text) if self._revision else "")
        if reason in _BROKEN_OFF:
            self._say(f"the text ends here: {_BROKEN_OFF[reason]}")
        for line in (
            report.in_words(answered=True) if report and not self._as_json else ()
        ):
            self._say(line)
        self._say(self._in_brief(statistics, reason))
        if self._verbose:
            self._say(self._figures(statistics))

    def _in_brief(self, statistics: events.Statistics, reason: str) -> str:
        """How many words the text has, and whose they are."""
        ended = {"stopped": "stopped", "failed": "broken off"}.get(reason, "done")
        counts = count_words(
            (token.text, "replaced" if token.origin in _BY_CHECKER else "kept")
            for token in self._tokens
        )
        here, there = counts["kept"], counts["replaced"]
        words = counted(here + there, "word")
        if self._revision is not None:
            kept, of = kept_share(self._stood, self.text)
            words = f"kept {kept} of {counted(of, 'word')}; wrote {words}"
        if not statistics.bytes_up:
            return f"{ended}: {words}, written on this device alone; nothing left it"
        return (
            f"{ended}: {words}, {here} drafted here, {there} from the checker; "
            "specsteer sent shows what left"
        )

    def _figures(self, statistics: events.Statistics) -> str:
        parts = []
        if self._found.adapter:
            parts.append(f"with the adapter {self._found.adapter}")
        if self._found.personalisation:
            texts = counted(len(self.sources), "text")
            parts.append(f"read {texts} ({self._found.personalisation})")
        parts += numbers(statistics)
        if self._spent:
            last = self._spent[-1]
            limit = "" if last.limit is None else f" of {last.limit:g}"
            kind = "" if last.exact else " (an indication: temperature 0)"
            parts.append(f"told {last.total:.1f}{limit} nats of your history{kind}")
        return " · ".join(parts)

    @property
    def sources(self) -> tuple[events.Source, ...]:
        """The texts that were read for it."""
        return self._found.sources

    def _say(self, sentence: str) -> None:
        click.echo(one_line(sentence), err=self._aside)

    def _as_object(
        self,
        text: str,
        statistics: events.Statistics,
        reason: str,
        report: Report | None,
    ) -> dict[str, object]:
        request = self._request
        more: dict[str, object] = {"others": self._others} if self._others else {}
        if self._revision is not None:
            more["words_kept"], more["words_before"] = kept_share(self._stood, text)
        return more | {
            "text": text,
            "facts": None if report is None else asdict(report),
            "held_back": [asdict(held) for held in self._held],
            "tokens": [asdict(token) for token in self._tokens],
            "sources": [asdict(source) for source in self.sources],
            "statistics": asdict(statistics),
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
            "ended": reason,
        }

    def _privacy(self) -> dict[str, object]:
        """Nats of the history that left, in all and by message; `reckoned` is false if
        there was no base to compare with."""
        if not self._spent:
            return {"reckoned": False}
        last = asdict(self._spent[-1])
        same = ("largest", "today", "limit", "exact", "unread")
        return {
            "reckoned": True,
            "nats": last["total"],
            "tokens": last["total_tokens"],
            **{name: last[name] for name in same},
            "blocks": [{"nats": one.nats, "tokens": one.tokens} for one in self._spent],
        }


def numbers(statistics: events.Statistics) -> list[str]:
    """The numbers of a text, in a few words each."""
    parts = []
    if statistics.rounds:
        rate = statistics.acceptance_rate
        share = f" ({rate:.0%} of the drafted)" if rate is not None else ""
        if statistics.drafted:  # some methods draw every token at the server
            parts.append(f"kept {statistics.accepted}{share}")
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
        parts.append(f"held back {counted(statistics.held_back, 'span')}")
    if statistics.local:
        parts.append(f"written on this device alone {statistics.local}")
    rounds = counted(statistics.rounds, "round")
    parts.append(
        f"sent {statistics.bytes_up:,} bytes in {rounds}, "
        f"{statistics.bytes_down:,} came back"
    )
    if statistics.round_trip_ms is not None:
        parts.append(f"round trip {statistics.round_trip_ms:.1f} ms")
    speed = f"{statistics.tokens_per_second:.0f} tokens/s"
    parts.append(f"{speed}, {statistics.seconds:.1f} s")
    return parts
