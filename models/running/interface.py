"""The interface of every engine: a model, its vocabulary, and caches of texts over it.

A `Model` holds the weights of a file or folder, loaded once. Its `TextSlots` hold the
caches of several texts, one per slot: they are the `BatchEngine` of the server. A
`SlotEngine` is a single slot: it is the `Engine` of the device. Whoever runs a model
names these and no engine, which is a module of `models.engines`.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from decoding_core.byte_space import ByteVocabulary, Tokenize
from decoding_core.errors import ContextFullError, EngineError
from decoding_core.foreign_text import escaped, one_line
from decoding_core.protocols import Reading
from decoding_core.sampling import Floats
from models.chat import ChatTemplate
from models.never_drawn import Unwritten
from models.running.settings import EngineSettings, PersonalAdapter

_BLANK = "\u2581".encode()  # how SentencePiece writes a blank in the name of a token
_FIRST_WORDS = 4096  # tokens among which its first words stand
_LONGEST_NAME = 40  # characters of a token that a sentence shows


def padding_name(token_id: int) -> bytes:
    """The name of an id without a token, as llama.cpp's converter writes it."""
    return b"[PAD%d]" % token_id


def token_list_id(names: Iterable[bytes]) -> str:
    """The id of a vocabulary whose tokens have these names."""
    sha = hashlib.sha256()
    for name in names:
        sha.update(len(name).to_bytes(4, "little") + name)
    return sha.hexdigest()[:32]


class Vocabulary(ABC):
    """Text to token ids, ids to bytes, as long as its model is open.

    Padding behind the last real token is no part of it: families round the size of
    their embedding up, each size of model to another number.
    """

    size: int  # how many tokens there are, padding left out

    @cached_property
    def id(self) -> str:
        """Hash of the token list; two models fit only if theirs are equal."""
        return token_list_id(self.names())

    @cached_property
    def unwritten(self) -> Unwritten:
        """Tokens that are never drawn."""
        return Unwritten(self)

    def names(self) -> list[bytes]:
        """The names of all tokens in the order of their ids."""
        return [self.token(token_id) for token_id in range(self.size)]

    @cached_property
    def begins_with_blank(self) -> bool:
        """Whether the first token may add a blank before a text, as SentencePiece
        writes one before every word."""
        looked_at = range(min(self.size, _FIRST_WORDS))
        return any(self.token(one).startswith(_BLANK) for one in looked_at)

    @property
    @abstractmethod
    def end_ids(self) -> frozenset[int]:
        """Tokens that end a text."""

    @abstractmethod
    def token(self, token_id: int) -> bytes:
        """The name of a token in the model's token list."""

    @abstractmethod
    def tokenize(self, text: str, control: bool = False) -> list[int]:
        """Ids of a text; only with `control` may it name control tokens."""

    @abstractmethod
    def piece(self, token_id: int) -> bytes:
        """UTF-8 bytes of a token, perhaps a part of a character; b"" for control.
        Raises EngineError if there is no such token."""

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """Text of token ids; broken characters become U+FFFD."""
        data = b"".join(self.piece(token) for token in token_ids)
        return data.decode("utf-8", "replace")


class Model(ABC):
    """Weights and a vocabulary."""

    path: Path
    name: str  # for the screen; whoever made the file wrote it
    chat_template: ChatTemplate  # its own, or a plain one if it has none
    vocabulary: Vocabulary
    context_length: int  # how many tokens the model was trained to read
    settings: EngineSettings
    slots_type: ClassVar[type[TextSlots]]  # what `open` makes

    @property
    def vocabulary_id(self) -> str:
        """Hash of the token list."""
        return self.vocabulary.id

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the model knows."""
        return self.vocabulary.size

    def open(
        self,
        slots: int = 1,
        context_length: int | None = None,
        *,
        adapter: PersonalAdapter | None = None,
        owns_model: bool = False,
        pool: int = 0,
    ) -> TextSlots:
        """Make room for texts over this model; as `TextSlots` is made."""
        return self.slots_type(
            *(self, slots, context_length),
            adapter=adapter,
            owns_model=owns_model,
            pool=pool,
        )

    @abstractmethod
    def close(self) -> None:
        """Free the weights; slots over them must be closed before."""


class Language(Protocol):
    """What of a model turns messages into tokens and tokens into text."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Its tokens."""

    @property
    def chat_template(self) -> ChatTemplate:
        """How it is spoken to."""


