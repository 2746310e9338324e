"""Out and in again with nothing lost; two stores into one; back to a backup."""

import json

import pytest

from personal_store import Store, StoreError, import_source, transfer
from personal_store.copies import back_up, made_at
from personal_store.lifecycle.forgetting import exclude, forget, put_into_trash
from personal_store.lifecycle.identities import identities, remove_identities
from personal_store.search.tables import check
from tests.mailboxes import ME, mailbox, message
from tests.personal_store.stores import BALLOON, LETTERS, content, fill, found, ids


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        fill(store, tmp_path)
        yield store


@pytest.fixture
def other(tmp_path):
    """The same person's second device: two of the letters, and one more."""
    with Store.open(tmp_path / "b" / "store.db") as store:
        text = "Only on the laptop: the harvest was poor."
        sender = "Sam <sam@laptop.example>"
        more = message(text, number=9, sender=sender, subject="Harvest")
        path = tmp_path / "b" / "laptop.mbox"
        path.write_bytes(mailbox([*LETTERS[:2], more]))
        import_source(store, "mbox", path, me=[ME, "sam@laptop.example"])
        yield store


def test_json_lines_lose_nothing(store, tmp_path):
    """Put away, labelled, of others, raw bodies, what was said of the voice: all fields
    come back. A damaged line is a failure, and the other lines are read."""
    said = "ana@b.example", "email", "greeting", "", "set", "Hola\x1b {name},"
    store.db.execute("INSERT INTO voice_mark VALUES (?, ?, ?, ?, ?, ?)", said)
    exclude(store.db, ids(store, "title = 'Plan'"))
    put_into_trash(store.db, ids(store, BALLOON), now=4_000_000_000)
    path, lines = tmp_path / "all.jsonl", list(transfer.as_lines(store.db))
    path.write_bytes(b"".join(lines))

    with Store.open(tmp_path / "second.db") as second:
        report = import_source(second, "jsonl", path)
        again = import_source(second, "jsonl", path)

        assert content(second) == content(store)
        assert again.added == again.updated == report.failed == 0
        assert list(transfer.as_lines(second.db)) == lines
        assert second.db.execute("SELECT * FROM voice_mark").fetchall() == [said]

    lines[-1] = lines[-1].replace(b'"set"', b'"?"')
    lines[0] = json.dumps(json.loads(lines[0]) | {"raw": "AAAA"}).encode() + b"\n"
    lines[1] = json.dumps({"specsteer": 1, "text": "no other field"}).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    with Store.open(tmp_path / "third.db") as third:
        assert import_source(third, "jsonl", path).failed == 3
        assert len(ids(third)) == len(lines) - 3 == 4


def test_an_mbox_of_own_mails_is_read_by_others(store, tmp_path):
    """With recipients, dates, ids and labels; lines that look like a new mail too."""
    hard = message("Hello,\n\nFrom here on it rained: ä 😀 all day long.", number=30,
                   subject="=?utf-8?q?Regen_=C3=A4?=", to='"Ruiz, Ana" <ana@b.example>',
                   headers='X-Gmail-Labels: Sent,"a, b"')  # fmt: skip
    path = tmp_path / "mine.mbox"
    path.write_bytes(mailbox([hard]))
    import_source(store, "mbox", path)
    path.write_bytes(b"".join(transfer.as_mailbox(store.db)))
    select = """SELECT body, title, recipient, recipient_address, sender, sent_at,
        thread, substr(key, 1, 15) FROM record
        WHERE kind = 'email' AND author IN (1, 2) ORDER BY key"""

    with Store.open(tmp_path / "second.db") as second:
        import_source(second, "mbox", path, me=[ME])
        mine, theirs = (s.db.execute(select).fetchall() for s in (store, second))
        assert theirs == mine
        assert len(mine) == 4
        labels = second.db.execute("SELECT label FROM record_label").fetchall()
        assert ("a, b",) in labels


