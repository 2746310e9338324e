"""`specsteer lab bench engines`: the same texts by each pairing of engines."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.options import AT_LEAST_ONE, NEW_FILE, SEED
from benchmarks.pair.pair import Pair
from benchmarks.pair.synthetic_writers import emails_asked_for, prompts_of
from decoding_core.methods.steering import log_steered
from decoding_core.sampling import Floats, log_softmax
from decoding_core.settings import MethodSettings
from edge_app.evaluation.likelihood import Readers
from models.files import locate
from models.folders import state_folder
from models.lazy_commands import Command
from models.running.settings import EngineSettings, usable_cores

BOUND = 1e-3
"""Nats: two tokens, or a ratio and the threshold, no farther apart are a tie that two
engines may decide either way."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one pairing of engines wrote, beside llama.cpp on both sides."""

    device: str
    server: str
    texts: int
    same: int
    """Texts that are the same to the last token."""
    ties: int
    """Texts that part where the margin of what was decided is at most the bound."""
    elsewhere: int
    """Texts that part at another place."""
    widest: float
    """The largest margin at a place where texts part; 0 where none do."""
    tokens_a_second: float


def margin(
    private: Floats, large: Floats, base: Floats, settings: MethodSettings
) -> float:
    """How far what steering decides at a place is from being decided otherwise, in
    nats, from log-probabilities (V,): the specialist's two likeliest tokens, the ratio
    of the drafted one and the threshold, the target's two likeliest."""
    drafted = int(private.argmax())
    target = log_steered(private, large, base, settings.strength)
    gaps = [float(np.subtract(*np.sort(row)[:-3:-1])) for row in (private, target)]
    threshold = settings.threshold
    assert not isinstance(threshold, str)
    ratio = float(large[drafted] - base[drafted])
    return min(*gaps, abs(ratio - math.log(threshold)))


def opinions(
    readers: Readers, token_ids: Sequence[int]
) -> tuple[Floats, Floats, Floats]:
    """Log-probabilities (V,) of specialist, generalist and base after a text."""
    found = []
    for engine, prompt in (
        (readers.specialist, readers.private_ids),
        (readers.generalist, readers.public_ids),
        (readers.base, readers.public_ids),
    ):
        engine.rollback(0)
        found.append(log_softmax(engine.evaluate([*prompt, *token_ids])[0]))
    private, large, base = found
    return private, large, base


def exported(folder: Path) -> dict[str, dict[str, Path]]:
    """The embedded pair for each engine, its weights as float32, by engine and role;
    written into the folder unless it is there."""
    from benchmarks.engines.dequantise import dequantise
    from benchmarks.engines.hugging_face import export_folder

    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, Path]] = {"llama_cpp": {}, "transformers": {}}
    for role in ("specialist", "generalist"):
        file, kept = folder / f"{role}-f32.gguf", folder / role
        if not file.exists():
            part = file.with_suffix(".part")
            dequantise(locate(role), part)
            part.replace(file)
        if not (kept / "tokenizer_config.json").exists():
            export_folder(locate(role), kept)
        found["llama_cpp"][role], found["transformers"][role] = file, kept
    return found


@click.command("engines", cls=Command)
@click.option(
    "--texts",
    type=AT_LEAST_ONE,
    default=5,
    show_default=True,
    help="Emails that are written.",
)
@click.option(
    "--max-tokens",
    type=AT_LEAST_ONE,
    default=120,
    show_default=True,
    help="Of an email.",
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Of the writers.")
@click.option(
    "--threads", type=AT_LEAST_ONE, default=usable_cores(), help="Of each model."
)
@click.option("--json", "as_json", type=NEW_FILE, help="Also write the figures there.")
def command(**options: Any) -> None:
    """The same texts by each pairing of engines, at temperature 0.

    The embedded pair, its weights as float32, writes emails by steering: the device and
    the server each run llama.cpp or transformers. Texts are compared with those of
    llama.cpp on both sides, token by token; where two part, it is told how close the
    decision was. Needs the extra 'torch'.

    \b
        specsteer lab bench engines --texts 10
    """
    models = exported(state_folder() / "bench-engines")
    settings = MethodSettings(temperature=0.0, threshold=0.5)
    examples = emails_asked_for(options["texts"], options["seed"])
    rows, reference, kept = [], [], None
    for device, server in product(("llama_cpp", "transformers"), repeat=2):
        pair = Pair(
            models[device]["specialist"],
            models[server]["generalist"],
            options["threads"],
            settings=EngineSettings(precision="float32"),
        )
        same = ties = tokens = 0
        margins: list[float] = []
        started = time.perf_counter()
        written = []
        for example in examples:
            written.append(pair.write(example, settings, options["max_tokens"]))
            tokens += len(written[-1].token_ids)
        seconds = time.perf_counter() - started
        if kept is None:
            kept, reference = pair, written
        for example, one, other in zip(examples, reference, written, strict=True):
            ids = one.token_ids
            if ids == other.token_ids:
                same += 1
                continue
            pairs = enumerate(zip(ids, other.token_ids, strict=False))
            shorter = min(len(ids), len(other.token_ids))
            at = next((i for i, (a, b) in pairs if a != b), shorter)
            prompts = prompts_of(kept.small, example, options["max_tokens"])
            readers = kept.readers(prompts)
            margins.append(margin(*opinions(readers, ids[:at]), settings))
            ties += margins[-1] <= BOUND
        elsewhere = len(examples) - same - ties
        widest = max(margins, default=0.0)
        rows.append(
            Row(
                *(device, server, len(examples), same, ties, elsewhere, widest),
                tokens_a_second=tokens / seconds,
            )
        )
        click.echo(f"{device}, {server}: done", err=True)
        if pair is not kept:
            pair.close()
    assert kept is not None
    kept.close()
    print(
        "| device | server | texts | the same | part at a tie | elsewhere | widest "
        "margin, nats | tokens/s |"
    )
    print("|---" * 8 + "|")
    for row in rows:
        print(
            f"| {row.device} | {row.server} | {row.texts} | {row.same} | {row.ties} | "
            f"{row.elsewhere} | {row.widest:.1e} | {row.tokens_a_second:.1f} |"
        )
    if options["as_json"]:
        body = json.dumps([asdict(row) for row in rows], indent=1)
        options["as_json"].write_text(body + "\n", encoding="utf-8")
