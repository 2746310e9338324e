"""What `write` shows of the event stream; the service is scripted."""

import json
import os
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from decoding_core.errors import CloudRefusedError, CloudUnreachableError, EngineError
from edge_app.commands import terminal, write
from edge_app.decoding.events import (
    Finished,
    HeldBack,
    PrivacySpent,
    Settled,
    Source,
    SourcesFound,
    Statistics,
    Token,
    Verified,
)
from tests.mailboxes import ME, mailbox, message

WORDS = [
    Token(1, "Dear Ana.", "accepted"),
    Token(2, " See", "recovered"),
    Token(3, " you", "bonus"),
    Token(4, "\nTess ü", "local"),
]
SOURCE = Source(7, "email to Ana", 2.5, {"bm25": 2.5}, "Hullo Ana")
NUMBERS = Statistics(2, 1, 1, 1, 1, 1, 300, 200, 0.5, 8.0, 0.5, 20.0)
TEXT = "Dear Ana. See you\nTess ü"


def told(reason="end"):
    return [
        SourcesFound((SOURCE,)),
        Verified(2, 1, (" Sea",), 0.02),
        *(Settled((word,)) for word in WORDS),
        Finished(reason, NUMBERS),
    ]


class ScriptedDesk:
    """Emits what it was given, but raises exceptions and calls functions."""

    def __init__(self, script, own=1):
        self.script, self.own = script, own
        self.requests, self.closed, self.stop = [], False, None

    def counts(self):
        return {"own": self.own, "received": 0, "words": 0}

    def write(self, request, emit, stop):
        self.requests.append(request)
        self.stop = stop
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            if callable(step):
                step()
            else:
                emit(step)

    def close(self):
        self.closed = True


@pytest.fixture
def service(monkeypatch):
    """Puts a scripted service in the place of the real one."""

    def install(script, own=1):
        made = ScriptedDesk(script, own)
        monkeypatch.setattr(write, "_service", lambda *_: made)
        return made

    return install


def lines(text):
    return text.splitlines()


QUIET = (
    "done: 6 words, 4 drafted here, 2 from the checker; specsteer sent shows what left"
)


def test_stdout_holds_only_the_text_and_stderr_one_quiet_line(run, service):
    """What is piped on is the text, as it is settled."""
    service(told())
    for option in ((), ("--json",), ("--plain",)):
        result = run("write", "x", *option)
        assert lines(result.stderr) == [QUIET]
        assert result.exit_code == 0
    assert run("write", "x").stdout == TEXT + "\n"


@pytest.mark.parametrize("option", ["-v", "--verbose"])
def test_all_figures_are_said_on_request(run, service, option):
    """In a second line."""
    service(told())
    result = run("write", option, "x")
    assert result.stdout == TEXT + "\n"
    assert lines(result.stderr) == [
        QUIET,
        "kept 1 (50% of the drafted) · redrawn 1 · added 1 · written on this device "
        "alone 1 · sent 300 bytes in 1 round, 200 came back · round trip 20.0 ms · "
        "8 tokens/s, 0.5 s",
    ]


@pytest.mark.parametrize(
    ("is_terminal", "no_color", "styled"),
    [(True, None, True), (True, "", True), (True, "1", False), (False, None, False)],
)
def test_no_color_is_obeyed(monkeypatch, is_terminal, no_color, styled):
    """On a terminal redrawn words are underlined, unless NO_COLOR says otherwise."""
    stdout = SimpleNamespace(isatty=lambda: is_terminal)
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stdout=stdout))
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    assert terminal.may_style() is styled


def test_plain_is_a_line_per_sentence(run, service):
    """For a screen reader, when the text is done."""
    service(told())
    result = run("write", "--plain", "x")
    assert lines(result.stdout) == ["Dear Ana.", "See you", "Tess ü"]


