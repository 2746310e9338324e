"""What both programs show of their commands, and what they make of a slip."""

import re

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import cloud_api.cli
import edge_app.cli
from cloud_api.commands.serve import serve
from edge_app.commands.models import models_command
from edge_app.commands.write import write_command as write
from models.command_line import SHOWN

PROGRAMS = {"specsteer": edge_app.cli.cli, "specsteer-cloud": cloud_api.cli.main}


def run(root, *words):
    return CliRunner().invoke(PROGRAMS[root], words, prog_name=root)


def options_in(text):
    _, _, listed = text.partition("\nOptions:\n")
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", listed, re.MULTILINE)


def long_names(command):
    return [
        next(name for name in one.opts if name.startswith("--"))
        for one in command.params
        if isinstance(one, click.Option)
    ]


@pytest.mark.parametrize(
    ("root", "path", "command"),
    [
        ("specsteer", ["write"], write),
        ("specsteer", ["models", "list"], models_command.commands["list"]),
        ("specsteer-cloud", ["serve"], serve),
    ],
)
def test_help_shows_few_options_and_all_on_request(root, path, command):
    """The first eight; its last line says how to see the others."""
    every = long_names(command)
    few = run(root, *path, "--help")
    shown = [*every[:SHOWN], "--help"]
    assert options_in(few.stdout)[: len(shown)] == shown
    more = len(every) - SHOWN
    last = few.stdout.strip().splitlines()[-1]
    assert last.strip().startswith("--help-all ") == (more > 0)
    if more > 0:
        assert f"{more} more option" in last
    everything = run(root, *path, "--help-all").stdout
    assert options_in(everything) == [*every, "--help"]
    if command is write:
        assert "\nMethods:\n" in everything
        assert "\nPersonalisations:\n" in everything


def test_what_a_person_needs_to_write():
    """Eight options; methods and personalisations are for those who want all."""
    shown = options_in(run("specsteer", "write", "-h").stdout)
    assert shown == [
        *("--task", "--to", "--reply-to", "--again", "--tries", "--length"),
        *("--offline", "--sample", "--help", "--help-all"),
    ]


def test_a_shell_completes_every_option():
    """Those too that plain help leaves out."""
    shell = ShellComplete(edge_app.cli.cli, {}, "specsteer", "_SPECSTEER_COMPLETE")
    proposed = {one.value for one in shell.get_completions(["write"], "--")}
    denied = {name for one in write.params for name in one.secondary_opts}
    assert proposed == {*long_names(write), *denied, "--help", "--help-all"}


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("specsteer", "wrtie"), "write"),
        (("specsteer", "serach", "boat"), "search"),
        (("specsteer", "lab", "tun"), "tune"),
        (("specsteer", "models", "chekc", "a", "b"), "check"),
        (("specsteer-cloud", "devises"), "devices"),
        (("specsteer", "write", "--ofline", "x"), "--offline"),
        (("specsteer-cloud", "serve", "--allow-remot"), "--allow-remote"),
    ],
)
def test_a_slip_is_met_with_a_suggestion(words, meant):
    """Of a command, one of a group, or an option."""
    done = run(*words)
    assert done.exit_code == 2
    assert f"'{meant}'" in done.stderr.partition("Did you mean")[2]
