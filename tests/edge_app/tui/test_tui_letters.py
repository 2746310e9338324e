"""What further versions are told: tone, stars, sliders, and the letter they answer."""

from __future__ import annotations

import email
import os
import re
import threading
from dataclasses import replace
from email.policy import default
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Input, OptionList
from tui_helpers import (
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
from tui_tapes import REQUEST, letter_recording, plain_recording

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Source
from edge_app.service.requests import Letter
from edge_app.tui.app import run_app
from edge_app.tui.draft import STRENGTHS, THRESHOLDS, TONES, Style
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens.save import Piece
from models.prompts import Request
from tests.waiting import PATIENCE

pytestmark = pytest.mark.usefixtures("drawn_when_asked")

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
    assert Style(length="long").words() == "long"
    with pytest.raises(ValueError, match="length"):
        Style(length="endless")


def test_style_and_letter_reach_the_service_and_stay_with_the_draft(tmp_path):
    journals, fake = JournalFolder(tmp_path), answering()
    with writing_at(fake) as writing:
        writing.journals = journals
        writing.begin_anew()
        writing.restyle(Style(TONES[-1], threshold=THRESHOLDS[0], length="short"))
        writing.answer(LETTERS[0])
        writing.ask(REQUEST)
        written(writing.draft, REQUEST)
    (request,) = fake.requests
    assert request.brief == replace(REQUEST, tone=TONES[-1])
    assert (request.settings.threshold, request.reply_to) == (THRESHOLDS[0], 7)
    assert request.length == "short"
    ((kept,), _) = journals.kept()
    assert kept.draft.style == writing.style
    assert kept.draft.reply_to == replace(LETTERS[0], excerpt="")
    assert "When?" not in kept.path.read_text()


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


def test_an_answer_is_a_draft_of_its_own(tmp_path, home, monkeypatch):
    """With the recipient, the subject and the thread of the letter, also in the mail
    program, whose file goes when the app is left; what was on the page, its words and
    its recipient, is among the drafts."""
    opened = tmp_path / "bin" / "open"
    opened.parent.mkdir()
    opened.write_text('#!/bin/sh\ncp "$1" "$0.part" && mv "$0.part" "$0.eml"\n')
    opened.chmod(0o700)
    monkeypatch.setenv("PATH", str(opened.parent), prepend=os.pathsep)
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
        await until(pilot, lambda: 7 in app.writing.threads)
        await drafted(pilot)
        piece = app.page._piece("save")
        mail = email.message_from_string(piece.as_file(".eml"), policy=default)
        assert (mail["To"], mail["From"]) == ("ana@x.org", "me@work.org")
        assert (mail["Subject"], mail["In-Reply-To"]) == ("Re: The boat", "<m@x.org>")
        await pilot.press("alt+m")
        await until(pilot, opened.with_name("open.eml").exists)
        assert opened.with_name("open.eml").read_text() == mail.as_string()
        (given_,) = home.glob("mail-*.eml")
        assert given_.stat().st_mode & 0o777 == 0o600

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

        # What the disk refuses is not left for an answer: it would be lost.
        await pilot.press(*"So")
        await drafted(pilot)
        app.writing._journal.problem = "the disk is full"
        app.page.answer(LETTERS[0])
        assert app.writing.reply_to == LETTERS[1]
        assert app.writing.variant.text
        notes = app._notifications
        await until(pilot, lambda: any("is full" in one.message for one in notes))
        app.writing._journal.problem = ""

    play(app, steps)
    app.run = lambda: None
    run_app(app)
    assert not list(home.glob("mail-*"))


def test_the_brief_grows_is_read_ahead_and_proposes_people(tmp_path):
    """By the beginning of a name or an address; → takes it, and Enter does if nobody
    is called what was typed. A pause after the last letter what stands there is read,
    and nothing is asked for."""
    fake, ahead = answering(), []
    fake.read_ahead = lambda request, stop: ahead.append(request.brief.text)
    app = make_app(fake, tmp_path, first_request=Request("Thank Ana", "email"))

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready and len(app.writing.people) == 2)
        await pilot.press(*" now")
        await until(pilot, lambda: "Thank Ana now" in ahead)
        assert not fake.requests
        brief = app.query_one("#request")
        for text, rows in (("Say. " * 40, 3), ("Say this. " * 300, 8), ("", 1)):
            brief.text = text
            await until(pilot, lambda rows=rows: brief.size.height == rows)
        field = app.page.query_one("#recipient", Input)
        field.focus()
        await pilot.press(*"ANA")
        await until(pilot, lambda: field._suggestion == "Ana Ruiz <ana@x.org>")
        await pilot.press("right")
        assert field.value == "Ana Ruiz <ana@x.org>"
        for typed, taken in (("an", "Ana Ruiz <ana@x.org>"), ("ruiz", "ruiz")):
            field.value = typed
            field.focus()
            await pilot.press("enter")
            await until(pilot, lambda: app.focused is brief)
            assert field.value == taken
        field.value = ""
        field.focus()
        await pilot.press(*"bo@")
        await until(pilot, lambda: field._suggestion == "bo@x.org")
        await pilot.press("alt+2")
        app.page.refresh_all()
        assert field.suggester is None

    play(app, steps, size=(120, 36))


