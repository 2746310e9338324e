"""What `write` shows of the event stream; the service is scripted."""

import json
import os
import signal
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from decoding_core.errors import CloudRefusedError, CloudUnreachableError
from edge_app.commands import terminal, write
from edge_app.decoding import events
from edge_app.decoding.events import Finished, PrivacySpent, Settled, Token
from edge_app.facts.checking import Checker
from edge_app.service.service import WritingService
from models.folders import state_folder
from models.prompts import Request
from tests.mailboxes import ME, mailbox, message

WORDS = [
    Token(1, "Dear Ana.", "accepted"),
    Token(2, " See", "recovered"),
    Token(3, " you", "bonus"),
    Token(4, "\nTess ü", "local"),
]
SOURCE = events.Source(7, "email to Ana", 2.5, {"bm25": 2.5}, "Hullo Ana")
NUMBERS = events.Statistics(2, 1, 1, 1, 1, 1, 300, 200, 0.5, 8.0, 0.5, 20.0)
TEXT = "Dear Ana. See you\nTess ü"
TOLD = [
    events.SourcesFound((SOURCE,)),
    events.Verified(2, 1, (" Sea",), 0.02),
    *(Settled((word,)) for word in WORDS),
    Finished("end", NUMBERS),
]
QUIET = (
    "done: 6 words, 4 drafted here, 2 from the checker; specsteer sent shows what left"
)


class ScriptedService:
    """Emits what it was given, but raises exceptions and calls functions."""

    def __init__(self, script, own=1):
        self.script, self.own = script, own
        self.requests, self.closed, self.stop = [], False, None
        self.scripts = []  # of the first texts, if they have their own

    def counts(self):
        return {"own": self.own, "received": 0, "words": 0}

    def write(self, request, emit, stop):
        self.requests.append(request)
        self.stop = stop
        for step in self.scripts.pop(0) if self.scripts else self.script:
            if isinstance(step, Exception):
                raise step
            if callable(step):
                step()
            else:
                emit(step)

    write_revision = WritingService.write_revision
    write_best = WritingService.write_best

    def write_tries(self, requests, emits, stop):
        for request, emit in zip(requests, emits, strict=True):
            self.write(request, emit, stop)

    def checker(self, request, letters):
        self.read = letters
        return Checker(request.brief.text, request.brief.recipient)

    def close(self):
        self.closed = True


@pytest.fixture
def service(monkeypatch):
    """Puts a scripted service in the place of the real one."""

    def install(script=TOLD, own=1):
        made = ScriptedService(script, own)
        monkeypatch.setattr(write, "_service", lambda *_, **__: made)
        return made

    return install


@pytest.fixture
def asked(run, service):
    """The request that the words of a command become, and what it printed."""

    def ask(*words, **options):
        made = service()
        done = run("write", *words, **options)
        assert done.exit_code == 0, done.stderr
        return made.requests[0], done

    return ask


def test_stdout_holds_only_the_text_and_stderr_one_quiet_line(run, service):
    """What is piped on is the text, as it is settled; for a screen reader it is a line
    per sentence, when it is done. A second line has all figures, on request."""
    service()
    for option in ((), ("--json",), ("--plain",)):
        result = run("write", "x", *option)
        assert result.stderr.splitlines() == [QUIET]
        assert result.exit_code == 0
    assert result.stdout.splitlines() == ["Dear Ana.", "See you", "Tess ü"]
    assert run("write", "x").stdout == TEXT + "\n"
    result = run("write", "-v", "x")
    assert result.stdout == TEXT + "\n"
    assert result.stderr.splitlines() == [
        QUIET,
        "kept 1 (50% of the drafted) · redrawn 1 · added 1 · written on this device "
        "alone 1 · sent 300 bytes in 1 round, 200 came back · round trip 20.0 ms · "
        "8 tokens/s, 0.5 s",
    ]


