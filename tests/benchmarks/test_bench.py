"""`specsteer lab bench`: every measurement is there, found by the name of its file."""

from pathlib import Path

import click
from click.testing import CliRunner

from benchmarks import command as bench
from benchmarks.command import command, measurements

FOLDER = Path(bench.__file__).parent
MODULES = {
    name: module for found in measurements().values() for name, module in found.items()
}


def test_a_file_is_a_measurement_by_its_name():
    """Wherever a `bench_` file lies, it is in a folder that is looked through."""
    files = {path.stem for path in FOLDER.rglob("bench_*.py")}
    assert files == {f"bench_{name.replace('-', '_')}" for name in MODULES}
    assert sum(map(len, measurements().values())) == len(files)


def test_a_measurement_says_what_it_measures():
    """More than its line in the list, and a word on each option."""
    for name, module in MODULES.items():
        measurement = command.get_command(click.Context(command), name)
        assert (measurement.name, measurement.callback.__module__) == (name, module)
        assert len((measurement.help or "").split()) > 30, name
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
    ("capacity", "--ways", "fastest"),
    ("capacity", "--people", "0"),
    ("capacity", "--plot", GONE),
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


def test_what_cannot_be_measured_is_wrong_usage(tmp_path, monkeypatch):
    """A sentence, before anything is loaded or written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for words in WRONG:
        result = CliRunner().invoke(command, words, prog_name="specsteer lab bench")
        assert (result.exit_code, result.stdout) == (2, ""), words
        complaint = result.stderr.splitlines()[-1]
        assert complaint.startswith("Error: Invalid value for "), (words, complaint)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]