def test_keys_ask_for_a_review_with_stars_and_a_style_is_previewed(tmp_path):
    """The style that a person had is offered for the next draft."""
    fake, journals = answering(), JournalFolder(tmp_path / "drafts")
    with writing_at(answering(), journals=journals) as writing:
        writing.ask(REQUEST)
        writing.restyle(Style("formal", strength=2.5))
        writing.put_aside()
    app = make_app(fake, tmp_path, journals=journals)

    async def steps(pilot):
        await drafted(pilot)
        await pilot.press("alt+2")
        stars = app.page.brief.query_one("#stars")
        await until(pilot, lambda: stars.size.width > 0)
        stars.focus()
        await until(pilot, lambda: stars.has_focus)
        await pilot.press("4")
        await until(pilot, lambda: app.writing.style.stars == 4)
        await pilot.press("f12", "right")
        assert app.writing.style.tone == "warm"
        await pilot.press("down", "down", "right")
        assert app.writing.style.length == "long"
        await pilot.press("down", "left")
        assert app.writing.style.threshold == THRESHOLDS[2]
        assert "closer to you: it refuses a little" in said(app, "#threshold")
        await pilot.press("p")
        await until(pilot, lambda: "Struck" in said(app, ".note"))
        assert fake.requests[1].brief.text.endswith("4 stars of 5.")
        assert fake.requests[1].brief.tone == "warm"
        assert fake.requests[1].length == "long"
        await pilot.press("r")
        assert app.writing.style == Style(stars=4)
        preset = app.screen.query_one("#preset")
        await until(pilot, lambda: preset.display)
        preset.focus()
        await pilot.press("right")
        assert app.writing.style == Style("formal", stars=4, strength=2.5)
        assert "formal" in said(app, "#preset")

    play(app, steps, size=(120, 36))


ANSWERED = Source(7, "email from Ana <ana@x.org>, 2026-07-01: The boat", 2.0, {}, "")
texts = st.text() | st.sampled_from(["\ud800", "a\r\n\r\nBcc: x", "\x1b[2J", ".\n"])


def test_drafts_are_found_by_words_of_the_brief_and_of_every_version(tmp_path):
    journals = JournalFolder(tmp_path / "drafts")
    with writing_at(gated_service()) as writing:
        writing.journals = journals
        for number, whom in enumerate(["Ana", "Bo", "Cleo"]):
            writing.begin_anew()
            brief = Request(f"About the garden {number}", "email", whom)
            writing.ask(brief)
            if whom == "Bo":
                written(writing.draft, brief)
        writing.begin_anew()
    app = make_app(gated_service(), tmp_path, journals=journals, first_request=None)

    async def steps(pilot):
        await pilot.press("ctrl+l")
        options = app.screen.query_one(OptionList)
        await until(pilot, lambda: options.option_count == 3)
        await pilot.press(*"PLUM bo")
        await until(pilot, lambda: options.option_count == 1)
        assert app.screen.query_one(Input).value == "PLUM bo"
        assert "1 of 3" in said(app, ".note")
        await pilot.press("down", "delete", "delete")
        assert len(journals.paths()) == 2
        await pilot.press(*["up", "x"])
        assert "0 of 2" in said(app, ".note")
        app.screen.query_one(Input).value = "cleo"
        await pilot.pause()
        await pilot.press("enter")
        assert app.writing.request.recipient == "Cleo"

    play(app, steps)


@given(texts, texts)
def test_a_mail_holds_the_text_and_nothing_that_it_forges(text, whom):
    """As a mail program reads it; a name or a subject adds no header."""
    piece = Piece(text, Request("x", "email", whom), ANSWERED)
    mail = email.message_from_string(piece.as_file(".eml"), policy=default)
    assert set(mail.keys()) <= {
        *("To", "Subject", "X-Unsent", "MIME-Version", "Content-Type"),
        "Content-Transfer-Encoding",
    }
    assert (mail["X-Unsent"], mail["Subject"]) == ("1", "Re: The boat")
    readable = text.encode("utf-8", "replace").decode()
    assert mail.get_content().split() == readable.split()


