"""A device that writes texts under each condition (a method, and what of the history is
held back), and all that it hands to the socket."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.privacy.attack import Bound
from benchmarks.privacy.worlds import Writer
from decoding_core.errors import InvalidSettingsError, StoppedError
from decoding_core.settings import MethodSettings
from edge_app.commands.service_config import service_config
from edge_app.config.settings import Settings
from edge_app.decoding.events import (
    Event,
    Finished,
    Sent,
    Settled,
    SourcesFound,
    Statistics,
)
from edge_app.privacy.ledger import Entry
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from edge_app.transport.child_server import ChildServer
from models.prompts import Request
from models.running.settings import EngineSettings
from personal_store import Passage, Store, import_source

LIMITS = (1.0, 4.0, 16.0)
"""Nats of a budget for a text. As ln 100 is 4.6, with 4 no more than 54 of 100 writers
are found."""
MIXTURE = 0.1  # nats of a token, if drafts are drawn from a mixture
METHODS = ("lossless", "rejection", "speculative", "lightcosteer")


@dataclass(frozen=True, slots=True)
class Condition:
    """How texts are written."""

    name: str
    method: Mapping[str, Any] = field(default_factory=dict)
    """Of `MethodSettings`; all else is as usual."""
    defences: Mapping[str, Any] = field(default_factory=dict)
    """Lines of `settings.toml`."""
    use_history: bool = True

    @property
    def bound(self) -> Bound | None:
        """The nats that a text and a token may reveal; None: no limit."""
        text = self.defences.get("privacy_budget")
        token = self.defences.get("privacy_mixture")
        return None if text is token is None else Bound(text, token)

    def settings(self, temperature: float, top_p: float, seed: int) -> MethodSettings:
        """How the text is decoded."""
        usual = {"temperature": temperature, "top_p": top_p, "seed": seed}
        return MethodSettings(**{**usual, **self.method})


def all_conditions() -> list[Condition]:
    """Every row, in the order of the table."""
    guard = {"guard": "placeholder"}
    return [
        Condition("nothing"),
        Condition("guard", defences=guard),
        *(Condition(f"budget {x:g}", defences={"privacy_budget": x}) for x in LIMITS),
        Condition(f"mixture {MIXTURE:g}", defences={"privacy_mixture": MIXTURE}),
        Condition(
            f"guard, budget {LIMITS[1]:g}",
            defences={**guard, "privacy_budget": LIMITS[1]},
        ),
        *(Condition(name, {"method": name}) for name in METHODS),
        Condition("strength 0.5", {"strength": 0.5}),
        Condition("strength 2", {"strength": 2.0}),
        Condition("temperature 0", {"temperature": 0.0}),
        Condition("no history", use_history=False),
    ]


def chosen(names: str) -> list[Condition]:
    """The rows with these names, with commas, or all; raises InvalidSettingsError with
    a name that no row has."""
    every = {one.name: one for one in all_conditions()}
    if names == "all":
        return list(every.values())
    # A name may hold a comma of its own, as "guard, budget 4" does.
    found, left = [], names
    while left:
        fitting = [n for n in every if left == n or left.startswith(f"{n},")]
        if not fitting:
            raise InvalidSettingsError(
                f"there is no condition '{left.partition(',')[0]}'; there are "
                + ", ".join(f"'{name}'" for name in every)
            )
        name = max(fitting, key=len)
        found.append(every[name])
        left = left[len(name) + 1 :].strip()
    return found


def _of(place: type, defences: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the defences that are fields of a class, and the guard off if no row
    asks for it, so that its default changes none."""
    there = {one.name for one in fields(place)}
    every = {"guard": "off", **defences}
    return {name: value for name, value in every.items() if name in there}


