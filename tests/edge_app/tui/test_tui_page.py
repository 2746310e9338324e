"""The page and its drawers, as a person uses them."""

from __future__ import annotations

import asyncio
import threading
from itertools import count
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from rich.console import Console
from textual import events
from textual.app import App
from textual.color import Color
from textual.widgets import Button, Input, Static
from tui_helpers import (
    FIRST_BLOCK,
    HOLD,
    SECOND,
    GatedService,
    drafted,
    gated_service,
    make_app,
    play,
    said,
    until,
    writing_at,
    written,
)
from tui_tapes import LETTER, REQUEST, SOURCES, letter_recording, plain_recording

from edge_app.decoding.events import Alternatives, Choice, HeldBack, Place, Settled
from edge_app.service.requests import WriteRequest
from edge_app.tui import preferences as themes
from edge_app.tui.app import DRAWERS
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens.compare import hunks, sentences, taken
from edge_app.tui.screens.drawer import HeldBackQuestion
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.screens.page import CARD_SECONDS, FRAME_SECONDS, next_step
from edge_app.tui.screens.why import (
    WhyDrawer,
    followed,
    origin,
    word_at,
    words_of_version,
)
from edge_app.tui.screens.widgets import dropped
from edge_app.tui.text import STATES, joined, spliced
from edge_app.tui.variant import Variant
from models.prompts import Request
from personal_store.import_runs import Unfinished
from tests.waiting import until_true, wait_until
from tools.screen_rows import rows

pytestmark = pytest.mark.usefixtures("drawn_when_asked")


def test_facts_that_are_not_from_the_person_are_marked_until_they_change(tmp_path):
    """In the text without a colour, too, in a line below it, and where a word is
    explained; what the person types is theirs."""
    fake = gated_service()
    app = make_app(fake, tmp_path)

    def marked(line):
        spans = app.page.editor.get_line(line).spans
        return [(o.start, o.end) for o in spans if o.style.bold and o.style.underline]

    async def steps(pilot):
        await drafted(pilot)
        editor, facts = app.page.editor, app.page.query_one("#facts", Static)
        await until(pilot, lambda: facts.content == "not from you: Whitby")
        row = next(i for i in range(20) if "Whitby" in editor.document.get_line(i))
        column = editor.document.get_line(row).index("Whitby")
        assert marked(row) == [(column, column + len("Whitby"))]
        editor.move_cursor((row, column + 3))
        await pilot.press("alt+w")
        assert "Not from you: no request" in told(app)
        await pilot.press("escape")
        editor.move_cursor((row, column + 3))
        await pilot.press("x")
        await until(pilot, lambda: not facts.display)
        assert marked(row) == []

    play(app, steps)


def test_the_first_minute(tmp_path):
    """Draft, edit, another version, flip, compare, copy."""
    fake = gated_service()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        assert app.page.editor.text == LETTER
        assert "edit anything" in next_step(app.writing)
        await pilot.press("!", "ctrl+r")
        await until(pilot, lambda: len(fake.requests) == 2 and app.page.editor.editing)
        assert app.page.editor.text == SECOND
        await pilot.press("f7")
        assert app.page.editor.text == LETTER + "!"
        assert app.writing.variant.edited[-1] == ("!", "typed")
        app.page.tick()
        app.page._tick_in(CARD_SECONDS)
        app.page.frame_soon()  # a word waits for no card
        due = app.page._frame.when() - asyncio.get_running_loop().time()
        assert due <= FRAME_SECONDS
        await compare(pilot)
        await pilot.press("alt+c")
        assert app.clipboard == LETTER + "!"

    async def compare(pilot):
        await pilot.press("f9")
        assert "right: what was drafted" in said(app, ".note")
        await pilot.press("right")
        assert "left: version 1 · right: version 2" in said(app, ".note")
        editor, before = app.page.editor, app.writing.variant.text
        await pilot.press("space")
        taken = app.writing.variant.text
        assert editor.text == taken != before
        await pilot.press("u")
        assert editor.text == before
        await pilot.press("home", "space", "escape")
        again = app.writing.variant.text
        await pilot.press("ctrl+z")
        assert editor.text == before != again
        await pilot.press("ctrl+y")
        assert app.writing.variant.text == again
        await pilot.press("ctrl+z")

    play(app, steps)
    assert fake.requests[0].brief == REQUEST


