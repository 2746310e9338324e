"""Blocks that programs for meetings put above or below somebody's words."""

import re
import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from personal_store.cleaning.cleaning import clean_mail, clean_text
from personal_store.cleaning.invitations import drop_invitations
from personal_store.mail.mail import Mail
from tests.personal_store.cleaning.misread import misread

ABOVE = "Dear Ben,\n\nI have put the plan of the mooring into the folder.\n\nTess"
BELOW = "Bring the tide table, please, and mind the ladder.\n\nTess"
LINE = "_" * 80
BLOCKS = tomllib.loads(Path(__file__).with_name("invitations.toml").read_text("utf-8"))
OUTLOOK = BLOCKS.pop("OUTLOOK")


OWN = (
    "Shall we meet on Zoom at ten?\nhttps://zoom.us/j/81234567890\n\nTess",
    "You can join us here: https://meet.google.com/abc-defg-hij if you like.",
    "Zoom: https://zoom.us/j/81234567890\nMy number: +49 30 901820\n\nTess",
    "The Microsoft Teams meeting went well.\n\nThe passcode: it was wrong again.",
    "I sent it by Teams.\n\nOrder number: 312 345 678\nThanks for looking.",
    "Zoom is fine.\n\nThe phone of the pier office:\n+49 30 901820\n\nTess",
    "Google Meet or Zoom\n\n1. Meet\n2. Zoom\n\nwhich one is it?",
    f"The old list.\n\n{LINE}\nAnn\nBen, who likes neither Teams nor Zoom",
    "The teams are:\n\nBoat one: Ann\nBoat two: Ben\nPassword: 'herring'\n\nTess",
)
RIGHT_ABOVE = (
    "Here are the details for Friday.",
    "Zoom meeting on Friday\n\nThe plan is attached.",
    "Hi there,\n\nThe plan is attached.",
    "Ben,\nTess is inviting you to a Zoom meeting, as you see.\nIt is at ten.",
)


def test_a_block_goes_and_what_stands_around_it_stays():
    """Below, above, between, alone; and as HTML, where the addresses of links are not
    seen. No other person wrote it."""
    both = f"{ABOVE}\n\n{BELOW}"
    assert clean_text(f"{OUTLOOK}\n\n{BELOW}").text == BELOW
    wrong = []
    for name, block in BLOCKS.items():
        written = [
            (f"{ABOVE}\n\n{block}\n", ABOVE),
            (f"{block}\n\n{BELOW}\n", BELOW),
            (f"{ABOVE}\n\n{block}\n\n{BELOW}\n", both),
            (block, ""),
        ]
        wrong += misread(written)
        wrong += [name for text, _ in written if clean_text(text).trimmed]

        shown = re.sub(r"<(?:http|tel)[^<>]*>", "", block)
        lines = f"{ABOVE}\n\n{shown}\n\n{BELOW}".split("\n")
        page = "".join(f"<div>{line or '&nbsp;'}</div>" for line in lines)
        mail = Mail({}, html=f"<html><body>{page}</body></html>")
        wrong += [name] * (clean_mail(mail).text.split() != both.split())
    assert wrong == []


def test_own_words_about_meetings_stay():
    """Alone, right above a block, and between two marks of a calendar."""
    assert misread((text, text) for text in OWN) == []
    block = f"{BLOCKS['ZOOM_SHORT']}\nMeeting ID: 812 3456 7890"
    assert misread((f"{own}\n{block}", own) for own in RIGHT_ABOVE) == []
    link = "To join the video meeting, click this link: https://meet.google.com/abc-d"
    lines = ["I write this.", link]
    assert drop_invitations(["~~//~~", *lines]) == lines


LINES = st.sampled_from(
    sorted({line for block in BLOCKS.values() for line in block.split("\n")})
)


@given(st.lists(LINES | st.sampled_from(["I write this.", "", "Tess", "> quoted"])))
def test_nothing_is_added_and_own_words_stay(lines):
    kept = drop_invitations(lines)

    assert kept.count("I write this.") == lines.count("I write this.")
    left = iter(lines)
    assert all(line in left for line in kept)
