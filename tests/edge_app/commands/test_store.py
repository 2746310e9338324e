"""`forget`, `trash`, `exclude`, `show`, `me`, `reclean`, `store`, in words; what lies
beside an encrypted store is under its key."""

import base64
import json
from contextlib import closing
from dataclasses import replace
from datetime import date

import pytest

from edge_app.commands import serve
from edge_app.commands.app import draft_journals
from edge_app.commands.terminal import bars
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
from edge_app.retrieval.voice import mark
from edge_app.service.last_draft import LastDraft, keep_last_draft, read_last_draft
from edge_app.service.requests import WriteRequest
from edge_app.tui.draft import Begun
from edge_app.tui.journal import Journal
from models.folders import state_folder
from models.prompts import Request
from personal_store import Store, keys
from personal_store.lifecycle.writing import keep_finished
from personal_store.records import Document
from tests.mailboxes import mailbox, message

SECRET = "Zanzibarensis balloon over Quedlinburg, whispered the nightwatchman."


@pytest.fixture
def texts(run, tmp_path):
    """Two mails of one's own and one of somebody else."""
    mails = [
        ("tess@example.org", "ana@example.org", "Balloon", SECRET),
        ("tess@example.org", "bo@example.org", "Pier", "The pier photos came out."),
        ("ana@example.org", "tess@example.org", "Re", "What a lovely set of photos."),
    ]
    path = tmp_path / "mails.mbox"
    path.write_bytes(
        mailbox(
            message(body, sender=by, to=to, subject=subject, number=n)
            for n, (by, to, subject, body) in enumerate(mails, 1)
        )
    )
    run("import", "mbox", path, "--me", "tess@example.org")
    return path


def held(query="balloon Quedlinburg"):
    with Store.open(store_path()) as store:
        return [passage.record_id for passage in store.search(query)]


def test_forget_shows_first_and_does_it_when_told(run, texts, home):
    """Without a terminal and without --yes, nothing happens. A copy that is left is
    named, with a status that a script can see."""
    shown = run("forget", "--words", "balloon")
    assert "Balloon" in shown.stderr
    assert "1 text would be forgotten for good; --yes does it" in shown.stderr
    assert (shown.exit_code, held()) == (1, [1])
    done = run("forget", "--words", "balloon", "--yes")
    assert done.stdout.startswith("forgot 1; store.db holds the texts that stay and no")
    assert held() == []
    assert "1 forgotten before" in run("import", "mbox", texts).stderr
    (home / "store-old-copy.db").write_bytes(store_path().read_bytes())
    done = run("forget", "2", "--yes")
    assert done.exit_code == 1
    assert "store-old-copy.db" in done.stderr


def test_trash_and_exclude_and_back(run, texts):
    for command in ("trash", "exclude"):
        assert "--yes does it" in run(command, "1").stderr
    assert held() == [1]
    assert "1 put into the trash" in run("trash", "1", "--yes").stdout
    assert held() == []
    assert "Balloon" in run("trash", "--list").stdout
    assert "1 taken out" in run("trash", "--restore", "1", "--yes").stdout
    assert held() == [1]
    which = "--person", "ana@example.org", "--words", "balloon"
    assert "1 excluded" in run("exclude", *which, "--yes").stdout
    assert held() == []
    assert "1 used again" in run("exclude", "--undo", "1", "--yes").stdout
    assert held() == [1]


def test_what_there_is_is_shown(run, texts):
    """A text and what it was cleaned out of, own addresses, counts."""
    assert run("show", "1").stdout.strip() == SECRET
    assert SECRET in run("show", "1", "--raw").stdout
    assert "no text with the id 99" in run("show", "99").stderr
    waiting = run("show", "3", "--raw").stdout
    assert waiting.strip()
    assert run("show", "3").stdout.strip() in waiting  # it was received: read now
    assert "No raw body of 3" in run("show", "3", "--raw").stderr
    assert "tess@example.org  2 texts  (told so)" in run("me").stdout
    assert run("me", "add", "ana@example.org").stdout.startswith("1 stored texts turn")
    done = run("me", "remove", "ana@example.org").stdout
    assert done.startswith("1 stored texts are")
    assert "no other address" in run("me", "suggest").stderr
    run("trash", "1", "--yes")
    said = run("status").stdout
    assert "by others   1, never imitated\nput away    1 in the trash" in said
    assert "mbox: mails.mbox  1  ###" in said
    assert "2024  1  ###" in said


