"""After forgetting, all that a store holds is accounted for; the proof can fail."""

import json
import random
import shutil
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlite_utils import Database

from personal_store import Store, StoreError, import_source
from personal_store.copies import back_up, backup_path
from personal_store.errors import StoreBusyError
from personal_store.lifecycle import forgetting
from personal_store.lifecycle.forgetting import delete, forget, is_untidy, tidy
from personal_store.lifecycle.proof import prove, unknown_files
from personal_store.lifecycle.writing import body_of
from personal_store.search.tables import refresh
from tests.mailboxes import WORDS, message
from tests.personal_store.stores import BALLOON, SECRET, fill, ids, put_letters

SAMPLE = Path(__file__).parents[3] / "edge_app" / "sample"


def notes(path, texts):
    """A store of these texts, numbered from 1."""
    lines = path.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with Store.open(path) as store:
        import_source(store, "jsonl", lines)
    lines.unlink()
    return path


def bytes_of(path):
    files = path.parent.glob(f"{path.stem}*")
    return b"".join(file.read_bytes() for file in files)


def test_no_byte_is_left_in_store_log_and_backup(path):
    """The backup had it, the raw body too."""
    assert bytes_of(path).count(SECRET[:50].encode()) == 2
    with Store.open(path) as store:
        chosen = ids(store, BALLOON)
        raw = body_of(store.db, chosen[0])
        assert "nightwatch" in raw.plain
        proof = forget(store.db, path, chosen)

    assert proof.left == ()
    assert proof.files == (path, backup_path(path))
    assert proof.pages == path.stat().st_size // 4096
    assert "store.db and store-backup.db hold the texts that stay" in proof.sentence()
    left = bytes_of(path)
    for piece in (SECRET[:16], "Wilhelmina", "zanzibarensis", "Confidential", "2@exam"):
        assert piece.encode() not in left
    assert b"The plan is ready" in left


def test_a_word_beside_a_number_is_no_false_alarm(tmp_path):
    """The word 'balloon' of text 115 lies before a byte 115, which is an 's'."""
    texts = [f"note number{number} of the day" for number in range(1, 115)]
    path = notes(tmp_path / "store.db", [*texts, "a balloon rises", "many balloons"])
    with Store.open(path) as store:
        assert forget(store.db, path, [116]).left == ()

    assert b"balloons" in path.read_bytes()


_words = st.sampled_from(
    ["balloon", "balloons", "Balloon", "ball", "oons", "sballoon", "s", "so", "né"]
)
_texts = st.lists(_words, min_size=1, max_size=300).map(" ".join)


@settings(max_examples=6)
@given(st.lists(_texts, min_size=2, max_size=25, unique=True), st.randoms())
def test_texts_alike_raise_no_alarm(tmp_path_factory, texts, rng):
    """Every text that stays holds words of those that go, cut and joined anew."""
    path = notes(tmp_path_factory.mktemp("alike") / "store.db", texts)
    with Store.open(path) as store:
        for share in (0.2, 0.5, 1):
            there = ids(store)
            chosen = rng.sample(there, round(share * len(there)))
            assert forget(store.db, path, chosen).left == ()
            assert ids(store) == sorted(set(there) - set(chosen))
            assert not is_untidy(store.db)


# What can be left behind, planted after all was overwritten. Each function is given the
# closed store and a source of chance, and plants something else each time.


def free_page(path, rng):
    with loose(path) as db:
        db.execute("CREATE TABLE gone(text)")
        db.execute("INSERT INTO gone VALUES (?)", [SECRET * rng.randint(1, 90)])
        db.execute("DROP TABLE gone")


def freeblock(path, rng):
    """A row that was deleted without being overwritten."""
    with loose(path) as db:
        number = rng.randint(3000, 4000)
        db.execute("INSERT INTO doc VALUES (?, 3, ?)", [number, some(rng)])
        db.execute("DELETE FROM doc WHERE id = ?", [number])


def gap_in_a_page(path, rng):
    """Between the cell pointers of a page and its cells."""
    data = bytearray(path.read_bytes())
    gaps = []
    for page in range(4096, len(data), 4096):
        kind, cells = data[page], int.from_bytes(data[page + 3 : page + 5], "big")
        content = int.from_bytes(data[page + 5 : page + 7], "big")
        first = page + (8 if kind in (10, 13) else 12) + 2 * cells
        if kind in (2, 5, 10, 13) and page + content - first > 60:
            gaps.append((first, page + content))
    first, end = rng.choice(gaps)
    put(path, rng.randrange(first, end - 40), some(rng)[:40])


def end_of_an_overflow_chain(path, rng):
    data = path.read_bytes()
    last = [
        page
        for page in range(4096, len(data), 4096)
        if not any(data[page : page + 4]) and not any(data[page + 4000 : page + 4096])
    ]
    put(path, rng.choice(last) + 4000 + rng.randint(0, 50), some(rng)[:40])


