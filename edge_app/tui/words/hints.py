"""The one line that says what to do next."""

from __future__ import annotations

from edge_app.tui.drafts import Writing
from edge_app.tui.keys import key_of


def next_step(writing: Writing, *, samples: bool) -> str:
    """A hint at the keys that are of use in the present state."""
    variant = writing.variant
    if writing.arriving and not (variant is not None and variant.writing):
        return writing.arriving
    if writing.problem:
        return "cannot write yet"
    if variant is not None and variant.writing:
        # Stays the same while words come.
        return starting(writing) or "writing and checking… esc stops"
    if variant is None or not variant.text:
        return (
            f"{key_of('draft')} drafts it" if writing.ready else "loading the models…"
        )
    if variant.unfinished:
        return f"not finished: it was cut off · {key_of('draft')} goes on with it"
    if len(writing.variants) > 1:
        flip = f"{key_of('earlier')}/{key_of('later')} flip versions"
        return f"{flip} · {key_of('compare')} compares · {key_of('sent')} what left"
    then = f"{key_of('import')} your letters" if samples else f"{key_of('save')} save"
    return f"edit anything · {key_of('again')} again · {then}"


def starting(writing: Writing) -> str:
    """What is done until the first word is there; empty from then on."""
    variant = writing.variant
    if variant is None or not variant.writing or variant.settled or variant.waiting:
        return ""
    if not writing.ready:
        return "loading the models… the draft begins by itself"
    if not variant.sources and variant.opened is None:
        return "looking for letters that fit…"
    count = len(variant.sources)
    reading = f"reading {count or 'no'} letter{'' if count == 1 else 's'}…"
    if variant.request.offline or variant.opened is not None:
        return reading
    return f"{reading} asking the checker…"


def welcome(*, samples: bool, practice_models: bool) -> str:
    """What the empty page says of the letters and models at hand, and how to have
    better ones."""
    lines = []
    if samples:
        lines.append(
            f"These are Tess's sample letters. {key_of('import')} reads your own."
        )
    if practice_models:
        lines.append(
            "These are practice models. specsteer models finds ones that write well."
        )
    return "\n".join(lines)
