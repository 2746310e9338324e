"""A block and a mail pass through few files."""

import pytest

from tools import trail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("found", "modules", "moves"),
    [(trail.of_a_block, 30, 650), (trail.of_a_mail, 20, 100)],
)
def test_the_trail_is_short(tmp_path, monkeypatch, found, modules, moves):
    monkeypatch.setenv("SPECSTEER_HOME", str(tmp_path))
    passed = found(tmp_path)
    assert 0 < len(passed.modules) <= modules
    assert 0 < passed.moves <= moves