def reserved_bytes_of_the_header(path, rng):
    put(path, rng.randint(72, 76), some(rng)[:15])


def behind_the_last_page(path, rng):
    with path.open("ab") as stream:
        stream.write(some(rng).encode().ljust(4096 * rng.randint(0, 1), b"\0"))


def log(path, rng):
    path.with_name("store.db-wal").write_bytes(some(rng).encode() * rng.randint(1, 99))


def journal(path, rng):
    """One that SQLite drops at the next opening, be it whole or not."""
    head = rng.choice([b"\0" * 8, bytes.fromhex("d9d505f920a163d7")])
    path.with_name("store.db-journal").write_bytes(head + some(rng).encode())


def index_row(path, rng):
    with rows_of(path) as db:
        word = rng.choice(SECRET.split()).lower().strip(",.")
        table = rng.choice(["doc_posting", "heard_posting"])
        db.execute(f"INSERT INTO {table} VALUES (?, 1, x'01000100')", [f"{word}x"])


def words_of_another_record(path, rng):
    """The index agrees with itself, and not with the record."""
    with rows_of(path) as db:
        (body,) = db.execute("SELECT body FROM record WHERE id = 1").fetchone()
        db.execute("UPDATE record SET body = ? WHERE id = 1", [some(rng)])
        refresh(Database(db), [1])
        db.execute("UPDATE record SET body = ? WHERE id = 1", [body])


def row_without_a_record(path, rng):
    with rows_of(path) as db:
        values = ("raw VALUES (999, CAST(? AS BLOB))", "doc VALUES (999, 9, ?)")
        db.execute(f"INSERT INTO {rng.choice(values)}", [some(rng)])


def shadow_tables(path, rng):
    """Somebody has made a full-text index of his own, which keeps what it deletes."""
    with rows_of(path) as db:
        db.execute(f"CREATE VIRTUAL TABLE mine{rng.randint(1, 9)} USING fts5(text)")


def table_of_somebody_else(path, rng):
    with rows_of(path) as db:
        column = "ALTER TABLE record ADD COLUMN copy TEXT"
        db.execute(rng.choice([column, f"CREATE VIEW seen AS SELECT '{SECRET}'"]))


def record_itself(path, rng):
    """It was not deleted, or came back by a way that does not know of marks."""
    with rows_of(path) as db, loose(path.with_name("before.db")) as before:
        row = before.execute(f"SELECT * FROM record WHERE {BALLOON}").fetchone()
        marks = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO record VALUES ({marks})", row)


def old_backup(path, rng):
    shutil.copy(path.with_name("before.db"), backup_path(path))


def row_in_the_backup(path, rng):
    with loose(backup_path(path)) as db:
        db.execute("UPDATE record SET title = ? WHERE id = 1", [some(rng)])


def gap_in_the_backup(path, rng):
    gap_in_a_page(backup_path(path), rng)


PLANTED = [
    free_page, freeblock, gap_in_a_page, end_of_an_overflow_chain, log, journal,
    reserved_bytes_of_the_header, behind_the_last_page, index_row, shadow_tables,
    words_of_another_record, row_without_a_record, table_of_somebody_else,
    record_itself, old_backup, row_in_the_backup, gap_in_the_backup,
]  # fmt: skip


def some(rng):
    """A part of what was forgotten."""
    start = rng.randrange(len(SECRET) - 60)
    return SECRET[start : start + 60]