def test_a_merge_takes_what_is_lacking_and_happens_once(store, other):
    """By key; addresses joined; the same again changes nothing."""

    def whole():
        return content(store), store.db.execute("SELECT * FROM state").fetchall()

    expected = transfer.Merged(1, 0, 0, ("sam@laptop.example",))
    assert transfer.merge(store.db, store.path, other.path) == expected
    assert found(store, "harvest") == ids(store, "title = 'Harvest'")
    before = whole()
    nothing = transfer.Merged(0, 0, 0, ())
    assert transfer.merge(store.db, store.path, other.path) == nothing
    assert whole() == before
    assert check(store.db) == []


def test_what_one_device_forgot_goes_from_both(store, other, tmp_path):
    """And stays away from the one that never forgot it itself."""
    forget(other.db, other.path, ids(other, BALLOON))

    assert transfer.merge(store.db, store.path, other.path).forgotten == 1
    assert ids(store, BALLOON) == []
    assert fill(store, tmp_path).reasons["forgotten before"] == 1
    assert transfer.merge(other.db, other.path, store.path).added == 4
    assert ids(other, BALLOON) == []


def test_what_is_forgotten_here_does_not_come_back_from_there(store, other):
    """And what the other device put away is put away."""
    exclude(other.db, ids(other, "title = 'Harvest'"))
    put_into_trash(other.db, ids(other, "title = 'Plan'"))
    forget(store.db, store.path, ids(store, BALLOON))

    done = transfer.merge(store.db, store.path, other.path)
    assert (done.added, done.changed) == (1, 1)
    assert ids(store, BALLOON) == []
    assert found(store, "harvest") == []
    assert ids(store, "trashed_at IS NOT NULL") == ids(store, "title = 'Plan'")


def test_a_merge_joins_who_is_me(store, other):
    """A removed address stays removed; an added one turns its texts."""
    other.add_identities(["sam@work.example"])
    remove_identities(store.db, ["sam@laptop.example"])
    transfer.merge(store.db, store.path, other.path)

    mine = [one.address for one in identities(store.db)]
    assert mine == ["sam@example.com", "sam@work.example"]
    assert found(store, "second address wishes") == ids(store, "title = 'Second'")
    assert found(store, "harvest") == []


def test_a_file_that_is_no_store_is_refused(store, tmp_path):
    """With a sentence, and nothing is left beside the store."""
    strange = tmp_path / "strange.db"
    strange.write_bytes(b"no database at all " * 99)
    with pytest.raises(StoreError):
        transfer.merge(store.db, store.path, strange)
    with pytest.raises(StoreError, match="no store"):
        transfer.merge(store.db, store.path, tmp_path / "absent.db")
    assert list(tmp_path.glob("*.part*")) == []


def test_restore_goes_back_but_not_on_what_was_forgotten(store, tmp_path):
    """A backup from another place, made before the forgetting. One is kept beside the
    store, for its owner alone."""
    first = back_up(store.db, store.path)
    assert back_up(store.db, store.path) == first
    assert first.stat().st_mode & 0o777 == 0o600
    assert list(first.parent.glob("*backup*")) == [first]
    elsewhere = tmp_path / "usb.db"
    elsewhere.write_bytes(first.read_bytes())
    before = content(store)
    forget(store.db, store.path, ids(store, BALLOON))
    store.db.execute("UPDATE record SET body = 'scribbled over' WHERE title = 'Plan'")

    assert transfer.restore(store.db, store.path, elsewhere) == 1
    expected = [row for row in before[0] if row[4] != "Confidential balloon"]
    assert content(store)[0] == expected
    assert ids(store, BALLOON) == []
    assert check(store.db) == []
    assert made_at(store.path) is not None


def test_a_store_that_cannot_be_opened_gets_its_backup(store):
    back_up(store.db, store.path)
    before = content(store)
    path = store.path
    store.close()
    path.write_bytes(b"broken" * 999)
    with pytest.raises(StoreError):
        Store.open(path)

    assert transfer.put_back(path).read_bytes().startswith(b"broken")
    with Store.open(path) as again:
        assert content(again) == before