@dataclass(frozen=True, slots=True)
class WritingOptions:
    """What is drawn alike in all texts of a run."""

    max_tokens: int
    temperature: float
    top_p: float


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was written, and what left for it."""

    text: str  # as the person reads it
    entries: tuple[Entry, ...]
    read: tuple[int, ...]  # numbers of the letters that stood in the private prompt
    drafted: int
    accepted: int
    tokens: int
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """All of it, to be kept."""
        body = {one.name: getattr(self, one.name) for one in fields(self)}
        body["entries"] = [
            [e.time, e.what, e.size, base64.b64encode(e.payload).decode()]
            for e in self.entries
        ]
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Text:
        """What `as_json` gave."""
        entries = tuple(
            Entry(time, "", what, size, (), base64.b64decode(payload))
            for time, what, size, payload in body["entries"]
        )
        return cls(**{**body, "entries": entries, "read": tuple(body["read"])})


class Device:
    """Writes the texts of a run, one after the other."""

    def __init__(
        self,
        models: Mapping[str, Path],
        engine: EngineSettings,
        options: WritingOptions,
        stop: threading.Event,
    ) -> None:
        """Start a server; raises what a service raises."""
        self._models = models
        self._engine = engine
        self._options = options
        self._stop = stop
        self._services: dict[str, WritingService] = {}
        self._writer = ""
        with ExitStack() as opened:
            self._folder = Path(opened.enter_context(TemporaryDirectory()))
            files = models["generalist"], models["specialist"]
            self._server = opened.enter_context(closing(ChildServer(*files, engine)))
            self._server.wait(stop)
            self._opened = opened.pop_all()

    def write(
        self, writer: Writer, request: Request, condition: Condition, seed: int
    ) -> Text:
        """Write one text with a writer's letters; raises StoppedError."""
        self._have(writer)
        events: list[Event] = []
        wanted = WriteRequest(
            request,
            settings=condition.settings(
                self._options.temperature, self._options.top_p, seed
            ),
            max_tokens=self._options.max_tokens,
            may_go_offline=False,
            use_history=condition.use_history,
            **_of(WriteRequest, condition.defences),
        )
        self._service(condition).write(wanted, events.append, self._stop)
        if self._stop.is_set():
            raise StoppedError("stopped")
        numbers = {one.text.strip(): one.record_id for one in writer.letters}
        read = [
            numbers.get(source.excerpt.strip(), 0)
            for event in events
            if isinstance(event, SourcesFound)
            for source in event.sources
        ]
        finished = next((e for e in events if isinstance(e, Finished)), None)
        counts = Statistics() if finished is None else finished.statistics
        tokens = [t for e in events if isinstance(e, Settled) for t in e.tokens]
        entries = tuple(
            Entry(e.time, e.url, e.what, e.size, e.token_ids, e.payload)
            for e in events
            if isinstance(e, Sent)
        )
        return Text(
            "".join(token.text for token in tokens),
            entries,
            tuple(read),
            counts.drafted,
            counts.accepted,
            len(tokens),
            counts.seconds,
        )

    def close(self) -> None:
        """End the services and the server."""
        for service in self._services.values():
            service.close()
        self._opened.close()

    def _have(self, writer: Writer) -> None:
        """Put a writer's letters, and no others, into a store of their own."""
        if self._writer == writer.name:
            return
        for service in self._services.values():
            service.close()
        self._services.clear()
        self._writer = writer.name
        self._store = self._folder / f"{writer.name}.db"
        if not self._store.exists():
            fill(self._store, writer.letters)

    def _service(self, condition: Condition) -> WritingService:
        if condition.name not in self._services:
            config = service_config(
                replace(Settings(), **_of(Settings, condition.defences)),
                server=self._server.url,
                specialist=self._models["specialist"],
                generalist=self._models["generalist"],
            )
            config = replace(
                config,
                store=self._store,
                ledger=self._store.with_suffix(f".{len(self._services)}.ledger"),
                engine=self._engine,
                settings=replace(
                    config.settings, token=self._server.token, token_in_clear=True
                ),
            )
            self._services[condition.name] = WritingService(config)
        return self._services[condition.name]


def fill(path: Path, letters: Sequence[Passage]) -> None:
    """Make a store of these letters, in their order."""
    rows = [
        {
            "text": one.text,
            "title": one.subject,
            "recipient": one.recipient,
            "kind": one.kind,
            "date": "" if one.date is None else one.date.isoformat(),
        }
        for one in letters
    ]
    file = path.with_suffix(".jsonl")
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    mapping = {"to": "recipient", **{n: n for n in ("text", "title", "kind", "date")}}
    with Store.open(path) as store:
        import_source(store, "jsonl", file, mapping=mapping)
