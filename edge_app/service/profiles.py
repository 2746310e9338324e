"""The written profile: what the specialist says of its writer, kept on this device.

It is written once from the newest texts, at temperature 0, and again when the history
has grown by `GROWTH`, when a text it was written from has gone, or with another model.
The file lies beside the store, for its owner's eyes only. It is never sent: it goes
where the past texts go, into the private prompt.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from decoding_core.errors import StoppedError
from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from edge_app.config.sealed import DamagedSealError, read_file, write_file
from edge_app.decoding.events import Event, Settled, SourcesFound, decoded
from edge_app.decoding.on_device import OfflineVerifier
from edge_app.retrieval.context import Searchable
from edge_app.service.requests import WriteRequest
from edge_app.service.text_job import TextJob
from models.prompts import Request
from models.running.interface import Model, TextSlots
from personal_store import Passage

PROFILE = "profile"  # what the file is called in its seal
_ENDING = "-profile.json"
TEXTS, TOKENS = 12, 120  # newest texts that are read, and length, at most
GROWTH = 0.2  # a profile is renewed when the history has grown by this share since
ASKED = Request(
    "Describe the writer of the past texts in a few sentences: how they greet and sign "
    "off, the tone, the length of sentences, words they like, people and things they "
    "often write about.",
    task="profile",
)


class NoProfileError(Exception):
    """A profile would have to be written, and may not."""


Summarise = Callable[[Sequence[Passage]], tuple[str, tuple[int, ...]]]
"""Writes a profile; returns it with the record ids of the texts that it read."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile as it is kept."""

    text: str
    read: tuple[int, ...]
    texts: int  # how many the history held then
    specialist: str  # which model wrote it
    written: str  # when, in ISO 8601, UTC


def profile_path(store: Path) -> Path:
    """The file of a store's profile."""
    return store.with_name(f"{store.stem}{_ENDING}")


def store_of(profile: Path) -> Path:
    """The store that a profile lies beside."""
    return profile.with_name(f"{profile.name.removesuffix(_ENDING)}.db")


def read_profile(path: Path) -> Profile | None:
    """The profile in a file; None if it is absent or damaged."""
    try:
        return decoded(Profile, json.loads(read_file(path, PROFILE, store_of(path))))
    except (OSError, ValueError, DamagedSealError):
        return None


def keep_profile(path: Path, profile: Profile) -> None:
    """Replace the file, sealed if the store is encrypted."""
    body = json.dumps(asdict(profile), indent=1, ensure_ascii=False)
    write_file(path, body.encode(), PROFILE, store_of(path))


class Profiler:
    """Gives the profile of a history: the one that is kept, or a fresh one."""

    def __init__(
        self,
        summarise: Summarise | None,
        specialist: str,
        kept: Path | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`summarise` is None if no profile may be written; `kept` is the file of the
        profile, None: only the last, in memory. `notice` gets a sentence before one is
        written, which takes its time."""
        self._summarise = summarise
        self._specialist = specialist
        self._kept = kept
        self._notice = notice
        self._last: tuple[tuple[str, ...], str, tuple[int, ...]] | None = None

    def __call__(self, texts: Searchable, excluded: Collection[int]) -> str:
        """The profile of these texts; empty if there are no texts."""
        there = set(texts.kinds())
        profile = read_profile(self._kept) if self._kept else None
        if (
            profile is not None
            and profile.specialist == self._specialist
            and set(profile.read) <= there - set(excluded)
            and len(there) < (1 + GROWTH) * profile.texts
        ):
            return profile.text
        if not there - set(excluded):
            return ""
        return self.renew(texts, excluded).text

    def renew(self, texts: Searchable, excluded: Collection[int] = ()) -> Profile:
        """Write it anew, and keep it if no text is excluded; raises NoProfileError."""
        if self._summarise is None:
            raise NoProfileError
        self._notice("a profile of your texts is being written, on this device alone")
        newest = texts.recent(limit=TEXTS, excluded=excluded)
        key = tuple(passage.text for passage in newest)
        if self._last is None or self._last[0] != key:
            self._last = key, *self._summarise(newest)
        _, text, read = self._last
        now = datetime.now(UTC).isoformat(timespec="seconds")
        profile = Profile(text, read, len(texts.kinds()), self._specialist, now)
        if self._kept is not None and not excluded:
            keep_profile(self._kept, profile)
        return profile


def summariser(model: Model, context: TextSlots, stop: threading.Event) -> Summarise:
    """Writes summaries with a specialist, greedily; raises StoppedError."""

    def summarise(passages: Sequence[Passage]) -> tuple[str, tuple[int, ...]]:
        settings = MethodSettings(method="specialist", temperature=0.0)
        request = WriteRequest(
            ASKED, settings=settings, max_tokens=TOKENS, offline=True
        )
        words, read = list[str](), list[int]()

        def add(event: Event) -> None:
            if isinstance(event, Settled):
                words.extend(token.text for token in event.tokens)
            elif isinstance(event, SourcesFound):
                read.extend(source.record_id for source in event.sources)

        job = TextJob(model, context, request, build(settings), add, stop)
        if job.run(OfflineVerifier(), passages) == "stopped":
            raise StoppedError("stopped while the profile was being written")
        return "".join(words).strip(), tuple(read)

    return summarise
