"""Loading a pair, without an engine: which context it gets, and when it is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from cloud_api.engine.models import LoadProgress, ModelOptions
from cloud_api.engine.thread import load_models
from models.running import loading
from models.running import machine as threads


class FakeWeights:
    """The weights of a file, and their slots once they are opened."""

    trained: ClassVar = {}
    opened: ClassVar = []
    """Calls when slots are opened."""
    last = b"shared"
    vocabulary_size = 2

    def __init__(self, path, _, progress):
        progress(0.5)
        self.path, self.name = path, path.name
        self.context_length = self.trained[self.name]
        names = [b"the", self.last if self.name == "small" else b"shared"]
        self.vocabulary = SimpleNamespace(names=lambda: names)
        self.vocabulary_id = str(names)

    def close(self):
        pass

    def open(self, slots, context_length, *, owns_model):
        assert owns_model, "nobody else closes the weights"
        self.slots, self.context_length = slots, context_length
        for call in self.opened:
            call(self.name)
        return self


@pytest.fixture(autouse=True)
def weights(monkeypatch):
    monkeypatch.setattr(loading, "load_model", FakeWeights)
    monkeypatch.setattr(threads, "fit_threads", lambda *_: 1)
    monkeypatch.setattr(FakeWeights, "trained", {"large": 4096, "small": 1024})
    monkeypatch.setattr(FakeWeights, "opened", [])
    monkeypatch.setattr(FakeWeights, "last", b"shared")
    return FakeWeights


PAIR = Path("large"), Path("small")


@pytest.mark.parametrize(
    ("trained", "asked", "length"),
    [
        ((4096, 1024), None, 1024),
        ((131_072, 32_768), None, 8192),
        ((4096, 1024), 300, 300),
    ],
)
def test_a_pair_holds_what_its_smaller_model_was_trained_for(
    weights, trained, asked, length
):
    """Within what was asked for, and what memory is likely to hold."""
    weights.trained = dict(zip(("large", "small"), trained, strict=True))
    models = load_models(ModelOptions(*PAIR, slots=3, context_length=asked))

    assert models.context_length == length
    assert [model.context_length for model in models.each()] == [length] * 2
    assert models.slots == 3
    alone = load_models(ModelOptions(PAIR[0], None))
    assert alone.base is None
    assert alone.context_length == min(trained[0], 8192)


def test_what_is_being_loaded_is_told(weights):
    """While it is, by its role and its share."""
    told, progress = [], LoadProgress()
    weights.opened.append(lambda n: told.append((n, progress.role, progress.share)))
    load_models(ModelOptions(*PAIR), progress)
    assert told == [("large", "base", 0.5), ("small", "base", 0.5)]
    assert progress.role == ""


def test_a_base_of_another_vocabulary_is_left_to_the_devices(weights, capsys):
    weights.last = b"other"
    assert load_models(ModelOptions(*PAIR)).base is None
    assert "small has another vocabulary than" in capsys.readouterr().err
