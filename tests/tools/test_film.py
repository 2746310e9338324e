"""The film of the README: small, moved by CSS alone, and of the tape."""

import asyncio
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from edge_app.service.tape import Recorded, Tape
from tools.film import schedule, shoot, svg

sys.path.insert(0, str(Path(__file__).parents[1] / "edge_app" / "tui"))
from tui_tapes import REQUEST, letter_recording

SIZE = (100, 30)


def tape(seconds):
    events = letter_recording()
    step = seconds / len(events)
    return Tape(
        REQUEST, tuple(Recorded(at * step, one) for at, one in enumerate(events)), True
    )


def test_a_slow_run_is_played_faster_and_a_pause_is_cut_short():
    assert schedule(tape(4))[-1] == pytest.approx(4, abs=0.1)
    assert schedule(tape(40))[-1] == pytest.approx(12)
    assert schedule(tape(4000))[-1] == pytest.approx(12)


@pytest.mark.slow
def test_a_film_shows_the_letter_growing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames = asyncio.run(shoot(tape(4), SIZE))
    shown = ["\n".join(row.text for row in frame.rows) for frame in frames]
    assert "Whitby" not in shown[0]
    first = next(at for at, text in enumerate(shown) if "Dear" in text)
    last = next(at for at, text in enumerate(shown) if "Love," in text)
    assert last > first + 10, "words come one after the other"
    assert any("What left this device" in text for text in shown)
    assert "Whitby" in shown[-1]

    drawn = svg(frames, SIZE, "a film")
    assert len(drawn.encode()) < 400_000
    tree = ElementTree.fromstring(drawn)
    assert {element.tag.rpartition("}")[2] for element in tree.iter()} == {
        *("svg", "title", "style", "rect", "circle", "g", "text"),
    }
    assert "prefers-reduced-motion" in drawn
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    # Without animations the last frame is seen.
    texts = [
        text.text
        for group in tree.iter("{http://www.w3.org/2000/svg}g")
        if group.get("visibility") != "hidden"
        for text in group
        if text.text
    ]
    assert any("Whitby" in text for text in texts)
