"""Values in every form, in English and as other languages write them."""

from hypothesis import given
from hypothesis import strategies as st

from edge_app.facts.values import KINDS, language, value_of, values, words_of

VALUES = {
    "date": {
        **dict.fromkeys(("14", "fourteenth"), (14, 0)),
        **dict.fromkeys(("14 November", "November 14", "14/11"), (14, 11)),
        "twenty-first": (21, 0),
    },
    "day": {"Friday": 4, "Weds": 2},
    "month": {"May": 5},
    "time": {
        **dict.fromkeys(("6.30", "half past six", "half six"), (390, "")),
        "six o'clock": (360, ""),
        "twenty to seven": (400, ""),
        "18:30": (390, "pm"),
        "noon": (0, "pm"),
    },
    "number": {"twenty-four": 24.0, "half a dozen": 6.0, "1,200": 1200.0},
    "money": {
        "£12.50": 12.5,
        "£ 20": 20.0,
        "20€": 20.0,
        "twelve pounds fifty": 12.5,
        "40p": 0.4,
    },
}


def test_a_value_is_read_in_every_form():
    """Digits and words, long and short."""
    for kind, said in VALUES.items():
        assert {one: value_of(kind, one) for one in said} == said, kind


LETTERS = {
    "de": "Ja, am 14. kommen wir. Am 3. März um 14 Uhr 30 oder halb drei, für "
    "1.200,50 € oder zwanzig Euro; bis 5.6.2026, mittwochs.",
    "fr": "Le 14, puis le 3 mars à 14h30, 18h, pour 20,50 € ou vingt euros, mercredi.",
    "es": "El 14, el 3 de marzo a las 14:30, por 20,50 € o veinte euros, el miércoles.",
    "it": "Il 14, il 3 marzo alle 14.30, per 20,50 € o venti euro, mercoledì.",
    "nl": "Op de 14e, op 3 maart om half drie, voor € 20,50 of twintig euro, woensdag.",
    "pt": "Dia 14, no dia 3 de março às 14h30, por 20,50 € ou vinte euros, na quarta.",
}


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


@given(st.text(st.sampled_from("£€$ 1²٣.,:hº'am ’t\n?halb"), max_size=12))
def test_any_text_is_read(text):
    """In every language; a word stands in the text as it is, whatever it is read as."""
    for code in (None, *LETTERS):
        words = words_of(text, language(code))
        assert all(text[slice(*word.span)].strip() for word in words)
        found = [values(kind, words) for kind in KINDS]
        assert all(length > 0 for one in found for _, length, _ in one)
