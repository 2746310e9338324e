"""Drawers and dialogs."""

import json

import pytest
from textual.widgets import DataTable, Input, OptionList
from tui_helpers import drafted, gated_service, make_app, play, said, until
from tui_tapes import letter_recording, plain_recording

from edge_app.decoding.codec import to_json
from edge_app.service.tape import events_of, read_tape
from edge_app.tui.screens.compare import differences
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.screens.import_letters import guess_kind
from edge_app.tui.screens.sent import hex_dump
from edge_app.tui.screens.widgets import complete
from tests.mailboxes import mailbox, message


@pytest.mark.slow
def test_a_walk_through_the_drawers(tmp_path):
    """Leave a source out, search, read and export what left, look at numbers."""
    fake = gated_service()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        await sources(pilot)
        await sent(pilot)
        for key, name in (("f4", "numbers"), ("f1", "help")):
            await pilot.press(key)
            assert isinstance(app.screen, Drawer)
            assert name == app.screen.NAME
        await pilot.press("f1")
        assert app.screen is app.page
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(fake.requests) == 2)

    async def sources(pilot):
        await pilot.press("f2", "down", "x", "down", "x", "x")
        assert "eleven jars" in said(app, "#text")
        await pilot.press("slash", *"jam", "enter")
        options = app.screen.query_one(OptionList)
        await until(pilot, lambda: options.option_count == 1)
        assert "1 found" in said(app, ".note")

    async def sent(pilot):
        await pilot.press("f3")
        assert app.screen.query_one(DataTable).row_count == 9
        assert "Tess's sample letters: 2 lines sent" in said(app, ".note")
        assert "9 messages, 1.2 kB" in said(app, ".note")
        await pilot.press("down")
        assert "pieces to check" in said(app, "#text")
        assert "Dear Ana" in said(app, "#text")
        assert "10 11 12 13" not in said(app, "#text"), "bytes lie behind Enter"
        await pilot.press("enter")
        assert "10 11 12 13" in said(app, "#text")
        await pilot.press("e")
        lines = (tmp_path / "what-left.jsonl").read_text().splitlines()
        assert [json.loads(line)["size"] for line in lines] == [412] + [96] * 8

    play(app, steps)
    assert [request.excluded for request in fake.requests] == [frozenset(), {12}]


def test_compare_shows_what_differs():
    pieces = differences("I fly a kite.", "I fly kites.")

    assert "".join(t for t, change in pieces if change != "new") == "I fly a kite."
    assert "".join(t for t, change in pieces if change != "gone") == "I fly kites."


def test_other_sentences_are_not_told_apart_word_by_word():
    """A word or a gap that both have does not part what is struck from what is new."""
    pieces = differences("So I can come, if it is easy.", "So It is all here to see.")
    assert pieces == [
        ("So ", "same"),
        ("I can come, if it is easy", "gone"),
        ("It is all here to see", "new"),
        (".", "same"),
    ]
    assert differences("a b c d e", "a x c d y") == [
        ("a ", "same"),
        ("b", "gone"),
        ("x", "new"),
        (" c d ", "same"),
        ("e", "gone"),
        ("y", "new"),
    ]


def test_kinds_are_guessed_from_paths():
    assert guess_kind("~/Mail/Sent.mbox") == "mbox"
    assert guess_kind("takeout/Reviews.json") == "google_reviews"
    assert guess_kind("letters/one.eml") == "eml"
    assert guess_kind("letters") is None


def test_paths_are_completed(tmp_path):
    (tmp_path / "letters").mkdir()

    assert complete(f"{tmp_path}/let") == f"{tmp_path}/letters/"
    assert complete(f"{tmp_path}/none") is None
    assert complete("") is None


def test_bytes_are_shown_as_numbers_and_letters():
    assert hex_dump(b"Hi\x00").split() == ["00000", "48", "69", "00", "Hi."]


def test_a_recording_is_read_as_it_was_written(tmp_path):
    both = letter_recording() + plain_recording("I will come.")
    path = tmp_path / "both.jsonl"
    path.write_text("".join(f"{to_json(event)}\n" for event in both))

    runs = [events_of(run) for run in read_tape(path).runs()]
    assert runs == [letter_recording(), plain_recording("I will come.")]


def test_letters_are_read_while_writing_goes_on(tmp_path):
    fake = gated_service()
    app = make_app(fake, tmp_path)
    box = tmp_path / "mine.mbox"
    box.write_bytes(mailbox([message("I come at six.", sender="me@example.org")]))

    async def steps(pilot):
        await pilot.press("ctrl+o")
        app.screen.query_one("#path", Input).value = str(tmp_path / "min")
        await pilot.press("end", "enter")
        assert "there is no" in said(app, "#result")
        app.screen.query_one("#path", Input).value = str(box)
        app.screen.query_one("#me", Input).value = "me@example.org, b@c.example"
        await pilot.press("enter")  # looks
        await until(pilot, lambda: "enter reads this" in said(app, "#result"))
        await pilot.press("enter")
        await until(pilot, lambda: app.writing.importing is not None)
        await pilot.press("escape")
        await drafted(pilot)
        fake.reading.set()
        await until(pilot, lambda: bool(app.writing.imported))
        assert "10 letters of mine.mbox read." in [
            n.message for n in app._notifications
        ]

    play(app, steps)
    assert fake.imported == [("mbox", box, ["me@example.org", "b@c.example"])]


def test_a_drawer_is_closed_once(tmp_path):
    """A choice that comes late, behind the key that closed it, ends no app."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+l")
        await until(pilot, lambda: app.screen is not app.page)
        drawer = app.screen
        drawer.dismiss()
        drawer.dismiss()
        await until(pilot, lambda: app.screen is app.page)

    play(app, steps)
