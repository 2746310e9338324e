"""Training an adapter on one's own texts, or on other people's: which are learnt,
prompts as for writing, and the loss on held-out texts before and after.

Nothing leaves the device, and no text is written down: an unfinished training goes on
from the store, and is refused if its texts have changed since.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import Any, Literal

import numpy as np

from base.extras import how_to_add
from decoding_core.errors import ContextFullError, InvalidSettingsError, StoppedError
from edge_app.adapters.kept import AdapterRecord, KeptAdapter, Score, text_hash
from edge_app.evaluation.cases import (
    FEWEST_WORDS,
    Case,
    CasesError,
    case_of,
    read_files,
    requested,
)
from edge_app.evaluation.figures import Resamples
from edge_app.evaluation.pair import end_of_turn
from edge_app.retrieval import personalisation
from edge_app.retrieval.context import LONGEST_CONTEXT, PromptBuilder, RetrievalQuery
from models.adapters.lora import AdapterRecipe, Lesson, write_lora
from models.running.interface import Model
from models.running.loading import load_model
from models.running.settings import EngineSettings
from personal_store import Store
from personal_store.search.index import SAME_TEXT, Entry
from personal_store.text.tokens import shingles

FEWEST = 8  # texts to learn and to measure, together

HoldOut = Literal["time", "random"]  # hold out the newest texts, or some by chance
TrainedWith = Literal["request", "passages", "both"]
"""What stands before a text that is learnt: the request alone, the request with
retrieved passages, or the one and the other in turn."""
_SAVED_EVERY = 20.0  # seconds of learning that a power cut may cost
_MARGIN = 32  # tokens of a context that are kept free


@dataclass(frozen=True, slots=True)
class DividedTexts:
    """Texts to learn, which are the history of all, and texts that are held out."""

    learnt: Sequence[Case]
    held_out: Sequence[Case]
    texts: dict[int, str]  # the learnt texts, whole, by their numbers in the store
    asked: Collection[int] = ()  # those whose request is known: finished drafts


def divided(
    store: Store,
    only: Collection[int] | None = None,
    texts: int = 500,
    held_out: int = 30,
    by: HoldOut = "time",
    seed: int = 0,
) -> DividedTexts:
    """The newest `texts` of a store to learn from, and those to measure with: at most
    `held_out`, never more than a fifth. `only` are the numbers of usable texts; None:
    all. Raises CasesError if there are too few.

    A text that says nearly the same as a learnt one is not held out: it would be
    predicted from itself. No held-out text is a retrieved passage of a learnt one.
    """
    entries = [
        entry
        for entry in store.entries()
        if len(entry.terms) >= FEWEST_WORDS and (only is None or entry.id in only)
    ]
    line = sorted(entries, key=lambda entry: (entry.sent_at or 0, entry.id))
    count = min(held_out, len(line) // 5)
    if len(line) < FEWEST or not count:
        raise CasesError(
            f"there are {len(line)} texts of {FEWEST_WORDS} words or more, too few to "
            f"learn from: {FEWEST} are needed, and --held-out 1 at least; 'specsteer "
            "import --help' says how to add more"
        )
    newest = line[-texts - count :]
    if by == "random":
        drawn = {e.id for e in Random(seed).sample(newest, count)}
    else:
        drawn = {entry.id for entry in newest[-count:]}
    learnt = [entry for entry in newest if entry.id not in drawn]
    runs = {entry.id: shingles(entry.terms) for entry in newest}

    def others(entry: Entry) -> list[Entry]:
        """The learnt texts that do not hold most of this one."""
        own = runs[entry.id]
        return [
            other
            for other in learnt
            if other.id != entry.id and len(own & runs[other.id]) < SAME_TEXT * len(own)
        ]

    measured = [
        entry
        for entry in newest
        if entry.id in drawn and len(others(entry)) == len(learnt)
    ]
    if not measured:
        raise CasesError(
            "each text that could be held out says nearly the same as another: nothing "
            "could be measured; --hold-out random takes others"
        )
    group, ids = store.path.name, {entry.id for entry in newest}
    ratings = {one.id: one.rating for one in store.records() if one.id in ids}

    def cases(of: Sequence[Entry]) -> list[Case]:
        made = (
            case_of(store, group, entry, ratings.get(entry.id), partial(others, entry))
            for entry in of
        )
        return [case for case in made if case is not None]

    found = cases(learnt)
    passages = {int(case.name): store.passage(int(case.name)) for case in found}
    whole = {number: one.text if one else "" for number, one in passages.items()}
    return DividedTexts(found, cases(measured), whole, requested(store, ids))


def of_others(
    paths: Sequence[Path], texts: int = 500, held_out: int = 30, seed: int = 0
) -> DividedTexts:
    """Texts of other people's files, as `read_files` reads them: writers by chance are
    held out whole, with at most `held_out` texts and a fifth of all, and up to `texts`
    of the others are learnt. Raises CasesError if there are too few.

    Source: the task adapter of OPPU (TAM, `task_LoRA.py`): one for all other users.
    """
    writers: dict[tuple[str, str], list[Case]] = {}
    for case in read_files(paths):
        writers.setdefault((case.group, case.user), []).append(case)
    drawn = list(writers.values())
    Random(seed).shuffle(drawn)
    most = min(held_out, sum(map(len, drawn)) // 5)
    measured, learnt = list[Case](), list[Case]()
    for of_one in drawn:
        fits = len(measured) + len(of_one) <= most
        (measured if fits else learnt).extend(of_one)
    if not measured or len(learnt) + len(measured) < FEWEST:
        raise CasesError(
            f"there are {len(learnt) + len(measured)} texts of {len(drawn)} other "
            f"people, too few to learn from: {FEWEST} are needed, and a writer with at "
            "most a fifth of them to measure"
        )
    # The numbers stand where those of the store do; no two texts share one.
    numbered = [
        replace(case, name=str(number))
        for number, case in enumerate([*learnt[:texts], *measured], 1)
    ]
    learnt, measured = numbered[: -len(measured)], numbered[-len(measured) :]
    return DividedTexts(learnt, measured, {int(one.name): one.text for one in learnt})


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What is trained, and how."""

    specialist: Path
    recipe: AdapterRecipe
    reads: TrainedWith = "both"
    personalisation: str = personalisation.USUAL
    max_tokens: int = 400  # where a longer text is cut
    device: str = "auto"
    engine: EngineSettings = field(default_factory=EngineSettings)


