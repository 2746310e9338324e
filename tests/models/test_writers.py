"""Several people who write under one account: apart, but for what is of the machine."""

import pytest
from click.testing import CliRunner

from decoding_core.errors import InvalidSettingsError
from edge_app.cli import cli
from edge_app.config.settings import store_path
from models.folders import machine_folder, state_folder
from models.local.finding import pulled_folder


def test_each_has_a_folder_and_all_share_the_models(home, monkeypatch):
    mine = store_path()
    monkeypatch.setenv("SPECSTEER_WRITER", "Ben")

    assert store_path() == mine.parent / "writers" / "ben" / "store.db"
    assert state_folder().stat().st_mode & 0o777 == 0o700
    assert pulled_folder().parent == machine_folder() == mine.parent


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "-x", "x" * 65, "x\x1b[2J"])
def test_a_name_is_never_a_path(home, monkeypatch, name):
    monkeypatch.setenv("SPECSTEER_WRITER", name)

    with pytest.raises(InvalidSettingsError, match="letters, digits") as refused:
        state_folder()
    assert "\x1b" not in str(refused.value)


def test_the_option_counts_for_every_command(home, monkeypatch):
    monkeypatch.setenv("SPECSTEER_WRITER", "")

    done = CliRunner().invoke(cli, ["--writer", "ben", "status"])

    assert done.exit_code == 0, done.output
    assert str(home / "writers" / "ben") in done.output.replace("\n", "")
    purged = CliRunner().invoke(cli, ["--writer", "ben", "purge", "--yes"])
    assert "all of it is deleted" in purged.output
    assert home.exists()
    monkeypatch.setenv("SPECSTEER_WRITER", "")
    refused = CliRunner().invoke(cli, ["--writer", "../x", "status"])
    assert refused.exit_code == 1
    assert "letters, digits" in refused.output