def test_json_is_one_object(run, service):
    """With the text, its tokens, its sources, the numbers and the settings."""
    service(told())
    result = run("write", "--json", "--seed", "5", "--to", "Ana ü", "x")
    body = json.loads(result.stdout)
    assert len(lines(result.stdout)) == 1
    assert set(body) == {
        *("text", "tokens", "held_back", "sources", "statistics", "privacy"),
        *("settings", "ended"),
    }
    assert body["text"] == TEXT
    assert body["tokens"][1] == {"id": 2, "text": " See", "origin": "recovered"}
    assert body["sources"] == [
        {
            "record_id": 7,
            "title": "email to Ana",
            "score": 2.5,
            "score_parts": {"bm25": 2.5},
            "excerpt": "Hullo Ana",
        }
    ]
    assert set(body["statistics"]) == {
        *("drafted", "accepted", "recovered", "bonus", "local", "rounds"),
        *("bytes_up", "bytes_down", "seconds", "tokens_per_second"),
        *("acceptance_rate", "round_trip_ms", "truncation_bound", "in_vain"),
        "held_back",
    }
    assert body["settings"]["seed"] == 5
    assert body["settings"]["recipient"] == "Ana ü"
    assert body["ended"] == "end"


def test_what_was_told_of_the_history_is_said_where_it_was_reckoned(run, service):
    """In the line of numbers and, message by message, in the object."""
    blocks = [PrivacySpent(2.5, 3, 2.5, 3, 1.5, 4.0, 8.0, True, 0)]
    blocks.append(PrivacySpent(0.5, 1, 3.0, 4, 1.5, 4.5, 8.0, True, 0))
    service([*blocks, *told()])
    body = json.loads(run("write", "--json", "x").stdout)
    assert body["privacy"] == {
        "reckoned": True,
        "nats": 3.0,
        "tokens": 4,
        "largest": 1.5,
        "today": 4.5,
        "limit": 8.0,
        "exact": True,
        "unread": 0,
        "blocks": [{"nats": 2.5, "tokens": 3}, {"nats": 0.5, "tokens": 1}],
    }
    said = run("write", "-v", "x").stderr
    assert said.endswith("told 3.0 of 8 nats of your history\n")
    service([replace(blocks[0], limit=None, exact=False), *told()])
    said = run("write", "-v", "x").stderr
    assert "told 2.5 nats of your history (an indication: temperature 0)" in said
    service(told())
    body = json.loads(run("write", "--json", "x").stdout)
    assert body["privacy"] == {"reckoned": False}


def test_without_history_the_person_is_told_how_to_give_it(run, service):
    """Once, and not when history was not wanted."""
    service(told(), own=0)
    assert "import --help" in run("write", "x").stderr
    assert "import --help" not in run("write", "--no-history", "x").stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EngineError("the model broke"), 1),
        (CloudRefusedError("the server said no"), 1),
        (CloudUnreachableError("no answer"), 3),
        (OSError(28, "No space left on device"), 1),
    ],
)
@pytest.mark.parametrize("option", [None, "--plain", "--json"])
def test_what_is_settled_is_shown_before_an_error(run, service, error, status, option):
    """Nothing that was written is lost with the server or the model."""
    made = service([SourcesFound((SOURCE,)), Settled(tuple(WORDS[:3])), error])
    result = run("write", "x", *([option] if option else []))
    shown = json.loads(result.stdout)["text"] if option == "--json" else result.stdout
    assert shown.split() == ["Dear", "Ana.", "See", "you"]
    assert lines(result.stderr)[-1].startswith("Error: ")
    assert result.exit_code == status
    assert made.closed


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("option", [None, "--plain", "--json"])
def test_ctrl_c_shows_what_is_settled(run, service, option):
    """And the exit status says that it was stopped."""
    stopped = Finished("stopped", NUMBERS)
    made = service([Settled(tuple(WORDS[:1])), interrupt, stopped])
    result = run("write", "x", *([option] if option else []))
    shown = json.loads(result.stdout)["text"] if option == "--json" else result.stdout
    assert shown.strip() == "Dear Ana."
    assert result.exit_code == 130
    assert made.stop.is_set()
    assert made.closed


