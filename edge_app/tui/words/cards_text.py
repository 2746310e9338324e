"""What the cards say: where it came from, what went out, how it is going."""

from __future__ import annotations

from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from decoding_core.foreign_text import one_line
from edge_app.tui.drafts import Writing
from edge_app.tui.keys import key_of
from edge_app.tui.variant import Variant
from edge_app.tui.words.sources_text import date, reason, subject
from edge_app.tui.words.whole import word_count
from models.prompts import TASKS

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
    for source in list(writing.excluded.values())[:3]:
        text.append(_row(f"- {subject(source)}", "left out", width) + "\n")
    text.right_crop(1)
    return text


def letters_line(writing: Writing) -> str:
    """A line on how many letters the store holds, or on the running import."""
    if writing.importing:
        return f"reading letters… {writing.importing.done}"
    total = sum(writing.counts.get(task, 0) for task in TASKS)
    if writing.samples:
        return f"{total} of {SAMPLES}" if total else SAMPLES
    return (
        f"{total} of your texts are here"
        if total
        else f"no letters yet: {key_of('import')}"
    )


def sent_card(writing: Writing, width: int) -> Text:
    """What was sent for the version on screen; messages are in the drawer."""
    variant = writing.variant
    if variant is None or not variant.sent:
        return Text(nothing_sent(writing))
    text = Text()
    for sentence, style in (
        (in_common(writing, variant), "bold"),
        (f"{what_went(variant)}, to {one_line(writing.server or '')}", "dim"),
        *([(f"{held_back(variant)} from the checker", "")] if variant.held else []),
        *(
            [(f"told of your history: {variant.reckoned.total:.1f} nats", "dim")]
            if variant.reckoned is not None
            else []
        ),
    ):
        for line in wrap(sentence, width):
            text.append(line + "\n", style)
    text.right_crop(1)
    return text


def nothing_sent(writing: Writing) -> str:
    """That nothing was sent for the version on screen."""
    if writing.variant is None:
        return "nothing was sent yet"
    return "nothing was sent for this version"


def in_common(writing: Writing, variant: Variant) -> str:
    """What the messages of a version have in common with the letters, such as `your
    letters: 2 stock phrases, 0 facts`."""
    return f"{whose(writing)}: {_figure(variant)}"


def _figure(variant: Variant) -> str:
    quoted = variant.quoted
    if quoted is None:
        return "what left was not compared"
    stock, facts = len(quoted.stock), len(quoted.facts)
    return (
        f"{stock} stock phrase{'' if stock == 1 else 's'}, "
        f"{facts} fact{'' if facts == 1 else 's'}"
    )


def what_went(variant: Variant) -> str:
    """What left for a version besides, in words."""
    left = {sent.what for sent in variant.sent}
    parts = ["your request"] * ("open" in left)
    parts += ["the drafted words"] * ("block" in left)
    return " and ".join(parts) or "nothing of a text"


def held_back(variant: Variant) -> str:
    """How many words of a version stayed here; others stand for them."""
    count = sum(word_count(one.text) for one in variant.held)
    return f"{count} word{'' if count == 1 else 's'} held back"


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
    text = Text(f"{total} word{'' if total == 1 else 's'}")
    for name, count in rows:
        if count:
            text.append(f"\n{count:>4} {name}")
    return text


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
        count = len(variant.sources)
        parts.append(f"{count or 'no'} letter{'' if count == 1 else 's'} read")
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
