"""Nothing is lost: the app as a process in a terminal, with keys as bytes."""

from __future__ import annotations

import base64
import os
import signal
import stat

import pytest
from test_tui_variant import LETTER
from test_tui_writing import FIRST_BLOCK
from tui_helpers import SECOND
from tui_terminal import Terminal

from edge_app.tui.draft import Draft
from edge_app.tui.journal import JournalFolder
from tests.waiting import PATIENCE

SCRIPT = """
import sys
from pathlib import Path
from tui_helpers import gated_service, make_app
from edge_app.tui.app import run_app
from edge_app.tui.journal import JournalFolder
from models.folders import state_folder
from tests.waiting import PATIENCE
fake = gated_service()
app = make_app(fake, Path("."), journals=JournalFolder(state_folder() / "drafts"))
{more}
code = run_app(app)
Path("closed").write_text(str(fake.closed))
sys.exit(code)
"""
ESC, ENTER, DELETE = b"\x1b", b"\r", b"\x1b[3~"
DOWN, SHIFT_LEFT = b"\x1b[B", b"\x1b[1;2D"
F2, F3, F7 = b"\x1bOQ", b"\x1bOR", b"\x1b[18~"


def ctrl(letter: str) -> bytes:
    """The byte that Ctrl makes of a letter."""
    return bytes([ord(letter) & 31])


@pytest.fixture
def start(home, tmp_path):
    """Starts the app, with more lines of script where a test needs them."""
    started = []

    def run(more: str = "", script: str = SCRIPT, **options) -> Terminal:
        script = script.replace("{more}", more)
        started.append(Terminal(script, home, tmp_path, **options))
        return started[-1]

    yield run
    for terminal in started:
        terminal.close()


def draft(terminal: Terminal) -> None:
    """Write the letter, and wait for its end."""
    terminal.until("own server")
    terminal.send(ctrl("j"))
    terminal.until("Love,")
    terminal.until("edit anything")


def kept(home) -> Draft:
    """The one draft that is kept."""
    (path,) = (home / "drafts").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    ((one,), problems) = JournalFolder(home / "drafts").kept()
    assert not problems
    return one.draft


@pytest.mark.slow
def test_no_string_in_any_field_loses_the_text(start, home, tmp_path):
    """What a path, a search or a recipient cannot be is said in a sentence."""
    (tmp_path / "A.txt").write_text("a")
    (tmp_path / "B.txt").write_text("b")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "round").symlink_to("round")
    terminal = start()
    draft(terminal)

    def open_save() -> None:
        terminal.send(ctrl("s"))
        terminal.until("enter saves")

    def enter(typed: str, answer: str, place: tuple[str, int]) -> None:
        """Type into the field in the row of `place`, or in one below, and send it."""
        label, below = place

        def row() -> str:
            at = terminal.screen.find(label)[0] + below
            return terminal.screen.text.split("\n")[at]

        if terminal.last_typed:
            terminal.send(ctrl("u"))
            terminal.until(lambda: terminal.last_typed not in row())
        terminal.send(typed)
        terminal.last_typed = typed[-30:]
        terminal.until(lambda: typed[-30:] in row())
        terminal.send(ENTER)
        terminal.until(answer)

    save = ("Save the text", 1)
    terminal.last_typed = "email-ana"
    open_save()
    enter("~of-no-name/", "there is no user ~of-no-name on this", save)
    enter("n" * 300, "the name is too long", save)
    enter("", "type the name of a file first", save)
    enter("folder", "this is a folder", save)
    enter("pipe", "this is a device or a pipe", save)
    enter("round", "run in a circle", save)
    enter("A.txt/x", "a file, not a folder", save)
    enter("new/", "this is a folder", save)
    enter("A.txt", "this file exists", save)
    enter("B.txt", "this file exists", save)  # it was A that was asked about
    assert (tmp_path / "B.txt").read_text() == "b"
    terminal.send(ENTER)
    terminal.until("saved to B.txt")
    terminal.last_typed = "email-ana"
    open_save()
    enter("[/x]", "saved to [/x]", save)

    terminal.send(F2)
    terminal.until("x leaves out")
    terminal.send(b"/" + ctrl("t"))  # what is seen comes behind what is not
    terminal.until("offline: this device alone")
    terminal.send("[/x]")
    terminal.send(ENTER)
    terminal.until("0 found for “[/x]”")
    terminal.send(ctrl("o"))
    path = ("file or folder", 0)
    terminal.until("file or folder")
    terminal.last_typed = ""
    enter("~of-no-name/", "there is no user ~of-no-name on this", path)
    enter("[/x", "there is no [/x", path)
    enter("n" * 300, "the name is too long", path)
    enter("", "type the name of a file first", path)

    terminal.send(ESC)
    terminal.gone("file or folder")
    terminal.click("to Ana")
    terminal.send("n" * 300)
    terminal.until("nnnn")
    terminal.send(ctrl("r"))
    terminal.until("F7/F8 flip versions")
    terminal.until("for the photographs. I will")
    open_save()
    terminal.send(ENTER)
    terminal.until("saved to")
    terminal.send(ctrl("q"))
    assert terminal.end() == 0
    assert kept(home).aside, "all is saved"
    assert (tmp_path / "A.txt").read_text() == "a"
    assert (tmp_path / "B.txt").read_text() == LETTER + "\n"
    assert (tmp_path / "[" / "x]").read_text() == LETTER + "\n"
    (saved,) = tmp_path.glob("email-*n*.txt")
    assert saved.read_text() == SECOND + "\n"


