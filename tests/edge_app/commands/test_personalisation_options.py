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


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ((), "recency"),
        (("--personalisation", "noise"), "noise"),
        (("--no-history",), "none"),
        (("--method", "specialist_without_history"), "none"),
    ],
)
def test_the_settings_choose_unless_the_command_does(
    run, letters, set_up, options, name
):
    """And where no history is read, no choice is told."""
    set_up('personalisation = "recency"')
    assert f" ({name}) · " in written(run, *options).stderr


@pytest.mark.parametrize("command", [(*ALONE, "x"), ("lab", "evaluate", "--sample")])
def test_an_unknown_choice_is_refused(run, set_up, command):
    """With the list, from the option as from the settings."""
    words = "there is no personalisation 'x'; choose one of: bm25, noise, none, profile"
    result = run(*command, "--personalisation", "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in result.stderr
    set_up('personalisation = "x"')
    assert words in run(*command).stderr


def test_the_help_lists_the_choices(run):
    """One line each."""
    lines = run("write", "--help-all").stdout.splitlines()
    for name in available():
        assert sum(line.strip().startswith(f"{name} ") for line in lines) == 1


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


def test_without_texts_there_is_no_profile(run):
    """One sentence, and what to do."""
    result = run("profile", "refresh")
    assert result.exit_code == 1
    assert "specsteer import --help" in result.stderr


def test_a_model_that_is_no_reranker_is_refused(run, letters, set_up):
    """In one sentence, and the process lives."""
    set_up(f'reranker = "{locate("specialist")}"')
    result = run(*ALONE, "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is no reranker" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    set_up('reranker = "none.gguf"')
    assert "there is no model file at none.gguf" in run(*ALONE, "x").stderr


@pytest.mark.slow
def test_evaluate_compares_choices(run, tmp_path):
    """The choice stands in the file; each reads other texts, and none reads none."""
    words = ("otter", "kettle", "ticket", "gate", "drawer", "bean", "ferry", "lamp")
    past = [{"prompt": w, "text": f"Hullo Ana, a {w}, two {w}s. Tess"} for w in words]
    asked = {"prompt": "The ferry", "target": "Hullo Ana, the ferry was late. Tess"}
    row = {"user": "u", "genre": "email", "history": past, "queries": [asked]}
    (tmp_path / "set.jsonl").write_text(json.dumps(row))
    costs = {}
    for name in ("bm25", "recency", "none", "profile"):
        out = tmp_path / f"{name}.json"
        options = ("--strength", "1", "--personalisation", name, "--json", out)
        result = run("lab", "evaluate", tmp_path / "set.jsonl", *options)
        assert result.exit_code == 0, result.stderr
        body = json.loads(out.read_text())
        assert body["settings"]["personalisation"] == name
        (text,) = body["texts"]
        assert text["past texts read"] == (0 if name == "none" else 5)
        costs[name] = text["nats"]["S"]
    assert len(set(costs.values())) == 4
    assert costs["none"] == pytest.approx(text["nats"]["B"], rel=1e-5)
