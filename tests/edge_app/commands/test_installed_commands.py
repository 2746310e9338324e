"""Commands that other packages add."""

import sys
from importlib.metadata import EntryPoint, EntryPoints

import click
import pytest
from click.testing import CliRunner

from edge_app import cli as installed
from edge_app.cli import cli


@click.command("hello")
def hello() -> None:
    """Say hello."""
    click.echo("hello")


@pytest.fixture
def adding(monkeypatch):
    """Has packages add these entry points."""

    def add(group=installed.COMMANDS, **values):
        found = EntryPoints(
            EntryPoint(name, value, group) for name, value in values.items()
        )
        asked = []

        def entry_points(**wanted):
            asked.append(wanted)
            return found.select(**wanted)

        monkeypatch.setattr(installed, "entry_points", entry_points)
        return asked

    return add


def run(*words):
    return CliRunner().invoke(cli, words, prog_name="specsteer", catch_exceptions=False)


@pytest.mark.parametrize(("group", "above"), [("COMMANDS", ()), ("LAB", ("lab",))])
def test_an_added_command_is_found(adding, group, above):
    """By its name, and in the help; one of the lab is unknown above it."""
    adding(getattr(installed, group), hello=f"{__name__}:hello")
    assert run(*above, "hello").stdout == "hello\n"
    assert "Say hello." in run(*above, "--help").stdout
    assert run("hello").exit_code == (2 if above else 0)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module:x", "ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{__name__}:gone", "AttributeError"),
        ("json:dumps", "json:dumps is no command"),
        ("raises_on_import:x", "ZeroDivisionError"),
    ],
)
def test_a_broken_command_is_a_sentence(adding, value, reason, tmp_path, monkeypatch):
    """With whatever options it is called; the help goes on working."""
    (tmp_path / "raises_on_import.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    adding(broken=value)
    result = run("broken", "deeper", "--with", "options", "--help")
    assert result.exit_code == 1
    assert "the command 'broken'" in result.stderr
    assert reason in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "(cannot be loaded)" in run("--help").stdout
    sys.modules.pop("raises_on_import", None)


def test_our_own_commands_ask_for_no_others(adding):
    """Nor can another package stand in for one."""
    asked = adding(status=f"{__name__}:hello")
    assert "hello" not in run("status").stdout
    assert asked == []
