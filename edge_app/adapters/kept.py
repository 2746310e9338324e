"""The adapters that were trained here: a folder for each, in the state folder.

    adapters/NAME/adapter.json   what it was made of, and what it is worth
    adapters/NAME/adapter.gguf   the weights; not there while the training is unfinished
    adapters/NAME/training.pt    how far an unfinished training has come

An adapter may hold what stands in the texts it was trained on, so it is for its owner's
eyes alone, and names them by their numbers in the store and a keyed hash of each.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from base.locks import lock
from base.owner_only import make_folder, write_whole
from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line
from edge_app.config.settings import expanded
from edge_app.retrieval.personalisation import WEARING
from models.folders import state_folder
from models.running.settings import ADAPTER_FILE

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_ABOUT, _CHECKPOINT = "adapter.json", "training.pt"
OFF = "off"  # the name that stands for no adapter
TASK = "task"  # the one that was trained on other people's texts, unless named
OTHERS = ""  # in the place of a store: its texts lie in none of ours


@dataclass(frozen=True, slots=True)
class Score:
    """What the texts that were held out cost, in nats a token, and the change."""

    before: float
    after: float
    low: float | None = None  # lower end of the 95 % interval; None: one text
    high: float | None = None
    texts: int | None = None  # how many of them it is of; None: all


@dataclass(frozen=True, slots=True)
class AdapterRecord:
    """The record of an adapter, kept beside its weights."""

    created: str  # when its training began, in ISO 8601, UTC
    specialist: str  # name of the model it was trained on
    store: str  # name of the store's file, or `OTHERS`
    reads: str  # which prompts stood before the texts: `request`, `passages` or `both`
    recipe: Mapping[str, Any]
    key: str  # of the hashes, in hexadecimal
    texts: Mapping[int, str]  # hash of each text, by its number in the store
    forgotten: int = 0  # how many of its texts were forgotten since
    held_out: int = 0  # how many texts were held out
    scores: Mapping[str, Score] = field(default_factory=dict)
    """`request`: reading the request alone; `passages`: with retrieved passages;
    `asked`: finished drafts alone, reading the request that was made for them."""
    seconds: float = 0.0  # spent on training
    finished: bool = False

    @property
    def trained_on(self) -> int:
        """How many texts it was trained on, those forgotten since included."""
        return len(self.texts) + self.forgotten

    def holds(self, forgotten: Mapping[int, str], store: str) -> list[int]:
        """Numbers of its texts that have one of these numbers, or equal a text."""
        said = {text_hash(self.key, text) for text in forgotten.values() if text}
        numbers = forgotten.keys() if store == self.store else ()
        return [i for i, one in self.texts.items() if i in numbers or one in said]


@dataclass(frozen=True, slots=True)
class KeptAdapter:
    """An adapter, or an unfinished training."""

    name: str
    folder: Path
    about: AdapterRecord | None  # None: it cannot be read

    @property
    def usable(self) -> bool:
        """Whether a specialist can wear it."""
        return self.weights.is_file()

    @property
    def checkpoint(self) -> Path:
        """How far the training has come."""
        return self.folder / _CHECKPOINT

    @property
    def weights(self) -> Path:
        """The GGUF file."""
        return self.folder / ADAPTER_FILE

    def keep(self, about: AdapterRecord) -> KeptAdapter:
        """Write what is kept about it, whole or not at all."""
        make_folder(self.folder)
        body = json.dumps(asdict(about), indent=1, ensure_ascii=False)
        write_whole(self.folder / _ABOUT, f"{body}\n".encode())
        return replace(self, about=about)

    def remove(self) -> None:
        """Delete it with all that belongs to it."""
        shutil.rmtree(self.folder)

    def emptied(self) -> KeptAdapter:
        """As if it had never been; the folder, whose lock may be held, stays."""
        for path in (self.folder / _ABOUT, self.weights, self.checkpoint):
            path.unlink(missing_ok=True)
        return replace(self, about=None)


@contextmanager
def training_alone(adapter: KeptAdapter) -> Iterator[None]:
    """Lock an adapter's folder; raises InvalidSettingsError if it is locked."""
    made = not adapter.folder.is_dir()
    make_folder(adapter.folder)
    handle = os.open(adapter.folder, os.O_RDONLY)
    try:
        try:
            lock(handle)
        except OSError as error:
            raise InvalidSettingsError(
                f"the adapter '{adapter.name}' is being trained by another process"
            ) from error
        yield
    finally:
        os.close(handle)
        if made:
            with suppress(OSError):  # something was begun
                adapter.folder.rmdir()


