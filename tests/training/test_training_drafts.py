"""The small model drafts from a history; its teacher reads the draft without it."""

from dataclasses import replace
from itertools import islice
from random import Random

import pytest

pytest.importorskip("tokenizers")
torch = pytest.importorskip("torch")

from models.files import locate  # noqa: E402
from training import drafts, parent  # noqa: E402
from training.drafts import Drafter  # noqa: E402
from training.invented import synthetic_examples  # noqa: E402
from training.tokenizer import Vocabulary, save  # noqa: E402


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    found = parent.read(locate("specialist"))
    save(found.tokens, found.merges, path)
    return Vocabulary(path)


@pytest.fixture
def drafter(vocabulary, monkeypatch):
    monkeypatch.setattr(drafts, "_TEXT", 24)
    return Drafter(locate("specialist"), vocabulary, 3)


def asked(count, private=1.0):
    return list(islice(synthetic_examples(Random(5), private), count))


def test_a_draft_is_led_by_the_history_and_holds_none(drafter, vocabulary):
    """Without it, the same draws write other texts."""
    examples = asked(2)
    led = list(drafter.answers(iter(examples)))
    assert [one.request for one in led] == [one.request for one in examples]
    assert all(not one.excerpts and not one.background for one in led)
    assert all(one.text and "<|" not in one.text for one in led)
    plain = [replace(one, excerpts=[], background="") for one in examples]
    texts = [one.text for one in led]
    for given, same in ((examples, True), (plain, False)):
        other = Drafter(locate("specialist"), vocabulary, 3)
        found = [one.text for one in other.answers(iter(given))]
        assert (found == texts) is same


def test_a_draft_that_breaks_off_has_no_end(drafter, monkeypatch):
    monkeypatch.setattr(drafts, "_TEXT", 3)
    (one,) = drafter.answers(iter(asked(1)))
    assert not one.whole
    (whole,) = drafter.answers(iter(asked(1, private=0.0)))
    assert len(whole.text.split()) <= 4


def test_what_is_too_long_to_be_read_is_not_asked(drafter):
    (example,) = asked(1)
    request = replace(example.request, text="and then " * 1000)
    assert not list(drafter.answers(iter([replace(example, request=request)])))
