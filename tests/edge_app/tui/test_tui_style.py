"""What further versions are told: tone, stars, sliders, and the letter they answer."""

import email
import threading
from dataclasses import replace
from email.policy import default

import pytest
from test_tui_writing import writing_at
from textual.widgets import Input, OptionList, Static
from tui_helpers import (
    SECOND,
    GatedService,
    drafted,
    make_app,
    play,
    said,
    settle,
    until,
)
from tui_tapes import REQUEST, letter_recording, plain_recording

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Source
from edge_app.tui.draft import STRENGTHS, THRESHOLDS, TONES, Style
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens.style import _whole_words
from edge_app.tui.screens.widgets import Steps
from models.prompts import Request
from tests.waiting import PATIENCE

LETTERS = (
    Source(
        7, "email from Ana Ruiz <ana@x.org>, 2026-07-01: The boat", 2.0, {}, "When?"
    ),
    Source(8, "email from bo@x.org, 2026-06-01: Tea", 1.0, {}, "Tea at four?"),
)
MINE = Source(6, "email to Ana, 2026-06-30: The boat", 0.0, {"own": 1.0}, "I row.")


class Answering(GatedService):
    """Knows two received letters, of which one stands in a thread."""

    def search_received(self, query, limit=20):
        return [one for one in LETTERS if query.casefold() in one.title.casefold()]

    def thread(self, record_id):
        return [MINE, LETTERS[0]] if record_id == 7 else [LETTERS[1]]

    def references(self, record_id):
        return ["m@x.org"]

    def correspondents(self):
        return ["Ana Ruiz <ana@x.org>", "bo@x.org"]

    def own_address(self, answered=None):
        return "me@work.org" if answered == 7 else "me@x.org"


def answering():
    made = Answering([letter_recording(), plain_recording(SECOND)])
    made.ready.set()
    return made


def test_a_style_becomes_words_of_the_request_and_settings():
    style = Style("warm", 4, THRESHOLDS[1], STRENGTHS[-1])
    brief = Request("Good soup.", "review", "Harbour Cafe")
    text = "Good soup.\nI give it 4 stars of 5."
    assert style.request(brief) == replace(brief, text=text, tone="warm")
    assert style.request(REQUEST) == replace(REQUEST, tone="warm")
    settings = style.settings(MethodSettings())
    assert (settings.threshold, settings.strength) == (0.1, 2.5)
    assert Style().request(brief) == brief
    assert Style().settings(settings) == settings
    assert style.words() == "warm · much closer to you · more of you in what is redrawn"


@pytest.mark.parametrize(
    "wrong",
    [{"tone": "rude"}, {"stars": 6}, {"stars": True}, {"threshold": 0.42}],
)
def test_what_no_slider_can_say_is_refused(wrong):
    with pytest.raises(ValueError, match="no such"):
        Style(**wrong)


def test_style_and_letter_reach_the_service_and_stay_with_the_draft(tmp_path):
    journals, fake = JournalFolder(tmp_path), answering()
    with writing_at(fake) as writing:
        writing.journals = journals
        writing.begin_anew()
        writing.restyle(Style(TONES[-1], threshold=THRESHOLDS[0]))
        writing.answer(LETTERS[0])
        writing.ask(REQUEST)
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
    (request,) = fake.requests
    assert request.brief == replace(REQUEST, tone=TONES[-1])
    assert (request.settings.threshold, request.reply_to) == (THRESHOLDS[0], 7)
    ((kept,), _) = journals.kept()
    assert kept.draft.style == writing.style
    assert kept.draft.reply_to == replace(LETTERS[0], excerpt="")
    assert "When?" not in kept.path.read_text()


