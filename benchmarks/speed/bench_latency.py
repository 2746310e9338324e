"""`specsteer lab bench latency`: how soon the program does as told.

The tests hold what happens on Esc, Ctrl-C and leaving, and leave how soon to this.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import click

from base.python_child import start
from benchmarks.options import FOLDER, option
from decoding_core.errors import StoppedError
from decoding_core.settings import MethodSettings
from edge_app import sample
from edge_app.decoding.events import Event, Settled
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.service import WritingService
from edge_app.tui.app import SpecSteerApp
from models.command_line import Command
from models.files import locate
from models.prompts import Request
from models.running.interface import TextSlots
from models.running.loading import load_model

_REQUEST = Request(sample.REQUEST, "email", sample.RECIPIENT)
_LONG = 800  # tokens wanted, so that no text ends by itself
_PAGE = b"Thank Ana", b"Tess's sample letters", b"^J"  # the brief, the rail, the keys


def service_of(folder: Path) -> WritingService:
    """The sample letters, the embedded pair and a server of its own."""
    return WritingService(
        ServiceConfig(
            locate("specialist"),
            locate("generalist"),
            folder / "sample.db",
            folder / "ledger.jsonl",
            sample_store=folder / "sample.db",
        )
    )


def stop_of_a_text(service: WritingService, seed: int, *, offline: bool) -> float:
    """Seconds from the wish to stop to the end of a text."""
    stop, wished = threading.Event(), [0.0]

    def hear(event: Event) -> None:
        if isinstance(event, Settled) and not stop.is_set():
            wished[0] = time.perf_counter()
            stop.set()

    settings = MethodSettings(temperature=0.7, top_p=0.95, seed=seed)
    order = WriteRequest(_REQUEST, settings=settings, max_tokens=_LONG, offline=offline)
    service.write(order, hear, stop)
    return time.perf_counter() - wished[0]


def stop_of_reading(context: TextSlots) -> float:
    """Seconds from the wish to stop to the end of a pass over a long prompt."""
    sequence, wished = context.sequence(), [0.0]
    sequence.rollback(0)
    context.stop.clear()

    def wish() -> None:
        wished[0] = time.perf_counter()
        context.stop.set()

    threading.Timer(0.05, wish).start()
    try:
        while True:
            sequence.evaluate([7] * 2000)
            sequence.rollback(0)
    except StoppedError:
        return time.perf_counter() - wished[0]


def first_word_of_the_command(home: Path) -> float:
    """Seconds from the start of `specsteer write` to its first word."""
    began = time.perf_counter()
    with start(
        *("edge_app.cli:main", "write", "--sample"),
        *("--to", sample.RECIPIENT, sample.REQUEST),
        more={"SPECSTEER_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as program:
        assert program.stdout is not None
        program.stdout.read(1)
        took = time.perf_counter() - began
        program.stdout.read()
    return took


def keys_in_the_app(service: WritingService, folder: Path) -> tuple[float, float]:
    """Seconds from the key that asks for a text to its first drafted token on the page,
    and from Esc in mid-draft to a text that can be edited."""

    async def run() -> tuple[float, float]:
        app = SpecSteerApp(service, save_folder=folder, first_request=_REQUEST)
        async with app.run_test(size=(100, 30)) as pilot:

            async def until(shown: str) -> None:
                while not getattr(app.writing, shown):
                    await asyncio.sleep(0.005)

            await until("ready")
            began = time.perf_counter()
            pressed = asyncio.create_task(pilot.press("ctrl+j"))
            while not app.page.editor.text.strip():
                await asyncio.sleep(0.001)
            first = time.perf_counter() - began
            await pressed
            # An attempt without a settled word leaves nothing that can be edited.
            while app.writing.variant is None or not app.writing.variant.text:
                await asyncio.sleep(0.005)
            began = time.perf_counter()
            pressed = asyncio.create_task(pilot.press("escape"))
            while not app.page.editor.editing:
                await asyncio.sleep(0.001)
            took = time.perf_counter() - began
            await pressed
            return first, took

    return asyncio.run(run())


def first_paint(home: Path, code: Path) -> float:
    """Seconds of CPU, of all threads, until the app of the source in the folder `code`
    has its whole page in a terminal."""
    import pty  # as termios, not on Windows
    import termios

    near, far = pty.openpty()
    termios.tcsetwinsize(far, (36, 120))
    more = {"SPECSTEER_HOME": str(home), "TERM": "xterm-256color"}
    sys.path.insert(0, str(code))
    app = start("edge_app.cli:main", more=more, stdin=far, stdout=far, stderr=far)
    sys.path.pop(0)
    os.close(far)
    try:
        shown = b""
        while not all(part in shown for part in _PAGE):
            shown += os.read(near, 1 << 16)
        return time.clock_gettime(~app.pid << 3 | 2)  # Linux's clock of a process
    finally:
        app.kill()
        app.wait()
        os.close(near)


def first_paints(
    runs: int, before: Path | None
) -> dict[str, tuple[float, list[float]]]:
    """The promise and the figures of this source and, in turns with it, another's."""
    sources = {"first paint, CPU": Path(__file__).parents[2]}
    sources |= {"first paint, before": before} if before else {}
    found: dict[str, list[float]] = {what: [] for what in sources}
    with tempfile.TemporaryDirectory() as name:
        for _ in range(runs + 1):  # the first compiles, and makes the store
            for what, code in sources.items():
                found[what].append(first_paint(Path(name), code))
    return {what: (0.5, seconds[1:]) for what, seconds in found.items()}


