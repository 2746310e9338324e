"""`specsteer lab evaluate`, from files and stores to tables; `lab tune`, to a line in
the settings."""

import json
import signal
from dataclasses import replace
from functools import partial

import pytest
from evaluation_helpers import row, user

from edge_app.config.settings import settings_path
from edge_app.evaluation import figures
from edge_app.evaluation.pair import Pair
from tests.command import specsteer


@pytest.fixture
def run():
    return partial(specsteer, "lab", "evaluate")


def test_a_file(run, written, tmp_path):
    """A table on stdout, how to read it on stderr, all figures in a file."""
    path = written("walks.jsonl.xz", user("u1"), user("u2"))
    out = tmp_path / "out.json"
    result = run(path, "--strength", "0.5", "--strength", "1,2", "--json", out)
    assert result.exit_code == 0
    assert "walks, post" in result.stdout
    assert "T - L" in result.stdout
    assert "Less is easier to predict" in result.stderr
    body = json.loads(out.read_text())
    assert body["settings"]["strengths"] == [0.5, 1.0, 2.0]
    assert body["settings"]["complete"] is True
    assert [text["user"] for text in body["texts"]] == ["u1", "u2"]
    assert "pier" not in out.read_text()


def test_the_own_store(run, written):
    specsteer("import", "jsonl", written("notes.jsonl", *map(row, range(6))))
    result = run("--queries", 2, "--strength", 1, "--wide")
    assert result.exit_code == 0
    assert "your texts, note" in result.stdout
    assert "history makes your own texts" in " ".join(result.stdout.split())
    assert "threshold 0.1" in result.stdout


@pytest.mark.slow
def test_synthetic_writers(run):
    result = run("--synthetic", 1, "--strength", 1)
    assert result.exit_code == 0
    assert "unseen writers" in result.stdout


def test_wrong_usage():
    for arguments, status, reason in (
        ("evaluate", 1, "specsteer import --help"),  # an empty store
        ("evaluate gone.jsonl", 1, "there is no file or folder gone.jsonl"),
        ("evaluate --strength much", 2, "--strength takes numbers"),
        ("evaluate --strength -1", 1, "strength must lie between"),
        ("evaluate --sample --synthetic 1", 2, "--sample excludes"),
        ("evaluate --users 3", 2, "--users is for files"),
        ("evaluate --wide --markdown", 2, "exclude each other"),
        ("evaluate --json gone/out.json", 1, "there is no folder gone"),
        ("evaluate --sample --specialist gone.gguf", 1, "there is no model gone.gguf"),
        ("tune --sample --write", 2, "for your own texts"),
        ("tune --users 3", 2, "--users is for files"),
        ("tune --strength many", 2, "takes numbers"),
        ("tune --threshold -1", 1, "threshold must lie between"),
    ):
        result = specsteer("lab", *arguments.split())
        assert (result.exit_code, result.stdout) == (status, ""), arguments
        assert reason in result.stderr


def test_texts_without_room_are_left_out(run, written):
    crowded = user("u2", profile="tea " * 9000)
    result = run(written("a.jsonl", user("u1"), crowded), "--strength", 1)
    assert result.exit_code == 0
    assert "1 of 2 texts are left out" in result.stderr
    alone = run(written("b.jsonl", crowded))
    assert (alone.exit_code, alone.stdout) == (1, "")


def test_a_stop_shows_what_was_measured(run, written, tmp_path, monkeypatch):
    measure = Pair.measure

    def measure_one(self, case, how):
        measured = measure(self, case, how)
        signal.raise_signal(signal.SIGINT)
        return measured

    monkeypatch.setattr(Pair, "measure", measure_one)
    path, out = written("a.jsonl", user("u1"), user("u2")), tmp_path / "out.json"
    result = run(path, "--strength", 1, "--json", out)
    assert result.exit_code == 130
    assert "stopped after 1 of 2 texts" in result.stderr
    assert "a, post" in result.stdout
    assert json.loads(out.read_text())["settings"]["complete"] is False


@pytest.mark.slow
def test_a_choice_is_written_when_asked_for(written, tmp_path, monkeypatch):
    """And only then; other settings stay. Which it is, another test holds."""
    text = "the otter number {} slept under our boat while the tide went out"
    rows = ({**row(n), "text": text.format(n)} for n in range(5))
    specsteer("import", "jsonl", written("notes.jsonl", *rows))
    before = "[method]\nstrength = 1.0  # beta\n"
    settings_path().write_text(before)
    real = figures.tune

    def choose(*args):
        found = real(*args)
        return replace(found, strength=replace(found.strength, chosen=2.0))

    monkeypatch.setattr(figures, "tune", choose)
    few = "--strength=0.5,2", "--threshold=0.1", "--max-tokens=12", "--passages=0"
    tune = partial(specsteer, "lab", "tune", *few)
    assert tune().exit_code == 0
    assert settings_path().read_text() == before
    file = tmp_path / "tuned.json"
    result = tune("--write", "--json", file)
    assert result.exit_code == 0, result.stderr
    for word in ("strength", "threshold", "1 now", "0.5 now", "kept"):
        assert word in result.stdout
    assert "\x1b" not in result.stdout
    body = json.loads(file.read_text())
    assert [p["value"] for p in body["strength"]["points"]] == [0.5, 1.0, 2.0]
    assert [p["value"] for p in body["threshold"]["points"]] == [0.5, 0.1]
    assert settings_path().read_text() == "[method]\nstrength = 2.0  # beta\n"
    assert "strength = 2" in result.stderr
