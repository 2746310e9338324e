"""A block passes through few files."""

import pytest

from tools import trail


@pytest.mark.slow
def test_the_trail_is_short(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECSTEER_HOME", str(tmp_path))
    passed = trail.of_a_block(tmp_path)
    assert 0 < len(passed.modules) <= 30
    assert 0 < passed.moves <= 650
