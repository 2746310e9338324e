"""Leaving: quickly, cleanly, and with the service closed."""

import os
import pty
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tui_helpers import GatedService, gated_service, make_app, play, until

from decoding_core.settings import MethodSettings
from edge_app.tui.writing import Writing
from tests.waiting import PATIENCE, moments

HERE = Path(__file__).parent
SCRIPT = """
import sys
from pathlib import Path
from tui_helpers import gated_service, make_app
from edge_app.tui.app import run_app
fake = gated_service(hold=20)
code = run_app(make_app(fake, Path(".")))
print("closed", fake.closed)
sys.exit(code)
"""


def test_quitting_while_drafting_stops_the_service(tmp_path):
    fake = gated_service(hold=20)
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: fake.played > 20)
        await pilot.press("ctrl+q", "delete")

    play(app, steps)
    app.writing.close()  # the service is still held, and nobody lets it go on
    assert fake.closed
    assert app.return_code == 0


def test_leaving_ends_an_import():
    """At its next word of progress; what it has stored stays stored."""
    called = threading.Event()

    class Importing(GatedService):
        def import_letters(self, kind, path, me, progress):
            while True:
                progress(1, 10)
                called.set()

    writing = Writing(Importing([]), MethodSettings())
    writing.import_letters("mbox", Path("sent.mbox"), [])
    assert called.wait(PATIENCE)
    writing.background.close(writing.service.close, patience=PATIENCE)
    writing.apply()
    ((sentence, severity),) = writing.news
    assert severity == "error"
    assert "the same import goes on" in sentence


@pytest.mark.parametrize(
    "drawer", [pytest.param("f3", marks=pytest.mark.slow), "ctrl+p"]
)
def test_ctrl_c_leaves_from_everywhere(tmp_path, drawer):
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await pilot.press(drawer, "ctrl+c")

    play(app, steps)
    assert app.return_code == 130


def test_ctrl_c_in_a_terminal_restores_it_and_closes_the_service():
    """A real terminal, in the middle of a draft."""
    leave = [(b"Dear", b"\x03"), (b"throw it away", b"\x1b[3~")]
    output, code = in_terminal([(b"loading", b""), (b"F9", b"\n"), *leave])

    assert code == 130
    assert b"closed True" in output
    last_on, last_off = output.rfind(b"\x1b[?1049h"), output.rfind(b"\x1b[?1049l")
    assert last_off > last_on >= 0, "the terminal's own page is back"
    assert output.rfind(b"\x1b[?25h") > output.rfind(b"\x1b[?25l"), "the cursor is back"


def in_terminal(steps):
    """Send keys once certain bytes have been printed; all output and the exit code."""
    near, far = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    env["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parents[2])])
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=far, stdout=far, stderr=far, env=env
    )
    os.close(far)
    output, waiting = b"", list(steps)
    for _ in moments("of the terminal", pause=0):
        if select.select([near], [], [], 0.05)[0]:
            try:
                output += os.read(near, 65536)
            except OSError:  # the other side is closed
                break
        if waiting and waiting[0][0] in output:
            os.write(near, waiting.pop(0)[1])
    code = child.wait(PATIENCE)
    os.close(near)
    return output, code
