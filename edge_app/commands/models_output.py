"""How `specsteer models` shows what it found: tables to read, or one JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import ContextFullError
from decoding_core.foreign_text import escaped_json, one_line
from models.catalogue import HubModel, KnownPair, hub_models, known_pairs
from models.local.describing import ModelDescription
from models.local.finding import FoundModel
from models.local.memory import (
    LONGEST_TEXT,
    TEXTS_OF_A_SERVER,
    MachineMemory,
    machine_memory,
    pair_memory,
)
from models.local.pulled import folder_of
from models.running.settings import usable_cores

if TYPE_CHECKING:
    from edge_app.evaluation.pair_check import PairCheck

Rows = list[list[str]]
_GIGABYTES_A_CORE = 0.65
"""Weights of a checker that a core reads in about a tenth of a second, which is what a
block then takes at the least."""
_MUCH_LARGER = 1.5
"""How many times the small model's file the large one's is in a pair that is shown."""


def fitting_pairs(
    described: Sequence[tuple[FoundModel, ModelDescription]],
) -> list[tuple[FoundModel, FoundModel, int]]:
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


def echo_local(
    described: Sequence[tuple[FoundModel, ModelDescription]],
    pairs: Sequence[tuple[FoundModel, FoundModel, int]],
) -> None:
    """Tables of the models on this machine, and of the pairs among them."""
    head = ["on this machine", "family", "size", "kind", "file", "reads", "template"]
    rows: Rows = [head]
    for one, about in described:
        template = "yes" if about.has_template else "none"
        reads = f"{about.context_length:,}" if about.context_length else ""
        rows.append(
            [
                one.name,
                about.family,
                about.size_label,
                about.quantisation,
                gigabytes(about.file_bytes),
                reads,
                template,
            ]
        )
    _echo_table(rows)
    memory = machine_memory()
    rows = [["small and large of one vocabulary", "memory", ""]]
    for small, large, needed in pairs:
        fit = memory.fit(needed) or ""
        rows.append([f"{small.name}  {large.name}", gigabytes(needed), fit])
    click.echo("")
    _echo_table(rows)
    if memory.total:
        click.echo(
            f"memory of this machine: {gigabytes(memory.total)}, "
            f"{gigabytes(memory.available)} of it not used now"
        )


def echo_catalogue() -> None:
    """Tables of what the catalogue names."""
    known = {one.name: one for one in hub_models()}
    click.echo("")
    rows: Rows = [["catalogue", "size", "kind", "file", "licence", "name", "here"]]
    rows += [
        [
            one.name,
            one.size,
            one.quantisation,
            f"{one.gigabytes:.2f} GB",
            one.licence,
            one.names,
            "yes" if _is_here(one) else "",
        ]
        for one in known.values()
    ]
    _echo_table(rows)
    memory = machine_memory()
    rows, notes = [["pairs of the catalogue", "download", "memory", ""]], [""]
    for pair in known_pairs():
        needed = catalogue_memory(known[pair.specialist], known[pair.generalist])
        fit = memory.fit(needed) or ""
        name = f"{pair.specialist}  {pair.generalist}"
        lacks = download_bytes(pair)
        size = gigabytes(lacks) if lacks else "here"
        rows.append([name, size, gigabytes(needed), fit])
        notes.append(pair.note)
    click.echo("")
    _echo_table(rows, notes)
    click.echo(
        "\n'seen': public pages of others name repository and file so. None was "
        "checked\nwith the hub; 'specsteer models pull' says if one is not there."
    )


def recommended_pair(memory: MachineMemory, cores: int) -> KnownPair | None:
    """The pair of the catalogue with the largest checker that fits into the memory that
    is not used now, and that so many cores read fast enough; None where only the pair
    that comes with the program does."""
    known = {one.name: one for one in hub_models()}
    fitting = [
        pair
        for pair in known_pairs()
        for small, large in [(known[pair.specialist], known[pair.generalist])]
        if memory.fit(catalogue_memory(small, large)) == "fits"
        and large.gigabytes <= _GIGABYTES_A_CORE * cores
    ]
    return max(fitting, key=lambda pair: known[pair.generalist].gigabytes, default=None)


def echo_recommendation() -> None:
    """The pair for this machine, and how to get it."""
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
    commands = ("pull", "use") if lacks else ("use",)
    for command in commands:
        click.echo(f"    specsteer models {command} {names}")
    click.echo()


def download_bytes(pair: KnownPair) -> int:
    """Bytes of a pair's files that are not on this machine, about."""
    known = {one.name: one for one in hub_models()}
    return sum(
        int(one.gigabytes * 1e9)
        for one in (known[pair.specialist], known[pair.generalist])
        if not _is_here(one)
    )


