"""Every state of the app as text with its looks, at six sizes and in four ways to show
colours: `screens/SIZE.txt`. `make screens` writes them anew; git then shows what has
changed.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from tui_states import walk
from tui_tapes import REQUEST, letter_recording

from tests.hostile import dangers
from tools.picture import picture
from tools.screen_rows import Look, Row, rows

SIZES = [(200, 55), (120, 36), (80, 24), (60, 20), (45, 30), (40, 12)]
FAST = (80, 24)
STATES = {
    *("start", "writing", "done", "held back", "sources", "sent", "numbers"),
    *("compare", "drafts", "save", "help", "offline", "server dead", "your letters"),
}
WAYS = ("24 bits", "256 colours", "light", "NO_COLOR")
FOLDER = Path(__file__).with_name("screens")
Shown = dict[str, list[Row]]
"""Rows by the name of the state."""


@pytest.fixture(autouse=True)
def same_everywhere(monkeypatch, tmp_path):
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def shown(folder, size, *, twice=True, **environment) -> tuple[Shown, Shown]:
    """All states in 24 bits, and `twice` also in 256 colours."""
    full, few = {}, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLORFGBG", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)

        def see(pilot, state):
            full[state] = rows(pilot.app)
            if twice:
                few[state] = rows(pilot.app, colours=256)
            assert dangers("".join(row.text for row in full[state])) == []

        walk(folder, size, see)
    assert set(full) == STATES
    return full, few


def cells(row: Row) -> list[Look]:
    """The look of each letter of a row."""
    return [look for text, look in row.pieces for _ in text]


def written(size, ways: list[Shown]) -> str:
    """All states as text: a row, then which letters have which looks, which are told at
    the end in each way. A look that is everywhere has no name."""
    names: dict[tuple[Look, ...], str] = {}
    lines = [f"{size[0]} columns, {size[1]} rows; {', '.join(WAYS)}"]
    for state in sorted(ways[0]):
        lines += ["", f"== {state}"]
        for versions in zip(*(way[state] for way in ways), strict=True):
            *coloured, plain = (row.text for row in versions)
            assert len(set(coloured)) == 1, f"{state}: the text hangs on the colours"
            lines.append("|" + coloured[0].rstrip())
            if plain != coloured[0]:
                lines.append("NO_COLOR|" + plain.rstrip())
            looks = list(zip(*map(cells, versions), strict=True))
            runs: list[list] = []
            for look in looks:
                if not runs or runs[-1][0] != look:
                    runs.append([look, 0])
                runs[-1][1] += 1
            named = " ".join(
                f"{names.setdefault(look, _letters(len(names)))}{count}"
                for look, count in runs
            )
            lines.append(f":{named}")
    lines += ["", "== looks"]
    for looks, name in names.items():
        lines.append(f"{name}  {' | '.join(map(str, looks))}")
    return "\n".join(lines) + "\n"


def _letters(number: int) -> str:
    """a, b, …, z, ba, bb, …"""
    rest, last = divmod(number, 26)
    return (_letters(rest) if rest else "") + chr(ord("a") + last)


def compare(text: str, size) -> None:
    """Hold a text against the file, or write the file."""
    path = FOLDER / f"{size[0]}x{size[1]}.txt"
    if os.environ.get("SPECSTEER_SCREENS") == "write":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text.split("\n") == path.read_text("utf-8").split("\n"), "see `make screens`"


def test_every_state_looks_as_it_did(tmp_path):
    """The words and the shape of the page at one size; looks are compared by the slow
    tests, in every way there is."""
    full, _ = shown(tmp_path / "drafts", FAST, twice=False)
    path = FOLDER / f"{FAST[0]}x{FAST[1]}.txt"
    known: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").split("\n"):
        if line.startswith("== "):
            lines = known.setdefault(line[3:], [])
        elif line.startswith("|"):
            lines.append(line[1:])
    texts = {name: [row.text.rstrip() for row in of] for name, of in full.items()}
    del known["looks"]
    assert texts == known, "if it is meant: make screens"


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_state_has_its_looks(tmp_path, size):
    full, few = shown(tmp_path / "dark", size)
    light, _ = shown(tmp_path / "light", size, COLORFGBG="0;15")
    plain, _ = shown(tmp_path / "plain", size, NO_COLOR="1")
    for of in (full, few, light, plain):
        for state, found in of.items():
            assert len(found) == size[1], state
    compare(written(size, [full, few, light, plain]), size)


@pytest.mark.slow
def test_the_picture_of_a_recording_shows_its_letter():
    drawn = asyncio.run(picture(letter_recording(), REQUEST, (120, 36)))

    assert drawn.startswith("<svg")
    assert "Whitby" in drawn
