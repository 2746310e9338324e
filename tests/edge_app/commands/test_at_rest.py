"""What lies beside an encrypted store is under its key."""

import json
from contextlib import closing
from datetime import date

import pytest

from edge_app.commands import serve
from edge_app.commands.app import draft_journals
from edge_app.config.settings import (
    PairedServer,
    ledger_path,
    read_paired,
    read_settings,
    settings_path,
    store_path,
    write_paired,
    write_settings,
)
from edge_app.decoding.events import Sent
from edge_app.privacy.ledger import Ledger, SpentToday, read_ledger, spent_path
from edge_app.service.profiles import Profile, keep_profile, profile_path, read_profile
from edge_app.service.requests import WriteRequest
from edge_app.tui.draft import Begun
from models.folders import state_folder
from models.prompts import Request
from personal_store import keys

pytest.importorskip("sqlcipher3")
WORD = "Quixotzebrim"
KEY = "k" * 43
DAY = date(2026, 11, 23)


@pytest.fixture
def passphrase(monkeypatch):
    monkeypatch.setattr(keys, "_known", {})
    monkeypatch.setattr(keys, "in_keyring", lambda _: "")
    monkeypatch.setenv("SPECSTEER_STORE_KEY", "a long passphrase")


def sent(payload=b"Quixotzebrim"):
    return Sent(1_700_000_000.5, "http://a:1", "open", 10, (5, 6), payload)


def add(event):
    with closing(Ledger(ledger_path())) as ledger:
        ledger.add(event)


def drafted():
    """The request of the app's only draft."""
    ((draft,), problems) = draft_journals().kept()
    assert not problems
    return draft.draft.attempts[0].request.brief.text


def holding(word):
    """The files of the state folder that hold a word, as text or in base64."""
    import base64

    wanted = (word.encode(), base64.b64encode(word.encode()).rstrip(b"=")[:-1])
    files = [path for path in state_folder().rglob("*") if path.is_file()]
    found = (path for path in files if any(w in path.read_bytes() for w in wanted))
    return sorted(path.name for path in found)


@pytest.fixture
def filled(run, letters):
    """A state folder in which every file holds the word."""
    add(sent())
    settings_path().write_text(f'# mine\ntoken = "{WORD}"\n')
    keep_profile(profile_path(store_path()), Profile(WORD, (1,), 2, "m", "now"))
    assert run("privacy", "allow", WORD).exit_code == 0
    SpentToday(spent_path(ledger_path()), WORD, DAY).add(2.5)
    server = PairedServer("https://a:1", WORD, "", "Tess", "laptop")
    write_paired(state_folder(), server)
    serve.key_path().write_text(f"{KEY}\n")
    journal = draft_journals().begin()
    journal.add(Begun(WriteRequest(Request(WORD, "email", "Ana"))))
    journal.close()
    return run


def test_what_lies_beside_an_encrypted_store_is_encrypted_with_it(filled, passphrase):
    """And is read, written and made plain again with it."""
    plain = settings_path().read_bytes()
    assert len(holding(WORD)) == 7
    assert filled("store", "encrypt").exit_code == 0
    assert holding(WORD) == []
    add(sent(b"another"))
    write_settings({"method.strength": 1.5})
    assert [one.payload for one in read_ledger(ledger_path())] == [
        WORD.encode(),
        b"another",
    ]
    assert (read_settings().token, read_settings().method.strength) == (WORD, 1.5)
    assert "# mine" in filled("store", "settings").stdout
    assert read_profile(profile_path(store_path())).text == WORD
    assert read_paired(state_folder()).token == WORD
    assert serve.kept_key(serve.key_path(), new=False) == KEY
    assert KEY.encode() not in serve.key_path().read_bytes()
    assert drafted() == WORD
    assert SpentToday(spent_path(ledger_path()), WORD, DAY).add(1.5) == 4.0
    assert holding(WORD) == []
    assert "http://a:1" in filled("sent").stdout
    assert filled("privacy", "allow").stdout == f"{WORD}\n"
    assert holding("another") == holding("strength") == []
    assert filled("store", "decrypt", "--yes").exit_code == 0
    assert len(holding(WORD)) == 7
    assert SpentToday(spent_path(ledger_path()), WORD, DAY).read() == 4.0
    assert settings_path().read_bytes().startswith(plain)
    assert serve.key_path().read_text() == f"{KEY}\n"
    assert len(list(read_ledger(ledger_path()))) == 2
    assert drafted() == WORD


@pytest.mark.slow
def test_tidy_puts_plain_files_under_the_key(filled, passphrase):
    """Such as settings that were edited by hand, or lines of an older version."""
    filled("store", "encrypt")
    line = json.dumps({"event": "Sent", "url": WORD})
    with ledger_path().open("a") as file:
        file.write(f"{line}\n")
    settings_path().write_text(f'token = "{WORD}"\n')
    assert filled("store", "tidy").exit_code == 0
    assert holding(WORD) == []
    assert read_settings().token == WORD


@pytest.mark.slow
def test_a_sealed_line_that_was_changed_is_passed_over(filled, passphrase):
    filled("store", "encrypt")
    add(sent(b"another"))
    first, second = ledger_path().read_text().splitlines()
    mark, salt, data = first.split()
    swapped = f"{mark} {salt} {data[:40]}{'A' if data[40] != 'A' else 'B'}{data[41:]}"
    ledger_path().write_text(f"{swapped}\n{second}\n")
    assert [one.payload for one in read_ledger(ledger_path())] == [b"another"]