def test_keys_and_clicks_as_terminals_send_them(start):
    """Esc stops; Alt is ESC before the key; some bytes are no text at all; Ctrl-C with
    a selection copies; a click switches only where the title says so."""
    terminal = start(more="fake.gates[16] = __import__('threading').Event()")
    terminal.until("own server")
    terminal.send(ctrl("j"))
    terminal.until("photographs.")
    terminal.send(ESC)
    terminal.until("edit anything")
    terminal.send(b"\xff" + ESC + b"x")
    terminal.until("photographs.\ufffd")
    terminal.send("Bye")
    terminal.until("Bye")
    terminal.send(ESC + b"c")
    terminal.until("copied")
    terminal.until(lambda: clipboard(terminal) == [FIRST_BLOCK + "\ufffdBye"])

    # Ctrl-T, which is seen, comes behind what selects, which is not.
    terminal.send(SHIFT_LEFT * 3 + ctrl("t"))
    terminal.until("○ offline: this device alone")
    terminal.send(ctrl("c"))
    terminal.until(lambda: clipboard(terminal)[1:] == ["Bye"])

    # Were each of these four a switch, the last would be off again.
    terminal.click("email · Ana")
    terminal.click("email · Ana")
    terminal.click("this device alone")
    terminal.click("^T online")
    terminal.until("own server")
    terminal.send(ESC + ENTER)  # alt-enter
    terminal.until("for the photographs. I will")
    terminal.until("version 2 of 2")
    assert "○ offline" not in terminal.screen.text


def clipboard(terminal: Terminal) -> list[str]:
    """What was sent to the clipboard (OSC 52), oldest first."""
    return [
        base64.b64decode(command.split(";")[2]).decode()
        for command in terminal.screen.commands
        if command.startswith("52;")
    ]


