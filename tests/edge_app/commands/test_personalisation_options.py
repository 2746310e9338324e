"""Personalisation on the command line: told, refused, shown, forgotten."""

import json

import pytest

from edge_app.config.settings import settings_path, store_path
from edge_app.retrieval.personalisation import available
from edge_app.service import profiles
from edge_app.service.profiles import profile_path, read_profile
from models.files import locate

ALONE = ("write", "-v", "--offline", "--max-tokens", "3", "--seed", "1", "--to", "Ana")


@pytest.fixture
def set_up(home):
    """Lines of settings.toml."""

    def write(*lines):
        settings_path().write_text("\n".join(("threads = 1", *lines)))

    return write


@pytest.fixture(autouse=True)
def short_profiles(monkeypatch):
    """A third of the usual length, which nothing here is about."""
    monkeypatch.setattr(profiles, "TOKENS", 40)


def written(run, *options):
    result = run(*ALONE, *options, "Thank her for the photos")
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize("name", available())
def test_a_text_says_what_was_read_and_how_it_was_found(run, letters, name):
    """At the beginning of the numbers, and in JSON."""
    told = written(run, "--personalisation", name, "--json")
    body = json.loads(told.stdout)
    count = 0 if name == "none" else 2
    assert f"read {count} texts ({name}) · " in told.stderr
    assert body["settings"]["personalisation"] == name
    assert len(body["sources"]) == count


def test_a_profile_is_written_shown_and_forgotten(run, letters):
    """Once; what it costs is told beforehand."""
    assert "'specsteer profile refresh' writes one" in run("profile").stderr
    assert run("profile").exit_code == 1
    first = written(run, "--personalisation", "profile")
    assert "a profile of your texts is being written" in first.stderr
    again = written(run, "--personalisation", "profile")
    assert "being written" not in again.stderr
    assert again.stdout == first.stdout
    profile = read_profile(profile_path(store_path()))
    shown = run("profile")
    assert shown.stdout.strip() == profile.text
    assert "from 2 of 2 texts by specialist.gguf" in shown.stderr
    assert run("profile", "refresh").stdout == shown.stdout
    assert run("profile", "forget").exit_code == 0
    assert not profile_path(store_path()).exists()
    assert run("profile").exit_code == 1
    assert "there was none" in run("profile", "forget").stderr


def test_a_model_that_is_no_reranker_is_refused(run, letters, set_up):
    """In one sentence, and the process lives."""
    set_up(f'reranker = "{locate("specialist")}"')
    result = run(*ALONE, "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is no reranker" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    set_up('reranker = "none.gguf"')
    assert "there is no model file at none.gguf" in run(*ALONE, "x").stderr
