"""Values in every form, in English and as other languages write them."""

import tomllib
from pathlib import Path

from edge_app.facts.values import KINDS, language, values, words_of

FILE = Path(__file__).with_name("checking.toml")
TABLE = tomllib.loads(FILE.read_text("utf-8"))
LETTERS = TABLE["letters"]


def test_values_of_other_languages_are_read_as_english_ones():
    """Days with and without a month, the clock, decimal commas, amounts in words."""
    for code, text in LETTERS.items():
        words = words_of(text, language(code))
        found = {kind: [one for *_, one in values(kind, words)] for kind in KINDS}
        dates = [(14, 0), (3, 3)] + [(5, 6)] * (code == "de")
        assert found["date"] == dates, code
        assert found["day"] == [2], code
        assert {time for time, _ in found["time"]} >= {150}, code
        assert found["money"] == [1200.5 if code == "de" else 20.5, 20.0], code


def test_values_in_the_words_of_other_languages():
    """Clocks in words, halves of the day, ordinals, numbers in one word."""
    wrong = []
    for code, forms in TABLE["forms"].items():
        for text, kind, value in forms:
            found = [one for *_, one in values(kind, words_of(text, language(code)))]
            wanted = tuple(value) if isinstance(value, list) else value
            if found != ([wanted] if value != "" else []):
                wrong.append((code, text, found))
    assert wrong == []
