"""Tapes: the events of texts in a file, and a service that plays them again.

The first line names the format and the request. Every other line is an event as
`events.to_json` writes it, with the seconds since the recording began under `at`.
A tape holds the text, the excerpts that were read and every byte that left; `redacted`
makes one without them.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from base.owner_only import create
from decoding_core.errors import DecodingError
from edge_app.decoding import events
from edge_app.decoding.events import Emit, Event, decoded, dumped, event_from, to_json
from edge_app.service.requests import WriteRequest
from models.prompts import TASKS, Request

if TYPE_CHECKING:
    from edge_app.facts.checking import Checker
    from edge_app.service.service import WritingService
else:
    WritingService = object  # no model takes part

FORMAT = 1
_HEADER = "specsteer_tape"
_LARGEST, _LONGEST = 64 << 20, 1e6  # bytes, a hundred long letters; seconds


class TapeError(DecodingError):
    """A tape cannot be written or played."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event, and how many seconds after the beginning it came."""

    at: float
    event: Event


@dataclass(frozen=True, slots=True)
class Tape:
    """The events of one text or several, and what was asked for."""

    request: Request
    recorded: tuple[Recorded, ...]
    samples: bool = False  # whether it was written from the sample letters

    def runs(self) -> list[list[Recorded]]:
        """The events of each text, cut behind its `Finished`."""
        runs: list[list[Recorded]] = [[]]
        for one in self.recorded:
            runs[-1].append(one)
            if isinstance(one.event, events.Finished):
                runs.append([])
        return [run for run in runs if run]

    def lines(self) -> Iterator[str]:
        """The lines of its file, without line ends."""
        yield _header(self.request, self.samples)
        yield from (to_json(one.event, at=round(one.at, 3)) for one in self.recorded)


