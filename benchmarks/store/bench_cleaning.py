"""`lab bench cleaning`: telling own words from those of others and of machines."""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

import click
import numpy as np

from benchmarks.intervals import wilson
from benchmarks.options import FILE, NONE_OR_MORE, option
from decoding_core.foreign_text import legible
from edge_app.evaluation.cases import CasesError
from models.command_line import Command
from personal_store.cleaning.cleaning import clean_mail
from personal_store.cleaning.markup import visible
from personal_store.mail.mail import Mail

_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_RESAMPLES = 1_000
WRITTEN = Path(__file__).with_name("hand-clients.toml")
"""Mails that were written one by one."""


@dataclass(frozen=True, slots=True)
class Case:
    """One mail, and what in it is its writer's."""

    name: str
    plain: str
    html: str
    own: str
    groups: dict[str, str] = field(default_factory=dict)
    """Client, language, position and the like: what the figures are broken down by."""
    parents: tuple[str, ...] = ()


def read_cases(path: Path) -> list[Case]:
    """The mails of a TOML or JSON file, each with the own words in it. Raises
    CasesError if it holds no such mails."""
    try:
        text = path.read_text("utf-8")
        body = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        cases = []
        for one in body["case"]:
            plain, html = one.get("plain", ""), one.get("html", "")
            groups = one.get("groups") or {
                key: str(one.get(key, "other"))
                for key in ("client", "language", "position")
            }
            groups["parts"] = parts_of(plain, html)
            parents = tuple(one.get("parents", ()))
            cases.append(Case(one["name"], plain, html, one["own"], groups, parents))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CasesError(f"{path} holds no mails with their own words") from error
    return cases


def parts_of(plain: str, html: str) -> str:
    """Which bodies a mail has."""
    return "both" if plain and html else "html" if html else "plain"


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


def figures(scores: Sequence[Score]) -> str:
    """Exact, lost and left of some mails, in one line."""
    share = wilson(sum(s.exact for s in scores), len(scores))
    exact = f"{share.value:6.1%} ({share.low:.1%} to {share.high:.1%}, n={len(scores)})"
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
@option(
    "--cases",
    FILE,
    None,
    "More mails, TOML or JSON; repeatable.",
    name="files",
    multiple=True,
    metavar="FILE",
)
@option(
    "--by",
    click.Choice(["client", "language", "position", "below", "parts", "set"]),
    None,
    "A line for each group, too.",
)
@option("--show", NONE_OR_MORE, 0, "Print this many of the mails that failed.")
def command(files: tuple[Path, ...], by: str | None, show: int) -> None:
    """How well own words are told from those of others.

    Mails whose right answer is known are cleaned: those written one by one in the
    shapes of mail programs, and those of --cases; python -m tests.mails writes as many
    as are wanted, in thirty languages. Shown are the mails whose own words come out
    exactly, own words lost, and words of others or machines left, with 95 % intervals
    over the mails.

    \b
        specsteer lab bench cleaning --by client --show 5
        python -m tests.mails 1560 1 > mails.json
        specsteer lab bench cleaning --cases mails.json
    """
    started = time.process_time()
    every: list[Score] = []
    for path in (WRITTEN, *files):
        scores = [score(case) for case in read_cases(path)]
        every += scores
        name = "written" if path == WRITTEN else path.stem
        click.echo(legible(f"{name:12} {len(scores):5} mails  {figures(scores)}"))
    click.echo(f"{'all':12} {len(every):5} mails  {figures(every)}")
    click.echo(f"took {time.process_time() - started:.1f} s", err=True)
    groups: dict[str, list[Score]] = defaultdict(list)
    for one in every if by else ():
        groups[one.case.groups.get(by or "", "other")].append(one)
    for name, members in sorted(groups.items()):
        click.echo(legible(f"{name:18} {len(members):5} mails  {figures(members)}"))
    for failed in [one for one in every if not one.exact][:show]:
        case = failed.case
        click.echo(
            legible(
                f"\n=== {case.name}: {failed.lost} lost, {failed.left} left\n"
                f"{case.plain or case.html}\n"
                f"--- cleaned\n{failed.text}\n--- right\n{case.own}"
            )
        )
