"""A picture of the app after a recorded run: `python -m tools.picture TAPE OUT`.

OUT ends in `.svg`. `make pictures` draws those of the README and the pages.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from threading import Event as Stop

import click

from decoding_core.foreign_text import gate_output
from edge_app.commands.options import opened_store
from edge_app.decoding.events import Emit, Event
from edge_app.retrieval.voice import Voice, voice_of
from edge_app.service.requests import WriteRequest
from edge_app.service.tape import RecordedService, events_of, read_tape
from edge_app.tui.app import SpecSteerApp
from models.prompts import Request


class Player(RecordedService):
    """Plays a recording at once, and is still writing if that is cut."""

    cut = played = False

    def write(self, request: WriteRequest, emit: Emit, stop: Stop) -> None:
        """Play the recording."""
        super().write(request, emit, stop)
        self.played = True
        if self.cut:
            stop.wait()

    def voice(self, kind: str, to: str) -> Voice:
        """That of the sample letters."""
        with opened_store(sample=True) as store:
            return voice_of(store.db, kind, to)


async def picture(
    recording: list[Event],
    request: Request,
    size: tuple[int, int],
    last: int | None = None,
    keys: Sequence[str] = (),
    *,
    samples: bool = True,
) -> str:
    """The page after `last` events of `recording` and then `keys`, as
    SVG; `samples` says that it was written from the sample letters."""
    service = Player([recording[:last]], pace=lambda _: None)
    service.cut = last is not None
    app = SpecSteerApp(service, save_folder=Path(), first_request=request)
    app.writing.samples = samples
    async with app.run_test(size=size) as pilot:
        await pilot.press("ctrl+j")
        while not service.played or not app.writing.background.idle:
            await pilot.pause(0.02)
        await pilot.press(*keys)
        while not getattr(app.screen, "_listed", True):  # a list that is not yet filled
            await pilot.pause(0.02)
        app.page.refresh_all()
        await pilot.pause()
        drawn = app.export_screenshot(title="specsteer")
    app.writing.close()
    return drawn


@click.command()
@click.argument("tape", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--size", default="120x36", help="Columns x rows.")
@click.option("--last", type=int, help="Play N events only.")
@click.option("--press", default="", help="Keys to press at the end, such as 'f3'.")
def main(tape: Path, out: Path, size: str, last: int | None, press: str) -> None:
    """Draw the app after the run in TAPE, which `specsteer write --record` makes."""
    columns, rows = map(int, size.split("x"))
    played = read_tape(tape)
    run, keys = events_of(played.runs()[0]), press.split()
    sized, ours = (columns, rows), played.samples
    drawn = asyncio.run(picture(run, played.request, sized, last, keys, samples=ours))
    # The fonts would be fetched from the web by whoever looks at the picture.
    drawn = re.sub(r"@font-face\s*\{.*?\}\s*", "", drawn, flags=re.DOTALL)
    out.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    gate_output()
    main()
