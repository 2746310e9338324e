"""`lab bench cleaning`: own words told from those of others and of machines."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import click
import numpy as np

from benchmarks.intervals import wilson
from benchmarks.mail.shapes import SHAPES, below
from benchmarks.mail.texts import Case, drafts, handmade, parts_of
from benchmarks.options import NONE_OR_MORE
from models.lazy_commands import Command
from personal_store.cleaning.cleaning import clean_mail
from personal_store.cleaning.markup import visible
from personal_store.mail.mail import Mail

_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Score:
    """One mail, in words."""

    case: Case
    text: str
    own: int
    others: int
    lost: int
    left: int

    @property
    def exact(self) -> bool:
        """Every own word, in order, and no other."""
        return not self.lost and not self.left


def words(text: str) -> list[str]:
    """What stands between spaces; in Chinese, Japanese and Korean each character."""
    return _WORD.findall(text)


def score(case: Case) -> Score:
    """Clean a mail and compare."""
    text = clean_mail(Mail({}, case.plain, case.html), case.parents).text
    own, got = words(case.own), words(text)
    matcher = SequenceMatcher(None, own, got, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    body = case.plain or visible(case.html)
    others = max(len(words(body)) - len(own), len(got) - same)
    return Score(case, text, len(own), others, len(own) - same, len(got) - same)


def generated(count: int, seed: int) -> Iterator[Case]:
    """Mails in all shapes and languages, with something below the own words in some."""
    names = list(SHAPES)
    for number, (draft, rng) in enumerate(drafts(count, seed)):
        client = names[(number + number // 30) % len(names)]
        position, shape = SHAPES[client]
        footer, own = "none", draft.own
        if (
            rng.random() < 0.3
            and "P.S" not in own
            and draft.name in own.split("\n")[-1]
        ):
            footer, text = below(draft, rng)
            gap = "\n" if footer == "contacts" else "\n\n"
            own = f"{own}{gap}{text}"
        plain, html = shape(draft, own)
        plain, html = rng.choice(((plain, html), (plain, ""), ("", html)))
        groups = {"client": client, "language": draft.language, "position": position}
        groups |= {"below": footer, "parts": parts_of(plain, html), "set": "generated"}
        yield Case(
            f"{client}/{draft.language}/{number}", plain, html, draft.own, groups
        )


def figures(scores: Sequence[Score]) -> str:
    """Exact, lost and left of some mails, in one line."""
    exact = wilson(sum(s.exact for s in scores), len(scores))
    lost = _share([s.lost for s in scores], [s.own for s in scores])
    left = _share([s.left for s in scores], [s.others for s in scores])
    return f"exact {exact}  lost {lost}  left {left}"


def _share(parts: Sequence[int], wholes: Sequence[int]) -> str:
    """A share of words and its interval, from mails drawn again."""
    part, whole = np.array(parts), np.array(wholes)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(part), (_RESAMPLES, len(part)))
    shares = part[drawn].sum(1) / np.maximum(whole[drawn].sum(1), 1)
    low, high = np.quantile(shares, (0.025, 0.975))
    return f"{part.sum() / max(whole.sum(), 1):6.2%} ({low:.2%} to {high:.2%})"


@click.command("cleaning", cls=Command)
@click.option(
    "--mails",
    type=NONE_OR_MORE,
    default=1_560,
    show_default=True,
    help="Generated ones.",
)
@click.option("--seed", default=1, show_default=True, help="Of the generated ones.")
@click.option(
    "--by",
    type=click.Choice(["client", "language", "position", "below", "parts", "set"]),
    help="A line for each group, too.",
)
@click.option(
    "--show",
    type=NONE_OR_MORE,
    default=0,
    help="Print this many of the mails that failed.",
)
def command(mails: int, seed: int, by: str | None, show: int) -> None:
    """How well own words are told from those of others.

    Mails whose right answer is known are cleaned: some written one by one in the shapes
    of mail programs, and generated ones in thirty languages. Shown are the mails whose
    own words come out exactly, own words lost, and words of others or machines left,
    with 95 % intervals over the mails.

    \b
        specsteer lab bench cleaning --by client --show 5
        specsteer lab bench cleaning --mails 3000 --seed 2
    """
    started = time.process_time()
    sets = {"written": [score(case) for case in handmade()]}
    sets["generated"] = [score(case) for case in generated(mails, seed)]
    for name, scores in sets.items():
        if scores:
            click.echo(f"{name:12} {len(scores):5} mails  {figures(scores)}")
    every = [one for scores in sets.values() for one in scores]
    click.echo(f"{'all':12} {len(every):5} mails  {figures(every)}")
    click.echo(f"took {time.process_time() - started:.1f} s", err=True)
    groups: dict[str, list[Score]] = defaultdict(list)
    for one in every if by else ():
        groups[one.case.groups.get(by or "", "other")].append(one)
    for name, members in sorted(groups.items()):
        click.echo(f"{name:18} {len(members):5} mails  {figures(members)}")
    for failed in [one for one in every if not one.exact][:show]:
        case = failed.case
        click.echo(f"\n=== {case.name}: {failed.lost} lost, {failed.left} left")
        click.echo(case.plain or case.html)
        click.echo(f"--- cleaned\n{failed.text}\n--- right\n{case.own}")
