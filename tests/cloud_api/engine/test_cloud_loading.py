"""Loading a pair, without an engine: which context it gets, and when it is refused."""

from pathlib import Path
from typing import ClassVar

import pytest

from cloud_api.engine.models import LoadProgress, ModelOptions
from cloud_api.engine.thread import load_models
from decoding_core.errors import VocabularyMismatchError
from models.running import loading
from models.running import machine as threads


class FakeVocabulary:
    def __init__(self, names):
        self._names = names

    def names(self):
        return list(self._names)


class FakeWeights:
    trained: ClassVar = {}
    vocabularies: ClassVar = {}

    def __init__(self, path, _, progress):
        progress(0.5)
        self.path = path
        self.name = path.name
        self.context_length = self.trained[self.name]
        names = self.vocabularies.get(self.name, (b"the", b"shared"))
        self.vocabulary = FakeVocabulary(names)
        self.vocabulary_id = str(names)

    def open(self, slots, context_length, *, owns_model):
        assert owns_model, "nobody else closes the weights"
        return FakeSlots(self, slots, context_length)


class FakeSlots:
    def __init__(self, model, slots, context_length):
        self.name, self.vocabulary_id = model.name, model.vocabulary_id
        self.vocabulary_size = 2
        self.slots, self.context_length = slots, context_length


@pytest.fixture(autouse=True)
def weights(monkeypatch):
    monkeypatch.setattr(loading, "load_model", FakeWeights)
    monkeypatch.setattr(threads, "fit_threads", lambda *_: 1)
    monkeypatch.setattr(FakeWeights, "trained", {"large": 4096, "small": 1024})
    monkeypatch.setattr(FakeWeights, "vocabularies", {})
    return FakeWeights


PAIR = Path("large"), Path("small")


def test_a_pair_holds_what_its_smaller_model_was_trained_for():
    models = load_models(ModelOptions(*PAIR, slots=3))

    assert models.context_length == 1024
    assert [model.context_length for model in models.each()] == [1024, 1024]
    assert models.slots == 3


def test_no_cache_is_longer_than_memory_is_likely_to_hold(weights):
    weights.trained = {"large": 131_072, "small": 32_768}

    assert load_models(ModelOptions(*PAIR)).context_length == 8192


def test_the_context_is_as_long_as_was_asked_for():
    assert load_models(ModelOptions(*PAIR, context_length=300)).context_length == 300


def test_what_is_being_loaded_is_told(weights, monkeypatch):
    """While it is, by its role and its share."""
    told, progress = [], LoadProgress()

    def open_(self, slots, length, *, owns_model):
        told.append((self.name, progress.role, progress.share))
        return FakeSlots(self, slots, length)

    monkeypatch.setattr(weights, "open", open_)
    load_models(ModelOptions(*PAIR), progress)
    assert told == [("large", "base", 0.5), ("small", "base", 0.5)]
    assert progress.role == ""


def test_without_a_base_the_generalist_decides():
    models = load_models(ModelOptions(Path("large"), None))

    assert models.base is None
    assert models.context_length == 4096


@pytest.mark.parametrize(
    ("names", "difference"),
    [
        ((b"the", b"other"), "token 1 is 'shared' in the first and 'other'"),
        ((b"the",), "token 1 is 'shared' in the first and missing in"),
        ((b"the", b"shared", b"\x1b"), "token 2 is missing in the first and '\\x1b'"),
    ],
)
def test_a_pair_of_two_vocabularies_is_refused_by_what_differs(
    weights, names, difference
):
    weights.vocabularies = {"small": names}

    with pytest.raises(VocabularyMismatchError) as refused:
        load_models(ModelOptions(*PAIR))
    assert str(refused.value).startswith("large and small have different vocabularies")
    assert difference in str(refused.value)
