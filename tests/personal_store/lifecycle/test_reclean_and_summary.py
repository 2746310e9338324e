"""Raw bodies and cleaning again; what is counted."""

from personal_store import Store
from personal_store.cleaning.cleaning import COMPARED
from personal_store.lifecycle import cleaning, writing
from personal_store.lifecycle.cleaning import Recleaned, compare_threads, reclean
from personal_store.lifecycle.forgetting import tidy
from personal_store.lifecycle.overview import summarise
from tests.mailboxes import ME, message
from tests.personal_store.stores import BALLOON, SECRET, fill, found, ids, put_letters


def body(store, condition=BALLOON):
    return store.db.execute(f"SELECT body FROM record WHERE {condition}").fetchone()[0]


def test_newer_rules_read_the_raw_body(store, monkeypatch):
    """Texts of older rules only; what changed is found by its new words."""
    assert reclean(store.db) == Recleaned(0, 0, 0, ())
    assert "Quixotic" not in body(store)
    monkeypatch.setattr(cleaning, "VERSION", 99)
    assert summarise(store.db, store.path).behind
    kept = cleaning.Cleaned("All rules are new.", False)
    monkeypatch.setattr(cleaning, "clean_raw", lambda raw: kept)
    done = reclean(store.db)

    assert (done.looked_at, done.changed, done.without_raw) == (3, 3, 0)
    assert body(store) == "All rules are new."
    assert set(found(store, "rules")) <= set(ids(store, "cleaning = 99"))
    assert found(store, "zanzibarensis") == []
    assert reclean(store.db).looked_at == 0
    assert not summarise(store.db, store.path).behind


def test_without_raw_bodies_the_source_is_named(store, tmp_path, monkeypatch):
    """And a second import cleans them again."""
    cleaning.clean_all_waiting(store.db)
    assert writing.keep_bodies(store.db, False) == 3
    tidy(store.db, store.path)
    store.db.execute("UPDATE record SET cleaning = 0, body = body || 'x'")
    done = reclean(store.db)

    assert (done.looked_at, done.without_raw) == (0, 3)
    assert summarise(store.db, store.path).behind
    assert done.sources == (("mbox", str((tmp_path / "letters.mbox").resolve())),)
    store.db.execute("UPDATE record SET body_sha = x'00'")
    assert fill(store, tmp_path).updated == 3
    assert body(store) == SECRET
    assert reclean(store.db).without_raw == 0
    assert not summarise(store.db, store.path).behind
    assert not writing.keeps_bodies(store.db)
    assert ids(store, "id IN (SELECT record_id FROM raw)") == []


def test_an_import_cuts_what_the_messages_it_answers_hold(tmp_path):
    """Quoted without any mark; the parent may stand behind the answer, or come later.

    Pairs of earlier imports are not looked at again, but by new rules.
    """
    quoted = "The venue has room for forty guests and a piano.\nIt is free in May."
    answer = "I would take it, and ask for the small hall as well."
    sent, parents = [], []
    for at in (10, 20):
        headers = f"In-Reply-To: <{at}@a.org>"
        sent.append(message(f"{answer}\n\n{quoted}", number=at + 1, headers=headers))
        headers = f"Message-ID: <{at}@a.org>"
        parents.append(
            message(quoted, sender="A <a@a.org>", number=None, headers=headers)
        )
    with Store.open(tmp_path / "store.db") as store:
        texts = []
        for batch in ([*sent, parents[0]], [message(number=30), parents[1]]):
            put_letters(store, batch, me=[ME])
            texts.append([record.text for record in store.records()][:2])
        newest = store.db.execute("SELECT max(id) FROM record").fetchone()[0]
        assert compare_threads(store.db, newest) == 0
        store.db.execute("UPDATE record SET cleaning = 0, body = 'old' WHERE author")
        reclean(store.db)
        again = "SELECT body, cleaning, trimmed FROM record ORDER BY id LIMIT 2"
        assert [*store.db.execute(again)] == [(answer, COMPARED, 1)] * 2
    assert texts[0] == [answer, f"{answer}\n\n{quoted}"]
    assert texts[1] == [answer, answer]
