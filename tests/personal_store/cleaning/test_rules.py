"""What stands around and below one's own words: quotes, forwards, signatures, notices.

What was written by others or by a machine goes, and what only looks like it stays. Some
shapes were taught by other projects' fixtures and stand here in words of our own.
"""

import json
import re
import tomllib
from pathlib import Path

import pytest

from personal_store.cleaning import phrases
from personal_store.cleaning.cleaning import (
    Cleaned,
    clean_mail,
    clean_text,
    drop_repeated,
)
from personal_store.mail.mail import Mail, parse
from tests.personal_store.cleaning.misread import misread

FOLDER = Path(__file__).parent / "awkward"
AWKWARD = json.loads((FOLDER / "expected.json").read_text("utf-8"))
TEXTS = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))
CASES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
YES = "Yes, gladly.\n\nUma"
SHORT = "The boat leaves at six."
OWN = f"{SHORT}\n\nBest,\nNils"


def test_words_of_others_go():
    """With a blank line above them, or right below one's own."""
    below = CASES["words_of_others"]
    assert misread((f"{YES}\n\n{one}\n", YES) for one in below) == []
    below = CASES["right_below"]
    assert (
        misread((f"{own}\n{one}", own) for one in below for own in (SHORT, OWN)) == []
    )
    assert clean_text("Yes.\n\n> Will you?").trimmed
    assert not clean_text("Yes.\n\n-- \nUma").trimmed


def test_what_is_no_writing_goes():
    """A tagline also below a letter without a sign-off; a banner alone stays."""
    assert misread((f"{OWN}{one}\n", OWN) for one in CASES["no_writing"]) == []
    taglines = [(own, one) for own in (OWN, SHORT) for one in TEXTS["taglines"]]
    assert misread((f"{own}\n\n{one}\n", own) for own, one in taglines) == []
    assert misread((f"{one}\n\n{OWN}", OWN) for one in CASES["banners"]) == []
    assert misread((one, one) for one in CASES["banners"]) == []


def test_what_is_left_of_a_mail():
    assert misread((case["body"], case["own"]) for case in CASES["left"]) == []


def test_what_a_person_writes_stays():
    """Sentences about phones, lists and people, which machines write as well: alone,
    below a greeting, and above a sign-off."""
    assert misread((text, text) for text in CASES["writing"]) == []
    frames = ("{}", "Hello Ann,\n\n{}", "Hello Ann,\n\n{}\n\nBest,\nNils")
    texts = TEXTS["sentences"] + TEXTS["letters"]
    bodies = [frame.format(text) for text in texts for frame in frames]
    assert misread((body, body) for body in bodies) == []


def test_of_mail_as_it_really_arrives_own_words_stay_and_others_go():
    """Every fragment of the writer survives; no fragment of anybody else does."""
    wrong = []
    for name, expected in AWKWARD.items():
        text = clean_mail(parse((FOLDER / f"{name}.eml").read_bytes())).text
        wrong += [(name, part) for part in expected["own"] if part not in text]
        others = expected["foreign"] + expected["noise"]
        wrong += [(name, part) for part in others if part in text]
    assert wrong == []


PARENT = (
    "Hi Uma,\n\nwill you come on Sunday? We start at three in the garden.\n"
    "Bring whatever you like to eat.\n\nOla"
)


def test_what_the_message_before_holds_goes():
    """A run of its lines, short ones too, over blank lines. One short line, or words
    inside another line, are nobody's."""
    mail = Mail({}, f"{YES}\n\n{PARENT}\n")
    assert clean_mail(mail, [PARENT]) == Cleaned(YES, True)
    assert "garden" in clean_mail(mail).text
    assert drop_repeated(["Yes.", "", *PARENT.split("\n")], [PARENT]) == ["Yes.", ""]
    for line in (
        *("Hi Uma,", "Ola", "Bring whatever you like to eat.", "Bring whatever!"),
        "three in the garden is perfect for us.",
    ):
        assert drop_repeated([line], [PARENT]) == [line]


def test_a_pattern_is_compiled_when_it_is_first_used_and_then_kept():
    broken, sound = phrases.pattern("("), phrases.pattern("(A)B", re.IGNORECASE)

    assert sound.sub(r"\1", "xaby") == "xay"
    assert sound.sub is sound.sub
    with pytest.raises(re.error):
        broken.search("x")