def test_no_color_is_obeyed(monkeypatch):
    """On a terminal redrawn words are underlined, unless NO_COLOR says otherwise."""
    stdout = SimpleNamespace(isatty=lambda: False)
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stdout=stdout))
    assert not terminal.may_style()
    stdout.isatty = lambda: True
    assert terminal.may_style()
    for value in ("", "1"):
        monkeypatch.setenv("NO_COLOR", value)
        assert terminal.may_style() is not bool(value)


def test_json_is_one_object(run, service):
    """With the text, its tokens, its sources, the numbers and the settings."""
    service()
    result = run("write", "--json", "--seed", "5", "--to", "Ana ü", "x")
    body = json.loads(result.stdout)
    assert set(body) == {
        *("text", "tokens", "held_back", "sources", "statistics", "privacy"),
        *("settings", "ended", "facts"),
    }
    assert (body["text"], body["ended"]) == (TEXT, "end")
    assert body["tokens"][1] == {"id": 2, "text": " See", "origin": "recovered"}
    assert body["sources"] == [asdict(SOURCE)]
    assert set(body["statistics"]) == {
        *("drafted", "accepted", "recovered", "bonus", "local", "rounds"),
        *("bytes_up", "bytes_down", "seconds", "tokens_per_second"),
        *("acceptance_rate", "round_trip_ms", "truncation_bound", "in_vain"),
        "held_back",
    }
    assert (body["settings"]["seed"], body["settings"]["recipient"]) == (5, "Ana ü")
    assert body["privacy"] == {"reckoned": False}


def test_facts_are_checked_beside_the_text(run, service):
    """On stderr if it is asked for or a terminal, and in JSON; stdout has the letter
    alone."""
    made = service()
    result = run("write", "--check", "--to", "Ana", "See Gordon on the 14th")
    assert result.stdout == TEXT + "\n"
    told = ["not from you: Tess", "missing: the 14th, Gordon", QUIET]
    assert result.stderr.splitlines() == told
    assert made.read == [SOURCE.record_id]
    words = "write", "--json", "--to", "Ana", "Sign it Tess on the 14th"
    facts = json.loads(run(*words).stdout)["facts"]
    assert (facts["invented"], facts["questions"]) == ([], [])
    assert facts["missing"][0]["text"] == "the 14th"
    assert json.loads(run(*words, "--no-check").stdout)["facts"] is None


def test_what_was_told_of_the_history_is_said(run, service):
    """In the line of numbers and, message by message, in the object."""
    blocks = [PrivacySpent(2.5, 3, 2.5, 3, 1.5, 4.0, 8.0, True, 0)]
    blocks.append(PrivacySpent(0.5, 1, 3.0, 4, 1.5, 4.5, 8.0, True, 0))
    service([*blocks, *TOLD])
    told = {"reckoned": True, "nats": 3.0, "tokens": 4, "largest": 1.5, "today": 4.5}
    told |= {"limit": 8.0, "exact": True, "unread": 0}
    told["blocks"] = [{"nats": 2.5, "tokens": 3}, {"nats": 0.5, "tokens": 1}]
    assert json.loads(run("write", "--json", "x").stdout)["privacy"] == told
    said = run("write", "-v", "x").stderr
    assert said.endswith("told 3.0 of 8 nats of your history\n")
    service([replace(blocks[0], limit=None, exact=False), *TOLD])
    said = run("write", "-v", "x").stderr
    assert "told 2.5 nats of your history (an indication: temperature 0)" in said


def test_without_history_the_person_is_told_how_to_give_it(run, service):
    """Once, and not when history was not wanted."""
    service(own=0)
    assert "import --help" in run("write", "x").stderr
    assert "import --help" not in run("write", "--no-history", "x").stderr


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("option", ["", "--plain", "--json"])
def test_what_is_settled_is_shown_before_an_end(run, service, option):
    """Nothing that was written is lost with the server or the model, or by Ctrl-C."""
    before = [events.SourcesFound((SOURCE,)), Settled(tuple(WORDS[:3]))]
    for end, status, said in (
        ([CloudRefusedError("the server said no")], 1, "Error: "),
        ([CloudUnreachableError("no answer")], 3, "Error: "),
        ([OSError(28, "No space left on device")], 1, "Error: "),
        ([interrupt, Finished("stopped", NUMBERS)], 130, "stopped: "),
    ):
        made = service([*before, *end])
        result = run("write", "x", *option.split())
        text = json.loads(result.stdout)["text"] if "json" in option else result.stdout
        assert text.split() == ["Dear", "Ana.", "See", "you"]
        assert result.stderr.splitlines()[-1].startswith(said)
        assert (result.exit_code, made.stop.is_set()) == (status, status == 130)
        assert made.closed


