"""Mails of many programs and languages whose right answer is known.

python -m tests.mails 4200 77 > mails.json
specsteer lab bench cleaning --cases mails.json
"""

from collections.abc import Iterator

from benchmarks.store.bench_cleaning import Case, parts_of
from tests.mails.shapes import SHAPES, below
from tests.mails.texts import drafts


def generated(count: int, seed: int) -> Iterator[Case]:
    """Mails in all shapes and languages, with something below the own words in some."""
    names = list(SHAPES)
    for number, (draft, rng) in enumerate(drafts(count, seed)):
        client = names[(number + number // 30) % len(names)]
        position, shape = SHAPES[client]
        footer, own = "none", draft.own
        signed = "P.S" not in own and draft.name in own.split("\n")[-1]
        if rng.random() < 0.3 and signed:
            footer, text = below(draft, rng)
            own += ("\n" if footer == "contacts" else "\n\n") + text
        plain, html = shape(draft, own)
        plain, html = rng.choice(((plain, html), (plain, ""), ("", html)))
        groups = {"client": client, "language": draft.language, "position": position}
        groups |= {"below": footer, "parts": parts_of(plain, html), "set": "generated"}
        name = f"{client}/{draft.language}/{number}"
        yield Case(name, plain, html, draft.own, groups)
