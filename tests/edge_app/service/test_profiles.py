"""When a profile is written, kept, renewed and forgotten."""

import threading
from datetime import UTC, datetime

import pytest

from decoding_core.errors import StoppedError
from edge_app.evaluation.cases import History
from edge_app.service import profiles
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.files import locate
from models.running.settings import EngineSettings
from personal_store import Passage

SAID = ("otters", "kettles", "tickets", "gates", "drawers", "beans", "ferries")


def passage(number):
    word = SAID[number % len(SAID)]
    text = (
        f"Hullo Ana, {word} {number} and more {word} than {number} {word}. Best, Tess"
    )
    date = datetime(2024, 1 + number // 28, 1 + number % 28, tzinfo=UTC)
    return Passage(number, "email", "Ana", "", text, date, 0.0, {}, "letters")


def history(count, start=1):
    return History.of([passage(number) for number in range(start, start + count)])


class Writer:
    """Says how often it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, passages):
        self.asked.append([passage.record_id for passage in passages])
        return f"Profile {len(self.asked)}.", tuple(self.asked[-1])


@pytest.fixture
def path(tmp_path):
    return profiles.profile_path(tmp_path / "store.db")


def test_without_an_excluded_text_it_is_of_this_moment(path):
    """A profile that holds the text is not read; what is written instead not kept."""
    writer = Writer()
    profile = profiles.Profiler(writer, "model", path)
    profile(history(20), ())
    assert profile(history(20), frozenset({20})) == "Profile 2."
    assert 20 not in writer.asked[1]
    assert profiles.read_profile(path).text == "Profile 1."
    assert profile(history(20), frozenset({1})) == "Profile 1."  # it never read this
    assert len(writer.asked) == 2


@pytest.mark.parametrize("body", ["", "{", "[]", '{"text": "x"}', '{"read": 1}'])
def test_a_damaged_file_is_written_anew(path, body):
    """It can be had again, so nobody is troubled with it."""
    path.write_text(body)
    assert profiles.Profiler(Writer(), "model", path)(history(20), ()) == "Profile 1."
    assert profiles.read_profile(path).text == "Profile 1."


@pytest.fixture(scope="module")
def context():
    model = LlamaModel(locate("specialist"), EngineSettings(1, extra_buffers=False))
    context = LlamaContext(model, 1, 1024)
    yield context
    context.close()
    model.close()


def test_a_stop_is_raised(context):
    """So that half a profile is never kept."""
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError):
        profiles.summariser(context.model, context, stop)([passage(1)])
