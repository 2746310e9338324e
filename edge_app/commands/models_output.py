"""How `specsteer models` shows what it found: tables to read, or one JSON object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import ContextFullError
from decoding_core.foreign_text import one_line
from edge_app.commands.terminal import note
from models.files import HubModel, KnownPair, hub_models, known_pairs
from models.local.describing import (
    LONGEST_TEXT,
    TEXTS_OF_A_SERVER,
    MachineMemory,
    ModelDescription,
    machine_memory,
    pair_memory,
)
from models.local.finding import FoundModel, folder_of
from models.running.settings import usable_cores

if TYPE_CHECKING:
    from edge_app.evaluation.figures import PairCheck

_Described = Sequence[tuple[FoundModel, ModelDescription]]
_Pairs = Sequence[tuple[FoundModel, FoundModel, int]]
_GIGABYTES_A_CORE = 0.65
"""Weights of a checker that a core reads in about a tenth of a second, which is what a
block then takes at the least."""
_MUCH_LARGER = 1.5
"""How many times the small model's file the large one's is in a pair that is shown."""


def fitting_pairs(described: _Described) -> _Pairs:
    """Pairs of one vocabulary, the larger by half at least, with the bytes that they
    take on one machine; a file that lies at several places counts once."""
    files: dict[Path, tuple[FoundModel, ModelDescription]] = {}
    for one, about in described:
        files.setdefault(about.path.resolve(), (one, about))
    ordered = sorted(files.values(), key=lambda pair: pair[1].file_bytes)
    return [
        (small, large, pair_memory(of_small, of_large))
        for at, (small, of_small) in enumerate(ordered)
        for large, of_large in ordered[at + 1 :]
        if of_small.vocabulary_id == of_large.vocabulary_id
        and of_large.file_bytes >= _MUCH_LARGER * of_small.file_bytes
    ]


def echo_local(described: _Described, pairs: _Pairs) -> None:
    """Show tables of the models on this machine, and of the pairs among them."""
    rows = [["on this machine", "family", "size", "kind", "file", "reads", "template"]]
    rows += [
        [
            *(one.name, about.family, about.size_label, about.quantisation),
            gigabytes(about.file_bytes),
            f"{about.context_length:,}" if about.context_length else "",
            "yes" if about.has_template else "none",
        ]
        for one, about in described
    ]
    _echo_table(rows)
    memory = machine_memory()
    rows = [["small and large of one vocabulary", "memory", ""]]
    rows += [
        [f"{small.name}  {large.name}", gigabytes(needed), memory.fit(needed) or ""]
        for small, large, needed in pairs
    ]
    click.echo("")
    _echo_table(rows)
    if memory.total:
        click.echo(
            f"memory of this machine: {gigabytes(memory.total)}, "
            f"{gigabytes(memory.available)} of it not used now"
        )


def echo_catalogue() -> None:
    """Show tables of the models and pairs that the catalogue names."""
    known = {one.name: one for one in hub_models()}
    click.echo("")
    rows = [["catalogue", "size", "kind", "file", "licence", "name", "here"]]
    rows += [
        [
            *(one.name, one.size, one.quantisation, f"{one.gigabytes:.2f} GB"),
            *(one.licence, one.names, "yes" if _is_here(one) else ""),
        ]
        for one in known.values()
    ]
    _echo_table(rows)
    rows, notes = [["pairs of the catalogue", "download", "memory", ""]], [""]
    memory = machine_memory()
    for pair in known_pairs():
        needed, lacks = catalogue_memory(*_models_of(pair)), download_bytes(pair)
        size = gigabytes(lacks) if lacks else "here"
        fit = memory.fit(needed) or ""
        name = f"{pair.specialist}  {pair.generalist}"
        rows.append([name, size, gigabytes(needed), fit])
        notes.append(pair.note)
    click.echo("")
    _echo_table(rows, notes)
    click.echo(
        "\n'seen': public pages of others name repository and file so. None was "
        "checked\nwith the hub; 'specsteer models pull' says if one is not there."
    )


def _models_of(pair: KnownPair) -> tuple[HubModel, HubModel]:
    known = {one.name: one for one in hub_models()}
    return known[pair.specialist], known[pair.generalist]


def recommended_pair(memory: MachineMemory, cores: int) -> KnownPair | None:
    """The pair of the catalogue with the largest checker that fits into the unused
    memory and that this number of cores reads fast enough; None if only the pair that
    comes with the program does."""
    fitting = {
        pair: large.gigabytes
        for pair in known_pairs()
        for small, large in [_models_of(pair)]
        if memory.fit(catalogue_memory(small, large)) == "fits"
        and large.gigabytes <= _GIGABYTES_A_CORE * cores
    }
    return max(fitting, key=lambda pair: fitting[pair], default=None)


def echo_recommendation() -> None:
    """Show the pair for this machine, and how to get it."""
    memory, cores = machine_memory(), usable_cores()
    found = recommended_pair(memory, cores)
    machine = f"this machine ({gigabytes(memory.total)} of memory, {cores} cores)"
    if found is None:
        click.echo(f"for {machine}: the pair that came with SpecSteer\n")
        return
    names = f"{found.specialist} {found.generalist}"
    lacks = download_bytes(found)
    size = f"a download of {gigabytes(lacks)}" if lacks else "here already"
    click.echo(f"for {machine}: {names}, {size}")
    for command in ("pull", "use") if lacks else ("use",):
        click.echo(f"    specsteer models {command} {names}")
    click.echo()


def download_bytes(pair: KnownPair) -> int:
    """About how many bytes of a pair's files are not on this machine."""
    lacking = (one for one in _models_of(pair) if not _is_here(one))
    return sum(int(one.gigabytes * 1e9) for one in lacking)


