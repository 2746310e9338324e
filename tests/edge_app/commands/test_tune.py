"""`specsteer lab tune`, from texts to a line in the settings."""

import json
from dataclasses import replace

import pytest

from edge_app.config.settings import settings_path
from edge_app.evaluation import figures

FEW = (
    *("--strength", "0.5,2", "--threshold", "0.1"),
    *("--max-tokens", "12", "--passages", "0"),
)


@pytest.mark.slow
def test_a_choice_is_written_when_asked_for(run, imported, tmp_path, monkeypatch):
    """And only then; other settings stay. Which it is, another test holds."""
    text = "the otter number {} slept under our boat while the tide went out"
    imported(
        {"text": text.format(n), "kind": "note", "date": f"2024-01-{n:02}"}
        for n in range(1, 6)
    )
    before = "[method]\nstrength = 1.0  # beta\n"
    settings_path().write_text(before)
    real = figures.tune

    def choose(*args):
        found = real(*args)
        return replace(found, strength=replace(found.strength, chosen=2.0))

    monkeypatch.setattr(figures, "tune", choose)
    assert run("lab", "tune", *FEW).exit_code == 0
    assert settings_path().read_text() == before
    file = tmp_path / "tuned.json"
    result = run("lab", "tune", *FEW, "--write", "--json", file)
    assert result.exit_code == 0, result.stderr
    for word in ("strength", "threshold", "1 now", "0.5 now", "kept"):
        assert word in result.stdout
    assert "\x1b" not in result.stdout
    body = json.loads(file.read_text())
    assert [p["value"] for p in body["strength"]["points"]] == [0.5, 1.0, 2.0]
    assert [p["value"] for p in body["threshold"]["points"]] == [0.5, 0.1]
    assert settings_path().read_text() == "[method]\nstrength = 2.0  # beta\n"
    assert "strength = 2" in result.stderr


def test_what_cannot_be(run):
    """Before a model is loaded."""
    for arguments, code, words in (
        ("--sample --write", 2, "for your own texts"),
        ("--users 3", 2, "--users is for files"),
        ("--strength many", 2, "takes numbers"),
        ("--threshold -1", 1, "threshold must lie between"),
    ):
        result = run("lab", "tune", *arguments.split())
        assert (result.exit_code, words in result.stderr) == (code, True), arguments