class TextSlots(ABC):
    """The caches of several texts over one model: a `BatchEngine`.

    A lock lets one thread in at a time. The tokens that a slot has read are kept here;
    an engine adds how it reads and forgets.
    """

    saves = False  # whether the engine can save a slot of this model, and restore it

    def __init__(
        self,
        model: Model,
        slots: int = 1,
        context_length: int | None = None,
        *,
        adapter: PersonalAdapter | None = None,
        owns_model: bool = False,
        pool: int = 0,
    ) -> None:
        """Make room for `slots` texts, each of up to `context_length` tokens (None: as
        many as the model was trained to read), read with `adapter` (None: the weights
        as they are). Together they have up to `pool` tokens, those that they `share`
        counted once, if the engine keeps them in one pool (0: as the settings say).
        Closing the slots also closes the model if `owns_model`.

        Raises:
            InvalidSettingsError: more slots than the engine can hold.
            ModelError: the adapter is missing, damaged or made for another model.
            EngineError: the memory cannot be had.
        """
        self.model, self.name = model, model.name
        self.slots = slots
        self.context_length = context_length or model.context_length
        self.adapter = adapter
        self.pool = pool or model.settings.kv_tokens or 0
        self.vocabulary_size = model.vocabulary_size
        self.stop = threading.Event()
        """Set it to abort a long evaluation from another thread."""
        self._owns_model = owns_model
        self._open = True
        self._lock = threading.Lock()
        self._tokens: list[list[int]] = [[] for _ in range(slots)]
        self._together = [0] * slots
        self._allocate()

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self.model.vocabulary_id

    def sequence(self, slot: int = 0) -> SlotEngine:
        """One slot as an `Engine`."""
        return SlotEngine(self, slot)

    def position(self, slot: int) -> int:
        """How many tokens a slot has read."""
        return len(self._tokens[slot])

    def tokens(self, slot: int) -> list[int]:
        """The tokens that a slot has read, up to the first that it read alone: whoever
        reads several at once must read that one again, for the same last bits."""
        return self._tokens[slot][: self._together[slot]]

    def use_threads(self, single: int, several: int) -> None:
        """Set how many threads read a single token, and how many several at once."""
        with self._lock:
            if not self._open:
                raise EngineError("the context is closed")
            self._use_threads(single, several)

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on in several slots, in as few passes as the engine can; returns logits
        (rows, V) of each reading, as float32. Nothing was read if it raises
        ContextFullError, as one does not fit, or StoppedError, as `stop` was set."""
        with self._reading(readings):
            size = self.vocabulary_size
            logits = [np.empty((one.rows, size), np.float32) for one in readings]
            self._read(readings, logits)
        return logits

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        with self._lock:
            if not 0 <= position <= len(self._tokens[slot]):
                raise EngineError(
                    f"cannot roll back from {len(self._tokens[slot])} to {position}"
                )
            self._forget(slot, position)
            del self._tokens[slot][position:]
            self._together[slot] = min(self._together[slot], position)

    def save(self, slot: int) -> bytes:
        """The cache of a slot, which `restore` reads; raises EngineError if closed."""
        with self._lock:
            if not self._open:
                raise EngineError("the context is closed")
            return self._save(slot)

    def restore(
        self, slot: int, token_ids: Sequence[int], saved: bytes, length: int
    ) -> bool:
        """Have a slot hold these tokens by what `save` gave in slots of the same
        `machine.reading_id` of a text of N tokens, read in passes of several, that
        begins with them. If that does not fit, the slot is empty, and False is
        returned."""
        with self._lock:
            if not self._open or not len(token_ids) <= length <= self.context_length:
                return False
            self._forget(slot, 0)
            self._tokens[slot], self._together[slot] = [], 0
            if not self._restore(slot, length, saved):
                self._forget(slot, 0)
                return False
            self._forget(slot, len(token_ids))
            self._tokens[slot] = list(token_ids)
            self._together[slot] = len(token_ids)
            return True

    def share(self, source: int, slot: int, length: int) -> None:
        """Have a slot hold the first tokens of another as well, or nothing if the
        engine cannot."""
        with self._lock:
            self._forget(slot, 0)
            self._tokens[slot], self._together[slot] = [], 0
            if self._open and self._share(source, slot, length):
                self._tokens[slot] = self._tokens[source][:length]
                self._together[slot] = min(self._together[source], length)

    def interrupt(self) -> None:
        """Abort a long evaluation, from another thread."""
        self.stop.set()

    def close(self) -> None:
        """Free the caches, and the weights if these slots own them."""
        with self._lock:
            if self._open:
                self._open = False
                self._free()
        if self._owns_model:
            self.model.close()

    @contextmanager
    def _reading(self, readings: Sequence[Reading]) -> Iterator[None]:
        """Hold the lock while the engine reads; its readings count together or not at
        all."""
        with self._lock:
            for reading in readings:
                self._check(reading)
            try:
                yield
            except BaseException:
                for reading in readings:
                    self._forget(reading.slot, len(self._tokens[reading.slot]))
                raise
            for reading in readings:
                tokens, slot = self._tokens[reading.slot], reading.slot
                if self._together[slot] == len(tokens) and len(reading.token_ids) > 1:
                    self._together[slot] += len(reading.token_ids)
                tokens.extend(reading.token_ids)

    def _check(self, reading: Reading) -> None:
        """Raise an error for an invalid reading before the engine sees it."""
        if not self._open:
            raise EngineError("the context is closed")
        ids, count = reading.token_ids, len(reading.token_ids)
        if not 1 <= reading.rows <= count:
            raise EngineError(f"{reading.rows} rows of logits from {count} tokens")
        if not 0 <= min(ids) <= max(ids) < self.vocabulary_size:
            raise EngineError("a token id that is not in the vocabulary")
        size = len(self._tokens[reading.slot]) + count
        if size > self.context_length:
            raise ContextFullError(
                f"{size} tokens do not fit into a context of {self.context_length}"
            )

    @abstractmethod
    def _allocate(self) -> None:
        """Make the engine's caches, and load the adapter."""

    @abstractmethod
    def _read(self, readings: Sequence[Reading], logits: Sequence[Floats]) -> None:
        """Read on, and fill the logits (rows, V) of each reading."""

    @abstractmethod
    def _forget(self, slot: int, position: int) -> None:
        """Drop what the engine's cache holds of a slot from a position on."""

    def _share(self, source: int, slot: int, length: int) -> bool:
        """As `share`, with an empty slot; False: nothing is shared."""
        del source, slot, length
        return False

    def _save(self, slot: int) -> bytes:
        """As `save`, while the slots are open; of an engine that `saves`."""
        raise NotImplementedError

    def _restore(self, slot: int, length: int, saved: bytes) -> bool:
        """Fill the cache of an empty slot with N tokens; False: they do not fit."""
        raise NotImplementedError

    @abstractmethod
    def _use_threads(self, single: int, several: int) -> None:
        """As `use_threads`, while the slots are open."""

    @abstractmethod
    def _free(self) -> None:
        """Free the caches; called once."""


