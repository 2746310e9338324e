"""The models of the server."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cloud_api.engine.words import Words
from cloud_api.errors import ServerError
from decoding_core.errors import VocabularyMismatchError
from decoding_core.protocols import BatchEngine
from decoding_core.verifier import VerifierRole
from models.running.interface import Language, Model, TextSlots
from models.running.settings import EngineSettings

BLOCK = 8  # tokens of a usual block: what the server's models read most of the time


@dataclass(frozen=True, slots=True)
class StockAddress:
    """A model that a stock server (vLLM, llama-server) runs."""

    url: str
    model: str = ""  # the name it is served by; "": the server serves a single one
    key: str = field(default="", repr=False)  # of the server, if it wants one


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which models the server runs, and how."""

    generalist: Path | StockAddress
    base: Path | StockAddress | None
    """None: the devices run it. Behind an address only if the generalist is too."""
    slots: int = 4
    context_length: int | None = None
    """Tokens per text; None: as many as the models were trained for, up to 8,192."""
    engine: EngineSettings = field(default_factory=EngineSettings)
    tokenizer: Path | None = None
    """The tokens of a generalist behind an address; None: they are the base's."""
    kv_tokens: int | None = None
    """Tokens of the pool that all texts of a model share; None: `context_length` for
    each of the slots."""
    unload_seconds: float | None = None
    """Seconds without a request after which the models rest; None: never."""


@dataclass(slots=True)
class LoadProgress:
    """How far the models are loaded; written by the engine thread, read by others."""

    role: str = ""
    """`generalist` or `base`, whichever is being loaded; empty before and after."""
    share: float = 0.0  # of that one, from 0 to 1


class ServedModel:
    """A model that is not always loaded; its name and limits stay."""

    def __init__(self, opened: TextSlots, reopen: Callable[[], TextSlots]) -> None:
        """Serve `opened`, which `reopen` loads again after it was closed."""
        self.name = opened.name
        self.vocabulary_id = opened.vocabulary_id
        self.vocabulary_size = opened.vocabulary_size
        self.context_length = opened.context_length
        self.slots = opened.slots
        self.loads = 1
        """How often it was loaded."""
        self._opened: TextSlots | None = opened
        self._reopen = reopen
        self._users: list[None] = []  # one for each, as lists need no lock
        self._lock = threading.Lock()

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory now."""
        return self._opened is not None

    @property
    def in_use(self) -> bool:
        """Whether somebody besides the engine thread needs it to stay loaded."""
        return bool(self._users)

    def opened(self) -> TextSlots:
        """The model, with empty caches if it had to be loaded; raises ModelError if it
        cannot be loaded any more, and ServerError if its file is another model's now.
        """
        with self._lock:
            if self._opened is None:
                again = self._reopen()
                if again.vocabulary_id != self.vocabulary_id:
                    again.close()
                    raise ServerError(
                        f"another model has taken the place of '{self.name}'; start "
                        "the server again"
                    )
                self._opened = again
                self.loads += 1
            return self._opened

    def rest(self) -> None:
        """Give the memory back, unless somebody needs the model. Returns at once, also
        while it is being loaded."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._users and self._opened is not None:
                self._opened.close()
                self._opened = None
        finally:
            self._lock.release()

    @contextmanager
    def model(self) -> Iterator[Model]:
        """The model's vocabulary and chat template, while the block runs; raises as
        `opened` does."""
        self._users.append(None)
        try:
            yield self.opened().model
        finally:
            self._users.pop()

    def interrupt(self) -> None:
        """Abort a long evaluation, from another thread; the model is not used again."""
        if (opened := self._opened) is not None:
            opened.interrupt()

    def close(self) -> None:
        """Free the memory."""
        if self._opened is not None:
            self._opened.close()


@dataclass(slots=True)
class ReadingCounts:
    """What a model has read since the server started."""

    tokens: int = 0
    seconds: float = 0.0
    batches: Counter[int] = field(default_factory=Counter)
    """How many passes there were, by how many texts each read."""
    held: int = 0  # how many tokens its slots hold now


@dataclass(slots=True)
class EngineCounts:
    """What the engine thread has done since the server started; written by it alone."""

    generalist: ReadingCounts = field(default_factory=ReadingCounts)
    base: ReadingCounts = field(default_factory=ReadingCounts)
    evictions: Counter[str] = field(default_factory=Counter)
    """How many texts lost their slot before they ended: by `turn` to one that waited,
    by `budget` to one that needed their tokens, by `rest` as the models were
    unloaded."""
    reread: int = 0  # tokens that these had to read once more


@dataclass(frozen=True)
class Models:
    """The models that verify."""

    generalist: BatchEngine | ServedModel
    base: BatchEngine | ServedModel | None = None  # none: the devices run it
    at_once: bool = False
    """Whether both read at the same time, each in a thread of its own."""
    in_pieces: bool = True
    """Whether prompts are read in chunks; a server behind an address does so itself."""
    names: Sequence[bytes] = field(default=(), repr=False)
    """The names of the tokens, to compare a device's own with."""
    check: Callable[[VerifierRole], None] = lambda _: None
    """Raises a DecodingError for a session that the models cannot serve, or not now."""
    text: Callable[[], AbstractContextManager[Language]] | None = None
    """The generalist's vocabulary and chat template, to be used while the block runs;
    None if it runs behind an address, and no GGUF file of its family is here."""
    kv_tokens: int | None = None
    """The most tokens that all slots of a model hold together; None: no such bound."""
    unload_seconds: float | None = None
    """Seconds without a command after which they rest; None: never."""
    counts: EngineCounts = field(default_factory=EngineCounts)

    def __post_init__(self) -> None:
        if self.base is None:
            return
        if self.generalist.vocabulary_id != self.base.vocabulary_id:
            raise VocabularyMismatchError(
                f"the generalist '{self.generalist.name}' and the base "
                f"'{self.base.name}' have different vocabularies; give two models "
                "that share one"
            )

    @cached_property
    def words(self) -> Words | None:
        """The generalist's own tokens; None if they are not known here."""
        return None if self.text is None else Words(self.text)

    @property
    def context_length(self) -> int:
        """How many tokens of prompt and text each model can hold."""
        most = min(model.context_length for model in self.each())
        return most if self.kv_tokens is None else min(most, self.kv_tokens)

    @property
    def candidates(self) -> int:
        """The most tokens that a row of the generalist can give."""
        return int(
            getattr(self.generalist, "candidates", self.generalist.vocabulary_size)
        )

    @property
    def slots(self) -> int:
        """How many texts each model can hold."""
        return min(model.slots for model in self.each())

    @property
    def may_rest(self) -> bool:
        """Whether one of the models could give its memory back now."""
        served = [one for one in self.each() if isinstance(one, ServedModel)]
        return any(one.loaded for one in served) and not any(
            one.in_use for one in served
        )

    def rest(self) -> None:
        """Give back the memory of all models that were loaded here."""
        for model in self.each():
            if isinstance(model, ServedModel):
                model.rest()

    def opened(self) -> list[BatchEngine]:
        """What reads, as `each` has it; models that rest are loaded first, and raise as
        `ServedModel.opened` does."""
        return [
            one.opened() if isinstance(one, ServedModel) else one for one in self.each()
        ]

    def each(self) -> tuple[BatchEngine | ServedModel, ...]:
        """The generalist, then the base if there is one."""
        return (self.generalist,) if self.base is None else (self.generalist, self.base)
