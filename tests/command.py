"""`specsteer` in the process of the tests."""

from click.testing import CliRunner

from edge_app.cli import cli


def specsteer(*arguments, stdin=""):
    """The result of the command with these arguments; a traceback fails the test."""
    return CliRunner(charset="utf-8").invoke(
        cli,
        [str(argument) for argument in arguments],
        input=stdin,
        prog_name="specsteer",
        catch_exceptions=False,
    )
