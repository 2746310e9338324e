from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.errors import ContextFullError
from edge_app.retrieval.context import PromptBuilder
from models.chat import shortened
from models.prompts import Request
from personal_store import Passage
from tests.models.test_chat import CHATML

REQUEST = Request("Thank her.", recipient="Ana")


def words(text, control=False):
    return text.split()


def passage(number, text="Hullo Ana,\n\nThank you.\n\nYours,\nTess", kind="email"):
    return Passage(
        record_id=number,
        kind=kind,
        recipient="Ana",
        subject=f"letter {number}",
        text=text,
        date=datetime(2024, 8, number, tzinfo=UTC),
        score=float(number),
        score_parts={"bm25": float(number)},
        source="mbox: letters.mbox",
    )


def build(passages, room=2000, background="", max_tokens=100, **options):
    builder = PromptBuilder(words, CHATML, room)
    return builder.build(REQUEST, passages, background, max_tokens, **options)


def test_the_public_prompt_holds_the_request_alone():
    prompts = build([passage(1)], background="secret notes")
    assert "secret" not in prompts.public_ids
    assert "Hullo" not in prompts.public_ids
    assert {"secret", "Hullo"} <= set(prompts.private_ids)
    assert prompts.private_ids[-len(prompts.public_ids) + 1 :] == prompts.public_ids[1:]


def test_a_request_that_is_too_long_is_refused():
    with pytest.raises(ContextFullError, match="max-tokens"):
        build([], room=130, background="word " * 200)


def test_a_text_that_is_clamped_gets_the_room_there_is():
    """Passages then have none; and where there is none at all it is refused."""
    long = "word " * 60
    prompts = build([passage(1)], room=130, background=long, clamps=True)
    assert prompts.sources == ()
    assert 30 < 130 - len(prompts.private_ids) < 100
    sound = build([passage(1)], clamps=True)
    assert sound == build([passage(1)])
    with pytest.raises(ContextFullError, match="with 1 for the text"):
        build([], room=130, background="word " * 200, clamps=True)


@given(st.text(alphabet="ab. \n", max_size=300), st.integers(5, 40))
def test_shortening_keeps_the_room(text, tokens):
    short = shortened(text, tokens, words)
    assert len(words(short)) <= max(tokens, 0) or len(words(text)) <= tokens
    assert len(short) <= len(text) + 2


def test_shortening_keeps_the_sign_off():
    text = "Hullo Ana,\n\n" + "One two three. " * 50 + "\n\nYours in a hurry,\nTess"
    short = shortened(text, 40, words)
    assert short.startswith("Hullo Ana,\n")
    assert short.endswith("Tess")
    assert len(words(short)) <= 40
