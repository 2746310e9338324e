"""`specsteer search` narrows, explains, and finds what others wrote, apart."""

import json

import pytest

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


@pytest.fixture
def filled(run, tmp_path):
    path = tmp_path / "boats.mbox"
    path.write_bytes(mailbox(LETTERS))
    assert run("import", "mbox", path, "--me", ME).exit_code == 0


def texts(result):
    return [json.loads(line)["text"] for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--person", "anna"], "The boat is ready"),
        (["--person", "ben@example.org"], "Your boat was left"),
        (["--since", "2020-01-01"], "Your boat was left"),
        (["--until", "2019-03-12"], "The boat is ready"),
        (["--kind", "email", "--source", "boats", "--person", "Ben"], "Your boat"),
    ],
)
def test_filters_show_nothing_else(run, filled, options, found):
    (text,) = texts(run("search", "--json", *options, "boat ready harbour"))
    assert text.startswith(found)


def test_each_score_is_explained(run, filled):
    """The parts add up to the score, and the words to their part."""
    lines = run("search", "--explain", "--to", "Anna", "boat ready").stdout.splitlines()
    score = float(lines[0].split()[0])
    parts = lines[2].strip().split(" + ")
    assert parts[0].startswith("words ")
    assert "ready " in parts[0]
    assert parts[-1].startswith("same recipient ")
    assert sum(float(part.split(" (")[0].split()[-1]) for part in parts) == (
        pytest.approx(score, abs=0.02)
    )


def test_what_others_wrote_is_found_apart(run, filled):
    """Never among own texts; with who sent it."""
    assert not any("Carla" in text for text in texts(run("search", "--json", "boat")))
    result = run("search", "--received", "boat")
    assert "Shall we invite Carla" in result.stdout
    assert "from anna@example.org" in result.stdout
    assert "sail on Friday" not in result.stdout
    wrong = run("search", "--received", "--to", "Anna", "boat")
    assert wrong.exit_code == 2
    assert "use --person" in wrong.stderr