@contextmanager
def loose(path):
    """A connection that overwrites nothing."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete = OFF")
        yield db


@contextmanager
def rows_of(path):
    """The same; afterwards the store is built anew, so that no byte tells of it."""
    with loose(path) as db:
        yield db
        db.execute("PRAGMA secure_delete = ON")
        db.execute("VACUUM")
    backup_path(path).unlink()


def put(path, place, text):
    with path.open("r+b") as stream:
        stream.seek(place)
        stream.write(text.encode())


@pytest.fixture(scope="module")
def overwritten(tmp_path_factory):
    """A folder with a store and its backup out of which a text has just gone;
    `before.db` is the store as it was."""
    path = tmp_path_factory.mktemp("overwritten") / "store.db"
    rng = random.Random(1)
    texts = {k: " ".join(rng.choices(WORDS, k=k)) for k in range(1000, 3000, 200)}
    long = [message(text, number=k) for k, text in texts.items()]
    with Store.open(path) as store:
        fill(store, path.parent)
        put_letters(store, long)
        chosen = ids(store, BALLOON)
        back_up(store.db, path)
        shutil.copy(backup_path(path), path.with_name("before.db"))
        delete(store.db, chosen)
        forgetting._overwrite(store.db, path)
    return path.parent


def left_in(path, plant=lambda: None):
    """What the proof says is left."""
    with Store.open(path) as store:
        plant()
        return prove(store.db, path).left


@pytest.fixture
def copy(overwritten, tmp_path):
    """The path of a store of which nothing is left."""
    for name in ("store.db", "store-backup.db", "before.db"):
        shutil.copy(overwritten / name, tmp_path / name)
    return tmp_path / "store.db"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_what_is_planted_is_found(copy, plant, seed):
    """Leftovers of 17 kinds, each at two places."""
    rng = random.Random(f"{plant.__name__} {seed}")
    assert left_in(copy) == ()
    if plant in (log, journal):  # else they are gone when the store is open
        assert left_in(copy, lambda: plant(copy, rng))
    else:
        plant(copy, rng)
        assert left_in(copy)


def test_deleting_alone_is_not_enough(path):
    """Without the overwriting the proof fails: it is no formality."""
    with Store.open(path) as store:
        delete(store.db, ids(store, BALLOON))
        assert prove(store.db, path).left
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert prove(store.db, path).left
        assert is_untidy(store.db)


def test_what_stays_unproven_stays_untidy(path):
    """And one that is cleared away is not."""
    with Store.open(path) as store:
        store.db.execute("CREATE TABLE mine(text)")
        proof = forget(store.db, path, ids(store, BALLOON))
        assert "table mine was not made by SpecSteer" in " ".join(proof.left)
        assert is_untidy(store.db)
        store.db.execute("DROP TABLE mine")
        assert tidy(store.db, path).left == ()
        assert not is_untidy(store.db)


def test_another_program_that_writes_meanwhile_is_named(path):
    with Store.open(path) as store, Store.open(path) as other:
        forgetting._overwrite(store.db, path)
        other.db.execute("UPDATE record SET rating = 5 WHERE id = 1")
        assert "store.db-wal is not empty" in prove(store.db, path).left[0]


def test_a_reader_keeps_the_log_and_tidy_does_it_later(path):
    """The texts are gone, and it is said what is left to do."""
    with Store.open(path) as store, Store.open(path) as reader:
        store.db.execute("PRAGMA busy_timeout = 50")
        cursor = reader.db.execute("SELECT * FROM record")
        cursor.fetchone()
        with pytest.raises(StoreBusyError, match="store tidy"):
            forget(store.db, path, ids(store, BALLOON))
        assert ids(store, BALLOON) == []
        assert is_untidy(store.db)
        cursor.close()
        assert tidy(store.db, path).left == ()
        assert not is_untidy(store.db)


def test_a_full_disk_forgets_nothing(path, monkeypatch):
    """It is said beforehand how much room it takes."""
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with Store.open(path) as store:
        with pytest.raises(StoreError, match="free 1 MB"):
            forget(store.db, path, ids(store, BALLOON))
        assert len(ids(store, BALLOON)) == 1


def test_files_that_may_be_copies_are_named(path):
    """And not those of the store itself."""
    assert unknown_files(path) == []
    for name in ("store.db.1a.part", "x.jsonl.0b.part", "store (copy).db", "store.db~"):
        path.with_name(name).write_text(SECRET)
        assert unknown_files(path) == [path.with_name(name)]
        path.with_name(name).unlink()


def test_nothing_is_left_of_many_texts(tmp_path):
    """Of all lengths, so that pages split and overflow: that leaves copies, which
    secure_delete does not reach."""
    path, rng, letters = tmp_path / "store.db", random.Random(1), []
    for number in range(150):
        unique = f"{rng.getrandbits(80):020x}{number:06d}"
        words = " ".join(rng.choices(WORDS, k=rng.choice([4, 30, 90, 400, 2000])))
        letters.append(message(f"{words} {unique} {words}", number=number))
    with Store.open(path) as store:
        put_letters(store, letters, me=["sam@example.com"])
        chosen = rng.sample(ids(store), 30)
        rows = store.db.execute(f"SELECT body FROM record WHERE id IN {tuple(chosen)}")
        unique = [body.split()[len(body.split()) // 2] for (body,) in rows]
        assert all(word.encode() in bytes_of(path) for word in unique)

        assert forget(store.db, path, chosen).left == ()

    left = bytes_of(path)
    assert not [word for word in unique if word.encode() in left]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_forgettings_in_a_real_store(tmp_path, seed):
    """The sample letters, some of which go, again and again: no alarm, each time."""
    path, rng = tmp_path / "store.db", random.Random(seed)
    with Store.open(path) as store:
        import_source(store, "mbox", SAMPLE / "letters.mbox", me=["tess@example.org"])
        import_source(store, "google_reviews", SAMPLE / "Reviews.json")
        for _ in range(100):
            there = ids(store)
            chosen = rng.sample(there, min(len(there), rng.choice([0, 1, 1, 1, 2, 3])))
            assert forget(store.db, path, chosen).left == ()
