"""Files of models are those of the catalogue; folders of writers lie apart."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from decoding_core.errors import ChecksumError, InvalidSettingsError, ModelNotFoundError
from edge_app.cli import cli
from edge_app.config.settings import store_path
from models.files import cards
from models.folders import machine_folder, state_folder
from models.local.finding import pulled_folder


@pytest.mark.parametrize("card", cards(), ids=lambda card: card.name)
def test_the_files_are_those_that_the_catalogue_names(card):
    """A model that was made again must be entered again."""
    card.check()


def test_another_file_is_told_from_a_missing_one():
    """Each with a sentence that says what to do."""
    card = cards()[0]
    with pytest.raises(ChecksumError, match="not the file"):
        replace(card, sha256="0" * 64).check()
    with pytest.raises(ModelNotFoundError, match="no model file"):
        replace(card, file="embedded/none.gguf").check()


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