class Recorder:
    """A reader of the event stream that writes a tape to a new private file."""

    def __init__(
        self,
        path: Path,
        request: Request,
        *,
        samples: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises TapeError if there is such a file, or none can be made."""
        self._clock, self._began = clock, clock()
        self._writing = threading.Lock()
        self._file: IO[bytes] = new_file(path)
        self._write(_header(request, samples))

    def add(self, event: Event) -> None:
        """Write down an event that comes now; from any thread."""
        with self._writing:
            self._write(to_json(event, at=round(self._clock() - self._began, 3)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(line.encode() + b"\n")
        self._file.flush()  # the events before a crash are there


def new_file(path: Path) -> IO[bytes]:
    """A new file for a tape. Raises TapeError, also where there is one already."""
    try:
        return create(path)
    except FileExistsError:
        raise TapeError(f"{path} exists: give the tape another name") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TapeError(f"no tape can be written at {path}: {reason}") from error


def read_tape(path: Path) -> Tape:
    """The tape in a file; raises TapeError, which names a line of wrong values."""
    try:
        if path.stat().st_size > _LARGEST:
            raise TapeError(f"{path} is larger than a tape gets ({_LARGEST >> 20} MiB)")
        lines = path.read_bytes().decode().split("\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise TapeError(f"{path} cannot be read: {reason}") from error
    request, samples, recorded = Request(""), False, list[Recorded]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
            if number == 1 and _HEADER in body:
                if body[_HEADER] != FORMAT:
                    raise TapeError(
                        f"{path} is of format {body[_HEADER]!r}, which this version "
                        "does not know: install a newer one"
                    )
                request = decoded(Request, {"text": "", **body.get("request", {})})
                if request.task not in TASKS:
                    raise ValueError("no request")
                samples = bool(body.get("samples"))
                continue
            at = float(body.pop("at", 0.0))
            if not 0 <= at < _LONGEST:
                raise ValueError("no time")
            recorded.append(Recorded(at, event_from(body)))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise TapeError(
                f"line {number} of {path} is no event of a tape: 'specsteer write "
                "--record FILE' makes one"
            ) from error
    if not recorded:
        raise TapeError(f"{path} is no tape: no event is in it")
    return Tape(request, tuple(recorded), samples)


def redacted(tape: Tape) -> Tape:
    """The tape with every word, number and id masked; the kinds of its events, the
    lengths of their texts and their times stay.

    A letter becomes an x and a digit a 0; the width of a character on the screen stays,
    since faults of the screen depend on it. Ids become 0: they are words to whoever has
    the model. Payloads become as many zero bytes.
    """
    began = min(one.at for one in tape.recorded)
    recorded = tuple(
        Recorded(round(one.at - began, 2), _masked(one.event)) for one in tape.recorded
    )
    words = {name: mask(getattr(tape.request, name)) for name in ("text", "recipient")}
    return Tape(replace(tape.request, **words), recorded, tape.samples)


def mask(text: str) -> str:
    """`text` with its letters and digits hidden, as wide and as long as before."""
    return "".join(map(_mask_of, text))


_OPEN_FIELDS = frozenset({"event", "origin", "what", "kind", "personalisation"})
"""Fields with words of the program, not of the person."""


def _mask_of(letter: str) -> str:
    category = unicodedata.category(letter)
    if unicodedata.east_asian_width(letter) in "WF":
        return "字"
    masks = {"L": "x", "N": "0", "So": "·", "Co": "·", "Cn": "·", "Sk": "·", "Sc": "·"}
    return masks.get(category[0]) or masks.get(category, letter)


def _masked(event: Event) -> Event:
    if isinstance(event, events.Finished):
        return event
    body: dict[str, Any] = _hidden("", json.loads(to_json(event)))
    if isinstance(event, events.Sent | events.Received):
        body["time"] = 0.0
    if isinstance(event, events.Sent):
        payload = base64.b64encode(bytes(len(event.payload))).decode()
        body |= {"payload": payload, "url": "http://server.example/"}
    return event_from(body)


def _hidden(name: str, value: Any) -> Any:
    """A field's value masked; numbers stay, with two digits behind the point, but for
    ids and what stands in a list."""
    match value:
        case dict():
            return {key: _hidden(key, one) for key, one in value.items()}
        case list():
            return [_hidden("id", one) for one in value]
        case str():
            return value if name in _OPEN_FIELDS else mask(value)
        case float():
            return round(value, 2)
        case int() if not isinstance(value, bool) and name.endswith("id"):
            return 0
    return value


def _header(request: Request, samples: bool) -> str:
    return dumped({_HEADER: FORMAT, "request": asdict(request), "samples": samples})


def events_of(run: Sequence[Recorded]) -> list[Event]:
    """The events alone."""
    return [one.event for one in run]


_NOTHING: dict[str, Any] = {
    "server_ended": False,
    "counts": {},
    "own_address": "",
    **dict.fromkeys(("correspondents", "identities", "references"), ()),
    **dict.fromkeys(("search_received", "thread"), ()),
}
"""The answer of each method without a store; None for all others."""


def by_the_clock(event: Event) -> None:
    """Wait before `event` about as long as a model would need."""
    time.sleep(0.02 if isinstance(event, events.Drafted) else 0.001)


@dataclass
class RecordedService(WritingService):
    """A service that answers each request with the next recorded run."""

    recordings: Sequence[Sequence[Event]]
    pace: Callable[[Event], None] = by_the_clock  # called before each event; may wait
    server: str = "own server"
    requests: list[WriteRequest] = field(default_factory=list)
    closed: bool = False

    def prepare(self, **_: Any) -> str:
        """The server's name; no model is loaded."""
        return self.server

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Play the next recording."""
        recording = self.recordings[len(self.requests) % len(self.recordings)]
        self.requests.append(request)
        for event in recording:
            self.pace(event)
            if stop.is_set():
                emit(events.Finished("stopped", events.Statistics()))
                return
            emit(event)

    def write_best(
        self,
        requests: Sequence[WriteRequest],
        emits: Sequence[Emit],
        stop: threading.Event,
        _fit: Any = None,
    ) -> list[int]:
        """Play the next recordings, one after the other; they keep their order."""
        for request, emit in zip(requests, emits, strict=True):
            self.write(request, emit, stop)
        return list(range(len(requests)))

    def search(self, query: str, limit: int = 20) -> list[events.Source]:
        """Sources in the recordings that hold `query`."""
        words = query.casefold()
        found = (
            source
            for source in self._sources()
            if words in f"{source.title} {source.excerpt}".casefold()
        )
        return list(islice(found, limit))

    def texts(self, record_ids: Sequence[int], **_: Any) -> list[events.Source]:
        """Sources in the recordings of these records."""
        found = {one.record_id: one for one in self._sources()}
        return [found[one] for one in record_ids if one in found]

    def checker(self, request: WriteRequest, letters: Sequence[int]) -> Checker:
        """What compares drafts with a request and these records."""
        from edge_app.facts.checking import Checker  # as in answering.py

        read = [one.excerpt for one in self.texts(letters)]
        return Checker(request.brief.text, request.brief.recipient, letters=read)

    def _sources(self) -> list[events.Source]:
        return [
            source
            for recording in self.recordings
            for event in recording
            if isinstance(event, events.SourcesFound)
            for source in event.sources
        ]

    def import_letters(
        self,
        kind: str,
        path: Path,
        me: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> str:
        """Read nothing: a recorded run has no store."""
        progress(1, 1)
        whose = f" of {', '.join(me)}" if me else ""
        return f"{path.name} ({kind}{whose}) was not read: this is a recorded run"

    def __getattr__(self, name: str) -> Any:
        """Any other method of a service, which does nothing and finds nothing."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: _NOTHING.get(name)

    def close(self) -> None:
        """Note that the app closed the service."""
        self.closed = True
