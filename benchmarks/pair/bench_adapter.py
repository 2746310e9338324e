"""`specsteer lab bench adapter`: what a LoRA is worth, with and without a history."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

from benchmarks.options import AT_LEAST_ONE, MODEL_FILE, NEW_FILE, SEED
from benchmarks.pair.synthetic_writers import fingerprint
from decoding_core.errors import StoppedError
from edge_app.adapters.kept import AdapterRecord, KeptAdapter
from edge_app.adapters.texts import DividedTexts
from edge_app.adapters.training import (
    TrainedWith,
    TrainingPlan,
    build_examples,
    check_extra,
    train_adapter,
)
from edge_app.commands.progress import Progress
from edge_app.commands.stopping import stoppable
from edge_app.evaluation.bootstrap import Estimate, Resamples
from edge_app.evaluation.cases import Case, History
from edge_app.evaluation.pair import Measured, Measuring, Pair
from edge_app.evaluation.report import FEWEST_UNITS
from edge_app.evaluation.table import aligned
from models.adapters.recipe import AdapterRecipe
from models.files import locate
from models.lazy_commands import Command
from models.running.adapter import PersonalAdapter
from models.running.settings import EngineSettings
from models.synthetic_writers.examples import texts_of_unseen_writer
from models.synthetic_writers.synthetic import Piece
from personal_store import Passage
from personal_store.search.ranking import SAME_TEXT
from personal_store.text.tokens import shingles, tokens

NONE = "none"
TRAINED: dict[str, TrainedWith] = {
    "LoRA": "request",
    "LoRA, RAFT": "passages",
    "LoRA, both": "both",
}
"""The adapters, and what stands before a text while each is trained."""
READING = {"without": "none", "with": "bm25"}
"""What of the history is read at use."""


@dataclass(frozen=True, slots=True)
class Row:
    """Nats a byte of the held-out texts, with one adapter, and what it changed."""

    adapter: str
    history: str
    """`with` or `without`, at use."""
    specialist: Estimate
    target: Estimate
    """T at strength 1."""
    specialist_change: Estimate | None
    """As a share of the same without an adapter; None for that row itself."""
    target_change: Estimate | None


Costs = dict[tuple[str, str], list[Measured]]
"""By adapter and history."""


def divided(pieces: Sequence[Piece], learnt: int, user: str) -> DividedTexts:
    """The first texts of a writer to learn, the others to be measured: those that say
    nearly the same as a learnt one left out."""
    past = [
        Passage(
            record_id=number,
            kind=piece.request.task,
            recipient=piece.request.recipient,
            subject=piece.subject,
            text=piece.text,
            date=None,
            score=0.0,
            score_parts={},
            source="invented",
        )
        for number, piece in enumerate(pieces, 1)
    ]
    runs = [shingles(tokens(f"{one.subject}\n{one.text}")) for one in past]

    def case(place: int) -> Case:
        own = runs[place]
        others = [
            one
            for i, one in enumerate(past[:learnt])
            if i != place and len(own & runs[i]) < SAME_TEXT * max(1, len(own))
        ]
        piece = pieces[place]
        return Case(
            group="unseen writers",
            genre=piece.request.task,
            user=user,
            name=str(place + 1),
            request=piece.request,
            history=lambda: History.of(others),
            text=piece.text,
        )

    said = [
        place
        for place in range(learnt, len(pieces))
        if all(
            len(runs[place] & runs[i]) < SAME_TEXT * max(1, len(runs[place]))
            for i in range(learnt)
        )
    ]
    return DividedTexts(
        [case(place) for place in range(learnt)],
        [case(place) for place in said],
        {place + 1: pieces[place].text for place in range(learnt)},
    )


def trained(
    plan: TrainingPlan, texts: DividedTexts, folder: Path, stop: threading.Event
) -> AdapterRecord:
    """Train an adapter into a folder; what is known of it.

    Raises:
        StoppedError: the person stopped.
    """
    made = train_adapter(
        *(plan, texts, build_examples(plan, texts, stop)),
        KeptAdapter(folder.name, folder, None),
        "invented",
        notice=lambda _: None,
        progress=lambda *_: None,
        stop=stop,
    )
    assert made.about is not None
    return made.about


def rows_of(costs: Costs) -> list[Row]:
    """A row for each adapter and history; writers are resampled, or texts where there
    are too few writers to draw from."""
    first = next(iter(costs.values()))
    users: list[Hashable] = [one.case.user for one in first]
    if len(set(users)) < FEWEST_UNITS:
        users = list(range(len(first)))
    draws = Resamples(users, seed=0)
    size = np.array([one.size for one in first], float)
    rows = []
    for (adapter, history), measured in costs.items():
        bare = costs[NONE, history]
        s, s_bare = (
            np.array([m.specialist for m in some]) for some in (measured, bare)
        )
        t, t_bare = (
            np.array([m.steered[0] for m in some]) for some in (measured, bare)
        )
        changes = (draws.ratio(s, s_bare, 1.0), draws.ratio(t, t_bare, 1.0))
        rows.append(
            Row(
                adapter,
                history,
                draws.ratio(s, size),
                draws.ratio(t, size),
                *((None, None) if adapter == NONE else changes),
            )
        )
    return rows


def as_table(rows: Sequence[Row]) -> str:
    """Columns to read."""
    heading = ["adapter", "history", "S", "change", "T", "change"]
    cells = [
        [
            row.adapter,
            row.history,
            f"{row.specialist.value:.3f}",
            _percent(row.specialist_change),
            f"{row.target.value:.3f}",
            _percent(row.target_change),
        ]
        for row in rows
    ]
    return "\n".join(aligned([heading, *cells], left=2))


def _percent(change: Estimate | None) -> str:
    if change is None:
        return ""
    words = f"{100 * change.value:+.1f} %"
    if change.low is None or change.high is None:
        return words
    return f"{words} ({100 * change.low:+.1f} to {100 * change.high:+.1f})"


@click.command("adapter", cls=Command)
@click.option(
    "--writers", type=AT_LEAST_ONE, default=1, show_default=True, help="Invented ones."
)
@click.option(
    "--texts",
    type=AT_LEAST_ONE,
    default=60,
    show_default=True,
    help="Of each writer, to be learnt.",
)
@click.option(
    "--held-out",
    type=AT_LEAST_ONE,
    default=30,
    show_default=True,
    help="Of each writer, to be measured.",
)
@click.option(
    "--passes", type=AT_LEAST_ONE, default=5, show_default=True, help="Of training."
)
@click.option(
    "--rank", type=AT_LEAST_ONE, default=8, show_default=True, help="Of the adapters."
)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Of writers and training."
)
@click.option(
    "--threads", type=AT_LEAST_ONE, default=1, show_default=True, help="Of each model."
)
@click.option("--specialist", type=MODEL_FILE, help="A GGUF file.")
@click.option("--generalist", type=MODEL_FILE, help="A GGUF file.")
@click.option(
    "--json",
    "target",
    type=NEW_FILE,
    metavar="FILE",
    help="Write all settings and figures there too.",
)
def command(**options: Any) -> None:
    """What a personal LoRA is worth, with and without a history.

    For each invented writer whom no training has met, three adapters are trained on
    their texts: reading requests alone, reading retrieved passages too (RAFT), and both
    in turn. The writer's other texts are then predicted by the specialist (S) and by
    the steered target (T, strength 1) in nats a byte, with each adapter and with none,
    with and without the learnt texts as a history. The base never wears an adapter.
    Ctrl-C ends it with what was measured of whole writers.

    Changes are against the same without an adapter; in brackets 95 % intervals over
    writers, or over texts where there are fewer than six writers.

    \b
        specsteer lab bench adapter --writers 6 --json adapter.json
    """
    check_extra()
    small = options["specialist"] or locate("specialist")
    large = options["generalist"] or locate("generalist")
    engine = EngineSettings(threads=options["threads"])
    how = AdapterRecipe(
        rank=options["rank"],
        alpha=2.0 * options["rank"],
        passes=options["passes"],
        seed=options["seed"],
    )
    costs: Costs = {}
    seconds: dict[str, list[float]] = {name: [] for name in TRAINED}
    with (
        stoppable() as stop,
        TemporaryDirectory() as folder,
        Progress("texts and adapters") as progress,
    ):
        done, each = 0, len(TRAINED) + 1
        for number in range(options["writers"]):
            pieces = texts_of_unseen_writer(
                options["texts"] + options["held_out"], options["seed"] + number
            )
            texts = divided(pieces, options["texts"], str(number))
            of_writer: Costs = {}
            took: dict[str, float] = {}
            try:
                for name in (NONE, *TRAINED):
                    worn = None
                    if name != NONE:
                        where = Path(folder) / f"{number}-{TRAINED[name]}"
                        about = trained(
                            TrainingPlan(
                                small, how, TRAINED[name], engine=engine, device="cpu"
                            ),
                            *(texts, where, stop),
                        )
                        took[name] = about.seconds
                        worn = PersonalAdapter(where)
                    with closing(Pair(small, large, engine, stop, None, worn)) as pair:
                        for history, reads in READING.items():
                            read = Measuring(strengths=(1.0,), personalisation=reads)
                            of_writer[name, history] = [
                                pair.measure(case, read) for case in texts.held_out
                            ]
                    done += 1
                    progress.show(done, each * options["writers"])
            except StoppedError:
                break
            for key, measured in of_writer.items():
                costs.setdefault(key, []).extend(measured)
            for name, spent in took.items():
                seconds[name].append(spent)
    if not costs:
        raise StoppedError("stopped before a writer was measured")
    writers = len({one.case.user for one in costs[NONE, "without"]})
    rows = rows_of(costs)
    first = costs[NONE, "without"]
    size = sum(one.size for one in first)
    print(as_table(rows))
    others = {
        name: sum(getattr(one, name) for one in first) / size
        for name in ("base", "generalist")
    }
    print(
        f"\n{len(first)} texts of {writers} writers, {options['texts']} "
        f"learnt of each; B {others['base']:.3f}, L {others['generalist']:.3f}; "
        "trained "
        + ", ".join(f"{name}: {np.mean(s):.0f} s" for name, s in seconds.items())
    )
    if options["target"]:
        body = {
            "models": {path.name: fingerprint(path) for path in (small, large)},
            "recipe": asdict(how),
            "writers": writers,
            "texts": len(first),
            "nats a byte": others,
            "seconds": seconds,
            "rows": [asdict(row) for row in rows],
        }
        options["target"].write_text(json.dumps(body, indent=1))
