"""Results that outlive a process."""

import json
from contextlib import closing

import pytest

from benchmarks.cache import Cache
from decoding_core.errors import InvalidSettingsError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "results.jsonl"


def kept(path, *numbers, fresh=False):
    """What a new process finds of these."""
    with closing(Cache(path, fresh=fresh)) as cache:
        return [cache.get({"n": number}) for number in numbers]


def put(path, **results):
    with closing(Cache(path)) as cache:
        for number, result in results.items():
            cache.put({"n": int(number[1:])}, result)


def test_results_are_found_again(path):
    """By what they depend on, in whatever order that is told."""
    with closing(Cache(path)) as cache:
        cache.put({"a": 1, "b": [2]}, {"text": "ein Fähnchen\n"})
    with closing(Cache(path)) as cache:
        assert cache.get({"b": [2], "a": 1}) == {"text": "ein Fähnchen\n"}
        assert cache.get({"b": [2], "a": 2}) is None


def test_a_damaged_line_costs_that_line(path):
    """Its result is computed again; a torn last line is dropped, and what comes next is
    whole."""
    put(path, n1={"x": 1}, n2={"x": 2})
    first, second = path.read_text().splitlines()
    path.write_text(f"{first[:20]}\0{first[21:30]}\n[]\n{second}\n{first[:-5]}")
    assert kept(path, 1, 2) == [None, {"x": 2}]
    put(path, n3={"x": 3})
    assert kept(path, 1, 2, 3) == [None, {"x": 2}, {"x": 3}]
    assert json.loads(path.read_text().splitlines()[-1])["result"] == {"x": 3}


def test_two_runs_do_not_mix(path):
    """The second is told to wait."""
    with closing(Cache(path)), pytest.raises(InvalidSettingsError, match="another run"):
        Cache(path)
    Cache(path).close()


def test_a_folder_that_cannot_be(tmp_path):
    """One sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidSettingsError, match="--cache names another"):
        Cache(tmp_path / "file" / "x.jsonl")
