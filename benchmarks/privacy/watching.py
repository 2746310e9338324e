"""What somebody on the way sees of an encrypted line: the sizes and times of TLS
records, through a relay on loopback that passes them on and reads none.

The server is a real one that speaks TLS alone, the device a real service that knows its
certificate. From the records of a text the watcher guesses three lengths, by straight
lines fitted to the other texts: of the text, by how many records of the usual size went
up; of the request, by the largest record of the opening; of what was read of the
history, by the time from the opening to the first round. What a line explains of the
differences between texts (R²) says how much is told: 1 all, 0 or less nothing.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from base import python_child
from benchmarks.privacy.conditions import Condition
from benchmarks.privacy.device import Device, Text, WritingOptions
from benchmarks.privacy.worlds import Writer, invented_writers
from decoding_core.errors import CloudBusyError, CloudUnreachableError, StoppedError
from decoding_core.messages import OpenSession
from decoding_core.sampling import Floats
from edge_app.privacy.reading import decoded
from edge_app.transport.client import Connection
from models.running.settings import EngineSettings

_SIZE = 1 << 16
_HEAD = 5
"""Bytes of a TLS record before what it holds: type, version, length."""
_DATA = 23
"""The type of a record that holds data, in TLS 1.3 all after the greeting."""
_POLL_SECONDS = 0.05
_LETTERS = 12


@dataclass(frozen=True, slots=True)
class Record:
    """One TLS record as it passed."""

    time: float
    """Seconds on the clock of `time.monotonic`."""
    up: bool
    """From the device to the server."""
    size: int
    """Of what it holds."""


class Tap:
    """A relay on loopback that notes each TLS record of data."""

    def __init__(self, port: int) -> None:
        """Pass on to this port."""
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._records: list[Record] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def taken(self) -> list[Record]:
        """The records since the last call, in their order."""
        with self._lock:
            found, self._records = self._records, []
        return found

    def close(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                for one in (near, far):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for source, target, up in ((near, far, True), (far, near, False)):
                    arguments = source, target, up
                    threading.Thread(
                        target=self._pass, args=arguments, daemon=True
                    ).start()

    def _pass(self, source: socket.socket, target: socket.socket, up: bool) -> None:
        left = b""
        with suppress(OSError):  # one side hung up
            while data := source.recv(_SIZE):
                left = self._note(left + data, up)
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        source.close()

    def _note(self, data: bytes, up: bool) -> bytes:
        """Note the whole records at the beginning of some bytes; the rest of them."""
        now = time.monotonic()
        while len(data) >= _HEAD:
            size = int.from_bytes(data[3:_HEAD])
            if len(data) < _HEAD + size:
                break
            if data[0] == _DATA:
                with self._lock:
                    self._records.append(Record(now, up, size))
            data = data[_HEAD + size :]
        return data


@dataclass(frozen=True, slots=True)
class Capture:
    """The records of one text, and what a watcher would like to know of it."""

    records: tuple[Record, ...]
    text: int
    """Tokens of the text."""
    request: int
    """Tokens of the public prompt."""
    history: int
    """Characters of the letters that were read."""
    opening: int
    """Bytes of the opening without what fills it up."""

    def rounds(self) -> float:
        """How many records went up that are as large as a round: the usual ones after
        the opening."""
        sizes = Counter(one.size for one in self.records if one.up)
        return float(max(sizes.values(), default=0))

    def largest(self) -> float:
        """The bytes of the opening as they passed: those of the records that went up
        before the first came down behind them."""
        largest = total = 0
        for one in self.records:
            total = total + one.size if one.up else 0
            largest = max(largest, total)
        return float(largest)

    def silence(self) -> float:
        """Seconds from the opening to the first record of a round."""
        sizes = Counter(one.size for one in self.records if one.up)
        if not sizes:
            return 0.0
        usual = sizes.most_common(1)[0][0]
        first = next(r.time for r in self.records if r.up and r.size == usual)
        begin = max(
            (r for r in self.records if r.up and r.time <= first), key=lambda r: r.size
        )
        return first - begin.time

    def intervals(self) -> list[float]:
        """Seconds between two rounds."""
        sizes = Counter(one.size for one in self.records if one.up)
        usual = sizes.most_common(1)[0][0] if sizes else 0
        times = [r.time for r in self.records if r.up and r.size == usual]
        return [after - before for before, after in pairwise(times)]


@dataclass(frozen=True, slots=True)
class Told:
    """How well a watcher knows three lengths, as R² of guesses for texts that the
    line was not fitted to."""

    line: str
    """How the line was."""
    texts: int
    text: float
    request: float
    history: float
    seconds: float
    """Of a text."""
    openings: int
    """How many sizes of openings there were."""
    spread: float
    """Standard deviation of the time between two rounds, as a share of its mean."""


def explained(guess_from: Sequence[float], truth: Sequence[float]) -> float:
    """R² of a straight line from one to the other, each point guessed by a line that
    was fitted to all others."""
    x, y = np.asarray(guess_from, float), np.asarray(truth, float)
    if len(y) < 3 or np.ptp(y) == 0.0:
        return 0.0
    errors, plain = [], []
    for left in range(len(y)):
        others = np.arange(len(y)) != left
        plain.append(y[left] - y[others].mean())
        if np.ptp(x[others]) < 1e-12:
            errors.append(plain[-1])
            continue
        slope, start = np.polyfit(x[others], y[others], 1)
        errors.append(y[left] - slope * x[left] - start)
    return 1.0 - float(np.sum(np.square(errors)) / np.sum(np.square(plain)))


def told(line: str, captures: Sequence[Capture], sizes: Floats | None = None) -> Told:
    """What captures tell; with `sizes`, as if openings had had these."""
    openings = [one.largest() for one in captures] if sizes is None else list(sizes)
    gaps = np.array([gap for one in captures for gap in one.intervals()])
    seconds = [one.records[-1].time - one.records[0].time for one in captures]
    return Told(
        line,
        len(captures),
        explained([one.rounds() for one in captures], [one.text for one in captures]),
        explained(openings, [one.request for one in captures]),
        explained(
            [one.silence() for one in captures], [one.history for one in captures]
        ),
        float(np.mean(seconds)),
        len(set(openings)),
        float(gaps.std() / gaps.mean()) if len(gaps) else 0.0,
    )


@contextmanager
def tls_server(
    models: Mapping[str, Path], engine: EngineSettings, stop: threading.Event
) -> Iterator[tuple[str, str, str]]:
    """A server on loopback that speaks TLS; its address, token and certificate."""
    from cloud_api.admission import make_certificate

    pem, _ = make_certificate()
    certificate = pem[pem.index("-----BEGIN CERTIFICATE") :]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "tls.pem"
        file.touch(0o600)
        file.write_text(pem)
        token = "of-this-measurement-alone-0123456789"
        child = python_child.start(
            *("cloud_api.cli:program", "serve", "--port", "0"),
            *("--generalist", str(models["generalist"].absolute())),
            *("--base", str(models["specialist"].absolute())),
            *("--threads", str(engine.thread_count)),
            *("--tls-certificate", str(file)),
            *("--token-from-stdin", "--exit-with-stdin"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(token + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
            if not line:
                raise CloudUnreachableError("the server of the capture did not start")
            port = str(json.loads(line)["url"]).rsplit(":", 1)[1]
            url = f"https://127.0.0.1:{port}"  # the port speaks both
            asking = Connection(url, token, lambda _: None, stop, certificate)
            while True:
                if stop.wait(_POLL_SECONDS):
                    raise StoppedError("stopped")
                try:
                    asking.request("ready", "GET", "/readyz")
                    break
                except (CloudBusyError, CloudUnreachableError):
                    if child.poll() is not None:
                        raise
            asking.close()
            yield url, token, certificate
        finally:
            child.stdin.close()
            try:
                child.wait(10.0)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            child.stdout.close()


def watched(
    models: Mapping[str, Path],
    engine: EngineSettings,
    options: WritingOptions,
    texts: int,
    seed: int,
    cadence: float,
    stop: threading.Event,
) -> list[Told]:
    """What a watcher is told of so many texts: as the line was without padding, as it
    is, and with a cadence in milliseconds.

    Raises:
        StoppedError: the person stopped.
    """
    writers = invented_writers(texts, _LETTERS, 1, seed + 3)
    # Histories of every length: none, one letter, and so on.
    writers = [
        Writer(one.name, one.letters[: 1 + number % _LETTERS], one.tasks)
        for number, one in enumerate(writers)
    ]
    with ExitStack() as opened:
        address = tls_server(models, engine, stop)
        url, token, certificate = opened.enter_context(address)
        tap = opened.enter_context(closing(Tap(int(url.rsplit(":", 1)[1]))))
        through = f"https://127.0.0.1:{tap.port}"
        found = []
        for line, settings in (
            ("as it is", Condition("as it is")),
            (f"cadence {cadence:g} ms", Condition("paced", {}, {"cadence": cadence})),
        ):
            device = Device(models, engine, options, stop, through, token, certificate)
            captures = []
            with closing(device):
                for number, writer in enumerate(writers):
                    task = writer.tasks[0]
                    tap.taken()
                    text = device.write(writer, task.request, settings, seed + number)
                    captures.append(_capture(tap.taken(), text, writer))
            if line == "as it is":
                bare = np.array([float(one.opening) for one in captures])
                found.append(told("without padding", captures, bare))
            found.append(told(line, captures))
    return found


def _capture(records: Sequence[Record], text: Text, writer: Writer) -> Capture:
    lengths = {one.record_id: len(one.text) for one in writer.letters}
    opening, request = 0, 0
    for message in decoded(text.entries):
        if isinstance(message.says, OpenSession):
            opening = len(message.entry.payload) - message.padding
            request = len(message.says.prompt_ids)
    return Capture(
        tuple(records),
        text.tokens,
        request,
        sum(lengths.get(number, 0) for number in text.read),
        opening,
    )