@dataclass(frozen=True, slots=True)
class SlotEngine:
    """One slot of `TextSlots`: an `Engine`."""

    slots: TextSlots
    slot: int

    @property
    def tokens(self) -> list[int]:
        """As `TextSlots.tokens`."""
        return self.slots.tokens(self.slot)

    @property
    def position(self) -> int:
        """How many tokens it has read."""
        return self.slots.position(self.slot)

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self.slots.vocabulary_id

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read `token_ids` (T,); logits (rows, V) after each of the last `rows`."""
        return self.slots.evaluate([Reading(self.slot, token_ids, rows)])[0]

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        self.slots.rollback(self.slot, position)

    def close(self) -> None:
        """Forget everything; the slot may hold another text."""
        self.slots.rollback(self.slot, 0)


def shown_token(name: bytes | None = None) -> str:
    """The name of a token as a sentence shows it; "missing" without one."""
    if name is None:
        return "missing"
    words = one_line(escaped(name.decode("utf-8", "replace")))
    return f"'{words[:_LONGEST_NAME]}'"


def bytes_of(model: Language, tokenize: Tokenize | None = None) -> ByteVocabulary:
    """A model's vocabulary by the bytes of its tokens, as long as it is open, or
    `tokenize` cuts texts. Of the tokens that end a text the first is the one that the
    model's chat template writes."""
    vocabulary, template = model.vocabulary, model.chat_template
    pieces = [vocabulary.piece(token) for token in range(vocabulary.size)]
    usual = template.controls.get(template.eos)

    def unlikely(token: int) -> tuple[bool, bool, int]:
        name = vocabulary.token(token).decode("utf-8", "replace")
        return name not in template.source, token != usual, token

    ends = sorted(vocabulary.end_ids, key=unlikely)
    return ByteVocabulary(pieces, ends, tokenize or vocabulary.tokenize)