def _is_here(model: HubModel) -> bool:
    return (folder_of(model.repository) / model.file).is_file()


def catalogue_memory(small: HubModel, large: HubModel) -> int:
    """About how many bytes a pair of the catalogue takes on one machine, counted as by
    `pair_memory`."""
    return small.memory(LONGEST_TEXT, 1 + TEXTS_OF_A_SERVER) + large.memory(
        LONGEST_TEXT, TEXTS_OF_A_SERVER
    )


def echo_check(
    described: tuple[ModelDescription, ModelDescription],
    found: PairCheck,
    threshold: float,
    whose: str,
) -> None:
    """Show what a check found; raises ContextFullError if it measured no text."""
    small, large = described
    needed, memory = pair_memory(small, large), machine_memory()
    size, number = small.vocabulary_size, small.vocabulary_id[:8]
    plain = "none in the small one: a plain one is used"
    click.echo(f"vocabulary  one, of {size:,} tokens ({number})")
    click.echo(f"template    {'yes' if small.has_template else plain}")
    click.echo(f"memory      {gigabytes(needed)}, {memory.fit(needed) or 'not known'}")
    rows = [["speed", "prompt, tokens/s", "one by one, tokens/s", "block of 9, ms"]]
    speeds = zip(described, (found.specialist, found.generalist), strict=True)
    rows += [
        [
            *(about.name, f"{speed.prompt:.0f}", f"{speed.step:.1f}"),
            f"{1000 * speed.block:.0f}",
        ]
        for about, speed in speeds
    ]
    click.echo("")
    _echo_table(rows)
    click.echo("")
    worth = found.worth
    if worth is None:
        raise ContextFullError(
            f"no text was measured in {found.seconds:.0f} s; --seconds gives more time"
        )
    click.echo(
        f"on {worth.texts} of {whose}, {worth.tokens} tokens, {found.seconds:.0f} s; "
        "in brackets 95 % intervals"
    )
    click.echo(
        f"kept        {_interval(worth.kept, lambda share: 100 * share, '.0f')} % of "
        f"drafted tokens, at threshold {threshold:g}"
    )
    a_token = worth.texts / worth.tokens
    history = _interval(worth.history, lambda nats: exp(-nats * a_token), ".2f")
    steering = _interval(worth.steering, lambda nats: exp(-nats * a_token), ".2f")
    click.echo(f"your texts  {history} times as likely to the small one that read them")
    click.echo(f"together    {steering} times as likely as to the large one alone")
    note("how likely each token is of what was really written: above 1 is a gain")


def _interval(estimate: Any, shown: Callable[[float], float], shape: str) -> str:
    words = format(shown(estimate.value), shape)
    if estimate.low is None:
        return words
    low, high = sorted(map(shown, (estimate.low, estimate.high)))
    return f"{words} ({low:{shape}} to {high:{shape}})"


def check_as_object(
    described: tuple[ModelDescription, ModelDescription],
    found: PairCheck,
    threshold: float,
    whose: str,
) -> dict[str, Any]:
    """What `echo_check` shows, for programs."""
    return {
        "models": [asdict(one) for one in described],
        "memory": _memory(pair_memory(*described)),
        "texts": whose,
        "threshold": threshold,
        **asdict(found),
    }


def list_as_object(
    described: _Described, pairs: _Pairs, passed_by: Sequence[tuple[FoundModel, str]]
) -> dict[str, Any]:
    """What `list` shows, for programs."""
    memory, cores = machine_memory(), usable_cores()
    best = recommended_pair(memory, cores)
    return {
        "memory": asdict(memory),
        "cores": cores,
        "recommended": best and [best.specialist, best.generalist],
        "models": [
            asdict(about)
            | {"name": one.name, "title": about.name, "source": one.source}
            for one, about in described
        ],
        "pairs": [
            {"small": small.name, "large": large.name, **_memory(needed)}
            for small, large, needed in pairs
        ],
        "left out": [
            {"name": one.name, "path": one.path, "why": why} for one, why in passed_by
        ],
        "catalogue": [asdict(one) for one in hub_models()],
        "catalogue pairs": [
            {
                **asdict(pair),
                "download": download_bytes(pair),
                **_memory(catalogue_memory(*_models_of(pair))),
            }
            for pair in known_pairs()
        ],
    }


def _memory(needed: int) -> dict[str, Any]:
    return {"bytes": needed, "fit": machine_memory().fit(needed)}


def _echo_table(rows: list[list[str]], notes: Sequence[str] = ()) -> None:
    """Show columns side by side, the first to the left; a note stands behind its
    row."""
    from edge_app.evaluation.tables import aligned  # loads llama.cpp

    lines = aligned(rows)
    for line, behind in zip(lines, notes or [""] * len(lines), strict=True):
        click.echo(one_line(f"{line}  {behind}").rstrip())


def gigabytes(count: int) -> str:
    """A number of bytes as a person reads it."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"
