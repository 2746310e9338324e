"""Private prompts as the specialist has read them, kept beside the store.

To read some 700 tokens of letters takes a second, and a request that is asked again, or
changed by a word, has most of them in common with the one before. So what the cache of
the specialist holds after a private prompt is kept (a state), and loaded in its place.

A state is found by hashes, one for each 16 tokens of its prompt, over all that decides
what a cache holds (`machine.reading_id`) and the tokens so far. So a state serves up to
the last 16 tokens that are the same, and the file holds no tokens. A second hash covers
the whole file: one that is damaged is not there.

A file has three parts: a line that names the records whose words it holds
(personal_store/states.py), a line of hashes, and the cache as the engine writes it; the
last two are sealed if the store is encrypted. The folder holds 128 MiB at most; the
state that was used least recently goes first.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from base.owner_only import make_folder, shred, write_whole
from decoding_core.verifier import common_prefix
from edge_app.config.sealed import Seal, is_encrypted, key_of, salt_of
from edge_app.decoding.events import Source
from models.running.interface import TextSlots
from models.running.machine import reading_id
from personal_store import Store
from personal_store.errors import StoreError, faults
from personal_store.states import first_line, states, states_folder, sweep

_ENDING = ".state"
_SEALED_AS = "state"  # what the parts are called in their seals
_STEP = 16  # tokens between two hashes
_WORTH = 64
"""Tokens that are read rather than loaded: that takes about as long."""
_MOST_BYTES = 128 << 20  # of all states of a store


class _Head(NamedTuple):
    """The second line of a file."""

    marks: list[str]  # the hash of each 16 tokens and all before them, and of the end
    length: int  # in tokens
    digest: str  # of all else in the file


class KeptStates:
    """The states of a store, for one text of a specialist."""

    def __init__(
        self,
        slots: TextSlots,
        store: Path,
        others: Collection[int] = (),
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """`slots` has the prompt in its first slot; `others` are records whose words it
        holds besides its sources. Raises StoreLockedError."""
        self._slots, self._store, self._most = slots, store, most_bytes
        self._others = others
        self._key = key_of(store)
        self._salt: bytes | None = None  # of other states: one key opens them all
        self._id = reading_id(slots) if slots.saves else ""
        self._copied: tuple[_Head, bytes, bytes] | None = None
        self._sources: Sequence[Source] = ()

    def restore(self, token_ids: Sequence[int]) -> None:
        """Load the state that has most of these tokens, if it has many more of them
        than the slot."""
        held = common_prefix(self._slots.tokens(0), token_ids)
        path, head, shared = self._best(token_ids)
        if path is None or shared - held <= _WORTH:
            return
        with suppress(OSError, ValueError, StoreError):
            records, _, sealed = path.read_bytes().split(b"\n", 2)
            state = self._opened(sealed)
            if head.digest == _digest(records, head.marks, head.length, state):
                prompt = token_ids[:shared]
                self._slots.restore(0, prompt, state, head.length)
                os.utime(path)

    def copy(self, token_ids: Sequence[int], sources: Sequence[Source]) -> None:
        """Take a copy of the slot's state for `write`, if it holds these tokens alone
        and no file has nearly all of them; they hold the words of these sources."""
        *_, shared = self._best(token_ids)
        if not self._slots.saves or len(token_ids) - shared <= _WORTH:
            return
        if self._slots.tokens(0) != list(token_ids):  # the last one was read alone
            return
        records = first_line({one.record_id for one in sources}.union(self._others))
        state, self._sources = self._slots.save(0), sources
        marks, length = self._marks(token_ids), len(token_ids)
        head = _Head(marks, length, _digest(records, marks, length, state))
        self._copied = head, records, state

    def write(self) -> None:
        """Keep the copy as a file, unless a text that it holds has changed or gone. A
        file that cannot be written is not kept: the prompt is read again then."""
        if self._copied is None:
            return
        (head, records, state), self._copied = self._copied, None
        line = json.dumps(head, separators=(",", ":")).encode()
        data = b"\n".join((records, self._closed(line), self._closed(state)))
        if len(data) > self._most:
            return
        folder = states_folder(self._store)
        unkept = suppress(OSError, StoreError, *faults())
        with unkept, Store.open(self._store) as store:
            for source in self._sources:  # its number may be another's by now
                passage = store.passage(source.record_id)
                if passage is None or passage.text != source.excerpt:
                    return
            make_folder(folder)
            self._make_room(len(data))
            path = folder / f"{secrets.token_hex(8)}{_ENDING}"
            write_whole(path, data)
            if is_encrypted(self._store) != (self._key is not None):
                shred(path)  # the store was converted meanwhile
            sweep(store.db)

    def _best(self, token_ids: Sequence[int]) -> tuple[Path | None, _Head, int]:
        """The state that has most of these tokens from their start, and how many."""
        best: tuple[Path | None, _Head, int] = None, _Head([], 0, ""), 0
        if not self._slots.saves:
            return best
        wanted = self._marks(token_ids)
        for path in states(self._store):
            with suppress(OSError, ValueError, TypeError, StoreError):
                with path.open("rb") as file:
                    file.readline()
                    line = file.readline().rstrip()
                head = _Head(*json.loads(self._opened(line)))
                self._salt = salt_of(line.decode("latin-1"))
                pairs = zip(head.marks, wanted, strict=False)
                same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
                shared = min(same * _STEP, head.length, len(token_ids))
                if shared > best[2]:
                    best = path, head, shared
        return best

    def _marks(self, token_ids: Sequence[int]) -> list[str]:
        """A hash for each 16 tokens, over them and all before; the last may be less."""
        marks, before = list[str](), self._id
        for at in range(0, len(token_ids), _STEP):
            words = f"{before} {list(token_ids[at : at + _STEP])}"
            before = hashlib.sha256(words.encode()).hexdigest()[:32]
            marks.append(before)
        return marks

    def _make_room(self, size: int) -> None:
        """Delete the states that were used least recently, for one of N bytes."""
        files = sorted(states(self._store), key=lambda path: path.stat().st_mtime)
        left = sum(path.stat().st_size for path in files) + size - self._most
        for path in files:
            if left <= 0:
                break
            left -= path.stat().st_size
            shred(path)

    def _closed(self, data: bytes) -> bytes:
        """A part of a file as it lies on the disk."""
        if self._key is None:
            return data
        return Seal(self._key, self._salt).closed(data, _SEALED_AS).encode()

    def _opened(self, data: bytes) -> bytes:
        """A part of a file as it was; raises DamagedSealError."""
        if self._key is None:
            return data
        return Seal(self._key).opened(data.decode("latin-1"), _SEALED_AS)


def _digest(records: bytes, marks: list[str], length: int, state: bytes) -> str:
    before = f"{records!r} {marks} {length}\n".encode()
    return hashlib.sha256(before + state).hexdigest()