def _is_here(model: HubModel) -> bool:
    return (folder_of(model.repository) / model.file).is_file()


def catalogue_memory(small: HubModel, large: HubModel) -> int:
    """Bytes that a pair of the catalogue takes on one machine, about: as `pair_memory`
    counts."""
    return small.memory(LONGEST_TEXT, 1 + TEXTS_OF_A_SERVER) + large.memory(
        LONGEST_TEXT, TEXTS_OF_A_SERVER
    )


def echo_check(
    described: tuple[ModelDescription, ModelDescription],
    found: PairCheck,
    threshold: float,
    whose: str,
) -> None:
    """What a check found; raises ContextFullError if it measured no text."""
    small, large = described
    needed, memory = pair_memory(small, large), machine_memory()
    size, number = small.vocabulary_size, small.vocabulary_id[:8]
    click.echo(f"vocabulary  one, of {size:,} tokens ({number})")
    template = (
        "yes" if small.has_template else "none in the small one: a plain one is used"
    )
    click.echo(f"template    {template}")
    click.echo(f"memory      {gigabytes(needed)}, {memory.fit(needed) or 'not known'}")
    rows = [["speed", "prompt, tokens/s", "one by one, tokens/s", "block of 9, ms"]]
    for about, speed in zip(
        described, (found.specialist, found.generalist), strict=True
    ):
        rows.append(
            [
                about.name,
                f"{speed.prompt:.0f}",
                f"{speed.step:.1f}",
                f"{1000 * speed.block:.0f}",
            ]
        )
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
    click.echo(
        "how likely each token is of what was really written: above 1 is a gain",
        err=True,
    )


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
    """The same for programs."""
    needed, memory = pair_memory(*described), machine_memory()
    return {
        "models": [_description_as_object(one) for one in described],
        "memory": {"bytes": needed, "fit": memory.fit(needed)},
        "texts": whose,
        "threshold": threshold,
        **asdict(found),
    }


def list_as_object(
    described: Sequence[tuple[FoundModel, ModelDescription]],
    pairs: Sequence[tuple[FoundModel, FoundModel, int]],
    passed_by: Sequence[tuple[FoundModel, str]],
) -> dict[str, Any]:
    """What `list` shows, for programs."""
    memory, cores = machine_memory(), usable_cores()
    known = {one.name: one for one in hub_models()}
    best = recommended_pair(memory, cores)
    return {
        "memory": asdict(memory),
        "cores": cores,
        "recommended": best and [best.specialist, best.generalist],
        "models": [
            {
                **_description_as_object(about),
                "name": one.name,
                "title": about.name,
                "source": one.source,
            }
            for one, about in described
        ],
        "pairs": [
            {
                "small": small.name,
                "large": large.name,
                "bytes": needed,
                "fit": memory.fit(needed),
            }
            for small, large, needed in pairs
        ],
        "left out": [
            {"name": one.name, "path": str(one.path), "why": why}
            for one, why in passed_by
        ],
        "catalogue": [asdict(one) for one in known.values()],
        "catalogue pairs": [
            {
                **asdict(pair),
                "download": download_bytes(pair),
                "bytes": (
                    needed := catalogue_memory(
                        known[pair.specialist], known[pair.generalist]
                    )
                ),
                "fit": memory.fit(needed),
            }
            for pair in known_pairs()
        ],
    }


def _description_as_object(about: ModelDescription) -> dict[str, Any]:
    return {**asdict(about), "path": str(about.path)}


def echo_json(body: dict[str, Any]) -> None:
    """Print an object, fit for a terminal."""
    click.echo(escaped_json(json.dumps(body, indent=1)))


def _echo_table(rows: Rows, notes: Sequence[str] = ()) -> None:
    """Columns side by side, the first to the left; a note stands behind its row."""
    from edge_app.evaluation.table import aligned  # loads llama.cpp

    lines = aligned(rows)
    for line, note in zip(lines, notes or [""] * len(lines), strict=True):
        click.echo(one_line(f"{line}  {note}").rstrip())


def gigabytes(count: int) -> str:
    """A number of bytes as a person reads it."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"
