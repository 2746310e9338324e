"""Sizes of openings and times of rounds."""

import json
import threading

import pytest

from base.bounded_http import Line
from cloud_api.admission import make_certificate
from decoding_core.errors import InvalidSettingsError, StoppedError
from edge_app.transport import SIZES, Cadence, padded
from edge_app.transport.client import watched_transport


@pytest.mark.parametrize("size", [2, 4095, 4096, 4097, 70_000, 2 << 20])
def test_an_opening_has_one_of_a_few_sizes_and_says_the_same(size):
    body = json.dumps("x" * (size - 2)).encode()
    filled = padded(body)
    assert len(filled) in SIZES
    assert json.loads(filled) == json.loads(body)
    assert len(padded(b" " * ((2 << 20) + 1))) == (2 << 20) + 1


class Clock:
    """Time that passes while somebody waits, and when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def wait(self, stop, seconds):
        self.now += seconds
        return stop.is_set()


def test_rounds_leave_at_multiples_of_the_interval_and_never_two_at_once():
    clock, stop = Clock(), threading.Event()
    cadence = Cadence(250.0, clock, clock.wait)
    cadence.begin()
    left = []
    for ready in (0.0, 0.01, 0.3, 0.0, 1.1):  # seconds until the next round is ready
        clock.now += ready
        cadence.wait(stop)
        left.append(round(clock.now - 100.0, 9))
    assert left == [0.25, 0.5, 1.0, 1.25, 2.5]


def test_without_a_cadence_nothing_waits_and_a_stop_ends_a_wait():
    clock, stop = Clock(), threading.Event()
    Cadence(0.0, clock, clock.wait).wait(stop)
    assert clock.now == 100.0
    stop.set()
    with pytest.raises(StoppedError):
        Cadence(50.0, clock, clock.wait).wait(stop)
    with pytest.raises(InvalidSettingsError, match="cadence must lie between"):
        Cadence(-1.0)


def test_the_keys_of_a_line_are_written_where_the_variable_says(monkeypatch, tmp_path):
    """As browsers do, so that somebody can read what their own device sent."""
    pem, _ = make_certificate()
    certificate = pem[pem.index("-----BEGIN CERT") :]
    plain = watched_transport(Line(), "https://a:1", certificate)
    assert plain._pool._ssl_context.keylog_filename is None
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    watched = watched_transport(Line(), "https://a:1", certificate)
    assert watched._pool._ssl_context.keylog_filename == str(tmp_path / "keys")