def test_a_typed_letter_ends_the_writing_at_once(tmp_path):
    """Only settled words stay; the letter stands behind them. Nobody waits for the
    service."""
    fake = gated_service(hold=HOLD + 7)
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        editor = app.page.editor
        await pilot.press("ctrl+j")
        await until(pilot, lambda: fake.played > HOLD + 7)
        await until(pilot, lambda: " The" in editor.text)
        await pilot.press("O", "k")
        assert editor.text == FIRST_BLOCK + "Ok"
        await until(pilot, lambda: not app.writing.service_busy)
        edited = app.writing.variant.edited
        assert edited == [(FIRST_BLOCK, "kept"), ("Ok", "typed")]

    play(app, steps)


def test_an_empty_brief_is_not_sent_and_problems_become_toasts(tmp_path):
    fake = gated_service()
    fake.problem = "The model [file] is broken: download it again."
    app = make_app(fake, tmp_path, first_request=None)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        for name, look in (("task", "reverse"), ("recipient", ""), ("request", "")):
            await pilot.press("tab")  # an empty page is passed over
            assert app.focused.id == name
            assert look in "".join(str(of) for _, of in rows(app)[1].pieces)
        await pilot.press("ctrl+j")
        assert not app.writing.variants
        await pilot.press(*"hi", "ctrl+t")
        app.query_one("#recipient", Input).value = "Bo"
        await drafted(pilot)
        assert fake.problem in [toast.message for toast in app._notifications]
        assert app.page.editor.text == LETTER
        assert "offline" in str(app.query_one("#server", Static).render())
        # The reason stays on the page until the next action.
        await pilot.press("a")
        assert app.page.editor.text == LETTER + "a"
        assert said(app, "#reason") == fake.problem
        assert app.query_one("#reason", Static).display
        await pilot.press("escape")
        assert not app.query_one("#reason", Static).display

    play(app, steps)
    assert fake.requests[0].brief == Request("hi", "email", "Bo")
    assert fake.requests[0].offline


def test_a_long_text_stays_where_it_was_read_when_it_ends(tmp_path):
    """The view follows the writing until the person scrolls; so does the editor."""
    fake = gated_service()
    fake.recordings = [plain_recording("It was a long walk. " * 150)]
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        editor = app.page.editor
        await until(pilot, lambda: editor.scroll_y == editor.max_scroll_y > 20)
        await scroll_up(pilot)

    async def scroll_up(pilot):
        view = editor = app.page.editor
        fake.gates = {500: threading.Event()}
        await pilot.press("ctrl+r")
        await until(pilot, lambda: view.following and view.scroll_y > 10)
        await until(pilot, lambda: fake.played > 500)
        await pilot.press("pageup")
        row = view.scroll_y
        assert row < view.max_scroll_y
        fake.gates[500].set()
        await until(pilot, lambda: app.page.editor.editing)
        await until(pilot, lambda: editor.scroll_y == row)

    play(app, steps)


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT], ids=lambda t: t.name)
def test_colours_are_the_same_with_256(theme):
    """Each is an entry of the palette; Rich takes for some greys the one beside it."""
    for name in ("primary", "secondary", "accent", "warning", "error", "success",
                 "foreground", "background", "surface", "panel"):  # fmt: skip
        wanted = Color.parse(getattr(theme, name))
        shown = TerminalColor.parse(wanted.hex).downgrade(ColorSystem.EIGHT_BIT)
        pairs = zip(shown.get_truecolor(), wanted.rgb, strict=True)
        away = [one - other for one, other in pairs]
        assert len(set(away)) == 1, name
        assert abs(away[0]) <= 10, name


PIECES = [" a", " letter", "ing", ".\n\n", " 漢字", " ", "unbreakably" * 4, "\t", ""]


class EditorApp(App):
    CSS = "DraftEditor { height: 12; border: none; }"

    def compose(self):
        yield DraftEditor(lambda *_: None)


