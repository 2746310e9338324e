"""Sentences about phones, lists and people, which machines write as well."""

import tomllib
from pathlib import Path

import pytest

from personal_store.cleaning.cleaning import clean_text

TEXTS = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))
OWN = "Hello Ann,\n\nthe boat leaves at six.\n\nBest,\nNils"


@pytest.mark.parametrize("text", TEXTS["sentences"] + TEXTS["letters"])
def test_what_a_person_writes_stays(text):
    """Alone, below a greeting, and above a sign-off."""
    for body in (text, f"Hello Ann,\n\n{text}", f"Hello Ann,\n\n{text}\n\nBest,\nNils"):
        assert clean_text(body).text == body


@pytest.mark.parametrize("tagline", TEXTS["taglines"])
def test_a_tagline_goes(tagline):
    """Below a letter with a sign-off, and below one without."""
    for own in (OWN, "The boat leaves at six."):
        assert clean_text(f"{own}\n\n{tagline}\n").text == own