def test_a_preview_is_no_version_and_what_it_sent_counts():
    fake = answering()
    fake.recordings = [letter_recording(), letter_recording()]
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        sent = len(writing.traffic.sent)
        made = writing.preview(REQUEST, Style("plain", threshold=2.0))
        settle(writing, lambda: not writing.service_busy)
        assert fake.requests[1].settings.threshold == 2.0
        assert fake.requests[1].max_tokens < 100
        assert len(writing.variants) == len(writing.attempts) == 1
        assert len(writing.traffic.sent) == 2 * sent
        assert not made.writing
        assert len(made.sent) == sent


def test_an_older_search_that_ends_last_hides_no_newer_one(tmp_path):
    older = threading.Event()

    class Slow(Answering):
        def search_received(self, query, limit=20):
            assert query == "boat" or older.wait(PATIENCE)
            return super().search_received(query, limit)

    app = make_app(Slow(answering().recordings), tmp_path)

    async def steps(pilot):
        await pilot.press("alt+r", *"boat")
        letters = app.screen.query_one(OptionList)
        await until(pilot, lambda: letters.option_count == 1)
        await until(pilot, lambda: bool(said(app, "#text")))
        shown = said(app, "#text")
        older.set()
        await until(pilot, lambda: app.writing.background.idle)
        assert (letters.option_count, said(app, "#text")) == (1, shown)

    play(app, steps)


def test_an_answer_is_a_draft_of_its_own(tmp_path):
    """With the recipient, the subject and the thread of the letter; what was on the
    page, its words and its recipient, is among the drafts."""
    journals = JournalFolder(tmp_path / "drafts")
    first = Request("Tell him of the soup.", "review", "Harbour Cafe")
    app = make_app(answering(), tmp_path, first_request=first, journals=journals)

    async def steps(pilot):
        await drafted(pilot)
        await pilot.press("x")
        text = app.writing.variant.text
        await pilot.press("alt+r")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 2)
        await pilot.press("down", "enter")
        assert app.writing.reply_to == LETTERS[0]
        assert app.writing.variants == []
        assert app.page.brief.request == Request("", "email", "Ana Ruiz")
        assert app.writing.request == app.page.brief.request
        await pilot.press(*"yes")
        await until(pilot, lambda: app.writing.references.get(7) == ("m@x.org",))
        await drafted(pilot)
        piece = app.page._piece()
        mail = email.message_from_string(piece.as_file(".eml"), policy=default)
        assert (mail["To"], mail["From"]) == ("ana@x.org", "me@work.org")
        assert (mail["Subject"], mail["In-Reply-To"]) == ("Re: The boat", "<m@x.org>")

        # The same letter again is the same answer.
        path = app.writing.kept_in
        app.page.answer(LETTERS[0])
        assert app.writing.kept_in == path
        app.page.answer(LETTERS[1])
        assert app.page.brief.request.recipient == "bo@x.org"
        older = [one.draft for one in journals.kept()[0] if one.path != path]
        (before,) = (one for one in older if one.variants)
        assert before.request == first
        assert before.variant.text == text
        assert before.reply_to is None

    play(app, steps)


def test_what_the_disk_refuses_is_not_left_for_an_answer(tmp_path):
    """Else the words on the page would be lost."""
    journals = JournalFolder(tmp_path / "drafts")
    app = make_app(answering(), tmp_path, journals=journals)

    async def steps(pilot):
        await drafted(pilot)
        app.writing._journal.problem = "the disk is full"
        app.page.answer(LETTERS[0])
        assert app.writing.reply_to is None
        assert app.writing.variant.text
        await until(
            pilot, lambda: any("is full" in one.message for one in app._notifications)
        )
        app.writing._journal.problem = ""

    play(app, steps)


def test_people_are_proposed_as_recipients_of_mails(tmp_path):
    """By the beginning of a name or an address; → takes it."""
    app = make_app(answering(), tmp_path, first_request=None)

    async def steps(pilot):
        await until(pilot, lambda: len(app.writing.people) == 2)
        app.page.refresh_all()
        field = app.page.query_one("#recipient", Input)
        field.focus()
        await pilot.press(*"ANA")
        await until(pilot, lambda: field._suggestion == "Ana Ruiz <ana@x.org>")
        await pilot.press("right")
        assert field.value == "Ana Ruiz <ana@x.org>"
        field.value = ""
        await pilot.press(*"bo@")
        await until(pilot, lambda: field._suggestion == "bo@x.org")
        await pilot.press("alt+2")
        app.page.refresh_all()
        assert not field.suggester.people

    play(app, steps)


