"""Every state of the app, one after the other, with nothing left to chance."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import OptionList
from tui_helpers import GatedService, gated_service, make_app, play, still, until
from tui_tapes import NOON, REQUEST, held_letter

from decoding_core.messages import OpenSession
from decoding_core.settings import MethodSettings
from decoding_core.wire_json import open_to_json
from edge_app.decoding.events import Finished, PublicPrompt, Statistics
from edge_app.tui.journal import JournalFolder

HELD = 41
"""At this event a word is underlined, others wait."""


def walk(
    folder: Path, size: tuple[int, int], see: Callable[[Pilot, str], None]
) -> None:
    """Show each state, and call `see` with its name; in the current folder."""
    service = gated_service(hold=HELD)
    sources, opened, sent, *rest = service.recordings[0]
    said = OpenSession((1, 2), (), "fake", MethodSettings().terms())
    payload = json.dumps(open_to_json(said)).encode()
    service.recordings[0] = [
        *(sources, PublicPrompt(((1, "Write an email to Ana.\n"), (2, REQUEST.text)))),
        *(opened, replace(sent, payload=payload), *rest),
    ]
    service.recordings.append([*held_letter(), Finished("end", Statistics())])
    journals = JournalFolder(folder)
    app = make_app(
        service, Path(), clock=still, journals=journals, practice_models=True
    )

    async def steps(pilot: Pilot) -> None:
        async def seen(name: str) -> None:
            await until(pilot, lambda: app.writing.background.idle)
            app.page.refresh_all()
            await pilot.pause()
            app.page.refresh_all()  # cards know their widths now
            await pilot.pause()
            see(pilot, name)

        async def above(
            key: str, name: str, there: Callable[[], bool] = lambda: True
        ) -> None:
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.page)
            await until(pilot, there)
            await seen(name)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.page)

        await until(pilot, lambda: app.writing.ready and bool(app.writing.counts))
        await seen("start")
        await pilot.press("ctrl+j")
        await until(pilot, lambda: service.played > HELD)
        await seen("writing")
        service.gates.pop(HELD).set()
        await _written(pilot, service)
        await seen("done")
        for key, name in (
            ("f2", "sources"),
            ("f3", "sent"),
            ("f4", "numbers"),
            ("f1", "help"),
            ("ctrl+s", "save"),
            ("ctrl+o", "your letters"),
        ):
            await above(key, name)
        await pilot.press("ctrl+r")
        await _written(pilot, service)
        await above("f9", "compare")
        for path in folder.iterdir():
            os.utime(path, (NOON, NOON))
        await above(
            *("ctrl+l", "drafts"),  # they are read in a thread
            lambda: app.screen.query_one(OptionList).option_count > 0,
        )
        await pilot.press("ctrl+r")
        await _written(pilot, service)
        await seen("held back")
        await pilot.press("ctrl+t")
        await seen("offline")
        await pilot.press("ctrl+t")
        service.server_ended = lambda: True
        app.writing.look_at_checker()
        await seen("server dead")

    play(app, steps, size=size)


async def _written(pilot: Pilot, service: GatedService) -> None:
    app = pilot.app
    await until(pilot, lambda: not app.writing.service_busy and app.page.editor.editing)
    app.page.brief.focus_text()
    await pilot.pause()
