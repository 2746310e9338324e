"""Imports that were broken off: they are offered, gone on with, and leave no trace."""

import random

import pytest

from edge_app.service.import_plan import import_noted
from personal_store import Store, importing
from personal_store.errors import SourceError
from personal_store.import_runs import Unfinished, dismiss, importing_alone, unfinished
from tests.dying import run_to
from tests.mailboxes import mailbox, many
from tests.personal_store.stores import lay, stopping

IMPORT = """
import sys
from pathlib import Path
from edge_app.service.requests import ServiceConfig
from edge_app.service.service import WritingService
from personal_store import import_runs, importing
importing.BATCH, import_runs._EVERY = 20, 0
none = Path("none")
service = WritingService(ServiceConfig(none, none, Path(sys.argv[1]), none))
service.import_letters("auto", Path(sys.argv[2]), (), lambda *_: None)
"""
_OWN = ("store", "changes")
"""What each store has of its own: its number, how often it was written to."""

_WHEN = ("started", "ended", "secret", "applied_at", "mark")
"""Columns of times, and of what is drawn; no mark is made of a file just written."""


def whole(path):
    """All rows of all tables, in their order, but for times and what is its own."""
    with Store.open(path) as store:
        found = {}
        for table in store.db.tables:
            names = [one.name for one in table.columns if one.name not in _WHEN]
            rows = store.db.execute(f'SELECT {", ".join(names)} FROM "{table.name}"')
            found[table.name] = [row for row in rows if row[0] not in _OWN]
        return found


def letters(folder):
    """An export of two kinds."""
    lines = [f'{{"text": "The note {n} on the tea.", "id": "{n}"}}' for n in range(40)]
    files = {"Sent.mbox": mailbox(many(120)), "notes/Reviews.jsonl": "\n".join(lines)}
    return lay(folder / "export", files)


def test_one_that_was_broken_off_is_offered_until_it_is_done(tmp_path, monkeypatch):
    """Not while it runs; with what was told when it was begun; and afterwards the store
    is as if nothing had been."""
    monkeypatch.setattr(importing, "BATCH", 10)
    path = letters(tmp_path)
    asked = Unfinished("auto", path, ("me@example.org",), mine=True)
    with Store.open(tmp_path / "clean.db") as store:
        import_noted(store, asked, lambda *_: None)
        assert unfinished(store) == []
    with Store.open(tmp_path / "store.db") as store:
        for share in (0.3, 0.6):
            with pytest.raises(KeyboardInterrupt):
                import_noted(store, asked, stopping(share))
            with importing_alone(store.path):
                assert unfinished(store) == []
            (found,) = unfinished(store)
            assert found.is_same(asked)
            assert (found.me, found.mine) == (asked.me, True)
            percent = 100 * found.done // found.total
            assert 100 * share <= percent < 100
            assert found.in_words == f"reading {path} stopped at {percent} %"
        dismiss(store, Unfinished("mbox", path))
        assert len(unfinished(store)) == 1
        import_noted(store, Unfinished("auto", path), lambda *_: None)
        assert unfinished(store) == []
    assert whole(tmp_path / "store.db") == whole(tmp_path / "clean.db")


def test_what_was_never_begun_is_not_offered(tmp_path):
    """Nothing there, nothing of it read; nor what is offered no more."""
    with Store.open(tmp_path / "store.db") as store:
        with pytest.raises(SourceError):
            import_noted(store, Unfinished("auto", tmp_path), stopping(0))
        assert unfinished(store) == []
        asked = Unfinished("auto", letters(tmp_path), ("me@example.org",))
        with pytest.raises(KeyboardInterrupt):
            import_noted(store, asked, stopping(0))
        (found,) = unfinished(store)
        dismiss(store, found)
        assert unfinished(store) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_imports_killed_anywhere_lose_nothing(tmp_path, seed):
    """By the service of the app; before anything was read, too, where there is nothing
    to offer. Stops are above, and `test_import_crash` kills in the fast tests."""
    rng = random.Random(seed)
    places = [rng.uniform(0.05, 0.95) for _ in range(4)] if seed else [0.5]
    path, store, clean = (
        letters(tmp_path),
        tmp_path / "killed.db",
        tmp_path / "clean.db",
    )
    died, steps = run_to(0, IMPORT, tmp_path, clean, path)
    assert not died
    offers = 0
    for place in places:
        died, _ = run_to(int(place * steps), IMPORT, tmp_path, store, path)
        with Store.open(store) as opened:
            offers += len(unfinished(opened))
        if not died:
            break
    with Store.open(store) as opened:
        for asked in unfinished(opened):
            import_noted(opened, asked, lambda *_: None)
        assert unfinished(opened) == []
    assert offers or seed
    assert not offers or whole(store) == whole(clean)
