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
    rng = random.Random(seed)
    found = []
    for number in range(count):
        kind, genre = KINDS[number % 10], GENRES[number // 10 % 4]
        secret = _secret(kind, rng, set_)
        frame = rng.choice(_WORDS[set_]["frames"][genre])
        letter = frame.format(rng.choice(_WORDS[set_]["planted"][kind]).format(secret))
        draft = rng.choice(_WORDS[set_]["asked"]).format(_said_again(kind, secret, rng))
        found.append(Planted(kind, genre, secret, letter, draft))
    return found


def _digits(rng: random.Random, count: int) -> str:
    return "".join(str(rng.randrange(10)) for _ in range(count))


def _secret(kind: str, rng: random.Random, set_: str) -> str:
    tuned = set_ == "tuned"
    match kind:
        case "name":
            return rng.choice(_WORDS[set_]["names"])
        case "email":
            user = rng.choice(_WORDS[set_]["names"]).split()[0].lower()
            domain = rng.choice(("mail-host.org", "posteo.example", "uni.ac.uk"))
            return f"{user}.{_digits(rng, 2)}@{domain}"
        case "phone":
            forms = (
                ("+49 {a} {b}", "0{a} {b}", "({a}) {c}-{d}")
                if tuned
                else (
                    "+44 {a} {c} {d}",
                    "0{a}/{b}",
                    "{a}-{c}-{d}",
                    "+33{a}{b}",
                    "00 1 {a} {c} {d}",
                )
            )
            return rng.choice(forms).format(
                a=_digits(rng, 3),
                b=_digits(rng, 6),
                c=_digits(rng, 3),
                d=_digits(rng, 4),
            )
        case "account":
            country, size = rng.choice((("DE", 18), ("GB", 0), ("NL", 0), ("FR", 23)))
            body = _digits(rng, size) if size else "ABNA" + _digits(rng, 14)
            number = f"{country}{_digits(rng, 2)}{body}"
            spaced = " ".join(number[i : i + 4] for i in range(0, len(number), 4))
            plain = f"sort code {_digits(rng, 2)}-{_digits(rng, 2)}-{_digits(rng, 2)}"
            account = f"{plain} account {_digits(rng, 8)}"
            return rng.choice((number, spaced) if tuned else (number, spaced, account))
        case "card":
            body = "4" + _digits(rng, 14)
            total = sum(
                sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(body)
            )
            number = body + str(-total % 10)
            return rng.choice((" ", "-", "")).join(
                number[i : i + 4] for i in (0, 4, 8, 12)
            )
        case "id":
            forms = (
                ("KX-{a}{b}", "{b}{a}Q")
                if tuned
                else ("{b}-{c}-{a}", "AB{a}{b}C", "{a}{b}", "x{b}{c}")
            )
            return rng.choice(forms).format(
                a=_digits(rng, 3), b=_digits(rng, 2), c=rng.choice(("QT", "mk", "ZZ"))
            )
        case "link":
            path = "".join(rng.choice("abcdefghkmnpqrst23456789") for _ in range(7))
            forms = ("https://files.example.org/{0}", "www.tess.example/{0}")
            return rng.choice(
                forms
                if tuned
                else ("http://pics.test/s/{0}?k=1", "kitbag.io/{0}", "{0}.example.com")
            ).format(path)
        case "address":
            return rng.choice(_WORDS[set_]["streets"]).format(n=rng.randrange(2, 180))
        case "birth":
            day, year = rng.randrange(1, 28), rng.randrange(1940, 2011)
            month = rng.randrange(1, 12)
            name = rng.choice(("March", "June", "October"))
            forms = (
                (f"{day} {name} {year}", f"{year}-{month:02}-{day:02}")
                if tuned
                else (
                    f"{day}.{month}.{year}",
                    f"{name} {day}, {year}",
                    f"{day:02}/{month:02}/{year}",
                    f"the {day}th of {name} {year}",
                )
            )
            return rng.choice(forms)
        case _:
            return rng.choice(_WORDS[set_]["phrases"])


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