def test_words_that_come_are_drawn_as_if_all_had_come_at_once():
    """Rows and looks, whatever gives way to what."""

    async def fuzz():
        random, app, known = Random(1), EditorApp(), []
        async with app.run_test(size=(40, 12)) as pilot:
            editor = app.query_one(DraftEditor)
            for step in range(40):
                if step % 20 == 0:
                    await pilot.resize_terminal(random.randint(12, 60), 12)
                kept = known[: random.randint(max(0, len(known) - 9), len(known))]
                more = random.choices(PIECES, k=random.randint(0, 9))
                known = kept + [(piece, random.choice(STATES)) for piece in more]
                editor._rewrite(known)
                assert editor.runs() == joined(known)
                rows = editor.wrapped_document.lines
                drawn = [editor.render_line(y) for y in range(12)]
                editor.wrapped_document.wrap(editor.wrap_width, editor.indent_width)
                editor._line_cache.clear()
                assert editor.wrapped_document.lines == rows
                assert [editor.render_line(y) for y in range(12)] == drawn

    asyncio.run(fuzz())


def test_a_frame_comes_however_late_its_timer_is_looked_at(tmp_path, monkeypatch):
    """On a busy machine more than a frame passes between two lines of Textual's timer,
    which then takes the only call for one that is to be skipped."""
    app, done = make_app(gated_service(), tmp_path), []

    async def steps(pilot):
        late = count(step=0.04)
        with monkeypatch.context() as patch:
            patch.setattr("textual.timer._time.get_time", lambda: next(late))
            app.writing.background.post(lambda: done.append(app.screen))
            await until_true(lambda: bool(done), "for the frame")

    play(app, steps)


