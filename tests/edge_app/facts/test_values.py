"""Values in every form, in English and as other languages write them."""

import tomllib
from pathlib import Path

from edge_app.facts.values import KINDS, language, values, words_of

FILE = Path(__file__).with_name("checking.toml")
LETTERS = tomllib.loads(FILE.read_text("utf-8"))["letters"]


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
