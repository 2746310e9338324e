"""`search` narrows, explains, and finds what others wrote, apart; what is read for a
text is told, refused, shown, forgotten."""

import json

import pytest

from edge_app.config.settings import settings_path
from models.files import locate
from tests.mailboxes import ME, mailbox, message

ANNA = "Anna <anna@example.org>"
LETTERS = [
    message("The boat is ready, we sail on Friday.", number=1, to=ANNA,
            date="Tue, 12 Mar 2019 11:02:03 +0100"),
    message("Your boat was left in the harbour, dear Ben.", number=2,
            to="Ben <ben@example.org>", date="Tue, 12 Mar 2024 11:02:03 +0100"),
    message("Shall we invite Carla to the boat? Do tell me.", sender=ANNA, to=ME,
            subject="Invitation", number=3),
]  # fmt: skip


def texts(result):
    return [json.loads(line)["text"] for line in result.stdout.splitlines()]


def test_what_is_found(run, tmp_path):
    """Filters show nothing else; the parts of a score add up to it. What others wrote
    is never among own texts; it is found with who sent it."""
    (tmp_path / "boats.mbox").write_bytes(mailbox(LETTERS))
    run("import", "mbox", tmp_path / "boats.mbox", "--me", ME)
    for options, found in (
        ("--person anna", "The boat is ready"),
        ("--person ben@example.org", "Your boat was left"),
        ("--since 2020-01-01", "Your boat was left"),
        ("--until 2019-03-12", "The boat is ready"),
        ("--kind email --source boats --person Ben", "Your boat was left"),
    ):
        result = run("search", "--json", *options.split(), "boat ready harbour")
        (text,) = texts(result)
        assert text.startswith(found), options
    explained = run("search", "--explain", "--to", "Anna", "boat ready")
    scored, _, reasons, *_ = explained.stdout.splitlines()
    parts = reasons.strip().split(" + ")
    assert parts[0].startswith("words ")
    assert "ready " in parts[0]
    assert parts[-1].startswith("same recipient ")
    score = sum(float(part.split(" (")[0].split()[-1]) for part in parts)
    assert score == pytest.approx(float(scored.split()[0]), abs=0.02)
    assert not any("Carla" in text for text in texts(run("search", "--json", "boat")))
    result = run("search", "--received", "boat")
    assert "Shall we invite Carla" in result.stdout
    assert "from anna@example.org" in result.stdout
    assert "sail on Friday" not in result.stdout
    wrong = run("search", "--received", "--to", "Anna", "boat")
    assert wrong.exit_code == 2
    assert "use --person" in wrong.stderr


ALONE = ("write", "-v", "--offline", "--max-tokens", "3", "--seed", "1", "--to", "Ana")


def written(run, *options):
    result = run(*ALONE, *options, "Thank her for the photos")
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize("name", ["none", "recency"])
def test_a_text_says_what_was_read_and_how_it_was_found(run, letters, name):
    """At the beginning of the numbers, and in JSON."""
    told = written(run, "--personalisation", name, "--json")
    body = json.loads(told.stdout)
    count = 0 if name == "none" else 2
    assert f"read {count} texts ({name}) · " in told.stderr
    assert body["settings"]["personalisation"] == name
    assert len(body["sources"]) == count


def test_a_model_that_is_no_reranker_is_refused(run, letters):
    """In one sentence, and the process lives."""
    settings_path().write_text(f'threads = 1\nreranker = "{locate("specialist")}"')
    result = run(*ALONE, "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is no reranker" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    settings_path().write_text('reranker = "none.gguf"')
    assert "there is no model file at none.gguf" in run(*ALONE, "x").stderr


def test_a_voice_is_shown_explained_and_changed(run, imported):
    """Each line with its evidence; towards one person; in JSON with the records."""
    text = "Hey Ana!\n\nThe kettle sings, and number {n} came.\n\nxo\nSam"
    imported({"text": text.format(n=n), "to": "Ana", "kind": "email"} for n in "abcd")
    shown = run("voice", "--to", "ana", "--explain")
    assert "greeting          Hey {name}!  (4 of 4)" in shown.stdout
    assert shown.stdout.count("email    Ana") >= 12
    assert "counted from 4 emails to ana" in shown.stderr
    assert run("voice", "strike", "sign-off", "--to", "Ana").exit_code == 0
    assert run("voice", "set", "greeting", "Dear {name},", "--to", "Ana").exit_code == 0
    lines = json.loads(run("voice", "--to", "Ana", "--json").stdout)["lines"]
    said = {one["name"]: (one["value"], one["state"], one["records"]) for one in lines}
    assert said["greeting"] == ("Dear {name},", "set", [4, 3, 2, 1])
    assert said["sign-off"][1] == "struck"
    assert "to everybody" in run("voice", "--to", "Ben").stderr
    wrong = run("voice", "set", "colour", "red")
    assert (wrong.exit_code, "lines are greeting" in wrong.stderr) == (1, True)
    assert run("voice", "undo", "sign-off", "--to", "Ana").exit_code == 0
    assert "There is no terminal to ask in" in run("voice", "forget").stderr
    assert run("voice", "forget", "--yes").stdout == "forgot 0 edits and 1 mark\n"
    assert "Dear" not in run("voice", "--to", "Ana").stdout
