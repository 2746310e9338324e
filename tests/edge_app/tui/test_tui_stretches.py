"""Going on from the cursor, and writing a stretch anew: what stood stays as it was."""

import pytest
from test_tui_variant import LETTER
from test_tui_writing import writing_at
from textual import events as keys
from tui_helpers import SECOND, drafted, gated_service, make_app, play, settle, until
from tui_tapes import REQUEST, letter_recording, plain_recording

from edge_app.decoding.events import (
    Finished,
    Given,
    HeldBack,
    Opened,
    Sent,
    Settled,
    Statistics,
    Token,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.journal import JournalFolder
from edge_app.tui.text import cut, joined, words
from edge_app.tui.variant import Variant

AT = LETTER.index(" The one")


async def until_drafted_twice(pilot):
    """Two versions, the second on screen."""
    app = pilot.app
    await drafted(pilot)
    await pilot.press("ctrl+r")
    await until(pilot, lambda: not app.writing.service_busy and app.page.pane.editing)
    assert len(app.writing.variants) == 2


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


def test_a_stretch_is_tried_again_where_the_words_that_stood_there_come():
    """A few times, each with another seed; then the version before stays."""
    fake = gated_service()
    fake.recordings = [letter_recording(), plain_recording("Dear Ana,")]
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        fake.recordings = [plain_recording("Dear Ana,")] * 9
        writing.redraw(REQUEST, 0, 9)
        settle(writing, lambda: not writing.service_busy and writing.reason)
        assert len({one.settings.seed for one in fake.requests}) == 4
        assert (len(writing.variants), writing.variant.text) == (1, LETTER)
        assert "came again" in writing.reason
        fake.recordings = [plain_recording("Hi Ana,")] * 9
        writing.redraw(REQUEST, 0, 9)
        settle(writing, lambda: not writing.service_busy)
        assert writing.variant.text == "Hi Ana," + LETTER[9:]


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
    assert variant.tail(0, 0.0)[:3] == [
        ("Dear", "kept"),
        (" Ana.", "kept"),
        (" I", "kept"),
    ]
    assert variant.steady() == 5
    assert variant.tail(4, 0.0)[-1] == (" Yours,", "typed")
    variant.end(1.0)
    assert variant.text == "Dear Ana. I come. Yours,"
    assert variant.text[: variant.written_to] == "Dear Ana. I come."


def test_what_is_held_back_behind_a_given_text():
    """Positions count the given tokens."""
    variant = stretch(
        Given(3, ((1, "Dear"), (2, " Ana."), (3, " I"))),
        Opened("own server", local=False),
        Sent(0.0, "u", "block", 9, (1, 2, 3), b""),
        Settled((Token(7, " see", "accepted"), Token(9, " Bob", "local"))),
        HeldBack("person", "a name", " Bob", " Sam", position=4, tokens=1),
    )
    assert variant.drafted()[-3:-1] == [(" see", "kept"), (" Bob", "held")]


@pytest.mark.parametrize("text", ["", "a b\n\nc ", "\u2028x\r\n y", "  \n"])
def test_pieces_of_words_are_all_of_the_text(text):
    assert "".join(piece for piece, _ in words([(text, "kept")])) == text


def test_keys_go_on_from_the_cursor_and_write_a_selection_anew(tmp_path):
    """^J with the cursor inside of the text goes on; with it in an untouched text's end
    it drafts; ^R redraws what is selected. All of it is there again."""
    journals = JournalFolder(tmp_path / "drafts")
    fake = gated_service()

    async def steps(pilot):
        app, pane = pilot.app, pilot.app.page.pane
        await drafted(pilot)
        pane.editor.move_cursor((2, 30))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: not app.writing.service_busy and pane.editing)
        assert fake.requests[1].before == "Dear Ana,\n\nThank you for the photographs."
        pane.editor.move_cursor((0, 0))
        await pilot.press("shift+end", "ctrl+r")
        await until(pilot, lambda: not app.writing.service_busy and pane.editing)
        assert fake.requests[2].instead_of == "Dear Ana,"
        # What came is selected, so that ^R writes it once more.
        assert app.writing.variant.text.startswith(pane.editor.selected_text)
        assert pane.editor.selected_text
        app.texts = [variant.text for variant in app.writing.variants]

    app = make_app(fake, tmp_path, journals=journals)
    play(app, steps)

    async def again(pilot):
        await until(pilot, lambda: pilot.app.writing.variants)
        assert [v.text for v in pilot.app.writing.variants] == app.texts

    play(make_app(gated_service(), tmp_path, journals=journals), again)


def test_pasted_text_is_told_from_typed(tmp_path):
    """A piece of the text that is moved keeps its origin; undo and redo, too."""

    async def steps(pilot):
        app = pilot.app
        await drafted(pilot)
        editor = app.page.pane.editor
        editor.move_cursor((0, 0))
        app.post_message(keys.Paste("From afar. "))
        await until(pilot, lambda: editor.text.startswith("From"))
        assert editor.runs()[0] == ("From afar. ", "pasted")
        await pilot.press("ctrl+z")
        assert editor.text == LETTER
        await pilot.press("ctrl+y")
        assert app.writing.variant.edited[0] == ("From afar. ", "pasted")
        # Cut "From " and put it back behind "afar. ".
        editor.move_cursor((0, 0))
        await pilot.press(*["shift+right"] * 4, "ctrl+x", "h", "ctrl+v")
        assert editor.runs()[:2] == [("h", "typed"), ("From afar. ", "pasted")]
        editor.move_cursor((1, 0))
        await pilot.press("shift+down", "shift+end", "ctrl+x", "ctrl+v")
        assert all(state != "pasted" for _, state in editor.runs()[2:])

    play(make_app(gated_service(), tmp_path), steps)


def test_what_was_done_to_a_version_can_be_undone_when_it_is_shown_again(tmp_path):
    """And redone; what came into the text by other ways than the editor ends that."""

    async def steps(pilot):
        app, pane = pilot.app, pilot.app.page.pane
        await until_drafted_twice(pilot)
        app.page.pane.editor.focus()
        await pilot.press("x", "f7")
        await until(pilot, lambda: pane.editor.text == LETTER)
        app.post_message(keys.Paste("y"))
        await until(pilot, lambda: pane.editor.text == LETTER + "y")
        await pilot.press("f8", "ctrl+z")
        assert pane.editor.text == app.writing.variant.text == SECOND
        await pilot.press("f7", "ctrl+z", "ctrl+y")
        assert app.writing.variant.edited[-1] == ("y", "pasted")

    play(make_app(gated_service(), tmp_path), steps)


def test_what_is_pasted_into_a_running_text_ends_it_and_stays(tmp_path):
    fake = gated_service(hold=16)

    async def steps(pilot):
        app = pilot.app
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: fake.played > 16 and app.writing.variant.settled)
        app.post_message(keys.Paste("Bye."))
        await until(pilot, lambda: app.writing.variant.edited)
        assert app.writing.variant.edited[-1] == ("Bye.", "pasted")
        fake.gates[16].set()

    play(make_app(fake, tmp_path), steps)