@click.command("latency", cls=Command)
@option("--runs", click.IntRange(1), 20, "How often each is tried.")
@option("--before", FOLDER, None, "Paint the app of this source, too, in turns.")
def command(runs: int, before: Path | None) -> None:
    """How soon Esc, Ctrl-C and leaving do as told, and the app is painted.

    Each is tried some times with the embedded pair and a server of its own. A line says
    the least, the median, the longest and what is promised; the exit status is 1 where
    a promise is broken. The first paint is of CPU time, and its least counts: others'
    work beside it makes it longer.
    """
    figures: dict[str, tuple[float, list[float]]] = {}
    if sys.platform == "linux":  # whose clock of a process it reads
        figures |= first_paints(runs, before)
    with (
        tempfile.TemporaryDirectory() as name,
        closing(service_of(Path(name))) as service,
        closing(load_model(locate("specialist"))) as model,
        closing(model.open(1, 2048)) as context,
    ):
        service.prepare()
        for what, offline in (("with the server", False), ("offline", True)):
            seconds = [stop_of_a_text(service, n, offline=offline) for n in range(runs)]
            figures[f"stop a text, {what}"] = 0.2, seconds
        seconds = [stop_of_reading(context) for _ in range(runs)]
        figures["stop while a prompt is read"] = 0.2, seconds
    with tempfile.TemporaryDirectory() as name:
        esc, leave, first = [], [], []
        for _ in range(max(2, runs // 4)):
            service = service_of(Path(name))
            to_first, to_edit = keys_in_the_app(service, Path(name))
            first.append(to_first)
            esc.append(to_edit)
            began = time.perf_counter()
            service.close()
            leave.append(time.perf_counter() - began)
        figures["Esc in the app"] = 0.2, esc
        figures["leave, and end the server"] = 1.0, leave
        figures["the first token in the app"] = 10.0, first[:1]
        figures["the same in further programs"] = 0.35, first[1:]
        homes = [Path(name) / "home"] * max(2, runs // 4)
        words = [first_word_of_the_command(home) for home in homes]
        figures["the first word of the command"] = 10.0, words[:1]
        figures["the same in further commands"] = 10.0, words[1:]
    print(f"{'':32}{'least':>9}{'median':>9}{'longest':>9}{'promise':>9}")
    broken = False
    for what, (promise, seconds) in figures.items():
        row = (min(seconds), statistics.median(seconds), max(seconds), promise)
        if what != "first paint, before":
            broken |= row[0 if "CPU" in what else 2] > promise
        print(f"{what:32}" + "".join(f"{1000 * one:6.0f} ms" for one in row))
    sys.exit(broken)
