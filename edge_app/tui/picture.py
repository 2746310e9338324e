"""A picture of the app after a recorded run: `python -m edge_app.tui.picture TAPE OUT`.

OUT ends in `.svg`. The request on the page is given by `--request` and `--recipient`.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import click

from decoding_core.foreign_text import gate_output
from edge_app.decoding.events import Event
from edge_app.tui.app import SpecSteerApp
from edge_app.tui.recording import RecordedService, read_recording, runs_of
from models.prompts import TASKS, Request


async def picture(
    recording: list[Event],
    request: Request,
    size: tuple[int, int],
    last: int | None = None,
) -> str:
    """The page after `last` events of the first text of `recording`, as SVG."""
    events = runs_of(recording)[0][:last]
    service = RecordedService([events], pace=lambda _: None, hold=last is not None)
    app = SpecSteerApp(service, save_folder=Path(), first_request=request)
    async with app.run_test(size=size) as pilot:
        await pilot.press("ctrl+j")
        while not service.played_all or app.writing.threads.inbox:
            await pilot.pause(0.02)
        app.page.refresh_all()
        await pilot.pause()
        drawn = app.export_screenshot(title="specsteer")
    app.writing.close()
    return drawn


@click.command()
@click.argument(
    "recording", metavar="TAPE", type=click.Path(exists=True, path_type=Path)
)
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--request", default="", help="What the brief says.")
@click.option("--task", default="email", type=click.Choice(TASKS))
@click.option("--recipient", default="")
@click.option("--size", default="120x36", help="Columns x rows.")
@click.option("--last", type=int, help="Play so many events only.")
def main(
    recording: Path,
    out: Path,
    request: str,
    task: str,
    recipient: str,
    size: str,
    last: int | None,
) -> None:
    """Draw the app after the run in TAPE."""
    columns, rows = map(int, size.split("x"))
    asked = Request(request, task, recipient)
    events = read_recording(recording)
    drawn = asyncio.run(picture(events, asked, (columns, rows), last))
    # The fonts would be fetched from the web by whoever looks at the picture.
    drawn = re.sub(r"@font-face\s*\{.*?\}\s*", "", drawn, flags=re.DOTALL)
    out.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    gate_output()
    main()
