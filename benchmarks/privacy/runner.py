"""The runs of the attack: texts are written, then every guess is read beside them, each
result kept as soon as it is there."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.privacy.attack import Attacker, Bound, PublicView
from benchmarks.privacy.conditions import Condition
from benchmarks.privacy.device import Device, Text, WritingOptions
from benchmarks.privacy.secrets import Planted, planted, shown_in
from benchmarks.privacy.seen import Seen, seen_in
from benchmarks.privacy.worlds import Task, Writer
from benchmarks.quality.cache import Cache, sha256_of, versions
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.sampling import Floats
from edge_app.evaluation.likelihood import Readers, read
from edge_app.privacy.guard.gate import GuardGate
from edge_app.privacy.guard.history import index_of
from edge_app.retrieval.context import PromptBuilder, find_passages
from models.running.settings import EngineSettings
from personal_store import Passage

_ROOT = Path(__file__).parents[2]
_DECIDES = (
    "benchmarks/privacy/*.py",
    "decoding_core/**/*.py",
    "edge_app/decoding/*.py",
    "edge_app/privacy/**/*.py",
    "edge_app/retrieval/*.py",
    "edge_app/service/*.py",
    "models/engines/llama_cpp.py",
    "models/synthetic_writers/*",
)
"""All that a text and what is read from it depend on."""
_SHOWS = (
    *("figures.py", "report.py", "bench_privacy.py", "bench_guard.py"),
    "watching.py",
)
"""Of this folder, what only shows results or measures something else."""
_OTHERS = 5
"""Letters of the same writer that were not read, and of another writer, that are tried
for each text beside those that were read."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured."""

    options: WritingOptions
    threads: int
    seed: int
    tokens: int = 200
    """Departures that are counted of all texts of a writer together."""
    letters: bool = True
    """Whether membership of letters is tried."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A letter that is tried: was it among those that were read?"""

    kind: str
    """`read`, `unread` of the same writer, or of an `other` writer."""
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What one condition gave for one text of one writer."""

    condition: str
    writer: int
    task: int
    text: Text
    sent: int
    """Tokens that left, each once."""
    evidence: Floats
    """(N, E): for each candidate history, of each departure; the writer's own is in the
    row that has the number of the writer."""
    guesses: tuple[Guess, ...] = ()


@dataclass(frozen=True, slots=True)
class Gain:
    """What the text that was really written costs, in nats a token that was read."""

    base: tuple[float, ...]
    specialist: tuple[float, ...]
    generalist: tuple[float, ...]
    steered: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By strength."""
    held: tuple[bool, ...] = ()
    """Which tokens the guard would hold back: these are the specialist's own."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One secret that was asked around, and where it was read."""

    condition: str
    kind: str
    sent: bool
    """Whether the whole secret stood in what left."""
    refused_only: bool
    """Whether it stood in refused drafts alone, and not in the text."""
    written: bool
    """Whether it stood in the text as the person got it."""


