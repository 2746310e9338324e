import json

import pytest
from click.testing import CliRunner

from edge_app.cli import cli


@pytest.fixture(autouse=True)
def no_probe(monkeypatch):
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")


@pytest.fixture
def run():
    """Calls `specsteer` in this process; a traceback fails the test."""

    def call(*arguments, stdin=None):
        return CliRunner(charset="utf-8").invoke(
            cli,
            [str(argument) for argument in arguments],
            input=stdin,
            prog_name="specsteer",
            catch_exceptions=False,
        )

    return call


@pytest.fixture
def letters(run, tmp_path):
    """Own texts in the store."""
    path = tmp_path / "letters.jsonl"
    texts = [
        "Hullo Ana, the pier photos came out well. Best, Tess",
        "The train was late again, and the tea was cold.",
    ]
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    run("import", "jsonl", path)
    return path
