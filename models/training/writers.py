"""Writers nobody has met: each keeps habits for life, which are drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from models.training.grammar import Filling, capitalised, grammar, invented_name

_INVENTED = 0.15
"""Share of names that are made up on the spot."""
_CONTRACTIONS = ((" I am ", " I'm "), (" it is ", " it's "), (" I will ", " I'll "))


@dataclass(frozen=True, slots=True)
class Writer:
    """Someone with habits; `words` are what their slots stand for."""

    words: dict[str, str]
    name: str = ""
    """How they sign; empty for somebody unknown."""
    opens: float = 0.3
    closes: float = 0.3
    lower: bool = False
    ampersand: bool = False
    contracts: bool = True
    dashes: bool = False
    exclaims: float = 0.0
    emoji: str = ""
    paragraphs: bool = False
    run_on: bool = False
    postscript: bool = False
    circle: list[str] = field(default_factory=list)
    """People they write to again and again."""


def new_writer(rng: Random) -> Writer:
    """A writer with habits of their own."""
    filling = Filling(rng, {})
    words = {"partner": _person(rng)}
    for habit, choices in grammar()["habits"].items():
        filling.values |= words
        words.setdefault(habit, _keep_name(filling, rng.choice(choices)))
    return Writer(
        words,
        name=_signature(rng),
        opens=rng.choice((0.0, 0.3, 0.8, 1.0)),
        closes=rng.choice((0.0, 0.3, 0.8, 1.0)),
        lower=rng.random() < 0.12,
        ampersand=rng.random() < 0.1,
        contracts=rng.random() < 0.7,
        dashes=rng.random() < 0.15,
        exclaims=rng.choice((0.0, 0.0, 0.0, 0.15, 0.4, 0.8)),
        emoji=words["emoji"] if rng.random() < 0.25 else "",
        paragraphs=rng.random() < 0.4,
        run_on=rng.random() < 0.08,
        postscript=rng.random() < 0.1,
        circle=[_person(rng) for _ in range(4)],
    )


def common_writer(rng: Random) -> Writer:
    """Somebody nothing is known about: common words, often no name."""
    words = {
        k: Filling(rng, {"name": "{name}"}).pick(v)
        for k, v in grammar()["common"].items()
    }
    name = rng.choice(grammar()["slots"]["first"]) if rng.random() < 0.35 else ""
    return Writer(
        words | {"partner": _person(rng)}, name=name, paragraphs=rng.random() < 0.4
    )


def styled(writer: Writer, rng: Random, text: str) -> str:
    """The text as this writer would put it: casing, dashes, emoji and the like."""
    text = capitalised(text[:1].upper() + text[1:])
    if writer.contracts:
        for long, short in (
            (" I am ", " I'm "),
            (" it is ", " it's "),
            (" I will ", " I'll "),
        ):
            text = text.replace(long, short)
    if writer.ampersand:
        text = text.replace(" and ", " & ")
    if writer.dashes:
        text = text.replace(", ", " - ")
    if text.endswith(".") and rng.random() < writer.exclaims:
        text = text[:-1] + "!"
    if writer.emoji and rng.random() < 0.5:
        text = f"{text} {writer.emoji}"
    return text.lower() if writer.lower else text


def recipient(writer: Writer, rng: Random) -> str:
    """Whom the writer writes to: often somebody they know well."""
    if writer.circle and rng.random() < 0.4:
        return rng.choice(writer.circle)
    if rng.random() < 0.1:
        return str(rng.choice(grammar()["slots"]["kin"]))
    return _person(rng)


def _person(rng: Random) -> str:
    if rng.random() < _INVENTED:
        return invented_name(rng)
    return str(rng.choice(grammar()["slots"]["first"]))


def _signature(rng: Random) -> str:
    name = _person(rng)
    form = rng.random()
    if form < 0.65:
        return name
    if form < 0.75:
        return name[0]
    if form < 0.85:
        return f"{name} {rng.choice(grammar()['slots']['town2'])}"
    return f"{name} {rng.choice(('x', 'xx', ':)', '(and the dog)', '& co'))}"


def _keep_name(filling: Filling, template: str) -> str:
    filling.values["name"] = "{name}"
    return Filling(filling.rng, filling.values).fill(template)
