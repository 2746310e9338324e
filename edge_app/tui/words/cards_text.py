"""What the cards say: where it came from, what went out, how it is going."""

from __future__ import annotations

import re
from datetime import datetime

from rich.text import Text

from decoding_core.foreign_text import one_line
from edge_app.tui.drafts import Writing
from edge_app.tui.words.meters import Numbers, bar, in_bytes, numbers, shares
from models.prompts import TASKS

_WIDTH = 35
_SOURCES = 5
_MESSAGES = 3


def sources_card(writing: Writing) -> Text:
    """Titles of the sources, and what was left out."""
    variant = writing.variant
    sources = variant.sources if variant else ()
    lines = [
        _row(f"{number} {short_title(source.title)}", f"{share:.0%}")
        for number, (source, share) in enumerate(
            zip(sources, shares(sources), strict=True), 1
        )
    ]
    if len(lines) > _SOURCES:
        lines[_SOURCES:] = [f"  {len(lines) - _SOURCES} more"]
    if not lines:
        lines = [letters_line(writing)]
    lines += [
        _row(f"- {short_title(s.title)}", "left out") for s in writing.excluded.values()
    ][:3]
    return Text("\n".join(lines))


def short_title(title: str) -> str:
    """`email to Ana, 2024-08-19: pier photos` as `Ana 2024-08 pier photos`."""
    named = r"^\w+ (?:to|of|for) (.+?), (\d{4}-\d\d)-\d\d:"
    return re.sub(named, r"\1 \2", one_line(title))


def letters_line(writing: Writing) -> str:
    """A line on how many letters the store holds, or on the running import."""
    if writing.importing:
        return f"reading letters… {writing.importing.done}"
    total = sum(writing.counts.get(task, 0) for task in TASKS)
    return f"{total} of your texts are here" if total else "no letters yet: ^O"


def sent_card(writing: Writing) -> Text:
    """Totals of what was sent, and the last messages."""
    traffic = writing.traffic
    if not traffic.sent:
        return Text("nothing")
    text = Text()
    text.append(_row("your request", in_bytes(traffic.request_bytes)) + "\n")
    ids = f"{traffic.draft_ids} ids  {in_bytes(traffic.draft_bytes)}"
    text.append(_row("drafted words", ids) + "\n")
    text.append(_row("in all, with headers", in_bytes(traffic.bytes_up)) + "\n")
    text.append(_row("phrases of your letters", phrases_line(writing)), "bold")
    if traffic.nats is not None:
        text.append("\n" + _row("told of your history", f"{traffic.nats:.1f} nats"))
    text.append("\n")
    for sent in traffic.sent[: -_MESSAGES - 1 : -1]:
        clock = datetime.fromtimestamp(sent.time).strftime("%H:%M:%S")
        ids = f"{len(sent.token_ids)} ids" if sent.token_ids else sent.what
        text.append("\n" + _row(f"{clock}  {ids}", in_bytes(sent.size)), "dim")
    return text


def phrases_line(writing: Writing) -> str:
    """How many phrases of letters can be read in what left, of all attempts."""
    found = {phrase for known in writing.attempts for phrase in known.left.phrases}
    unreadable = sum(known.left.unreadable for known in writing.attempts)
    if unreadable:
        return f"{len(found)}, {unreadable} unread"
    return str(len(found)) if found else "none"


def numbers_card(writing: Writing) -> Text:
    """The few numbers that matter while writing."""
    if writing.variant is None:
        return Text("no draft yet")
    found = numbers(writing.variant, writing.clock())
    text = Text()
    if found.kept is not None:
        text.append(f"kept        {found.kept:4.0%}  {bar(found.kept, 15)}\n")
    text.append(f"speed       {_speed(found)}\n")
    if found.round_trip_ms is not None:
        slow = f"{found.slow_round_trip_ms:.0f}"
        text.append(f"round trip  {found.round_trip_ms:.0f} ms   p95 {slow} ms\n")
    words = found.words
    text.append(f"words       {words['kept']} yours, {words['replaced']} replaced")
    if words["typed"]:
        text.append(f"\n            {words['typed']} typed by you")
    return text


def strip_line(writing: Writing) -> Text:
    """All cards in one line, for a narrow screen."""
    traffic = writing.traffic
    parts = []
    if writing.variant is not None:
        found = numbers(writing.variant, writing.clock())
        if found.kept is not None:
            parts.append(f"kept {found.kept:.0%}")
        parts.append(_speed(found).replace("tokens", "tok"))
        count = len(writing.variant.sources)
        parts.append(f"{count or 'no'} letter{'' if count == 1 else 's'} read")
    if traffic.sent:
        parts.append(f"↑{in_bytes(traffic.bytes_up)} ↓{in_bytes(traffic.bytes_down)}")
        parts.append(f"phrases sent: {phrases_line(writing)}")
    else:
        parts.append("nothing left this device")
    return Text("  ".join(parts), no_wrap=True)


def _speed(found: Numbers) -> str:
    speed = found.tokens_per_second
    return "–" if speed is None else f"{speed:.0f} tokens/s"


def _row(left: str, right: str) -> str:
    room = _WIDTH - len(right) - 1
    left = left if len(left) <= room else left[: room - 1] + "…"
    return f"{left:<{room}} {right}"
