"""What may be asked for and what comes of it, without a screen."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field, replace

import pytest
from textual import events as keys
from tui_helpers import (
    FIRST_BLOCK,
    HOLD,
    SECOND,
    GatedService,
    drafted,
    gated_service,
    make_app,
    play,
    settle,
    until,
    until_drafted_twice,
    writing_at,
)
from tui_tapes import LETTER, REQUEST, SOURCES, letter_recording, plain_recording

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Finished, Given, Settled, Statistics, Token
from edge_app.service.requests import WriteRequest
from edge_app.tui.background import Background
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens.page import next_step
from edge_app.tui.text import cut, joined
from edge_app.tui.variant import Variant
from tests.waiting import wait_until


def test_the_draft_begins_by_itself_when_the_models_are_loaded():
    fake = gated_service(ready=False)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        assert "loading the models" in next_step(writing)
        assert not fake.requests
        fake.ready.set()
        settle(writing, lambda: not writing.service_busy)
        assert writing.variant.text == LETTER


def test_again_takes_the_next_seed_and_some_chance():
    fake = gated_service()
    with writing_at(fake, MethodSettings(seed=4)) as writing:
        for write in (writing.draft, writing.again, writing.again):
            write(REQUEST)
            settle(writing, lambda: not writing.service_busy)
    settings = [request.settings for request in fake.requests]
    assert [(s.seed, s.temperature) for s in settings] == [(4, 0), (5, 0.7), (6, 0.7)]


def test_again_while_drafting_waits_for_the_service():
    fake = gated_service(hold=HOLD)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: fake.played > HOLD and writing.background.idle)
        fake.gates.clear()
        writing.again(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        assert [known.text for known in writing.variants] == [FIRST_BLOCK, SECOND]


def test_stop_before_the_models_are_loaded_forgets_the_request():
    fake = gated_service(ready=False)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        writing.stop()
        fake.ready.set()
        settle(writing, lambda: writing.ready)
        assert not writing.service_busy
    assert not fake.requests


def test_offline_and_what_is_left_out_reach_the_service():
    fake = gated_service()
    with writing_at(fake) as writing:
        writing.offline = True
        writing.exclude(SOURCES[1])
        writing.exclude(SOURCES[2])
        writing.exclude(SOURCES[2])
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
    assert (fake.requests[0].offline, fake.requests[0].excluded) == (True, {12})


def test_a_problem_is_news_and_the_text_stays():
    fake = gated_service()
    fake.problem = "The model file is broken: download it again."
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        news = settle(writing, lambda: not writing.service_busy)
        assert news == [(fake.problem, "error")]
        assert writing.variant.text == LETTER


def test_without_models_nothing_waits():
    fake = gated_service()
    fake.unprepared = "No model file: run specsteer models pull."
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        assert settle(writing, lambda: bool(writing.problem)) == [
            (fake.unprepared, "error")
        ]
        assert not writing.variants


def test_flipping_ends_at_the_first_and_the_last():
    with writing_at(gated_service()) as writing:
        assert not writing.flip(-1)
        for _ in range(2):
            writing.again(REQUEST)
            settle(writing, lambda: not writing.service_busy)
        assert (writing.flip(1), writing.flip(-1), writing.flip(-1)) == (
            False,
            True,
            False,
        )


def test_an_unexpected_error_in_a_thread_is_reported():
    fake = gated_service()
    fake.search = None
    fake.import_letters = lambda *args: 1 / 0
    with writing_at(fake) as writing:
        writing.import_letters("mbox", None, [])
        news = settle(writing, lambda: writing.imported)
        assert news[0][0] == "Unexpected ZeroDivisionError: division by zero"


@dataclass
class Reading(GatedService):
    """Notes what it was given to read ahead, and when to stop."""

    ahead: list[tuple[WriteRequest, threading.Event]] = field(default_factory=list)

    def read_ahead(self, request, stop):
        self.ahead.append((request, stop))


def reading():
    made = Reading([letter_recording()])
    made.ready.set()
    return made


def test_what_stands_in_the_brief_is_read_once_and_no_further():
    """Not while models load or a text is written, nor an empty brief; typing on stops
    it, and what is read is what the text will be asked for with."""
    fake = reading()
    fake.gates[3] = threading.Event()
    with writing_at(fake) as writing:

        def pause(text):
            writing.ask(replace(REQUEST, text=text))
            if (request := writing.to_read_ahead()) is not None:
                writing.read_ahead(request)

        pause("Thank Ana.")
        assert not fake.ahead
        settle(writing, lambda: writing.ready)
        for text in ("", " \n", "Thank Ana.", "Thank Ana."):
            pause(text)
        wait_until(lambda: fake.ahead, "for the brief to be read")
        pause("Thank Bo.")
        wait_until(lambda: len(fake.ahead) == 2, "for the other brief")
        assert [stop.is_set() for _, stop in fake.ahead] == [True, False]
        writing.draft(writing.request)
        assert fake.ahead[1][1].is_set()
        pause("Something else.")
        fake.gates[3].set()
        settle(writing, lambda: not writing.service_busy)
        pause("Thank Bo.")
        assert len(fake.ahead) == 2, "it was written already"
        pause("Something else.")
        wait_until(lambda: len(fake.ahead) == 3, "for the next brief to be read")
        assert fake.requests == [fake.ahead[1][0]]
    assert fake.ahead[2][1].is_set()


def test_what_goes_wrong_is_told_when_the_text_is_written():
    """Not before: nothing was asked for."""

    class Failing(Reading):
        def read_ahead(self, request, stop):
            super().read_ahead(request, stop)
            raise OSError("the store is gone")

    fake = Failing([letter_recording()])
    fake.ready.set()
    with writing_at(fake) as writing:
        settle(writing, lambda: writing.ready)
        writing.ask(REQUEST)
        writing.read_ahead(writing.to_read_ahead())
        wait_until(lambda: fake.ahead, "for the reading")
        writing.draft(REQUEST)
        assert settle(writing, lambda: not writing.service_busy) == []


AT = LETTER.index(" The one")


def test_it_goes_on_from_the_cursor():
    """As a version of its own, whose first part is what the other has, with the origin
    of each letter; the server is asked to go on from it."""
    fake = gated_service()
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        first = writing.variant
        writing.edit(first, 0, 0, [("Oh. ", "typed")])
        writing.go_on(REQUEST, 4 + AT + 7)  # inside of a word
        settle(writing, lambda: not writing.service_busy)
        before = "Oh. " + LETTER[: LETTER.index(" one of the three")]
        assert fake.requests[1].before == before
        assert joined(writing.variant.runs()) == joined(
            [*cut(first.runs(), 0, len(before)), *writing.variant.runs()[-10:]]
        )
        assert writing.variant.text.startswith(before + "Dear Ana, thank")
        assert first.text == "Oh. " + LETTER
        # The same again is another version of it.
        writing.flip(-1)
        writing.go_on(REQUEST, 4 + AT + 7)
        settle(writing, lambda: not writing.service_busy)
        assert fake.requests[2].settings.seed == 2


def test_only_the_selection_is_written_anew():
    fake = gated_service()
    start, end = LETTER.index("The one"), LETTER.index("\n\nI can")
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        writing.redraw(REQUEST, start - 1, end + 1)
        settle(writing, lambda: not writing.service_busy)
        request, variant = fake.requests[1], writing.variant
        assert (request.before, request.instead_of) == (
            LETTER[: start - 1],
            LETTER[start:end],
        )
        assert LETTER[end:].startswith(request.behind)
        assert request.max_tokens < 400
        assert variant.text.startswith(LETTER[: start - 1])
        assert variant.text.endswith(LETTER[end:])
        assert len(writing.variants) == 2


def test_of_a_stretch_without_a_word_the_version_before_stays():
    fake = gated_service()
    fake.recordings[1] = [Finished("end", Statistics())]
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        writing.redraw(REQUEST, 0, 9)
        settle(writing, lambda: not writing.service_busy)
        assert (len(writing.variants), writing.variant.text) == (1, LETTER)
        assert "no word was written" in writing.reason


def test_of_a_stretch_with_the_words_that_stood_there_the_version_before_stays():
    fake = gated_service()
    fake.recordings = [letter_recording(), plain_recording("Dear Ana,")]
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        writing.redraw(REQUEST, 0, 9)
        settle(writing, lambda: not writing.service_busy and writing.reason)
        assert (len(writing.variants), writing.variant.text) == (1, LETTER)
        assert "came again" in writing.reason
        fake.recordings = [plain_recording("Hi Ana,")] * 9
        writing.redraw(REQUEST, 0, 9)
        settle(writing, lambda: not writing.service_busy)
        assert writing.variant.text == "Hi Ana," + LETTER[9:]
        assert len({one.settings.seed for one in fake.requests}) == 3


def stretch(*events):
    variant = Variant(
        WriteRequest(REQUEST),
        before=[("Dear Ana. I", "kept")],
        after=[(" Yours,", "typed")],
    )
    for event in events:
        variant.apply(event, 0.0)
    return variant


def test_a_stretch_is_shown_in_its_place():
    """Pieces before and behind it keep their looks, and its last space gives way."""
    come = Settled((Token(7, " come", "recovered"), Token(8, ".\n", "accepted")))
    variant = stretch(Given(3, ((1, "Dear"), (2, " Ana."), (3, " I"))), come)
    shown = variant.shown(0.0)
    assert (shown[0], shown[-1]) == (("Dear Ana. I", "kept"), (" Yours,", "typed"))
    variant.end(1.0)
    assert variant.text == "Dear Ana. I come. Yours,"
    assert variant.text[: variant.written_to] == "Dear Ana. I come."


@pytest.mark.slow
def test_keys_go_on_from_the_cursor_and_write_a_selection_anew(tmp_path):
    """^J with the cursor inside of the text goes on; with it in an untouched text's end
    it drafts; ^R redraws what is selected. All of it is there again."""
    journals = JournalFolder(tmp_path / "drafts")
    fake = gated_service()

    async def steps(pilot):
        app, editor = pilot.app, pilot.app.page.editor
        await drafted(pilot)
        editor.move_cursor((2, 30))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: not app.writing.service_busy and editor.editing)
        assert fake.requests[1].before == "Dear Ana,\n\nThank you for the photographs."
        editor.move_cursor((0, 0))
        await pilot.press("shift+end", "ctrl+r")
        await until(pilot, lambda: not app.writing.service_busy and editor.editing)
        assert fake.requests[2].instead_of == "Dear Ana,"
        # What came is selected, so that ^R writes it once more.
        assert app.writing.variant.text.startswith(editor.selected_text)
        assert editor.selected_text
        app.texts = [variant.text for variant in app.writing.variants]

    app = make_app(fake, tmp_path, journals=journals)
    play(app, steps)

    async def again(pilot):
        await until(pilot, lambda: pilot.app.writing.variants)
        assert [v.text for v in pilot.app.writing.variants] == app.texts

    play(make_app(gated_service(), tmp_path, journals=journals), again)


@pytest.mark.slow
def test_what_was_done_to_a_version_can_be_undone_when_it_is_shown_again(tmp_path):
    """And redone; what came into the text by other ways than the editor ends that."""

    async def steps(pilot):
        app, editor = pilot.app, pilot.app.page.editor
        await until_drafted_twice(pilot)
        app.page.editor.focus()
        await pilot.press("x", "f7")
        await until(pilot, lambda: editor.text == LETTER)
        app.post_message(keys.Paste("y"))
        await until(pilot, lambda: editor.text == LETTER + "y")
        await pilot.press("f8", "ctrl+z")
        assert editor.text == app.writing.variant.text == SECOND
        await pilot.press("f7", "ctrl+z", "ctrl+y")
        assert app.writing.variant.edited[-1] == ("y", "pasted")

    play(make_app(gated_service(), tmp_path), steps)


def test_what_a_thread_adds_while_it_is_applied_is_drawn():
    """It wakes nobody, as a message is on its way; so the page must hear of it."""
    background, done, woken = Background(), [], []
    background.wake = lambda: woken.append(len(done))

    class Late(deque):
        """Looked at for the first time a moment before a thread adds something."""

        def __len__(self):
            found = super().__len__()
            if not done:
                done.append("looked")
                background.post(lambda: done.append("applied"))
            return found

    background._woken, background._came = True, Late()
    came = background.apply()
    assert came == ("applied" in done)
    assert came or woken
