"""What the cards say: where it came from, what went out, how it is going."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from decoding_core.foreign_text import one_line
from edge_app.tui.keys import key_of
from edge_app.tui.letters import date, reason, subject
from edge_app.tui.text import counted, word_count
from edge_app.tui.variant import Variant
from edge_app.tui.writing import RECORDED, Writing
from models.prompts import TASKS, Request

SAMPLES = "Tess's sample letters"
OWN = "your letters"
_SOURCES = 4


def whose(writing: Writing) -> str:
    """Whose letters the version on screen was written from, or the next would be."""
    variant = writing.variant
    samples = writing.samples if variant is None else variant.samples
    return SAMPLES if samples else OWN


def sources_card(writing: Writing, width: int) -> Text:
    """The sources by subject, date and reason, and what was left out."""
    variant = writing.variant
    sources = variant.sources if variant else ()
    request = variant.request.brief if variant else writing.request
    text = Text()
    for source in sources[:_SOURCES]:
        text.append(_row(subject(source), date(source), width) + "\n")
        text.append(_cut(f"  {reason(source, request)}", width), "dim")
        text.append("\n")
    if len(sources) > _SOURCES:
        text.append(f"{len(sources) - _SOURCES} more\n")
    if not sources:
        text.append(letters_line(writing) + "\n")
    for source in list(writing.draft_state.excluded.values())[:3]:
        text.append(_row(f"- {subject(source)}", "left out", width) + "\n")
    text.right_crop(1)
    return text


def letters_line(writing: Writing) -> str:
    """A line on how many letters the store holds, or on the running import."""
    if writing.importing:
        return f"reading letters… {writing.importing[0]}"
    total = sum(writing.counts.get(task, 0) for task in TASKS)
    if writing.samples:
        return f"{total} of {SAMPLES}" if total else SAMPLES
    if total:
        return f"{total} of your texts are here"
    return f"no letters yet: {key_of('import')}"


def sent_card(writing: Writing, width: int) -> Text:
    """What was sent for the version on screen; messages are in the drawer."""
    variant = writing.variant
    if variant is None or not variant.sent:
        return Text(nothing_sent(writing))
    said = [
        (in_common(writing, variant), "bold"),
        (f"{what_went(variant)}, to {one_line(writing.server or '')}", "dim"),
    ]
    if variant.held:
        said.append((f"{held_back(variant)} from the checker", ""))
    if variant.spent is not None:
        nats = variant.spent.total
        said.append((f"told of your history: {nats:.1f} nats", "dim"))
    text = Text()
    for sentence, style in said:
        for line in wrap(sentence, width):
            text.append(line + "\n", style)
    text.right_crop(1)
    return text


def nothing_sent(writing: Writing) -> str:
    """That nothing was sent for the version on screen."""
    what = "yet" if writing.variant is None else "for this version"
    return f"nothing was sent {what}"


def in_common(writing: Writing, variant: Variant) -> str:
    """What a version's messages quote: `your letters: 2 stock phrases, 0 facts`."""
    return f"{whose(writing)}: {_figure(variant)}"


def _figure(variant: Variant) -> str:
    quoted = variant.quoted
    if quoted is None:
        return "what left was not compared"
    stock, facts = len(quoted.stock), len(quoted.facts)
    return f"{counted(stock, 'stock phrase')}, {counted(facts, 'fact')}"


def what_went(variant: Variant) -> str:
    """What left for a version besides, in words."""
    left = {sent.what for sent in variant.sent}
    parts = ["your request"] * ("open" in left)
    parts += ["the drafted words"] * ("block" in left)
    return " and ".join(parts) or "nothing of a text"


def held_back(variant: Variant) -> str:
    """How many words of a version stayed here; others stand for them."""
    count = sum(word_count(one.text) for one in variant.held)
    return f"{counted(count, 'word')} held back"


def numbers_card(writing: Writing) -> Text:
    """Who wrote the words that stand there; all else is in the drawer."""
    if writing.variant is None:
        return Text("no draft yet")
    words = writing.variant.word_counts()
    total = sum(words.values())
    if not total:
        return Text("no words yet")
    rows = [
        ("drafted on this device", words["kept"]),
        ("redrawn with the checker", words["replaced"]),
        ("typed by you", words["typed"]),
        ("pasted by you", words["pasted"]),
    ]
    text = Text(counted(total, "word"))
    for name, count in rows:
        if count:
            text.append(f"\n{count:>4} {name}")
    return text


