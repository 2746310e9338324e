"""Blocks that programs for meetings put above or below somebody's words."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store.cleaning.cleaning import clean_mail, clean_text
from personal_store.cleaning.invitations import drop_invitations
from personal_store.mail.mail import Mail

ABOVE = "Dear Ben,\n\nI have put the plan of the mooring into the folder.\n\nTess"
BELOW = "Bring the tide table, please, and mind the ladder.\n\nTess"
LINE = "_" * 80
BLOCKS = tomllib.loads(Path(__file__).with_name("invitations.toml").read_text("utf-8"))
OUTLOOK = BLOCKS.pop("OUTLOOK")


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("where", ["below", "above", "between", "alone"])
def test_a_block_goes_and_what_stands_around_it_stays(name, where):
    block = BLOCKS[name]
    written = {
        "below": (f"{ABOVE}\n\n{block}\n", ABOVE),
        "above": (f"{block}\n\n{BELOW}\n", BELOW),
        "between": (f"{ABOVE}\n\n{block}\n\n{BELOW}\n", f"{ABOVE}\n\n{BELOW}"),
        "alone": (block, ""),
    }
    text, own = written[where]

    cleaned = clean_text(text)

    assert cleaned.text == own
    assert not cleaned.trimmed  # no other person wrote it


def test_what_outlook_puts_above_an_invitation_goes():
    assert clean_text(f"{OUTLOOK}\n\n{BELOW}").text == BELOW


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that_is_shown_in_html_goes(name):
    """There the addresses of links are not seen."""
    shown = re.sub(r"<(?:http|tel)[^<>]*>", "", BLOCKS[name])
    lines = f"{ABOVE}\n\n{shown}\n\n{BELOW}".split("\n")
    page = "".join(f"<div>{line or '&nbsp;'}</div>" for line in lines)

    cleaned = clean_mail(Mail({}, html=f"<html><body>{page}</body></html>"))

    assert cleaned.text.split() == f"{ABOVE}\n\n{BELOW}".split()


@pytest.mark.parametrize(
    "text",
    [
        "Shall we meet on Zoom at ten?\nhttps://zoom.us/j/81234567890\n\nTess",
        "You can join us here: https://meet.google.com/abc-defg-hij if you like.",
        "Zoom: https://zoom.us/j/81234567890\nMy number: +49 30 901820\n\nTess",
        "The Microsoft Teams meeting went well.\n\nThe passcode: it was wrong again.",
        "I sent it by Teams.\n\nOrder number: 312 345 678\nThanks for looking.",
        "Zoom is fine.\n\nThe phone of the pier office:\n+49 30 901820\n\nTess",
        "Google Meet or Zoom\n\n1. Meet\n2. Zoom\n\nwhich one is it?",
        f"The old list.\n\n{LINE}\nAnn\nBen, who likes neither Teams nor Zoom",
        "The teams are:\n\nBoat one: Ann\nBoat two: Ben\nPassword: 'herring'\n\nTess",
    ],
)
def test_own_words_about_meetings_stay(text):
    assert clean_text(text).text == text


@pytest.mark.parametrize(
    "own",
    [
        "Here are the details for Friday.",
        "Zoom meeting on Friday\n\nThe plan is attached.",
        "Hi there,\n\nThe plan is attached.",
        "Ben,\nTess is inviting you to a Zoom meeting, as you see.\nIt is at ten.",
    ],
)
def test_own_words_right_above_a_block_stay(own):
    text = f"{own}\n{BLOCKS['ZOOM_SHORT']}\nMeeting ID: 812 3456 7890"

    assert clean_text(text).text == own


def test_own_words_between_two_marks_of_a_calendar_stay():
    link = "To join the video meeting, click this link: https://meet.google.com/abc-d"

    assert drop_invitations(["~~//~~", "I write this.", link]) == [
        "I write this.",
        link,
    ]


LINES = st.sampled_from(
    sorted({line for block in BLOCKS.values() for line in block.split("\n")})
)


@given(st.lists(LINES | st.sampled_from(["I write this.", "", "Tess", "> quoted"])))
def test_nothing_is_added_and_own_words_stay(lines):
    kept = drop_invitations(lines)

    assert kept.count("I write this.") == lines.count("I write this.")
    left = iter(lines)
    assert all(line in left for line in kept)