class Runner:
    """Writes and attacks; the models are loaded with the first result that nobody
    kept."""

    def __init__(
        self,
        models: Mapping[str, Path],
        kept: Cache,
        plan: Plan,
        stop: threading.Event,
    ) -> None:
        self._models = dict(models)
        self._hashes = {role: sha256_of(path) for role, path in models.items()}
        self._kept = kept
        self._plan = plan
        self._stop = stop
        self._opened = ExitStack()
        self._device: Device | None = None
        self._attacker: Attacker | None = None

    @property
    def device(self) -> Device:
        """What writes."""
        if self._device is None:
            engine = EngineSettings(threads=self._plan.threads)
            made = Device(self._models, engine, self._plan.options, self._stop)
            self._device = self._opened.enter_context(closing(made))
        return self._device

    @property
    def attacker(self) -> Attacker:
        """What reads guesses."""
        if self._attacker is None:
            engine = EngineSettings(threads=self._plan.threads)
            files = self._models["specialist"], self._models["generalist"]
            made = Attacker(*files, engine, self._stop)
            self._attacker = self._opened.enter_context(closing(made))
        return self._attacker

    def close(self) -> None:
        """End the server, and free the models."""
        self._opened.close()

    def identified(
        self,
        writers: Sequence[Writer],
        targets: int,
        conditions: Sequence[Condition],
        progress: Callable[[int, int], None],
        *,
        others: int | None = None,
        until: float | None = None,
    ) -> list[Outcome]:
        """What each condition gave for the texts of the first `targets` writers, read
        beside the histories of all; those that are no defence for the first `others`
        alone. No writer is begun that would hardly be done `until` then, on the clock
        of `time.monotonic`.

        Raises:
            StoppedError: the person stopped; what was done is kept.
        """
        found: list[Outcome] = []
        total = sum(len(one.tasks) for one in writers[:targets]) * len(writers)
        done, longest = 0, 0.0
        for number, writer in enumerate(writers[:targets]):
            began = time.monotonic()
            if until is not None and number and began + longest > until:
                break
            some = [
                one
                for one in conditions
                if one.is_defence or others is None or number < others
            ]
            for place, task in enumerate(writer.tasks):
                texts = self._written(writer, task, some, number, place)
                seen = {name: seen_in(text.entries) for name, text in texts.items()}
                bounds = {one.name: one.bound for one in some}

                def show(histories: int, before: int = done) -> None:
                    progress(before + histories, total)

                rows = self._read(writers, task, seen, bounds, show)
                done += len(writers)
                guesses = self._letters(writers, number, task, texts, seen, bounds)
                for name, text in texts.items():
                    evidence = np.array([row[name] for row in rows])
                    found.append(
                        Outcome(
                            name,
                            number,
                            place,
                            text,
                            len(seen[name].departures),
                            evidence,
                            guesses.get(name, ()),
                        )
                    )
            longest = max(longest, time.monotonic() - began)
        return found

    def gains(
        self, writers: Sequence[Writer], targets: int, strengths: Sequence[float]
    ) -> list[Gain]:
        """What the true texts cost under all models, a writer's texts one after the
        other; those without a true text are left out."""
        found = []
        for number, writer in enumerate(writers[:targets]):
            for place, task in enumerate(writer.tasks):
                if not task.text:
                    continue
                depends = self._depends("gain", writer, task, place)
                depends |= {"strengths": list(strengths)}

                def compute(
                    writer: Writer = writer, task: Task = task
                ) -> dict[str, Any]:
                    return self._gain(writer, task, strengths)

                found.append(Gain(**self._result(depends, compute)))
            del number
        return found

    def secrets(
        self,
        count: int,
        conditions: Sequence[Condition],
        progress: Callable[[int, int], None],
        *,
        others: int | None = None,
    ) -> list[Asked]:
        """What became of so many planted secrets under each condition; under those that
        are no defence, of the first `others` alone."""
        found = []
        for number, one in enumerate(planted(count, self._plan.seed)):
            for condition in conditions:
                if not (condition.is_defence or others is None or number < others):
                    continue
                depends = self._depends("secret", one.writer, one.task, number)
                depends |= {"condition": asdict(condition)}

                def compute(
                    one: Planted = one,
                    condition: Condition = condition,
                    number: int = number,
                ) -> dict[str, Any]:
                    text = self.device.write(
                        one.writer, one.task.request, condition, self._seed(number)
                    )
                    detokenize = self.attacker.model.vocabulary.detokenize
                    seen = seen_in(text.entries)
                    sent, left = shown_in(one.secret, seen, detokenize)
                    return {
                        "sent": sent,
                        "refused_only": left,
                        "written": one.stands_in(text.text),
                    }

                body = self._result(depends, compute)
                found.append(Asked(condition.name, one.kind, **body))
            progress(number + 1, count)
        return found

    def _written(
        self,
        writer: Writer,
        task: Task,
        conditions: Sequence[Condition],
        number: int,
        place: int,
    ) -> dict[str, Text]:
        texts = {}
        for condition in conditions:
            depends = self._depends("text", writer, task, place)
            depends |= {"condition": asdict(condition)}

            def compute(condition: Condition = condition) -> dict[str, Any]:
                seed = self._seed(1000 * number + place)
                written = self.device.write(writer, task.request, condition, seed)
                return written.as_json()

            texts[condition.name] = Text.from_json(self._result(depends, compute))
        return texts

    def _read(
        self,
        writers: Sequence[Writer],
        task: Task,
        seen: Mapping[str, Seen],
        bounds: Mapping[str, Bound | None],
        show: Callable[[int], None],
    ) -> list[dict[str, Floats]]:
        """The evidence of what left, under each writer's history; `show` is told how
        many are done."""
        views: dict[str, PublicView] = {}
        what = _hash({name: _as_json(one) for name, one in seen.items()})
        rows = []
        for writer in writers:
            if self._stop.is_set():
                raise StoppedError("stopped")

            def compute(writer: Writer = writer) -> dict[str, Any]:
                if not views:
                    views.update(self._views(seen, bounds))
                passages = find_passages(writer.history(), task.request)
                return self._evidence(views, task, passages)

            depends = self._depends("evidence", writer, task, 0) | {"seen": what}
            body = self._result(depends, compute)
            rows.append({name: np.array(body[name]) for name in seen})
            show(len(rows))
        return rows

    def _letters(
        self,
        writers: Sequence[Writer],
        number: int,
        task: Task,
        texts: Mapping[str, Text],
        seen: Mapping[str, Seen],
        bounds: Mapping[str, Bound | None],
    ) -> dict[str, tuple[Guess, ...]]:
        """Letters that were read, and others that were not, each alone in a prompt."""
        if not self._plan.letters:
            return {}
        writer, other = writers[number], writers[(number + 1) % len(writers)]
        usual = next(iter(texts.values()))
        own = {one.record_id: one for one in writer.letters}
        read_ones = [own[i] for i in usual.read if i in own]
        left = [one for i, one in own.items() if i not in usual.read]
        rng = Random(f"{self._plan.seed} {writer.name} {task.request.text}")
        tried = [("read", one) for one in read_ones]
        for kind, some in (("unread", left), ("other", list(other.letters))):
            drawn = rng.sample(some, min(_OTHERS, len(some)))
            tried += [(kind, one) for one in drawn]
        views: dict[str, PublicView] = {}
        what = _hash({name: _as_json(one) for name, one in seen.items()})
        found: dict[str, list[Guess]] = {name: [] for name in texts}
        for kind, letter in tried:
            if self._stop.is_set():
                raise StoppedError("stopped")

            def compute(letter: Passage = letter) -> dict[str, Any]:
                if not views:
                    views.update(self._views(seen, bounds))
                rows = self._evidence(views, task, [letter])
                return {name: float(np.sum(row)) for name, row in rows.items()}

            depends = self._depends("letter", writer, task, 0) | {"seen": what}
            depends |= {"letter": _hash([letter.kind, letter.subject, letter.text])}
            body = self._result(depends, compute)
            for name in texts:
                found[name].append(Guess(kind, body[name]))
        return {name: tuple(some) for name, some in found.items()}

    def _views(
        self, seen: Mapping[str, Seen], bounds: Mapping[str, Bound | None]
    ) -> dict[str, PublicView]:
        top_p, most = self._plan.options.top_p, self._plan.tokens
        return {
            name: self.attacker.view(one, top_p, most, bounds[name])
            for name, one in seen.items()
        }

    def _evidence(
        self,
        views: Mapping[str, PublicView],
        task: Task,
        passages: Sequence[Passage],
    ) -> dict[str, Any]:
        try:
            prompts = self._builder().build(
                task.request, passages, "", self._plan.options.max_tokens
            )
            found = self.attacker.evidence(views, prompts.private_ids)
        except ContextFullError:
            found = {name: np.zeros(len(v.departures)) for name, v in views.items()}
        return {name: [round(float(x), 4) for x in row] for name, row in found.items()}

    def _gain(
        self, writer: Writer, task: Task, strengths: Sequence[float]
    ) -> dict[str, Any]:
        attacker, most = self.attacker, self._plan.options.max_tokens
        passages = find_passages(writer.history(), task.request)
        prompts = self._builder().build(task.request, passages, "", most)
        ids = attacker.model.vocabulary.tokenize(task.text)[:most]
        readers = Readers(
            attacker.base,
            attacker.guess,
            attacker.large,
            prompts.public_ids,
            prompts.private_ids,
        )
        opinions = read(readers, ids, strengths, ())
        index = index_of(
            [f"{p.recipient}\n\n{p.subject}\n\n{p.text}" for p in passages],
            f"{task.request.recipient}\n{task.request.text}",
            correspondents=[(p.recipient, "") for p in writer.letters],
            own=[p.text for p in writer.letters],
        )
        gate = GuardGate(index, attacker.model.vocabulary)
        held: list[bool] = []
        while len(held) < len(ids):
            piece = gate.next(ids, len(held), final=True)
            assert piece is not None  # of a text that has ended all is clear
            held += [piece.held is not None] * piece.length
        return {
            "held": held[: len(ids)],
            "base": opinions.base.round(5).tolist(),
            "specialist": opinions.specialist.round(5).tolist(),
            "generalist": opinions.generalist.round(5).tolist(),
            "steered": {
                f"{strength:g}": costs.round(5).tolist()
                for strength, costs in zip(strengths, opinions.steered, strict=True)
            },
        }

    def _builder(self) -> PromptBuilder:
        model, attacker = self.attacker.model, self.attacker
        length = attacker.guess.slots.context_length
        return PromptBuilder(model.vocabulary.tokenize, model.chat_template, length)

    def _seed(self, number: int) -> int:
        """A seed that nobody could guess stands for the one that the device draws."""
        return Random(f"{self._plan.seed} {number}").getrandbits(52)

    def _depends(
        self, kind: str, writer: Writer, task: Task, place: int
    ) -> dict[str, Any]:
        letters = [[one.kind, one.subject, one.text] for one in writer.letters]
        return {
            "kind": kind,
            "writer": [writer.name, _hash(letters)],
            "task": [place, asdict(task.request)],
            "plan": asdict(self._plan),
            "models": self._hashes,
            "code": code_id(),
            "versions": versions(),
        }

    def _result(
        self, depends: dict[str, Any], compute: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        found = self._kept.get(depends)
        if found is None:
            found = compute()
            self._kept.put(depends, found)
        return found


def _as_json(seen: Seen) -> Any:
    departures = [[list(d.prefix), d.token, d.origin] for d in seen.departures]
    return [list(seen.prompt), asdict(seen.terms), departures]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


@cache
def code_id() -> str:
    """Hash of the code that decides what is written and what is read from it."""
    sha = hashlib.sha256()
    files = {file for glob in _DECIDES for file in _ROOT.glob(glob) if file.is_file()}
    for path in sorted(files):
        if path.parent.name == "privacy" and path.name in _SHOWS:
            continue
        sha.update(str(path.relative_to(_ROOT)).encode() + path.read_bytes())
    return sha.hexdigest()[:16]
