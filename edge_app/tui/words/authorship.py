"""Who wrote a text: how many of its words were drafted, redrawn, typed and pasted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from decoding_core.foreign_text import one_line
from edge_app.tui.runs import Run, State
from edge_app.tui.variant import Variant
from edge_app.tui.words.whole import count_words
from models.prompts import with_article

_PARTS: tuple[tuple[State, str], ...] = (
    ("kept", "drafted on this device"),
    ("replaced", "redrawn after the checker refused another"),
    ("typed", "typed by you"),
    ("pasted", "pasted by you"),
)


def shares(runs: Sequence[Run]) -> str:
    """One line, such as `53 words: 41 drafted on this device, 12 typed by you`."""
    counts = count_words(runs)
    total = sum(counts.values())
    parts = [f"{counts[name]} {words}" for name, words in _PARTS if counts[name]]
    return f"{total} word{'' if total == 1 else 's'}: {', '.join(parts)}"


def report(variant: Variant, text: str) -> str:
    """The report that is kept beside `text`, as it lies in the file; it quotes nothing
    of it."""
    runs = variant.runs()
    counts = count_words(runs)
    total = max(1, sum(counts.values()))
    brief = variant.request.brief
    whom = one_line(brief.recipient)
    lines = [
        f"Authorship of {with_article(brief.task)}{f' for {whom}' if whom else ''}",
        "",
        *(
            f"{counts[name]:6} words {100 * counts[name] / total:5.1f} %  {words}"
            for name, words in _PARTS
        ),
        f"{sum(counts.values()):6} words in all",
        "",
        "A word that has letters of two origins counts as typed before pasted, pasted",
        "before redrawn, and redrawn before drafted.",
        f"Method: {variant.request.settings.method}"
        f"{', on the device alone' if variant.request.offline else ''}. "
        f"Own texts read: {len(variant.sources)}.",
        f"SHA-256 of the text: {hashlib.sha256(_bytes(text)).hexdigest()}",
    ]
    return "\n".join(lines) + "\n"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