@pytest.mark.slow
def test_leaving_asks_nothing_and_all_is_there_again(start, home):
    """Versions, edits, what was on screen and the checker's switch, after Ctrl-Q and
    Ctrl-C; another draft is begun, and the first found among the drafts."""
    terminal = start()
    draft(terminal)
    terminal.send(b"Bye")
    terminal.until("Bye")
    terminal.send(ctrl("r"))
    terminal.until("for the photographs. I will")
    terminal.until("version 2 of 2")
    terminal.send(F7 + ctrl("t"))
    terminal.until("version 1 of 2")
    terminal.until("○ offline")
    terminal.send(ctrl("q"))
    assert terminal.end() == 0
    assert "is kept in" in terminal.output.decode()

    terminal = start()
    terminal.until("here is what you wrote until")
    terminal.until("version 1 of 2")
    terminal.until("Bye")
    terminal.until("○ offline")
    terminal.send(ctrl("n"))
    terminal.until("a new draft")
    terminal.gone("Bye")
    terminal.send(b"Another thing")
    terminal.until("Another thing")
    terminal.send(ctrl("c"))
    assert terminal.end() == 130

    terminal = start()
    terminal.until("Another thing")
    terminal.send(ctrl("l"))
    terminal.until("(2 versions)")
    terminal.send(DOWN + ENTER)
    terminal.gone("Your drafts")
    terminal.until("Bye")
    terminal.send(ctrl("l"))
    terminal.until("Another thing")  # the drafts are read in a thread
    terminal.send(b"another")  # which of the two stands first is a matter of time
    terminal.gone("(2 versions)")
    terminal.send(DOWN + DELETE + DELETE)
    terminal.gone("Another thing")
    assert len(list((home / "drafts").iterdir())) == 1


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        signal.SIGKILL,
        pytest.param("hang up", marks=pytest.mark.slow),
    ],
)
def test_a_process_that_is_ended_loses_nothing(start, home, way):
    terminal = start()
    draft(terminal)
    terminal.send(b"Bye")
    terminal.until("Bye")
    if way == "hang up":
        terminal.hang_up()
        assert terminal.process.wait(PATIENCE) == 128 + signal.SIGHUP
    else:
        terminal.process.send_signal(way)
        terminal.end()
    if way == signal.SIGTERM:
        assert "is kept in" in terminal.output.decode()
    (version,) = kept(home).variants
    assert version.text == LETTER + "Bye"
    assert version.edited[-1] == ("Bye", "typed")
    assert [state for _, state in version.edited].count("replaced") == 2

    terminal = start()
    terminal.until("here is what you wrote until")
    terminal.until("Bye")
    # What left is known from the journal, and is the version's own.
    terminal.until("phrases, 0 facts")
    terminal.send(F3)
    terminal.until("drafted words to check")
    terminal.until("specsteer sent")
    terminal.send(ESC)
    terminal.gone("specsteer sent")
    terminal.send(ctrl("n"))
    terminal.until("nothing was sent yet")


def test_a_draft_that_was_cut_off_is_gone_on_with(start, home):
    """It is marked; the draft key keeps its text and writes on from there."""
    script = SCRIPT.replace("gated_service()", "gated_service(hold=16)")
    terminal = start(script=script)
    terminal.until("own server")
    terminal.send(ctrl("j"))
    terminal.until("Thank you for the photographs.")
    terminal.process.send_signal(signal.SIGKILL)
    terminal.end()
    (cut,) = kept(home).variants
    assert cut.text
    assert LETTER.startswith(cut.text)

    again = SCRIPT.replace(
        "{more}", "fake.recordings = [plain_recording(' And more.')]\n{more}"
    )
    again = again.replace(
        "import gated_service", "import gated_service, plain_recording"
    )
    terminal = start(script=again)
    terminal.until("not finished: it was cut off")
    terminal.until("own server")
    assert kept(home).variant.unfinished
    terminal.send(ctrl("j"))
    terminal.until("And more.")
    terminal.gone("not finished")
    first, second = kept(home).variants
    assert first.text == cut.text
    assert second.text == cut.text.rstrip(" ") + " And more."
    assert second.request.before == cut.text.rstrip(" ")
    assert second.request.settings == first.request.settings