def test_a_letter_is_found_read_and_answered(tmp_path):
    app = make_app(answering(), tmp_path, first_request=None)

    async def steps(pilot):
        await pilot.press("alt+r")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 2)
        await pilot.press(*"boat")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
        shown = app.screen.query_one("#text", Static)
        await until(pilot, lambda: "I row." in str(shown.render()))
        assert "When?" in said(app, "#text")
        await pilot.press("enter")
        assert app.writing.reply_to == LETTERS[0]
        assert app.page.brief.request == Request("", "email", "Ana Ruiz")
        app.page.refresh_all()
        assert "answers Ana Ruiz: The boat" in said(app, "#answers")
        await pilot.press("alt+r", "down", "delete")
        assert app.writing.reply_to is None

    play(app, steps)


def test_keys_ask_for_a_review_with_stars_and_a_style_is_previewed(tmp_path):
    fake = answering()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        await pilot.press("alt+2")
        await until(pilot, lambda: app.writing.request.task == "review")
        await until(pilot, lambda: app.page.brief.query_one("#stars").display)
        app.page.brief.query_one("#stars").focus()
        await pilot.press("4")
        assert app.writing.style.stars == 4
        await pilot.press("f12", "right")
        assert app.writing.style.tone == "warm"
        await pilot.press("down", "down", "left")
        assert app.writing.style.threshold == THRESHOLDS[2]
        assert "closer to you: it refuses a little" in said(app, "#threshold")
        await pilot.press("p")
        note = app.screen.query_one(".note", Static)
        await until(pilot, lambda: "Struck" in str(note.render()))
        assert fake.requests[1].brief.text.endswith("4 stars of 5.")
        assert fake.requests[1].brief.tone == "warm"
        await pilot.press("r", "escape")
        assert app.writing.style == Style(stars=4)

    play(app, steps, size=(120, 36))


def test_the_style_that_a_person_had_is_offered_for_the_next(tmp_path):
    journals = JournalFolder(tmp_path / "drafts")
    with writing_at(answering()) as writing:
        writing.journals = journals
        writing.begin_anew()
        writing.ask(REQUEST)
        writing.restyle(Style("formal", strength=2.5))
        writing.put_aside()
    app = make_app(answering(), tmp_path, journals=journals)

    async def steps(pilot):
        await pilot.press("alt+t")
        preset = app.screen.query_one("#preset")
        await until(pilot, lambda: preset.display)
        preset.focus()
        await pilot.press("right")
        assert app.writing.style == Style("formal", strength=2.5)
        assert "formal" in said(app, "#preset")

    play(app, steps, size=(40, 12))


def test_stars_are_kept_when_the_page_is_drawn_before_it_hears_of_them(tmp_path):
    review = Request("Good soup.", "review", "Harbour Cafe")
    app = make_app(answering(), tmp_path, first_request=review)

    async def steps(pilot):
        await until(pilot, lambda: app.page.brief.query_one("#stars").display)
        stars = app.page.brief.query_one("#stars", Steps)
        stars.action_move(4)
        app.page.brief.show_style(app.writing.style, None)
        await until(pilot, lambda: app.writing.style.stars == 4)
        app.page.refresh_all()
        assert stars.at == 4

    play(app, steps, size=(120, 36))


@pytest.mark.parametrize(
    ("text", "whole"),
    [("See you on Sun", "See you on"), ("On.\n\ntw", "On."), ("Hel", ""), ("", "")],
)
def test_a_beginning_ends_with_a_whole_word(text, whole):
    assert _whole_words(text) == whole