def test_bars_keep_to_the_width():
    """Whatever the names; the rest is one line."""
    lines = bars({f"source number {n}" * 3: n for n in range(40)}, width=60)
    assert len(lines) == 12
    assert max(map(len, lines)) <= 60
    assert lines[-1].split()[:2] == ["others", f"{sum(range(29)):,}"]
    assert bars({}, 80) == []


def test_the_store_is_saved_and_mended(run, texts, tmp_path, home):
    """A broken one is replaced by its backup; an export brings back what is gone."""
    run("store", "backup")
    store_path().write_bytes(b"broken" * 999)
    assert "--yes does it" in run("store", "restore").stderr
    done = run("store", "restore", "--yes")
    assert "restored 2 own texts" in done.stdout, done.stderr
    assert (home / "store-damaged.db").exists()
    said = run("store", "tidy").stdout
    assert said.startswith(
        "tidy and sound: store.db and store-backup.db hold the texts"
    )
    assert "dropped 2" in run("store", "raw", "off").stdout
    assert "cleaned 0 again" in run("reclean").stdout
    path = tmp_path / "all.jsonl"
    assert "exported 3 texts" in run("store", "export", path).stdout
    assert path.stat().st_mode & 0o777 == 0o600
    assert run("store", "export", "-").stdout == path.read_text()
    assert "exported 2 texts" in run("store", "export", tmp_path / "m.mbox").stdout
    run("forget", "--everything", "--yes")
    assert "added 2" in run("import", "jsonl", path).stdout


def test_all_say_that_a_store_is_untidy_until_it_is_proven(run, texts):
    """`forget`, `trash`, `status`, `doctor` and `store tidy`, in the same words."""
    with Store.open(store_path()) as store:
        store.db.execute("CREATE TABLE mine(text)")
    done = run("forget", "1", "--yes")
    assert done.exit_code == 1
    assert "table mine was not made by SpecSteer" in done.stderr
    words = "traces of forgotten texts may be left in the store: run 'specsteer store"
    assert words in run("status").stdout
    assert words in run("doctor").stdout
    assert words in run("trash", "--list").stderr
    done = run("store", "tidy")
    assert done.exit_code == 1
    assert "table mine was not made by SpecSteer" in done.stderr
    with Store.open(store_path()) as store:
        store.db.execute("DROP TABLE mine")
    assert "tidy and sound: store.db holds" in run("store", "tidy").stdout
    for command in ("status", "doctor", "trash --list"):
        done = run(*command.split())
        assert words not in done.stdout + done.stderr


WORD = "Quixotzebrim"
KEY = "k" * 43
DAY = date(2026, 11, 23)


@pytest.fixture
def passphrase(monkeypatch):
    pytest.importorskip("sqlcipher3")
    monkeypatch.setattr(keys, "_known", {})
    monkeypatch.setattr(keys, "in_keyring", lambda *_: "")
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
    wanted = (word.encode(), base64.b64encode(word.encode()).rstrip(b"=")[:-1])
    files = [path for path in state_folder().rglob("*") if path.is_file()]
    found = (path for path in files if any(w in path.read_bytes() for w in wanted))
    return sorted(path.name for path in found)


@pytest.fixture
def filled(run, letters):
    """A state folder in which every file holds the word."""
    add(sent())
    settings_path().write_text(f'# mine\ntoken = "{WORD}"\n')
    assert run("privacy", "allow", WORD).exit_code == 0
    SpentToday(spent_path(ledger_path()), WORD, DAY).add(2.5)
    keep_last_draft(LastDraft(WriteRequest(Request("x")), WORD))
    server = PairedServer("https://a:1", WORD, "", "Tess", "laptop")
    write_paired(state_folder(), server)
    serve.key_path().write_text(f"{KEY}\n")
    journal = Journal(draft_journals())
    journal.add(Begun(WriteRequest(Request(WORD, "email", "Ana"))))
    journal.close()
    with Store.open(store_path()) as store:
        text = Document(0, "", "email", f"Hullo, {WORD}.", drafted=f"Bye, {WORD}.")
        for _ in range(2):  # the second version leaves the first behind
            keep_finished(store.db, f"{journal.path.stem}:1", text)
            text = replace(text, text=f"Hullo, {WORD} Snorkelbat.")
        mark(store.db, "email", "", "phrase", "set", WORD)
    (state_folder() / "mail-1a2b3c4d.eml").write_text(WORD)
    return run


