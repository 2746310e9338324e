"""After forgetting, no piece of the text is in any file; the proof can also fail."""

import random

import pytest
from stores import SECRET, fill, ids

from personal_store import Store, StoreError, import_source
from personal_store.copies import back_up
from personal_store.errors import StoreBusyError
from personal_store.forgetting import delete, forget, is_untidy, tidy
from personal_store.proof import Traces, files_of
from personal_store.rawtext import read
from tests.mailboxes import WORDS, mailbox, message

BALLOON = "title = 'Confidential balloon'"


def forgotten(path, condition=BALLOON):
    """Forget, close, and look."""
    with Store.open(path) as store:
        chosen = ids(store, condition)
        traces = Traces.of(store.db, chosen)
        forget(store.db, path, chosen)
        traces = traces.without_those_in(store.db)
    return traces.look_in(files_of(path))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        fill(store, tmp_path)
        back_up(store.db, path)
    return path


def bytes_of(path):
    return b"".join(file.read_bytes() for file in files_of(path))


def test_no_byte_is_left_in_store_log_and_backup(path):
    """The backup had it, the raw body too."""
    assert bytes_of(path).count(SECRET[:50].encode()) == 2
    with Store.open(path) as store:
        raw = read(store.db, ids(store, BALLOON)[0])
        assert "nightwatch" in raw.plain

    proof = forgotten(path)

    assert proof.left_in == ()
    assert proof.pieces > 50
    left = bytes_of(path)
    for piece in (SECRET[:16], "Wilhelmina", "zanzibarensis", "Confidential", "2@exam"):
        assert piece.encode() not in left
    assert b"The plan is ready" in left


def test_words_that_others_use_are_no_false_alarm(path):
    """Two letters begin alike; one of them goes."""
    proof = forgotten(path, "title = 'Plan'")

    assert proof.shared > 5
    assert proof.left_in == ()
    assert b"The plan is ready for review" in path.read_bytes()


@pytest.mark.parametrize(
    "end", ["-wal", "-backup.db", ".db.1234.part", "-profile.json"]
)
def test_the_proof_sees_what_is_left(path, end):
    """In any file beside the store."""
    with Store.open(path) as store:
        traces = Traces.of(store.db, ids(store, BALLOON))
    leak = path.with_name("store" + end)
    # one piece alone, half of it in the next chunk that is read
    leak.write_bytes(b"\0" * (4_194_304 - 8) + SECRET[:16].encode())

    assert leak in traces.look_in(files_of(path)).left_in


@pytest.mark.parametrize(("place", "seen"), [(3, False), (4, True), (4080, True)])
def test_a_page_number_is_no_letter(path, place, seen):
    """It stands in the first four bytes of a page, before text of another record."""
    with Store.open(path) as store:
        traces = Traces(Traces.of(store.db, ids(store, BALLOON)).windows)
    page = bytearray(4096)
    page[place : place + 16] = SECRET[:16].encode()
    head = b"SQLite format 3\0" + (4096).to_bytes(2, "big")
    leak = path.with_name("store-old.db")
    leak.write_bytes(head.ljust(4096, b"\0") + page)

    assert (leak in traces.look_in([leak]).left_in) is seen


def test_the_proof_sees_a_packed_body(path):
    with Store.open(path) as store:
        chosen = ids(store, BALLOON)
        (data,) = store.db.execute("SELECT data FROM raw WHERE record_id = ?",
                                   chosen).fetchone()  # fmt: skip
        traces = Traces.of(store.db, chosen)
    leak = path.with_name("store-x.bin")
    leak.write_bytes(b"abc" + data[3:])

    assert leak in traces.look_in(files_of(path)).left_in


def test_deleting_alone_is_not_enough(path):
    """Without the tidying, log and backup still hold it: the proof is no formality."""
    with Store.open(path) as store:
        chosen = ids(store, BALLOON)
        traces = Traces.of(store.db, chosen)
        delete(store.db, chosen)
        traces = traces.without_those_in(store.db)
        assert is_untidy(store.db)
    left = traces.look_in(files_of(path)).left_in

    assert path.with_name("store-backup.db") in left


def test_a_reader_keeps_the_log_and_tidy_does_it_later(path, monkeypatch):
    """The texts are gone, and it is said what is left to do."""
    with Store.open(path) as store, Store.open(path) as reader:
        store.db.execute("PRAGMA busy_timeout = 50")
        cursor = reader.db.execute("SELECT * FROM record")
        cursor.fetchone()
        chosen = ids(store, BALLOON)
        traces = Traces.of(store.db, chosen)
        with pytest.raises(StoreBusyError, match="store tidy"):
            forget(store.db, path, chosen)
        assert ids(store, BALLOON) == []
        assert is_untidy(store.db)
        cursor.close()
        tidy(store.db, path)
        assert not is_untidy(store.db)
        traces = traces.without_those_in(store.db)
    assert traces.look_in(files_of(path)).left_in == ()


def test_a_full_disk_forgets_nothing(path, monkeypatch):
    """It is said beforehand how much room it takes."""
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with Store.open(path) as store:
        with pytest.raises(StoreError, match="free 1 MB"):
            forget(store.db, path, ids(store, BALLOON))
        assert len(ids(store, BALLOON)) == 1


def big_store(path, folder, seed, count):
    """Letters of all lengths, so that pages split and overflow."""
    rng = random.Random(seed)
    letters = []
    for number in range(count):
        unique = f"{rng.getrandbits(80):020x}{number:06d}"
        words = " ".join(rng.choices(WORDS, k=rng.choice([4, 30, 90, 400, 2000])))
        letters.append(message(f"{words} {unique} {words}", number=number))
    rng.shuffle(letters)
    (folder / "big.mbox").write_bytes(mailbox(letters))
    with Store.open(path) as store:
        import_source(store, "mbox", folder / "big.mbox", me=["sam@example.com"])
    return rng


@pytest.mark.parametrize("seed", [1])
def test_nothing_is_left_of_many_texts(tmp_path, seed):
    """Page splits leave copies that secure_delete does not reach."""
    path = tmp_path / "store.db"
    rng = big_store(path, tmp_path, seed, 300)
    with Store.open(path) as store:
        chosen = rng.sample(ids(store), 60)
    condition = f"id IN ({','.join(map(str, chosen))})"

    proof = forgotten(path, condition)

    assert proof.left_in == ()
    assert proof.pieces > 60
    assert proof.shared > 0
    with Store.open(path) as store:  # built anew: no page is left over
        assert store.db.execute("PRAGMA freelist_count").fetchone() == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_left_of_many_texts_in_many_stores(tmp_path, seed):
    """The same with more texts."""
    path = tmp_path / "store.db"
    rng = big_store(path, tmp_path, seed, 2000)
    with Store.open(path) as store:
        chosen = rng.sample(ids(store), 400)

    assert forgotten(path, f"id IN ({','.join(map(str, chosen))})").left_in == ()
