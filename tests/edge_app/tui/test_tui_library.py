"""What becomes of texts: the library of drafts, files of all forms, who wrote them."""

import email
import re
from dataclasses import replace
from email.policy import default
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_tui_variant import LETTER, played
from test_tui_writing import writing_at
from textual.widgets import Input, OptionList
from tui_helpers import drafted, gated_service, make_app, play, said, settle, until
from tui_tapes import REQUEST, letter_recording

from edge_app.decoding.events import Source
from edge_app.service.requests import Letter
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens import save as authorship
from edge_app.tui.screens.save import Piece
from models.prompts import Request

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
                writing.draft(brief)
                settle(writing, lambda: not writing.service_busy)
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


def test_who_wrote_it_is_told_when_it_is_saved(tmp_path):
    """In the dialog, and on wish in a file beside the text, which it does not quote."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        await pilot.press("o", "h", "ctrl+s")
        assert "drafted on this device" in said(app, "#who")
        assert "1 typed by you" in said(app, "#who")
        await pilot.press("f4", "f3")
        assert app.screen.query_one(Input).value.endswith("ana.md")
        await pilot.press("f3", "f3", "enter")

    play(app, steps)
    assert (tmp_path / "email-ana.txt").read_text() == LETTER + "oh\n"
    told = (tmp_path / "email-ana.txt.authorship.txt").read_text()
    assert "typed by you" in told
    assert "photographs" not in told


def test_a_report_counts_every_word_once():
    variant = played(letter_recording())
    variant.edited = [("Hullo ", "typed"), ("dear ", "pasted"), *variant.drafted()]
    told = authorship.shares(variant.runs())
    total = int(told.split()[0])
    assert total == len((LETTER + " Hullo dear").split())
    assert (
        sum(int(part.split()[0]) for part in told.split(": ")[1].split(", ")) == total
    )


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


def test_a_long_first_sentence_is_cut_at_a_word():
    text = "It rained on every single one of the days that we spent at the lake."
    piece = Piece(text, REQUEST)
    mail = email.message_from_string(piece.as_file(".eml"), policy=default)
    assert mail["Subject"] == "It rained on every single one of the days that we"
    assert "Subject" not in Piece(" \n", REQUEST).as_file(".eml")


def test_an_answer_goes_to_the_address_in_angle_brackets():
    """A display name may hold any address."""
    letter = Letter(7, "", 0.0, {}, "", sender='"b@x.org" <m@evil.org>', subject="Tea")
    assert Piece("x", Request("", "email", ""), letter).whom == "m@evil.org"
    old = replace(ANSWERED, title="email from b@x.org <m@evil.org>, 2026-07-01: Tea")
    assert Piece("x", Request("", "email", ""), old).whom == "m@evil.org"


def test_markdown_has_a_heading_and_stars():
    piece = Piece("Good soup.", Request("x", "review", "Harbour *Cafe*"), stars=4)
    assert piece.as_file(".MD") == "# Harbour \\*Cafe\\*\n\n★★★★☆\n\nGood soup."
    assert Piece("Hi.", REQUEST).as_file(".md") == "Hi."
