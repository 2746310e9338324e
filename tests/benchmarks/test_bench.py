"""`specsteer lab bench`: every measurement is there, found by the name of its file."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks import command as bench
from benchmarks.command import command, measurements

FOLDER = Path(bench.__file__).parent
NAMES = [name for found in measurements().values() for name in found]


def test_a_file_is_a_measurement_by_its_name():
    """Wherever a `bench_` file lies, it is in a folder that is looked through."""
    files = {path.stem for path in FOLDER.rglob("bench_*.py")}
    assert files == {f"bench_{name.replace('-', '_')}" for name in NAMES}
    assert len(NAMES) == len(set(NAMES)) == len(files)


@pytest.mark.parametrize("name", NAMES)
def test_a_measurement_says_what_it_measures(name):
    """More than its line in the list, and a word on each option."""
    (module,) = (found[name] for found in measurements().values() if name in found)
    measurement = command.get_command(click.Context(command), name)
    assert measurement.name == name
    assert measurement.callback.__module__ == module
    assert len((measurement.help or "").split()) > 30
    for option in measurement.params:
        if isinstance(option, click.Option):
            assert option.help, f"{name} {option.opts[0]}"


GONE = "no/such/thing"
WRONG = [
    ("importing", "--messages", "0"),
    ("importing", "--mailbox", GONE),
    ("retrieval", "--texts", "0"),
    ("retrieval", "--checked", "-1"),
    ("retrieval", "--keep", "file"),
    ("latency", "--runs", "0"),
    ("speed", "--engines", "fast"),
    ("speed", "--methods", "steering,"),
    ("speed", "--trips", "-1"),
    ("speed", "--windows", "5"),
    ("speed", "--json", GONE),
    ("quality", "--data", "empty", "--users", "0"),
    ("coverage", "--each", "0"),
    ("coverage", "--requests", GONE),
    ("coverage", "--method", "faith"),
    ("coverage", "--cache", "file"),
    ("coverage", "--generalist", "empty"),
    ("coverage", "--json", GONE),
]


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_what_cannot_be_measured_is_wrong_usage(words, tmp_path, monkeypatch):
    """A sentence, before anything is loaded or written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    result = CliRunner().invoke(command, words, prog_name="specsteer lab bench")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("Error: Invalid value for ")
    assert result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]
