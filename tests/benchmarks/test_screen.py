"""`specsteer bench screen`: it finds the tokens in what the terminal is sent."""

import pytest

from benchmarks.screen.bench_screen import first_paint, stream


@pytest.mark.slow
def test_every_token_is_found_in_what_the_terminal_gets(tmp_path):
    found = stream(tmp_path, 30, 60, 200.0)
    assert found.tokens == 60
    assert 0 < found.delay_p50_ms <= found.delay_p95_ms
    assert found.cpu_ms_per_update > 0
    assert found.bytes_per_update > 0


@pytest.mark.slow
def test_the_first_paint_takes_some_time(tmp_path):
    found = first_paint(tmp_path)
    assert found.wall_ms > 0
    assert found.cpu_ms > 0