def train_adapter(
    plan: TrainingPlan,
    texts: DividedTexts,
    adapter: KeptAdapter,
    store: str,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None],
    stop: threading.Event,
) -> KeptAdapter:
    """Train an adapter, or go on with an unfinished one. `notice` gets sentences,
    `progress` the steps done and in all. Raises StoppedError with all steps saved,
    ModelError, ContextFullError if no text fits, and InvalidSettingsError if the
    unfinished one is of another plan."""
    lessons, measured = _lessons(plan, texts, notice, stop)
    held_out = list(measured.values())
    about = adapter.about
    if about is None or not adapter.checkpoint.exists():
        key = token_hex(16)
        about = AdapterRecord(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            specialist=plan.specialist.name,
            store=store,
            reads=plan.reads,
            recipe=asdict(plan.recipe),
            key=key,
            texts={i: text_hash(key, texts.texts[i]) for i in lessons},
            held_out=len(held_out),
        )
    run = extra().AdapterTraining(
        plan.specialist,
        list(lessons.values()),
        plan.recipe,
        adapter.checkpoint,
        device=plan.device,
        threads=plan.engine.thread_count,
        stop=stop,
    )
    adapter = adapter.keep(about)
    if run.step:
        notice(f"goes on after step {run.step} of {run.steps}")
    try:
        if "before" not in run.kept:
            run.kept["before"] = _costs(run, held_out)
            run.save()
        saved = time.monotonic()
        while not run.finished:
            run.advance()
            progress(run.step, run.steps)
            if time.monotonic() - saved > _SAVED_EVERY:
                run.save()
                saved = time.monotonic()
        run.save()
        after = _costs(run, held_out)
    except StoppedError as error:
        if "before" in run.kept:
            run.save()
        raise StoppedError(
            f"stopped after step {run.step} of {run.steps}, which is kept; the same "
            "command goes on from there"
        ) from error
    lengths = np.array([len(one.text) for one in held_out], float)
    both = zip(run.kept["before"], after, strict=True)
    costs = [_score(np.array(before), np.array(now), lengths) for before, now in both]
    scores = dict(zip(("request", "passages"), costs, strict=True))
    asked = np.isin(list(measured), list(texts.asked))
    if asked.any():
        before, now = (np.array(one[0])[asked] for one in (run.kept["before"], after))
        score = _score(before, now, lengths[asked])
        scores["asked"] = replace(score, texts=int(asked.sum()))
    write_lora(adapter.weights, run.lora(), run.architecture, run.heads, adapter.name)
    adapter = adapter.keep(
        replace(about, scores=scores, seconds=run.seconds, finished=True)
    )
    adapter.checkpoint.unlink()
    return adapter


