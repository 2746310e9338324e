"""Mail as it really arrives: own words stay, words of others and footers go."""

import json
from pathlib import Path

import pytest

from personal_store.cleaning.cleaning import clean_mail
from personal_store.mail.mail import parse

FOLDER = Path(__file__).parent / "awkward"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_own_words_stay_and_others_go(name):
    """Every fragment of the writer survives; no fragment of anybody else does."""
    expected = EXPECTED[name]

    text = clean_mail(parse((FOLDER / f"{name}.eml").read_bytes())).text

    assert [part for part in expected["own"] if part not in text] == []
    assert [part for part in expected["foreign"] if part in text] == []
    assert [part for part in expected["noise"] if part in text] == []
