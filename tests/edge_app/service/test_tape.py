"""Tapes: read back as they were recorded, refused where they are none, and without any
word once they are redacted."""

import base64
import json
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest

from edge_app.decoding import events
from edge_app.service.tape import Recorder, TapeError, events_of, read_tape, redacted

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))
from tui_tapes import REQUEST, letter_recording

HELD = events.HeldBack("person", "a name of yours", " Zoltan", " Name", 3, 2)
AT = ("NaN", "-1", "{}")
ALL = [
    *letter_recording()[:-1],
    events.PrivacySpent(2.5, 1, 2.5, 2, 2.5, 4.0, None, True, 0),
    events.StandsIn(((90, " Name"),)),
    events.PublicPrompt(((91, "Thank"), (92, " Ana"))),
    HELD,
    events.Notice("the server at https://secret.example is gone"),
    letter_recording()[-1],
]


def recorded(path, samples=False, told=ALL):
    now = iter(range(10_000))
    clock = lambda: next(now) / 8  # noqa: E731
    with closing(Recorder(path, REQUEST, samples=samples, clock=clock)) as recorder:
        for event in told:
            recorder.add(event)
    return read_tape(path)


def test_a_tape_is_read_as_it_was_recorded(tmp_path):
    tape = recorded(tmp_path / "a.jsonl", samples=True)
    assert events_of(tape.recorded) == ALL
    assert (tape.request, tape.samples) == (REQUEST, True)
    assert [one.at for one in tape.recorded[:3]] == [0.125, 0.25, 0.375]
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o077 == 0
    assert [len(run) for run in tape.runs()] == [len(ALL)]


def test_no_file_is_written_over(tmp_path):
    recorded(tmp_path / "a.jsonl")
    with pytest.raises(TapeError, match="exists: give the tape another name"):
        Recorder(tmp_path / "a.jsonl", REQUEST)
    with pytest.raises(TapeError, match="no tape can be written at"):
        Recorder(tmp_path / "no" / "a.jsonl", REQUEST)


NO_EVENTS = [
    *("x", "1", "[]", "{}", '{"event": "Nothing"}', '{"event": ["Drafted"]}'),
    *('{"event": "Drafted"}', '{"event": "Drafted", "id": "x", "text": "a"}'),
    '{"event": "Drafted", "id": 1, "text": 2}',
    *(f'{{"event": "Drafted", "id": 1, "text": "a", "at": {at}}}' for at in AT),
    '{"event": "Settled", "tokens": [{"id": 1, "text": "a", "origin": "air"}]}',
    *('{"event": "Settled", "tokens": "abc"}', '{"event": "Sent", "payload": "é"}'),
    '{"event": "Finished", "reason": "end", "statistics": 3}',
    '{"specsteer_tape": 1, "request": {"text": 1}}',
    *('{"specsteer_tape": 1, "request": "x"}', "[" * 100_000),
]


def test_what_is_no_tape_is_named(tmp_path):
    path = tmp_path / "a.jsonl"
    for line in NO_EVENTS:
        path.write_text(line + "\n")
        with pytest.raises(TapeError, match=r"line 1 of .* is no event of a tape"):
            read_tape(path)


def test_other_files_are_refused_in_a_sentence(tmp_path):
    path = tmp_path / "a.jsonl"
    for body, said in (
        (b"", "no event is in it"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b'{"specsteer_tape": 2}', "install a newer one"),
    ):
        path.write_bytes(body)
        with pytest.raises(TapeError, match=said):
            read_tape(path)
    with pytest.raises(TapeError, match="No such file"):
        read_tape(tmp_path / "none")
    with pytest.raises(TapeError, match="cannot be read"):
        read_tape(tmp_path)


def texts_of(body):
    """Every text in a line, but for the names of fields."""
    if isinstance(body, dict):
        body = list(body.values())
    if isinstance(body, list):
        return [text for part in body for text in texts_of(part)]
    return [body] if isinstance(body, str) else []


def test_a_redacted_tape_holds_no_word(tmp_path):
    """No word of the text, of the letters, of the request, of a notice; no id, no byte
    that was sent, no address, no time of day."""
    tape = recorded(tmp_path / "a.jsonl")
    masked = redacted(tape)
    lines = list(masked.lines())
    told = [json.loads(line) for line in lines]
    values = [value for body in told for value in texts_of(body)]
    assert values.count("http://server.example/") == 9
    said = {value for value in values if re.search("[A-Za-wyz1-9]", value)}
    assert said == {
        *("SourcesFound", "Opened", "Sent", "Received", "Drafted", "Verified"),
        *("Settled", "PrivacySpent", "StandsIn", "PublicPrompt", "HeldBack", "Notice"),
        *("Finished", "Quoted", "open", "opened", "block", "verdict", "person"),
        *("accepted", "bonus", "recovered", "end", "email", "http://server.example/"),
        *(body["payload"] for body in told if "payload" in body),
    }
    for body in told[1:]:
        assert body.get("id", 0) == 0
        assert set(body.get("token_ids", [0])) <= {0}
        assert body.get("time", 0) == 0
        assert not any(base64.b64decode(body.get("payload", "")))
    # As many of them, at the same moments, each as long.
    both = zip(tape.recorded, masked.recorded, strict=True)
    assert all(type(one.event) is type(other.event) for one, other in both)
    copy = tmp_path / "b.jsonl"
    copy.write_text("\n".join(lines))
    assert read_tape(copy) == masked