def test_a_second_ctrl_c_waits_for_nothing(service, monkeypatch, capsys):
    """The service need not listen."""
    from edge_app.cli import main

    made = service([Settled(tuple(WORDS[:1])), interrupt, interrupt, *told()])
    monkeypatch.setattr("sys.argv", ["specsteer", "write", "x"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().out == "Dear Ana.\n"
    assert made.closed


def test_options_become_the_request(run, service):
    """Each option of the command line reaches the loop."""
    made = service(told())
    run(
        *("write", "Thank her", "--task", "review", "--to", "Pier Cafe"),
        *("--method", "coupled", "--threshold", "0.1", "--strength", "2"),
        *(
            "--base",
            "edge",
            "--draft-length",
            "64",
            "--temperature",
            "0",
            "--top-p",
            "0.5",
        ),
        *("--seed", "9", "--max-tokens", "7", "--no-history", "--no-offline"),
        stdin="some notes",
    )
    request = made.requests[0]
    assert request.brief.text == "Thank her"
    assert (request.brief.task, request.brief.recipient) == ("review", "Pier Cafe")
    settings = request.settings
    assert (settings.method, settings.threshold, settings.strength) == (
        *("coupled", 0.1),
        2.0,
    )
    assert (settings.draft_length, settings.temperature) == (64, 0.0)
    assert (settings.top_p, settings.seed) == (0.5, 9)
    assert settings.base == "edge"
    assert request.max_tokens == 7
    assert not request.use_history
    assert not request.may_go_offline
    assert not request.offline
    assert request.background == "some notes"


def test_a_received_letter_is_answered_to_who_wrote_it(run, service, tmp_path):
    """The letter is never a part of the request, which the server reads."""
    made = service(told())
    ask = "Shall we meet at the harbour? " + "Bring the lamp. " * 200
    mine = message("It is a fine day for sailing.", number=2)
    path = tmp_path / "letters.mbox"
    path.write_bytes(
        mailbox([message(ask, sender="Ana <ana@example.org>", to=ME, number=1), mine])
    )
    run("import", "mbox", path, "--me", ME)
    number = json.loads(run("search", "--received", "--json", "harbour").stdout)
    result = run("write", "Say yes", "--reply-to", number["record_id"], stdin=b"notes")

    request = made.requests[0]
    assert request.brief.text == "Say yes"
    assert request.brief.recipient == "Ana <ana@example.org>"
    assert request.reply_to == number["record_id"]
    assert request.background == "notes"
    assert "only the beginning of the letter is read" in result.stderr
    assert "as --to says" not in result.stderr

    answer = "write", "Say yes", "--reply-to", number["record_id"]
    result = run(*answer, "--to", "Bo")
    assert made.requests[1].brief.recipient == "Bo"
    said = "written to Bo, as --to says; the letter that it answers is from Ana"
    assert said in result.stderr
    result = run(*answer, "--to", "ana@example.org")
    assert "as --to says" not in result.stderr
    assert run(*answer, "--task", "note").exit_code == 0
    assert made.requests[3].brief.recipient == ""


@pytest.mark.parametrize("number", ["1", "77"])
def test_only_a_received_letter_can_be_answered(run, service, tmp_path, number):
    """Neither an own text nor none."""
    made = service(told())
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox([message("It is a fine day for sailing.", number=2)]))
    run("import", "mbox", path, "--me", ME)
    result = run("write", "Say yes", "--reply-to", number)

    assert result.exit_code == 1
    assert f"no received text has the number {number}" in result.stderr
    assert not made.requests


def test_piped_bytes_that_are_no_text_are_refused(run, service):
    """In one sentence."""
    service(told())
    result = run("write", "x", stdin=b"\xff\xfe\x00")
    assert lines(result.stderr) == ["Error: what is piped in is not text in UTF-8"]
    assert result.exit_code == 1


def test_a_request_may_begin_with_a_dash(run, service):
    """After --, as everywhere."""
    made = service(told())
    run("write", "--", "- milk, - bread")
    assert made.requests[0].brief.text == "- milk, - bread"


@pytest.mark.parametrize(
    ("typed", "answer"), [("\n", "no"), ("once\n", "once"), ("yes\nalways\n", "always")]
)
def test_what_the_guard_found_is_the_persons_to_decide(typed, answer):
    """Enter alone holds it back; what is shown passes the gate."""
    held = HeldBack("person", "stands in your texts", " Zol\x1b[2Jtan", " Alex")
    with CliRunner().isolation(input=typed) as (_, err, _):
        assert write.ask_in_terminal(held) == answer
        shown = err.getvalue().decode()
    assert "Alex" in shown
    assert "\x1b" not in shown