def adapters_folder() -> Path:
    """The folder of the adapters, which may be absent."""
    return state_folder() / "adapters"


def named(name: str) -> KeptAdapter:
    """The adapter of that name, also if absent; raises InvalidSettingsError."""
    if not _NAME.fullmatch(name) or name == OFF:
        raise InvalidSettingsError(
            f"an adapter's name has letters, digits, '-', '_' and '.', not "
            f"'{one_line(name)[:80]}'"
        )
    folder = adapters_folder() / name
    return KeptAdapter(name, folder, _read(folder / _ABOUT))


def kept_adapters() -> list[KeptAdapter]:
    """All adapters, and unfinished trainings, by name."""
    folder = adapters_folder()
    if not folder.is_dir():
        return []
    found = (one.name for one in folder.iterdir() if one.is_dir())
    return [named(name) for name in sorted(found) if _NAME.fullmatch(name)]


def kept_at(path: Path) -> KeptAdapter | None:
    """The adapter that is kept in this folder; None if it is none of ours."""
    if path.parent != adapters_folder() or not _NAME.fullmatch(path.name):
        return None
    return named(path.name)


def wanted(words: str) -> Path | None:
    """The adapter that a person names: a kept one by its name, a GGUF file or a folder
    of peft's by its path; None for `off` or nothing. Raises InvalidSettingsError if it
    is absent or not finished."""
    if words in ("", OFF):
        return None
    if _NAME.fullmatch(words):
        kept = named(words)
        if kept.usable:
            return kept.folder
        if kept.folder.is_dir():
            raise InvalidSettingsError(
                f"the adapter '{words}' is not finished: 'specsteer lab adapter train' "
                "with the same words goes on with it"
            )
    path = expanded(words)
    if not path.exists():
        raise InvalidSettingsError(
            f"there is no adapter '{one_line(words)}': 'specsteer lab adapter list' "
            f"shows yours, and '{OFF}' stands for none"
        )
    return path


def worn(words: str, reads: str) -> Path | None:
    """The adapter that a person names, as `wanted`; where they name none, the task
    adapter if the personalisation `reads` needs one. Raises InvalidSettingsError."""
    if words or reads not in WEARING:
        return wanted(words)
    task = named(TASK)
    if not task.usable:
        raise InvalidSettingsError(
            f"the personalisation '{reads}' needs an adapter of other people's texts: "
            "'specsteer lab adapter train --others PATH' trains one; --lora names "
            "another"
        )
    return task.folder


def that_may_hold(
    forgotten: Mapping[int, str], store: str
) -> Iterator[tuple[KeptAdapter, list[int]]]:
    """Adapters that learnt one of these texts, with their numbers; unreadable ones."""
    for one in kept_adapters():
        held = [] if one.about is None else one.about.holds(forgotten, store)
        if held or one.about is None:
            yield one, held


def without(about: AdapterRecord, numbers: Iterable[int]) -> AdapterRecord:
    """The record after texts are forgotten: their number stays, their hashes go."""
    gone = set(numbers)
    left = {i: one for i, one in about.texts.items() if i not in gone}
    count = about.forgotten + len(about.texts) - len(left)
    return replace(about, texts=left, forgotten=count)


def text_hash(key: str, text: str) -> str:
    """The keyed hash of a text, in hexadecimal."""
    words = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(words, key=bytes.fromhex(key), digest_size=16).hexdigest()


def _read(path: Path) -> AdapterRecord | None:
    """The record in a file; None if it cannot be read."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        texts = {int(number): str(one) for number, one in body["texts"].items()}
        scores = {name: Score(**one) for name, one in body["scores"].items()}
        bytes.fromhex(body["key"])
        words = {name: str(body[name]) for name in ("created", "specialist", "store")}
        return AdapterRecord(**{**body, **words, "texts": texts, "scores": scores})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
