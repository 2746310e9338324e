"""`specsteer lab bench guard`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.options import AT_LEAST_ONE, NONE_OR_MORE, PATH, SEED, option
from benchmarks.privacy.worlds import Planted, planted
from decoding_core.foreign_text import one_line
from edge_app.evaluation.tables import aligned
from edge_app.privacy.guard.gate import check
from edge_app.privacy.guard.history import PrivateIndex, index_of
from models.command_line import Command
from models.prompts import Request
from personal_store import Passage

_TEXTS = 2  # of each user of a file


def index_of_letters(past: Sequence[Passage], request: Request) -> PrivateIndex:
    """What the guard knows of past texts, as `index_of_store` reads a store with
    these."""
    return index_of(
        [f"{p.recipient}\n\n{p.subject}\n\n{p.text}" for p in past],
        f"{request.recipient}\n{request.text}",
        correspondents=[
            (p.recipient, "") for p in past if p.kind in ("email", "message")
        ],
        own=[p.text for p in past],
    )


def passes(one: Planted) -> bool:
    """Whether a server would read a planted secret in the text that says it again."""
    index = index_of_letters(one.writer.letters, one.task.request)
    return one.stands_in(check(one.draft, index).public)


def _show_passing(count: int, seed: int) -> None:
    secrets: Counter[str] = Counter()
    passing: Counter[str] = Counter()
    for one in planted(count, seed):
        for name in (one.kind, "all"):
            secrets[name] += 1
            passing[name] += passes(one)
    table = [["", "secrets", "pass", ""]]
    for name, number in sorted(secrets.items(), key=lambda item: item[0] == "all"):
        row = [name, str(number), str(passing[name]), f"{passing[name] / number:.1%}"]
        table.append(row)
    click.echo("\n".join(map(one_line, aligned(table))))


@click.command("guard", cls=Command)
@option(
    "--data",
    PATH,
    None,
    "Texts and histories of files, as 'specsteer lab evaluate' reads them; repeatable. "
    "Without: invented writers that no training has met.",
    multiple=True,
    metavar="PATH",
)
@option("--count", AT_LEAST_ONE, 120, "Writers.")
@option("--letters", AT_LEAST_ONE, 5, "Past texts of each at most.")
@option("--seed", SEED, 7, "Of the writers.")
@option(
    "--secrets",
    NONE_OR_MORE,
    0,
    "Planted in letters of invented writers: the share of each kind that passes.",
)
def command(
    data: tuple[Path, ...], count: int, letters: int, seed: int, secrets: int
) -> None:
    """What the guard holds back without need, and what it lets pass.

    Each text is compared with what its writer wrote before, and nobody planted a secret
    in it, so what is held are habits and names as well as mistakes. A row for each set,
    or for each number of past texts; then the time of the guard over a block of eight
    words. Needs no model.

    With --secrets, one is planted in one of seven letters and said again in another
    text; it passes if it stands in that as a server would read it.

    \b
        specsteer lab bench guard
        specsteer lab bench guard --data eval/ --count 40
        specsteer lab bench guard --secrets 390
    """
    if secrets:
        _show_passing(secrets, seed)
        return
    from edge_app.evaluation.cases import read_files, unseen_cases

    words: dict[str, Counter[str]] = {}
    times: list[float] = []
    if data:
        cases = read_files(list(data), count, _TEXTS)
    else:
        cases = unseen_cases(count, seed)
    for case in cases:
        past = case.history().recent(limit=letters)
        report = check(case.text, index_of_letters(past, case.request))
        group = case.group if data else f"{len(past)} past texts"
        for name in (group, "all"):
            counted = words.setdefault(name, Counter())
            counted["words"] += report.words
            counted["held"] += report.held_back
            for one in report.found:
                counted[one.kind] += len(one.text.split())
        times.append(report.block_ms)
        times.append(report.slowest_ms)
    kinds = sorted({kind for some in words.values() for kind in some})
    kinds = [kind for kind in kinds if kind not in ("words", "held")]
    table = [["", "words", "held", *kinds]]
    for name in (*sorted(set(words) - {"all"}), "all"):
        some = words[name]
        shares = (f"{some[k] / max(some['words'], 1):.1%}" for k in ("held", *kinds))
        table.append([name, f"{some['words']:,}", *shares])
    click.echo("\n".join(map(one_line, aligned(table))))
    medians, slowest = sorted(times[::2]), max(times[1::2])
    click.echo(
        f"{medians[len(medians) // 2]:.2f} ms a block of 8 words in the median text, "
        f"{slowest:.2f} at most",
        err=True,
    )
