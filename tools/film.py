"""A film of the app, drawn from a tape of a real run.

    python -m tools.film TAPE docs/film.svg

The app plays the tape at the pace at which it was recorded, but for pauses, by a clock
that stands still while a frame is drawn: a film is the same on every machine. The SVG
is moved by CSS alone; who asked for less motion, and who draws no motion, sees the last
frame of the letter.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import click
from rich.cells import cell_len

from decoding_core.foreign_text import gate_output
from edge_app.service.tape import Tape, events_of, read_tape
from edge_app.tui.app import SpecSteerApp
from tests.waiting import PATIENCE, until_true
from tools.picture import Player
from tools.screen_rows import Look, Row, rows

FRAME = 1 / 8  # seconds
LONGEST_PAUSE = 0.5
WRITING_SECONDS = 12.0  # a slower run is played faster
CELL = (8.4, 17)
MARGIN, BAR = 10, 26
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


@dataclass
class Frame:
    """The screen from a moment on."""

    at: float
    rows: list[Row]


@dataclass
class _Stage:
    """A clock that only the film moves, and the tape played by it."""

    due: list[float]  # when each event comes, on the clock
    now: float = 0.0
    began: float = float("inf")
    waiting: int = 0
    """The number of the event that waits for its time: all before it are played."""
    moved: threading.Condition = field(default_factory=threading.Condition)

    def wait_for_turn(self, _event: object) -> None:
        """Called by the service's thread before each event."""
        with self.moved:
            due = self.due[self.waiting] if self.waiting < len(self.due) else 0.0
            assert self.moved.wait_for(lambda: self.now - self.began >= due, PATIENCE)
            self.waiting += 1

    def played(self) -> int:
        """How many events should have come."""
        return sum(due <= self.now - self.began for due in self.due)


def schedule(tape: Tape) -> list[float]:
    """When each event of the first text comes: as it did, with pauses cut short, and
    the whole no longer than WRITING_SECONDS."""
    run, due, now = tape.runs()[0], [], 0.0
    for before, one in zip([run[0], *run], run, strict=False):
        now += min(LONGEST_PAUSE, max(0.0, one.at - before.at))
        due.append(now)
    pace = min(1.0, WRITING_SECONDS / (now or 1.0))
    return [at * pace for at in due]


async def shoot(tape: Tape, size: tuple[int, int]) -> list[Frame]:
    """Start, write, look at what left, at what was read, and at the letter again."""
    events = events_of(tape.runs()[0])
    stage = _Stage(schedule(tape))
    service = Player([events], pace=stage.wait_for_turn)
    app = SpecSteerApp(
        service,
        save_folder=Path(),
        first_request=tape.request,
        clock=lambda: stage.now,
        practice_models=True,
    )
    app.writing.samples = tape.samples
    frames: list[Frame] = []
    async with app.run_test(size=size) as pilot:

        async def roll(seconds: float) -> None:
            for _ in range(round(seconds / FRAME)):
                with stage.moved:
                    stage.now += FRAME
                    stage.moved.notify_all()
                await until_true(
                    lambda: service.played or stage.waiting >= stage.played(),
                    "for the tape",
                )
                await until_true(lambda: app.writing.background.idle, "for the app")
                app.page.refresh_all()
                await pilot.pause()
                frames.append(Frame(stage.now, rows(app)))

        await until_true(lambda: app.writing.ready, "for the app")
        await roll(2.5)
        stage.began = stage.now
        await pilot.press("ctrl+j")
        await roll(stage.due[-1] + 1)
        await until_true(lambda: not app.writing.service_busy, "for the end")
        app.page.brief.focus_text()
        await roll(3)
        for key in ("f3", "f2"):
            await pilot.press(key)
            await roll(3.5)
            await pilot.press("escape")
            await roll(0.5)
        await roll(1.5)
    app.writing.close()
    return frames


