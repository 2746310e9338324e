"""Plain to encrypted and back: the same rows, no plain byte, a wrong key refused."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from personal_store import Store, StoreError, copies, keys
from personal_store.copies import backup_path, ciphered, decrypt, encrypt
from personal_store.errors import StoreBusyError, StoreLockedError
from personal_store.lifecycle.forgetting import _overwrite, delete, forget
from personal_store.lifecycle.proof import prove
from personal_store.transfer import merge, restore
from tests.personal_store.stores import BALLOON, SECRET, content, fill, found, ids
from tests.waiting import ROOT

KEY = "correct horse \"battery' ü"
RAW = keys.fresh()
"""Opens at once; a passphrase is stretched for 0.1 s, each time."""
PLAIN = b"SQLite format 3\0"


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """No key of another test, no keyring of the machine."""
    monkeypatch.setattr(keys, "_known", {})
    monkeypatch.setattr(keys, "in_keyring", lambda _: "")
    monkeypatch.delenv(keys.VARIABLE, raising=False)


def rows(path):
    with Store.open(path) as store:
        return content(store)


@pytest.mark.parametrize("key", [KEY, RAW], ids=["passphrase", "raw"])
def test_there_and_back(path, key, monkeypatch):
    """With a passphrase and with a raw key; the backup goes along both ways."""
    before = rows(path)
    encrypt(path, key)
    assert backup_path(path).exists()
    for data in [file.read_bytes() for file in path.parent.glob("store*")]:
        assert not data.startswith(PLAIN)
        assert SECRET[:30].encode() not in data
        assert b"CREATE TABLE" not in data
    assert path.stat().st_mode & 0o777 == 0o600

    monkeypatch.setattr(keys, "_known", {})
    monkeypatch.setenv(keys.VARIABLE, key)
    assert rows(path) == before

    decrypt(path)
    monkeypatch.delenv(keys.VARIABLE)
    assert rows(path) == before
    assert backup_path(path).read_bytes().startswith(PLAIN)
    assert list(path.parent.glob("*.part*")) == []


def test_a_wrong_key_and_none_are_a_sentence(path, monkeypatch):
    """So is what is already done."""
    with pytest.raises(StoreError, match="is not encrypted"):
        decrypt(path)
    with pytest.raises(StoreError, match="8 characters"):
        encrypt(path, "short")
    encrypt(path, RAW)
    with pytest.raises(StoreError, match="already"):
        encrypt(path, RAW)
    monkeypatch.setattr(keys, "_known", {})
    with pytest.raises(StoreLockedError, match="give its passphrase in SPECSTEER"):
        Store.open(path)
    monkeypatch.setenv(keys.VARIABLE, "something else")
    with pytest.raises(StoreLockedError, match="the key does not fit"):
        Store.open(path)


def test_the_person_is_asked_once(path, monkeypatch):
    """Where there is a terminal; others use what was answered. A backup is opened
    with the key of its store: the keyring knows one for that alone."""
    before = rows(path)
    encrypt(path, RAW)
    monkeypatch.setattr(keys, "_known", {})
    asked = []
    monkeypatch.setattr(keys, "ask", lambda question: asked.append(question) or RAW)
    Store.open(path).close()
    Store.open(path).close()
    assert len(asked) == 1

    monkeypatch.setattr(keys, "_known", {})
    monkeypatch.setattr(keys, "in_keyring", lambda p: RAW if p == path else "")
    with Store.open(path) as store:
        store.db.execute("DELETE FROM record WHERE title = 'Plan'")
        assert restore(store.db, path, backup_path(path)) == 0
        assert content(store) == before
    assert len(asked) == 1


def test_without_the_extra_it_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    monkeypatch.setitem(sys.modules, "sqlcipher3.dbapi2", None)
    with pytest.raises(StoreError, match="encryption"):
        encrypt(path, KEY)
    assert path.read_bytes().startswith(PLAIN)


def test_nothing_happens_while_another_program_reads(path, monkeypatch):
    """It is not swapped under somebody's feet."""
    monkeypatch.setattr(copies, "_PATIENCE", 0.1)
    code = (
        "import sys; from pathlib import Path; from personal_store import Store\n"
        "store = Store.open(Path(sys.argv[1])); print('open', flush=True)\n"
        "sys.stdin.readline()"
    )
    command = [sys.executable, "-c", code, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe) as child:
        child.stdout.readline()
        with pytest.raises(StoreBusyError, match="close it"):
            encrypt(path, RAW)
        child.communicate(b"go\n")
    assert path.read_bytes().startswith(PLAIN)
    encrypt(path, RAW)


def test_an_encrypted_store_lives_like_any_other(path, tmp_path):
    """Imported into, searched, forgotten in, merged with a plain one."""
    encrypt(path, RAW)
    with Store.open(tmp_path / "plain.db") as plain:
        fill(plain, tmp_path)
        plain.add_identities(["sam@work.example"])
    with Store.open(path) as store:
        assert fill(store, tmp_path).added == 0
        balloon = ids(store, BALLOON)
        assert found(store, "zanzibarensis") == balloon
        assert forget(store.db, path, balloon).left == ()
        merge(store.db, path, tmp_path / "plain.db")
        assert found(store, "zanzibarensis") == []
        assert found(store, "second address wishes")
    with Store.open(tmp_path / "plain.db") as plain:
        assert merge(plain.db, plain.path, path).forgotten == 1


@contextmanager
def loose(path):
    """A connection with the key that overwrites nothing."""
    keys.remember(path, RAW)
    with ciphered(path) as db:
        db.execute("PRAGMA secure_delete = OFF")
        yield db


def free_page(path):
    with loose(path) as db:
        db.execute("CREATE TABLE gone(text)")
        db.execute("INSERT INTO gone VALUES (?)", [SECRET * 90])
        db.execute("DROP TABLE gone")


def index_row(path):
    with loose(path) as db:
        db.execute("INSERT INTO doc_posting VALUES ('zanzibarensis', 0, x'01000100')")


def row_in_the_backup(path):
    with loose(backup_path(path)) as db:
        db.execute("UPDATE record SET title = ? WHERE id = 1", [SECRET[:4]])


def plain_bytes_in_a_page(path):
    data = path.read_bytes()
    path.write_bytes(data[:-900] + SECRET[:60].encode() + data[-840:])


def plain_bytes_behind_the_last_page(path):
    with path.open("ab") as stream:
        stream.write(SECRET.encode())


PLANTED = [
    free_page, index_row, row_in_the_backup, plain_bytes_in_a_page,
    plain_bytes_behind_the_last_page,
]  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED)
def test_what_is_left_in_an_encrypted_store_is_found(path, plant):
    """Everything but what lies in a gap between two rows of a page that is in use."""
    encrypt(path, RAW)
    with Store.open(path) as store:
        delete(store.db, ids(store, BALLOON))
        _overwrite(store.db, path)
        assert prove(store.db, path).left == ()
    plant(path)
    with Store.open(path) as store:
        try:
            left = list(prove(store.db, path).left)
        except StoreBusyError as error:  # the seal of a page that is read is broken
            left = [str(error)]
    assert left