def test_a_second_ctrl_c_waits_for_nothing(service, monkeypatch, capsys):
    """The service need not listen."""
    from edge_app.cli import main

    made = service([Settled(tuple(WORDS[:1])), interrupt, interrupt, *TOLD])
    monkeypatch.setattr("sys.argv", ["specsteer", "write", "x"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().out == "Dear Ana.\n"
    assert made.closed


def test_options_become_the_request(asked):
    """Each option of the command line reaches the loop; what is piped in is notes."""
    given = {"method": "coupled", "threshold": 0.1, "strength": 2.0, "base": "edge"}
    given |= {"draft_length": 64, "temperature": 0.0, "top_p": 0.5, "seed": 9}
    request, _ = asked(
        *("Thank her", "--task", "review", "--to", "Pier Cafe", "--max-tokens", "7"),
        *(f"--{name.replace('_', '-')}={value}" for name, value in given.items()),
        *("--no-history", "--no-offline"),
        stdin="some notes",
    )
    assert request.brief == Request("Thank her", "review", "Pier Cafe")
    assert asdict(request.settings).items() >= given.items()
    asks = request.use_history, request.may_go_offline, request.offline
    assert asks == (False, False, False)
    assert (request.background, request.max_tokens) == ("some notes", 7)
    dash, _ = asked("--", "- milk, - bread")
    assert dash.brief.text == "- milk, - bread"


@pytest.fixture
def letters(run, tmp_path):
    """The number of a received letter; the other one is 2."""
    ask = "Shall we meet at the harbour? " + "Bring the lamp. " * 200
    mine = message("It is a fine day for sailing.", number=2)
    hers = message(ask, sender="Ana <ana@example.org>", to=ME, number=1)
    (tmp_path / "letters.mbox").write_bytes(mailbox([hers, mine]))
    run("import", "mbox", tmp_path / "letters.mbox", "--me", ME)
    found = run("search", "--received", "--json", "harbour").stdout
    return json.loads(found)["record_id"]


def test_a_received_letter_is_answered_to_who_wrote_it(run, service, asked, letters):
    """The letter is never a part of the request, which the server reads. Neither an own
    text nor none can be answered."""
    answer = "Say yes", "--reply-to", letters
    request, done = asked(*answer, stdin=b"notes")
    assert request.brief == Request("Say yes", "email", "Ana <ana@example.org>")
    assert (request.reply_to, request.background) == (letters, "notes")
    assert "only the beginning of the letter is read" in done.stderr
    assert "as --to says" not in done.stderr
    request, done = asked(*answer, "--to", "Bo")
    assert request.brief.recipient == "Bo"
    said = "written to Bo, as --to says; the letter that it answers is from Ana"
    assert said in done.stderr
    assert "as --to says" not in asked(*answer, "--to", "ana@example.org")[1].stderr
    assert asked(*answer, "--task", "note")[0].brief.recipient == ""
    made = service()
    for number in (77, 3 - letters):
        result = run("write", "Say yes", "--reply-to", number)
        assert result.exit_code == 1
        assert f"no received text has the number {number}" in result.stderr
    assert not made.requests


def test_piped_bytes_that_are_no_text_are_refused(run, service):
    """In one sentence."""
    service()
    result = run("write", "x", stdin=b"\xff\xfe\x00")
    assert result.stderr == "Error: what is piped in is not text in UTF-8\n"
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("typed", "answer"), [("\n", "no"), ("once\n", "once"), ("yes\nalways\n", "always")]
)
def test_what_the_guard_found_is_the_persons_to_decide(typed, answer):
    """Enter alone holds it back; what is shown passes the gate."""
    held = events.HeldBack("person", "stands in your texts", " Zol\x1b[2Jtan", " Alex")
    with CliRunner().isolation(input=typed) as (_, err, _):
        assert write.ask_in_terminal(held) == answer
        shown = err.getvalue().decode()
    assert "Alex" in shown
    assert "\x1b" not in shown


LETTER = "Hullo Ana,\n\nThe pier is fine. The ferret bit Ben.\n\nLove,\nTess\n"
SENT = events.Sent(0.0, "http://a:1", "block", 100, (), b"")


def attempt(text):
    return [SENT, Settled((Token(1, text, "accepted"),)), Finished("end", NUMBERS)]


def test_the_last_draft_is_changed_and_the_best_of_three_shown(run, service, tmp_path):
    """What the instruction does not concern stays; what the others sent is counted. A
    change that needs no model asks none, and each goes on from the one before."""
    made = service([])
    texts = " Sorry.", " The tape is here.\n\n", "", " Sorry.", " Sorry.", " Sorry."
    made.scripts = [attempt(text) for text in texts]
    path = tmp_path / "letter.txt"
    path.write_text(LETTER)
    asked = "Tell her of the pier", "--to", "Ana", "--offline", "--seed", 4
    told = run("write", *asked, "--draft", path, "--again", "mention the tape")
    whole = LETTER.replace("Ben.", "Ben. The tape is here.")
    assert (told.stdout, told.exit_code) == (whole, 0)
    assert "kept 12 of 12 words; wrote 4 words, 4 drafted here" in told.stderr
    first = made.requests[0]
    assert [one.settings.seed for one in made.requests] == [4, 5, 6]
    assert first.brief.text == "Tell her of the pier. Mention the tape."
    assert (first.before, first.instead_of) == (LETTER[:49], "Mention the tape.")
    told = run("write", "--again", "drop the ferret", "--json")
    body = json.loads(told.stdout)
    assert body["text"] == whole.replace("The ferret bit Ben. ", "").rstrip()
    assert (body["words_kept"], body["words_before"]) == (12, 16)
    assert "nothing left it" in told.stderr
    assert len(made.requests) == 3
    told = run("write", "--again", "warmer", "--json")
    body = json.loads(told.stdout)
    assert made.requests[-1].offline
    assert made.requests[-1].brief.tone == "warm"
    assert len(body["others"]) == 5  # as often again: none does what is asked
    assert body["statistics"]["bytes_up"] == 300


def test_the_draft_with_the_fewest_faults_is_shown(run, service):
    """What is missing and what is invented count; the others are listed."""
    texts = "Hi Ana, I come.", "Hi Ana, on 6 May at nine.", "Hi Ana, on 5 May at nine."
    service([]).scripts = [attempt(text) for text in texts]
    asked = "Say I come on 5 May at nine", "--to", "Ana", "--tries", 3, "--json"
    body = json.loads(run("write", *asked).stdout)
    assert body["text"] == texts[2]
    assert sorted(body["others"].values()) == sorted(texts[:2])


def test_what_cannot_be_changed_is_said(run, service, tmp_path):
    """In one sentence that says what to do next."""
    service()
    for words, said in (
        (("--again", "shorter"), "there is no draft that could be changed"),
        (("x", "--draft", __file__), "--draft goes with --again"),
        (("x", "--tries", 2, "--record", tmp_path / "t"), "--record is for one text"),
        ((), "the request is empty"),
    ):
        told = run("write", *words)
        assert said in told.stderr
        assert told.exit_code
    assert run("write", "x").exit_code == 0
    assert "leave REQUEST out" in run("write", "x", "--again", "shorter").stderr
    told = run("write", "--again", "drop the zeppelin")
    assert "name words that stand there" in told.stderr
    (state_folder() / "last-draft.json").write_text("{}")
    assert "there is no draft" in run("write", "--again", "shorter").stderr