def svg(frames: Sequence[Frame], size: tuple[int, int], title: str) -> str:
    """The frames as a picture that moves: a row that stays is drawn once, and says by a
    CSS animation of its own from when to when it is there."""
    width, height = size[0] * CELL[0] + 2 * MARGIN, size[1] * CELL[1] + BAR + MARGIN
    length = frames[-1].at - frames[0].at + FRAME
    base = frames[-1].rows
    ground = _commonest(frames[0].rows)
    looks: dict[Look, str] = {}
    spans: dict[tuple[float, ...], str] = {}
    body, drawn = [], 0
    for y in range(size[1]):
        shown: dict[Row, list[tuple[float, float]]] = {}
        for at, frame in enumerate(frames):
            start = frame.at - frames[0].at
            stays = shown.setdefault(frame.rows[y], [])
            if stays and frames[at - 1].rows[y] == frame.rows[y]:
                stays[-1] = (stays[-1][0], start + FRAME)
            else:
                stays.append((start, start + FRAME))
        for row, stays in shown.items():
            content = _row(row, looks, ground)
            if not content:
                continue
            place = f'transform="translate({MARGIN} {BAR + y * CELL[1]})"'
            if len(shown) == 1:
                body.append(f"<g {place}>{content}</g>")
                continue
            drawn += 1
            key = tuple(round(100 * t / length, 2) for stay in stays for t in stay)
            name = spans.setdefault(key, f"k{len(spans)}")
            hidden = "" if row == base[y] else ' visibility="hidden"'
            body.append(f'<g class="{name}" {place}{hidden}>{content}</g>')
    style = [
        f"text{{font:{CELL[1] * 0.8:.1f}px {FONT};white-space:pre;fill:#e4e4e4}}",
        *(f".{name}{{{_css(look)}}}" for look, name in looks.items()),
        *(_animation(name, key, length) for key, name in spans.items()),
        "@media (prefers-reduced-motion:reduce){g{animation:none!important}}",
    ]
    dots = "".join(
        f'<circle cx="{18 + 18 * at}" cy="13" r="5" fill="#444"/>' for at in range(3)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{escape(title)}</title><style>{''.join(style)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{ground}"/>{dots}'
        f"{''.join(body)}</svg>\n"
    )


def _commonest(screen: Sequence[Row]) -> str:
    counts = Counter[str]()
    for row in screen:
        for text, look in row.pieces:
            counts[look.ground] += len(text)
    return max(counts, key=lambda ground: counts[ground] if ground else 0)


def _row(row: Row, looks: dict[Look, str], ground: str) -> str:
    """The pieces of a row: a box behind those with a ground of their own, then text."""
    boxes, texts, column = [], [], 0
    for text, look in row.pieces:
        cells = cell_len(text)
        ink, behind = look.ink, look.ground
        if "reverse" in look.marks:
            ink, behind = behind or ground, ink or "#e4e4e4"
        x, wide = column * CELL[0], cells * CELL[0]
        if behind and behind != ground:
            boxes.append(
                f'<rect x="{x:.1f}" width="{wide:.1f}" height="{CELL[1]}" '
                f'fill="{behind}"/>'
            )
        bare = text.strip(" ")
        if bare:
            x += (len(text) - len(text.lstrip(" "))) * CELL[0]
            marks = look.marks.replace("reverse", "")
            plain = look._replace(ink=ink, ground="", marks=marks)
            name = looks.setdefault(plain, f"s{len(looks)}")
            texts.append(
                f'<text class="{name}" x="{x:.1f}" y="13" '
                f'textLength="{cell_len(bare) * CELL[0]:.1f}">{escape(bare)}</text>'
            )
        column += cells
    return "".join(boxes + texts)


def _css(look: Look) -> str:
    marks = look.marks.split()
    lines = [name for name in ("underline", "strike") if name in marks]
    parts = [
        f"fill:{look.ink}" * bool(look.ink),
        "font-weight:700" * ("bold" in marks),
        "font-style:italic" * ("italic" in marks),
        "opacity:.6" * ("dim" in marks),
        f"text-decoration:{' '.join(lines).replace('strike', 'line-through')}"
        * bool(lines),
    ]
    return ";".join(filter(None, parts))


def _animation(name: str, key: tuple[float, ...], length: float) -> str:
    steps = ["0%{visibility:hidden}"] if key[0] > 0 else []
    for at, moment in enumerate(key):
        if moment < 100:
            seen = "hidden" if at % 2 else "visible"
            steps.append(f"{moment:g}%{{visibility:{seen}}}")
    frames = "".join(steps)
    return (
        f"@keyframes {name}{{{frames}}}"
        f".{name}{{animation:{name} {length:.1f}s step-end infinite}}"
    )


@click.command()
@click.argument("tape", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--size", default="100x30", help="Columns x rows.")
def main(tape: Path, out: Path, size: str) -> None:
    """Draw a film of TAPE as OUT, an animated SVG."""
    columns, height = map(int, size.split("x"))
    shape = columns, height
    frames = asyncio.run(shoot(read_tape(tape), shape))
    drawn = svg(frames, shape, "A letter is written in the terminal app of SpecSteer")
    out.write_text(drawn, encoding="utf-8")
    click.echo(f"{out}: {len(drawn) // 1000} kB, {frames[-1].at:.0f} s", err=True)


if __name__ == "__main__":
    gate_output()
    main()