ANSWERING = SCRIPT.replace(
    "fake = gated_service()",
    """
from test_tui_style import answering
from models.prompts import Request
fake = answering()
""",
).replace(
    'make_app(fake, Path("."), ',
    'make_app(fake, Path("."), first_request=Request("Tea?", "email", "Bo"), ',
)


def test_an_answer_by_keys_goes_to_who_wrote(start, home, tmp_path):
    """Not to whom the brief on the page is for, which is among the drafts then."""
    terminal = start(script=ANSWERING)
    draft(terminal)
    terminal.send(b"\x1br")
    terminal.until("Ana Ruiz  The boat")
    terminal.send(b"\x1b[B")
    terminal.until("I row.")
    terminal.send(ENTER)
    terminal.until("answers Ana Ruiz: The boat")
    terminal.send(b"yes")
    terminal.until("yes")
    terminal.send(ctrl("j"))
    terminal.until("photographs. I will come")
    terminal.until("edit anything")
    terminal.send(ctrl("s"))
    terminal.until("enter saves")
    terminal.send(ctrl("u") + b"answer.eml" + ENTER)
    terminal.until("saved to answer.eml")
    told = (tmp_path / "answer.eml").read_text()
    assert "To: ana@x.org\n" in told
    assert "From: me@work.org\n" in told
    assert "Subject: Re: The boat\n" in told
    kept_ones, _ = JournalFolder(home / "drafts").kept()
    answer, before = (one.draft for one in kept_ones)
    assert (before.request.text, before.request.recipient) == ("Tea?", "Bo")
    assert (answer.request.text, answer.request.recipient) == ("yes", "Ana Ruiz")


@pytest.mark.slow
def test_two_apps_do_not_write_into_one_draft(start, home):
    """The second says so, and has a page of its own."""
    first = start()
    draft(first)
    second = start()
    second.until("open in another window")
    second.send(ctrl("c"))
    assert second.end() == 130
    assert kept(home).variant.text == LETTER


def test_an_error_that_nobody_foresaw_keeps_the_draft(start, home):
    """The traceback shows no values: they hold the text. What is said last is where
    the draft is."""
    terminal = start(
        more="""
def broken(self):
    secret = "LOCAL" + "VALUE"
    raise ZeroDivisionError("nobody foresaw this")
type(app).action_offline = broken
"""
    )
    draft(terminal)
    terminal.send(b"Bye" + ctrl("t"))
    assert terminal.end() == 1
    said = terminal.output.decode()
    assert "nobody foresaw this" in said
    assert "LOCALVALUE" not in said
    assert said.index("nobody foresaw this") < said.index("is kept in")
    assert kept(home).variant.text == LETTER + "Bye"


HELD = """
import os, sys
from pathlib import Path
from edge_app.transport.child_server import ChildServer
from models.engines.llama_cpp import LlamaModel
begin = ChildServer.__init__
def note(self, *rest):
    begin(self, *rest)
    Path("child").write_text(str(self._process.pid))
def held(self, *rest, **options):
    Path("held").touch()
    os.read(os.open("barrier", os.O_RDONLY), 1)  # in C, as a load is
    Path("freed").touch()
ChildServer.__init__, LlamaModel.__init__ = note, held
sys.argv = ["specsteer"]
from edge_app.cli import main
main()
"""


@pytest.mark.slow
def test_leaving_waits_for_no_model_that_is_loading(start, tmp_path):
    """The load is held until the test ends; the child that loads, too, ends."""
    os.mkfifo(tmp_path / "barrier")
    terminal = start(script=HELD)
    terminal.until("loading the models")
    barrier = os.open(tmp_path / "barrier", os.O_RDWR)
    try:
        terminal.until(lambda: (tmp_path / "held").exists())
        terminal.send(ctrl("j"))
        terminal.until("the draft begins by itself")
        terminal.send(ctrl("q"))
        assert terminal.end() == 0
        assert not (tmp_path / "freed").exists()
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "child").read_text()), 0)
    finally:
        os.close(barrier)