def _lessons(
    plan: TrainingPlan,
    texts: DividedTexts,
    notice: Callable[[str], None],
    stop: threading.Event,
) -> tuple[dict[int, Lesson], dict[int, Lesson]]:
    """Token ids of the texts with their prompts by their numbers in the store: those to
    learn, then those held out, whose prompts are of the request, then with passages."""
    with closing(load_model(plan.specialist, plan.engine, stop)) as model:
        end = end_of_turn(model)
        learnt, held_out = (
            {int(case.name): _lesson(model, end, case, plan, stop) for case in cases}
            for cases in (texts.learnt, texts.held_out)
        )
    reads = {"request": slice(1), "passages": slice(1, 2), "both": slice(2)}[plan.reads]
    lessons = {
        number: replace(one, prompts=one.prompts[reads])
        for number, one in learnt.items()
        if one is not None
    }
    measured = {number: one for number, one in held_out.items() if one is not None}
    if not lessons or not measured:
        raise ContextFullError(
            "no text fits into the specialist together with its request; a lower "
            "--max-tokens makes room"
        )
    notice(
        f"learning {len(lessons)} texts with {plan.specialist.name}, {len(measured)} "
        "are held out"
    )
    if known := len(lessons.keys() & set(texts.asked)):
        notice(f"of {known} of them, finished drafts, your request is known")
    if crowded := len(learnt) + len(held_out) - len(lessons) - len(measured):
        notice(f"{crowded} texts are too long for it")
    return lessons, measured


def _lesson(
    model: Model, end: int | None, case: Case, plan: TrainingPlan, stop: threading.Event
) -> Lesson | None:
    """A text with both prompts, as they are for writing; None if it does not fit."""
    if stop.is_set():
        raise StoppedError("stopped while the texts were read; nothing was begun")
    vocabulary = model.vocabulary
    beginning = vocabulary.tokenize(case.beginning)
    whole = vocabulary.tokenize(case.text)
    ids = whole[: plan.max_tokens]
    if len(ids) == len(whole) and end is not None:
        ids = [*ids, end]
    query = RetrievalQuery(case.request)
    name = plan.personalisation
    retrieved = personalisation.find(name, case.history(), query)
    length = min(model.context_length, LONGEST_CONTEXT) - _MARGIN
    builder = PromptBuilder(vocabulary.tokenize, model.chat_template, length)
    room = plan.max_tokens + len(beginning)
    try:
        prompts = builder.build(case.request, retrieved, "", room)
    except ContextFullError:
        return None
    both = prompts.public_ids, prompts.private_ids
    return Lesson(tuple((*prompt, *beginning) for prompt in both), tuple(ids))


def _costs(run: Any, held_out: Sequence[Lesson]) -> list[list[float]]:
    """Nats of each held-out text: after the request alone, and with passages."""
    return [[run.nats(one.prompts[i], one.text) for one in held_out] for i in (0, 1)]


def _score(before: Any, after: Any, lengths: Any) -> Score:
    tokens = float(lengths.sum())
    change = Resamples(range(len(before)), seed=0).ratio(after, before, 1.0)
    costs = float(before.sum()) / tokens, float(after.sum()) / tokens
    return Score(*costs, change.low, change.high)


def extra() -> Any:
    """The module that trains; raises InvalidSettingsError if an extra is missing."""
    try:
        from models.adapters import training
    except ImportError as error:
        raise InvalidSettingsError(
            f"training an adapter needs more libraries: {how_to_add('adapter')}"
        ) from error
    return training