def test_a_drawer_that_is_not_mounted_yet_is_told_nothing_and_closes_once(tmp_path):
    """What came is applied meanwhile, and shown when it is mounted; a choice that comes
    late, behind the key that closed it, ends no app."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        for name in list(DRAWERS)[1::4]:  # drafts, models and settings
            app.action_drawer(name)
            drawer = app.screen
            assert drawer is not app.page
            drawer.check_action("discard", ())  # as its list of keys asks
            app.writing.background.post(lambda: None)
            app.page.tick()
            await pilot.pause()
            drawer.dismiss()
            drawer.dismiss()
            await until(pilot, lambda: app.screen is app.page)

    play(app, steps)


TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n”)"), max_size=30)


@given(TEXTS)
def test_sentences_are_all_of_a_text(text):
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text


@given(TEXTS, TEXTS)
def test_taking_all_hunks_makes_the_other(here, there):
    """But for the space around them: first the last hunk, so that places stay."""
    ours, theirs = [(here, "kept")], [(there, "typed")]
    found = hunks(here, there)
    assert "".join(here[slice(*one.here)] for one in found) == here
    assert "".join(there[slice(*one.there)] for one in found) == there
    for hunk in reversed(found):
        if not hunk.same:
            ours = spliced(ours, *taken(hunk, ours, theirs))
    assert "".join(t for t, _ in ours).split() == there.split()


MAIL = (
    "From - Sat Mar 02 10:00:00 2024\nFrom: Tess <tess@example.org>\n"
    "To: Ana <ana@example.org>\nSubject: tea {n}\nMessage-ID: <{n}@example.org>\n"
    "Date: Sat, 2 Mar 2024 10:00:0{n} +0000\n\nHullo Ana, the tea number {n} is ready "
    "and stands on the piano in the hall.\n\nTess\n\n"
)


def mailbox(folder: Path) -> Path:
    path = folder / "My Mail's box" / "Sent.mbox"
    path.parent.mkdir()
    path.write_text("".join(MAIL.format(n=n) for n in range(3)))
    (path.parent / "holiday.jpg").write_bytes(b"\xff\xd8")
    return path


def test_a_dropped_path_is_the_path_it_means(tmp_path):
    """As terminals paste what is dropped on them."""
    path = mailbox(tmp_path)
    plain = str(path)
    escaped = plain.replace(" ", "\\ ").replace("'", "\\'")

    for pasted in (
        plain,
        escaped,
        f"{escaped} {tmp_path}/other\\ one",
        f'"{plain}"',
        "'{}'".format(plain.replace("'", "'\\''")),
        path.as_uri(),
        f"{path.as_uri()}\r\n",
        f"  {plain}\n",
        path.as_uri().replace("file://", "file://localhost"),
    ):
        assert dropped(pasted) == plain, pasted
    assert dropped("file://elsewhere/x") is None
    assert dropped("a word") is None
    assert dropped("") is None


def test_what_is_there_is_said_before_it_is_read(tmp_path):
    """And whose letters it takes them for, anew when anything is changed; then the page
    has no request of the sample any more."""
    path = mailbox(tmp_path)
    fake = gated_service()
    fake.reading.set()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        async def enter(part):
            await pilot.press("enter")
            await until(pilot, lambda: part in said(app, "#result"))

        await pilot.press("ctrl+o")
        field = app.screen.query_one("#path", Input)
        field.post_message(events.Paste(path.parent.as_uri()))
        await until(pilot, lambda: field.value == str(path.parent))
        await enter("enter reads this")
        assert "taking tess@example.org for you, because" in said(app, "#plan")
        assert "not read: holiday.jpg" in said(app, "#plan")
        field.value = str(path.with_name("holiday.jpg"))
        await enter("choose its kind")
        await pilot.press("enter")
        field.value = str(path)
        app.screen.query_one("#me", Input).value = "tess@example.org"
        await enter("enter reads this")
        assert "taking tess@example.org for you, as you say" in said(app, "#plan")
        assert not fake.imported
        await enter("10 letters")
        assert app.page.brief.request.text == ""
        assert not app.writing.samples

    play(app, steps)
    assert fake.imported == [("auto", path, ["tess@example.org"])]


def test_an_import_of_an_earlier_sitting_is_offered_paused_and_left(tmp_path):
    """It says where that stopped, goes on with the same, and can be told not to."""

    class Begun(type(gated_service())):
        left = None

        def unfinished_import(self):
            return None if self.left else was

        def leave_import(self, asked):
            self.left = asked

        def import_letters(self, kind, path, me, progress):
            self.imported.append((kind, path, me))
            if len(self.imported) < 3:
                wait_until(lambda: progress(3, 10), "for the pause")
            return "10 letters read."

    was = Unfinished("auto", tmp_path / "All mail", ("a@b.org",), done=4, total=10)
    fake = Begun([])
    fake.ready.set()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.paused is not None)
        (news,) = app._notifications
        stopped = f"reading {was.path} stopped at 40 %"
        assert news.message == f"{stopped}: ^O goes on there"
        await pilot.press("ctrl+o")
        await until(pilot, lambda: len(app.screen.query(Button)) == 2)
        assert said(app, "#result") == stopped
        read, leave = app.screen.query(Button)
        for _ in range(2):
            assert (str(read.label), leave.display) == ("Go on", True)
            read.press()
            await until(pilot, lambda: str(read.label) == "Pause")
            assert not leave.display
            read.press()
            await until(pilot, lambda: str(read.label) == "Go on")
            assert "paused" in said(app, "#result")
        assert app.writing.samples, "it is not the person's own yet"
        leave.press()
        await until(pilot, lambda: fake.left is not None)
        await until(pilot, lambda: str(read.label) == "Read them")

    play(app, steps)
    assert fake.imported == [("auto", was.path, ["a@b.org"])] * 2
    assert fake.left.is_same(was)


HELD = HeldBack("person", "stands in your texts", " Zoltan", " Alex")


class AskingService(GatedService):
    """Asks once before it writes, as the guard does."""

    answered: str = ""

    def write(self, request, emit, stop):
        self.answered = request.ask(HELD)
        super().write(request, emit, stop)


def test_each_span_is_the_persons_to_decide(tmp_path):
    """A text that is stopped waits for no answer: the question closes, and nothing
    leaves."""
    service = AskingService([plain_recording("Hi.")])
    service.ready.set()
    app = make_app(service, tmp_path)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        for keys, answer in (
            (("enter",), "no"),
            (("f7",), "once"),
            (("down", "down", "enter"), "always"),
            (("escape",), "no"),
            ((), "no"),
        ):
            await pilot.press("ctrl+r")
            await until(pilot, lambda: isinstance(app.screen, HeldBackQuestion))
            for word in ("Zoltan", "stands in your texts", "Alex"):
                assert word in said(app, "#sentence")
            service.answered = ""
            await pilot.press(*keys)
            if not keys:
                app.writing.stop()
            await until(pilot, lambda: not app.writing.service_busy)
            assert service.answered == answer
            await until(pilot, lambda: not isinstance(app.screen, HeldBackQuestion))

    play(app, steps)


def weighed_recording():
    """The letter, with what was thought of each word; nothing of what the checker
    thought of those that it kept."""
    events, count = [], 0
    refused = ()
    for event in letter_recording():
        events.append(event)
        refused = getattr(event, "refused", refused)
        if isinstance(event, Settled):
            places = []
            for token in event.tokens:
                redrawn = token.origin == "recovered"
                others = [Choice(9, " Bath", 0.21), Choice(8, " York", 0.0004)]
                if redrawn:
                    others = [Choice(7, refused[0], 0.6, 0.5, 0.01), *others]
                first = (token.id, token.text, 0.42)
                more = (0.1, 0.61) if redrawn else ()
                places.append(Place((Choice(*first, *more), *others), redrawn))
            events.append(Alternatives(count, tuple(places)))
            count += len(places)
    return events


def version(events=None):
    variant = Variant(WriteRequest(Request("Thank Ana.")))
    for event in events or weighed_recording():
        variant.apply(event, 0.0)
    return variant


def test_each_word_knows_its_tokens_also_when_others_are_edited():
    variant = version()
    words = words_of_version(variant)
    for word in words:
        assert word.text in "".join(variant.settled[at].text for at in word.tokens)
        assert variant.text[word.start : word.end] == word.text
    found = [words[word_at(words, letter)].text for letter in (0, 4, 5, None)]
    assert found == ["Dear", "Dear", "Ana", "Ben"]
    assert word_at([], 3) is None

    was = {word.text: word.tokens for word in words}
    at = variant.text.index("photographs")
    runs = spliced(variant.runs(), at, len("photographs"), [("lovely cake", "typed")])
    variant.edited = spliced(runs, 0, 0, [("Oh, ", "typed")])
    now = {word.text: word for word in words_of_version(variant)}
    assert now["Whitby"].tokens == was["Whitby"]
    assert now["cake"].tokens == ()
    assert "You typed it" in origin(variant, now["cake"])
    assert "Redrawn: “home” was drafted" in origin(variant, now["Whitby"])
    assert "kept by the checker" in origin(variant, now["Thank"])


def test_the_passage_with_the_longest_run_is_followed():
    text = "We can walk the old railway line to the coast."
    at = text.index("railway")

    source, _, run, _ = followed(text, at, SOURCES)

    assert source == SOURCES[1]
    assert run == "can walk the old railway line"
    assert followed(text, text.index("coast"), SOURCES) is None
    assert followed(text, text.index("to"), SOURCES) is None, "it stands everywhere"


def test_enter_on_a_word_tells_why_also_after_the_end_of_the_app(tmp_path):
    """The letters that it shows are read from the store: the journal keeps none."""
    folder = JournalFolder(tmp_path / "drafts")
    service = GatedService([weighed_recording()])
    service.ready.set()
    with writing_at(service, journals=folder) as writing:
        written(writing.draft, REQUEST)
    (path,) = folder.paths()
    assert "railway line again if my knee" not in path.read_text()
    app = make_app(service, tmp_path, journals=folder)

    async def ask(pilot, word):
        editor = app.page.editor
        at = editor.text.index(word)
        editor.move_cursor(editor.document.get_location_from_index(at))
        editor.focus()
        await pilot.press("enter")
        assert isinstance(app.screen, WhyDrawer)

    async def steps(pilot):
        await until(pilot, lambda: app.page.editor.editing)
        await ask(pilot, "Whitby")
        await until(pilot, lambda: "looking" not in told(app))
        for part in ("home” was drafted", "61 %", "in none of"):
            assert part in told(app)
        await pilot.press("left")
        assert "kept by the checker" in told(app)
        assert app.page.editor.selected_text == "at"
        await pilot.press("escape")
        await ask(pilot, "old")
        await pilot.press("right")
        assert "june visit, Jun 2025" in told(app)
        await pilot.press("escape")
        assert app.screen is app.page

    play(app, steps)


def told(app):
    """All that the panel says."""
    console = Console(width=60, no_color=True)
    with console.capture() as capture:
        console.print(app.screen.query_one("#text").content)
    return " ".join(capture.get().split())