def test_what_lies_beside_an_encrypted_store_is_encrypted_with_it(
    filled, passphrase, monkeypatch
):
    """And is read, written and made plain again with it; not with another one."""
    plain = settings_path().read_bytes()
    assert len(holding(WORD)) == 9
    assert filled("store", "encrypt").exit_code == 0
    assert holding(WORD) == holding("Snorkelbat") == []
    add(sent(b"another"))
    write_settings({"method.strength": 1.5})
    left = [one.payload for one in read_ledger(ledger_path())]
    assert left == [WORD.encode(), b"another"]
    assert (read_settings().token, read_settings().method.strength) == (WORD, 1.5)
    assert "# mine" in filled("store", "settings").stdout
    assert read_paired(state_folder()).token == WORD
    assert serve.kept_key(serve.key_path(), new=False) == KEY
    assert KEY.encode() not in serve.key_path().read_bytes()
    assert drafted() == read_last_draft().text == WORD
    assert SpentToday(spent_path(ledger_path()), WORD, DAY).add(1.5) == 4.0
    assert holding(WORD) == []
    assert "http://a:1" in filled("sent").stdout
    assert filled("privacy", "allow").stdout == f"{WORD}\n"
    assert holding("another") == holding("strength") == []
    assert "; encrypted" in filled("status").stdout
    with monkeypatch.context() as patched:
        patched.setattr(keys, "_known", {})
        patched.setenv("SPECSTEER_STORE_KEY", "a wrong passphrase")
        wrong = filled("search", "pier")
    assert (wrong.exit_code, "the key does not fit" in wrong.stderr) == (1, True)
    assert "--yes does it" in filled("store", "decrypt").stderr
    assert filled("store", "decrypt", "--yes").exit_code == 0
    assert len(holding(WORD)) == 8
    assert SpentToday(spent_path(ledger_path()), WORD, DAY).read() == 4.0
    assert settings_path().read_bytes().startswith(plain)
    assert serve.key_path().read_text() == f"{KEY}\n"
    assert len(list(read_ledger(ledger_path()))) == 2
    assert drafted() == WORD


def test_a_finished_text_is_forgotten_with_its_draft(filled):
    """And the mail that was opened elsewhere; drafts of the app are named."""
    with Store.open(store_path()) as store:
        (number,) = store.db.execute("SELECT record_id FROM edit").fetchone()
    done = filled("forget", str(number), "--yes")
    assert "drafts of the app are not looked into" in done.stderr
    assert holding("Snorkelbat") == []
    assert not list(state_folder().glob("mail-*"))


@pytest.mark.slow
def test_tidy_puts_plain_files_under_the_key(filled, passphrase):
    """Such as settings that were edited by hand, or lines of an older version. A sealed
    line that was changed is passed over."""
    filled("store", "encrypt")
    line = json.dumps({"event": "Sent", "url": WORD})
    with ledger_path().open("a") as file:
        file.write(f"{line}\n")
    settings_path().write_text(f'token = "{WORD}"\n')
    assert filled("store", "tidy").exit_code == 0
    assert holding(WORD) == []
    assert read_settings().token == WORD
    add(sent(b"another"))
    *sealed, last = ledger_path().read_text().splitlines()
    other = [
        f"{one[:-40]}{'B' if one[-40] == 'A' else 'A'}{one[-39:]}" for one in sealed
    ]
    ledger_path().write_text("\n".join([*other, last, ""]))
    assert [one.payload for one in read_ledger(ledger_path())] == [b"another"]
