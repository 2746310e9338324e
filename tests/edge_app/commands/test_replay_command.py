"""`specsteer write --record` and `specsteer replay`: one stream of events, several
fronts."""

import json
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import pytest

from edge_app.service.tape import RecordedService, Recorder, read_tape

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))
from tui_tapes import REQUEST, letter_recording


def recorded(*_):
    """A service in the place of the models."""
    service = RecordedService([letter_recording()], pace=lambda _: None)
    service.counts = lambda: {"own": 1}
    return service


@pytest.fixture
def tape(tmp_path):
    path = tmp_path / "letter.jsonl"
    clock = count(0, 0.01).__next__
    with closing(Recorder(path, REQUEST, samples=True, clock=clock)) as made:
        for event in letter_recording():
            made.add(event)
    return path


def test_what_is_recorded_is_played_again(run, tmp_path, monkeypatch):
    """As it happened, and without another word on standard output."""
    monkeypatch.setattr("edge_app.service.service.WritingService", recorded)
    monkeypatch.setattr("edge_app.transport.child_server.ChildServer", Mock())
    path = tmp_path / "a.jsonl"
    written = run("write", "Thank her", "--to", "Ana", "--sample", "--record", path)
    assert written.exit_code == 0, written.output
    assert written.stdout == run("write", "Thank her", "--to", "Ana").stdout
    found = read_tape(path)
    assert [one.event for one in found.recorded] == letter_recording()
    assert (found.request.text, found.request.recipient) == ("Thank her", "Ana")
    assert found.samples
    again = run("write", "Thank her", "--record", path)
    assert (again.exit_code, again.stdout) == (1, "")
    assert "exists: give the tape another name" in again.stderr


def test_in_a_pipe_a_tape_is_a_line_per_event(run, tape):
    lines = run("replay", tape).stdout.splitlines()
    assert lines[0] == (
        "asked for: email for Ana: Thank Ana for the photos. Say yes to the weekend of "
        "the 14th."
    )
    told = [line.partition(" s  ")[2] for line in lines[1:]]
    assert told[1:7] == [
        "the checker is own server",
        "sent 412 bytes: open",
        "received 160 bytes: opened",
        "drafted 8: “Dear Ana,\\n\\nThank you for the photographs”",
        "sent 96 bytes: block",
        "received 44 bytes: verdict",
    ]
    assert "kept 2 of 5, not kept “ home made me”" in told
    assert "settled “ pier at” accepted, “ Whitby” recovered" in told
    assert told[-1].startswith("finished: end")
    assert lines[1].startswith("    0.01 s  read 3 texts: email to Ana, 2024-08-19")


def test_a_report_is_shown_before_it_is_written(run, tape, tmp_path):
    out = tmp_path / "report.jsonl"
    asked = run("replay", tape, "--redact", out)
    assert asked.exit_code == 2
    assert "look at it, then --yes" in asked.stderr
    assert not out.exists()
    written = run("replay", tape, "--redact", out, "--yes")
    assert written.stdout == asked.stdout == out.read_text()
    assert "Whitby" in tape.read_text()
    assert "Whitby" not in written.stdout
    lines = run("replay", out).stdout.splitlines()
    assert len(lines) == len(run("replay", tape).stdout.splitlines())
    assert "“ xxxx xx” accepted, “ xxxxxx” recovered" in "\n".join(lines)
    for line in out.read_text().splitlines():
        json.loads(line)
    assert run("replay", tape, "--redact", out, "--yes").exit_code == 1