identifiers = st.lists(
    st.from_regex(r"[a-z.+$]{1,190}@[a-z.]{1,190}", fullmatch=True)
    | texts
    | st.sampled_from(["a@b\r\nBcc: x@y.org", "a@b> <c@d", "a@b c@d", "<a@b>", "é@ü"]),
    max_size=9,
)


@given(identifiers)
def test_an_answer_names_what_it_answers(references):
    """As mail programs thread by it, whoever wrote the identifiers."""
    piece = Piece("x", REQUEST, ANSWERED, references=tuple(references))
    told = piece.as_file(".eml")
    mail = email.message_from_string(told, policy=default)
    good = [f"<{one}>" for one in references if re.fullmatch(r"[!-;=?-~]+", one)]
    good = [one for one in good if re.fullmatch("<[^@]{1,200}@[^@]{1,200}>", one)]
    if not references or f"<{references[-1]}>" not in good:
        assert "In-Reply-To" not in mail
        assert "References" not in mail
        return
    assert mail["In-Reply-To"] == good[-1]
    kept = mail["References"].split()
    assert set(kept) <= set(good)
    assert kept[-1] == [*dict.fromkeys(good)][-1]
    assert kept[0] in (good[0], kept[-1])
    assert set(mail.keys()) >= {"To", "Subject", "X-Unsent", "MIME-Version"}
    assert "Bcc" not in mail
    assert max(map(len, told.split("\n"))) < 998
    assert "In-Reply-To" not in Piece("x", REQUEST).as_file(".eml")


@given(texts, texts)
def test_a_link_says_what_the_text_says(text, whom):
    link = Piece(text[:500], Request("x", "email", whom), ANSWERED).link()
    assert link.isascii()
    assert not set(link) & set(" \n\r\x1b\"'<>")
    body = unquote(link.partition("body=")[2]).replace("\r\n", "\n")
    wanted = text[:500].replace("\r\n", "\n").encode("utf-8", "replace").decode()
    assert body == wanted


def test_a_mail_goes_to_an_address_that_is_known():
    assert (
        Piece("x", Request("", "email", "Bo <bo@y.org>"), ANSWERED).whom == "bo@y.org"
    )
    assert Piece("x", Request("", "email", "Bo"), ANSWERED).whom == "ana@x.org"
    assert Piece("x", REQUEST).link() == "mailto:?body=x"
    with pytest.raises(ValueError, match="too long"):
        Piece("ü" * 5000, REQUEST).link()


PEOPLE = ("Ana Ruiz <ana@x.org>", "Bo <bo@y.org>", "Bo Li <li@y.org>", "Ed")


@pytest.mark.parametrize(
    ("recipient", "address"),
    [
        ("Ana", "ana@x.org"),
        ("ruiz", "ana@x.org"),
        ("Ana <other@x.org>", "other@x.org"),
        ('"ana@x.org" <other@x.org>', "other@x.org"),
        ("Bo", None),  # there are two
        ("Bo Li", "li@y.org"),
        ("Ed", None),
        ("Nobody", None),
        ("", None),
    ],
)
def test_a_mail_that_is_no_answer_has_its_headers(recipient, address):
    """Of whom the store knows, and of the text; what is not clear is left out."""
    text = "Hullo Ana,\n\nThe boat is mine since 3.5 weeks. Come soon.\n\nTess"
    piece = Piece(
        text, Request("x", "email", recipient), people=PEOPLE, own_address="me@x.org"
    )
    mail = email.message_from_string(piece.as_file(".eml"), policy=default)
    assert mail["To"] == address
    assert mail["From"] == "me@x.org"
    assert mail["Subject"] == "The boat is mine since 3.5 weeks"


def test_an_answer_goes_to_the_address_in_angle_brackets():
    """A display name may hold any address."""
    letter = Letter(7, "", 0.0, {}, "", sender='"b@x.org" <m@evil.org>', subject="Tea")
    assert Piece("x", Request("", "email", ""), letter).whom == "m@evil.org"
    old = replace(ANSWERED, title="email from b@x.org <m@evil.org>, 2026-07-01: Tea")
    assert Piece("x", Request("", "email", ""), old).whom == "m@evil.org"
