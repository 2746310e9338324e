"""All that the programs make is for its owner alone, also where the umask is 000."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.cache import Cache
from cloud_api.auth import stored_token
from cloud_api.errors import ServerError
from cloud_api.run import check_address_file, say_address
from decoding_core.errors import InvalidSettingsError
from edge_app.commands import program
from edge_app.commands.serve import kept_key
from edge_app.config.settings import Settings, settings_path, store_path, write_settings
from edge_app.decoding.events import Received
from edge_app.evaluation import tables
from edge_app.privacy.ledger import Ledger
from edge_app.tui import saving
from models.running import machine
from personal_store import Store
from personal_store.import_runs import importing_alone


@pytest.fixture
def umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def announce(path):
    say_address("http://127.0.0.1:1", "", path)


def write_ledger(path):
    ledger = Ledger(path)
    ledger.add(Received(0.0, "verdict", 3))
    ledger.close()


def lock(path):
    with importing_alone(path):
        pass


def keep_probe(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPECSTEER_HOME", str(folder))
        patch.delenv(machine.BUFFERS_VARIABLE, raising=False)
        patch.setattr(machine, "_try_in_child", lambda _: machine.Answer(True, ""))
        machine.probe.__wrapped__()  # the cache holds the answer of this machine
    assert (folder / "engine-probe.json").exists()


MAKERS = {
    "key": lambda folder: kept_key(folder / "serve-key", new=True),
    "store": lambda folder: Store.open(folder / "far" / "down" / "store.db").close(),
    "lock": lambda folder: lock(folder / "store.db"),
    "ledger": lambda folder: write_ledger(folder / "ledger.jsonl"),
    "settings": lambda folder: write_settings(
        {"method.strength": 1.0}, folder / "settings.toml"
    ),
    "token": stored_token,
    "announced": lambda folder: announce(folder / "address.json"),
    "probe": keep_probe,
    "letter": lambda folder: saving.save(folder / "letters" / "ana.txt", "Dear Ana"),
    "what left": lambda folder: saving.export_sent(folder, []),
    "figures": lambda folder: tables.write(folder / "figures.json", {}),
    "results": lambda folder: Cache(folder / "bench" / "x.jsonl").close(),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_made_is_private_whatever_the_umask(tmp_path, umask, maker):
    folder = tmp_path / "own"
    folder.mkdir(0o700)
    MAKERS[maker](folder)
    made = list(folder.rglob("*"))
    assert made
    assert {path.name: oct(mode(path)) for path in made if mode(path) & 0o077} == {}


@pytest.mark.parametrize(
    ("maker", "name"),
    [
        ("ledger", "ledger.jsonl"),
        ("lock", "store.db.lock"),
        ("announced", "address.json"),
        ("announced", "address.json.part"),
        ("figures", "figures.json"),
        ("results", "bench/x.jsonl"),
        ("settings", "settings.toml.part"),
        ("token", "cloud-token.PID"),
        ("key", "serve-key"),
    ],
)
def test_a_planted_link_leads_nowhere(tmp_path, maker, name):
    """Under the name of a file of ours, or of the part it was made in."""
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    (folder / "bench").mkdir(parents=True)
    victim.write_text("precious")
    victim.chmod(0o644)
    (folder / name.replace("PID", str(os.getpid()))).symlink_to(victim)
    with suppress(OSError, InvalidSettingsError):  # it may be said, or done elsewhere
        MAKERS[maker](folder)
    assert victim.read_text() == "precious"
    assert mode(victim) == 0o644


def test_an_address_is_announced_where_nobody_can_swap_it(tmp_path):
    check_address_file(tmp_path / "address.json")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ServerError, match="a folder of your own"):
        check_address_file(tmp_path / "open" / "address.json")


def test_a_token_that_others_could_read_is_closed_to_them(home):
    (home / "cloud-token").write_text("t" * 24)
    (home / "cloud-token").chmod(0o644)
    assert stored_token(home) == "t" * 24
    assert mode(home / "cloud-token") == 0o600


@pytest.mark.parametrize("error", [PermissionError, NotImplementedError])
def test_a_token_is_kept_where_there_are_no_hard_links(home, monkeypatch, error):
    """Android lets no program make one, and Termux's Python has no `os.link`."""

    def refuse(*_):
        raise error

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    assert stored_token(home) == stored_token(home)
    assert [(one.name, mode(one)) for one in home.iterdir()] == [("cloud-token", 0o600)]


def test_doctor_tells_what_others_can_read(home, tmp_path):
    """An open folder with what lies open in it, and settings that are a link to an open
    file. In a closed folder nobody comes to an open file."""
    settings_path().write_text("token = 'secret'\n")
    settings_path().chmod(0o644)
    Store.open(store_path()).close()
    assert "your eyes alone" in program._folder(Settings())
    home.chmod(0o755)
    with pytest.raises(InvalidSettingsError) as caught:
        program._folder(Settings())
    told = str(caught.value)
    assert f"{home} can be read by other users" in told
    assert f"{settings_path()} can be read by other users" in told
    assert f"chmod go= {home} {settings_path()}" in told
    assert "store.db" not in told
    home.chmod(0o777)
    with pytest.raises(InvalidSettingsError, match="can be changed by other users"):
        program._folder(Settings())
    home.chmod(0o700)
    settings_path().rename(tmp_path / "dotfile")
    settings_path().symlink_to(tmp_path / "dotfile")
    with pytest.raises(InvalidSettingsError, match=r"settings\.toml can be read"):
        program._folder(Settings())


def test_doctor_tells_of_a_folder_of_somebody_else(home, monkeypatch):
    monkeypatch.setattr("base.owner_only.os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InvalidSettingsError, match="belongs to another user"):
        program._folder(Settings())
