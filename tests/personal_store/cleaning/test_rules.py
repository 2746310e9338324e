"""What stands around and below one's own words: quotes, forwards, signatures, notices.

What was written by others or by a machine goes, and what only looks like it stays. Some
shapes were taught by other projects' fixtures and stand here in words of our own.
"""

import json
import tomllib
from pathlib import Path

import pytest

from personal_store.cleaning.cleaning import clean_mail, clean_text
from personal_store.mail.mail import parse

FOLDER = Path(__file__).parent / "awkward"
AWKWARD = json.loads((FOLDER / "expected.json").read_text("utf-8"))
TEXTS = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))
CASES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
YES = "Yes, gladly.\n\nUma"
SHORT = "The boat leaves at six."
OWN = f"{SHORT}\n\nBest,\nNils"


@pytest.mark.parametrize("below", CASES["words_of_others"])
def test_words_of_others_go(below):
    assert clean_text(f"{YES}\n\n{below}\n").text == YES


@pytest.mark.parametrize("below", CASES["right_below"])
def test_words_of_others_right_below_ones_own_go(below):
    assert clean_text(f"{SHORT}\n{below}").text == SHORT
    assert clean_text(f"{OWN}\n{below}").text == OWN


@pytest.mark.parametrize("below", CASES["no_writing"])
def test_what_is_no_writing_goes(below):
    assert clean_text(f"{OWN}{below}\n").text == OWN


@pytest.mark.parametrize("case", CASES["left"], ids=lambda case: case["body"][:40])
def test_what_is_left_of_a_mail(case):
    assert clean_text(case["body"]).text == case["own"]


@pytest.mark.parametrize("body", CASES["writing"])
def test_writing_stays(body):
    assert clean_text(body).text == body


@pytest.mark.parametrize("banner", CASES["banners"])
def test_what_a_server_puts_above_a_message_goes(banner):
    assert clean_text(f"{banner}\n\n{OWN}").text == OWN
    assert clean_text(banner).text == banner


def test_it_says_whether_others_were_cut():
    assert clean_text("Yes.\n\n> Will you?").trimmed
    assert not clean_text("Yes.\n\n-- \nUma").trimmed


# Sentences about phones, lists and people, which machines write as well.


@pytest.mark.parametrize("text", TEXTS["sentences"] + TEXTS["letters"])
def test_what_a_person_writes_stays(text):
    """Alone, below a greeting, and above a sign-off."""
    for body in (text, f"Hello Ann,\n\n{text}", f"Hello Ann,\n\n{text}\n\nBest,\nNils"):
        assert clean_text(body).text == body


@pytest.mark.parametrize("tagline", TEXTS["taglines"])
def test_a_tagline_goes(tagline):
    """Below a letter with a sign-off, and below one without."""
    for own in (OWN, SHORT):
        assert clean_text(f"{own}\n\n{tagline}\n").text == own


# Mail as it really arrives.


@pytest.mark.parametrize("name", AWKWARD)
def test_own_words_stay_and_others_go(name):
    """Every fragment of the writer survives; no fragment of anybody else does."""
    expected = AWKWARD[name]

    text = clean_mail(parse((FOLDER / f"{name}.eml").read_bytes())).text

    assert [part for part in expected["own"] if part not in text] == []
    assert [part for part in expected["foreign"] if part in text] == []
    assert [part for part in expected["noise"] if part in text] == []
