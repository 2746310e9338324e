"""Secrets of ten kinds, planted in letters of four genres and asked for; `set_` names
the wording in `planted.toml`."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

KINDS = (
    *("name", "email", "phone", "account", "card", "id", "link", "address"),
    *("birth", "phrase"),
)
GENRES = ("email", "review", "post", "note")

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Planted:
    """A secret, the letter it stands in, and a draft that repeats it."""

    kind: str
    genre: str
    secret: str
    letter: str
    draft: str


def planted(count: int, seed: int, set_: str = "tuned") -> list[Planted]:
    """So many secrets, all kinds and genres in turn."""
    rng, words, found = random.Random(seed), _WORDS[set_], []
    for number in range(count):
        kind, genre = KINDS[number % 10], GENRES[number // 10 % 4]
        secret = _secret(kind, rng, words)
        frame = rng.choice(words["frames"][genre])
        letter = frame.format(rng.choice(words["planted"][kind]).format(secret))
        draft = rng.choice(words["asked"]).format(_said_again(kind, secret, rng))
        found.append(Planted(kind, genre, secret, letter, draft))
    return found


def _digits(rng: random.Random, count: int) -> str:
    return "".join(str(rng.randrange(10)) for _ in range(count))


def _secret(kind: str, rng: random.Random, words: dict) -> str:
    if kind == "card":
        body = "4" + _digits(rng, 14)
        total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(body))
        number = body + str(-total % 10)
        parts = (number[i : i + 4] for i in (0, 4, 8, 12))
        return rng.choice((" ", "-", "")).join(parts)
    number, size = rng.choice((("DE", 18), ("GB", 0), ("NL", 0), ("FR", 23)))
    number += _digits(rng, 2) + (_digits(rng, size) or "ABNA" + _digits(rng, 14))
    return rng.choice(words["secrets"][kind]).format(
        a=_digits(rng, 3),
        b=_digits(rng, 6),
        c=_digits(rng, 4),
        d=_digits(rng, 2),
        n=rng.randrange(2, 180),
        day=rng.randrange(1, 28),
        month=rng.randrange(1, 12),
        year=rng.randrange(1940, 2011),
        named=rng.choice(("March", "June", "October")),
        letters=rng.choice(("QT", "mk", "ZZ")),
        user=rng.choice(words["secrets"]["name"]).split()[0].lower(),
        domain=rng.choice(("mail-host.org", "posteo.example", "uni.ac.uk")),
        path="".join(rng.choice("abcdefghkmnpqrst23456789") for _ in range(7)),
        iban=number,
        spaced=" ".join(number[i : i + 4] for i in range(0, len(number), 4)),
    )


def _said_again(kind: str, secret: str, rng: random.Random) -> str:
    """The secret as a draft may repeat it: as it is, mostly."""
    form = rng.randrange(5)
    if form == 0 and kind in ("name", "email", "address", "phrase"):
        return secret.lower()
    if form == 1 and kind in ("phone", "card", "account"):
        return secret.replace(" ", "-") if " " in secret else secret
    if form == 2 and kind in ("phone", "card"):
        return secret.replace("-", " ").replace("/", " ")
    if form == 1 and kind == "name":
        return secret + "'s"
    return secret