def letters_read(variant: Variant) -> str:
    """How many letters were read for a version, such as `no letters`."""
    count = len(variant.sources)
    return counted(count, "letter") if count else "no letters"


def strip_line(writing: Writing) -> Text:
    """All cards in one line, for a narrow screen; what matters most comes first."""
    variant = writing.variant
    if variant is None or not variant.sent:
        parts = [nothing_sent(writing)]
    else:
        figure = _figure(variant)
        parts = [figure if variant.quoted is None else f"left: {figure}"]
        parts += [held_back(variant)] if variant.held else []
    if variant is not None:
        parts.append(f"{letters_read(variant)} read")
        words = variant.word_counts()
        parts.append(f"{sum(words.values())} words, {words['replaced']} redrawn")
    else:
        parts.append(letters_line(writing))
    return Text(" · ".join(parts), no_wrap=True, overflow="ellipsis")


def _row(left: str, right: str, width: int) -> str:
    room = width - len(right) - 1
    return f"{set_cell_size(_cut(left, room), room)} {right}"


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


_LONGEST_NAME = 20


def title(writing: Writing, request: Request) -> Text:
    """Left part of the line: what is written, and which version of it."""
    recipient = one_line(request.recipient)
    if len(recipient) > _LONGEST_NAME:  # leaves room for the version
        recipient = recipient[: _LONGEST_NAME - 1] + "…"
    recipient = request.recipient and f" · {recipient}"
    text = Text.assemble((f"{request.task}{recipient}", "bold"))
    if len(writing.variants) > 1:
        text.append(
            f"   version {writing.draft_state.current + 1} of {len(writing.variants)}"
        )
    if writing.variant is not None and writing.variant.unfinished:
        text.append("   not finished")
    return text


def server(writing: Writing) -> Text:
    """Right part: the state of the checker and the key that changes it."""
    if writing.problem:
        return Text("✗ no models")
    if not writing.ready:
        return Text("… loading the models")
    key = f"{key_of('offline')} {'online' if writing.offline else 'offline'}"
    switch = key, Style(meta={"@click": "app.offline"})
    if writing.offline:
        return Text.assemble("○ offline: this device alone   ", switch)
    variant, said = writing.variant, writing.server or ""
    if said.startswith(RECORDED):
        return Text.assemble(("○", "yellow"), f" {one_line(said)}")
    dot = "✗", "red"
    if writing.checker_ended:
        said = f"the checker has ended; {key_of('draft')} starts it again"
    elif writing.checker_silent:
        said = "no answer from the checker: this device alone"
    else:
        dot = "●", "green"
        trips = None if variant is None else variant.round_trips()
        if variant is not None and variant.opened and variant.opened.local:
            said += ", not used here"
        elif trips is not None:
            said += f", {trips[0]:.0f} ms"
    return Text.assemble(dot, f" {one_line(said)}   ", switch)


_RANKS = {
    "app.drawer('compare')": 3,
    "app.drawer('sources')": 2,
    "app.drawer('sent')": 2,
    "again": 1,
    "save": 1,
}
"""What goes first has the highest."""
_ROOMY = 100  # columns from which on keys stand two spaces apart


class KeyLine(Footer):
    """Keys with their ranks as classes, which the style sheet hides."""

    _bindings_ready = True
    _shown: object = None

    def compose(self) -> ComposeResult:
        """Textual's keys, ranked."""
        self._shown = self._keys()
        keys: Iterable[Widget] = super().compose()
        for key in keys:
            if isinstance(key, FooterKey):
                # It has no styles yet that this could change.
                key.add_class(f"-rank{_RANKS.get(key.action, 0)}", update=False)
            yield key

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Show the keys that are bound now, whether the window has the focus or not."""
        if self.is_attached and screen is self.screen:
            self.call_after_refresh(self._show_keys)

    async def _show_keys(self) -> None:
        """Make the line anew if other keys are to stand there."""
        if self._keys() != self._shown:
            await self.recompose()

    def _keys(self) -> list[tuple[Binding, str, bool]]:
        return [
            (one.binding, self.app.get_key_display(one.binding), one.enabled)
            for one in self.screen.active_bindings.values()
            if one.binding.show
        ]

    def on_resize(self) -> None:
        """Put keys closer together where there is little room."""
        self.compact = self.size.width < _ROOMY
