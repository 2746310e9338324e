import io
import logging
import sys
import traceback
import warnings

import click
import pytest

from decoding_core.foreign_text import GatedStream, gate_output, ungated
from tests.hostile import HOSTILE, MARK, dangers


@pytest.fixture
def terminal():
    """A stream in UTF-8, and what was written to it."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def written(stream):
    return stream.buffer.getvalue().decode(stream.encoding)


def test_whoever_writes_passes_the_gate(terminal, monkeypatch):
    """print, click, logging, warnings, tracebacks, writelines."""
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    gate_output()
    ways = (
        lambda: print(HOSTILE),  # noqa: T201
        lambda: click.echo(HOSTILE),
        lambda: click.echo(HOSTILE, err=True),
        lambda: click.secho(HOSTILE, bold=True, color=True),
        lambda: click.ClickException(HOSTILE).show(),
        lambda: sys.stdout.writelines([HOSTILE, HOSTILE]),
        lambda: logging.StreamHandler().handle(
            logging.makeLogRecord({"msg": HOSTILE, "levelno": 50})
        ),
        lambda: sys.stderr.write(
            warnings.formatwarning(HOSTILE, UserWarning, HOSTILE, 1)
        ),
        lambda: traceback.print_exception(ValueError(HOSTILE)),
        lambda: sys.excepthook(ValueError, ValueError(HOSTILE), None),
    )
    for number, way in enumerate(ways):
        before = len(written(terminal))
        way()
        shown = written(terminal)[before:]
        assert MARK in shown, number
        assert dangers(shown) == [], number


def test_a_stream_in_ascii(monkeypatch):
    """click wraps the bytes of such a stream anew, which must not pass by the gate."""
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    monkeypatch.setattr(sys, "stdout", terminal)
    gate_output()
    click.echo(HOSTILE)
    assert MARK in written(terminal)
    assert dangers(written(terminal)) == []


def test_bytes_find_no_way(terminal):
    """What is no text must go through `ungated`, and say so."""
    gate = GatedStream(terminal)
    with pytest.raises(TypeError):
        gate.write(b"\x1b")
    with pytest.raises(TypeError):
        click.echo(b"\x1b", file=gate)
    assert not hasattr(gate, "buffer")
    assert not hasattr(gate, "detach")
    assert written(terminal) == ""


def test_the_rest_is_the_streams_own(terminal):
    gate = GatedStream(terminal)
    assert gate.write("é\n") == 2
    assert (gate.encoding, gate.isatty(), gate.writable()) == ("utf-8", False, True)
    assert ungated(gate) is ungated(terminal) is terminal


def test_gating_twice_is_gating_once(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    gate_output()
    gated = sys.stdout
    gate_output()
    assert sys.stdout is gated
