"""A journal that was written anew, without what was done over, is the same draft."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tui_journal import next_entry, state

from edge_app.decoding.events import Settled, Token
from edge_app.service.requests import WriteRequest
from edge_app.tui import draft as e
from edge_app.tui import journal as files
from edge_app.tui.compaction import compacted, worth_compacting
from edge_app.tui.draft import Draft, asked, folded
from edge_app.tui.journal import JournalError, JournalFolder
from models.prompts import Request
from tests.dying import run_to

OPEN = """
import sys
from pathlib import Path
from edge_app.tui.journal import JournalFolder
path = Path(sys.argv[1])
JournalFolder(path.parent, lambda: sys.argv[2]).open(path)[0].close()
"""


def it_is_the_same_draft(data, most):
    """All of it, and all that comes of what happens to it afterwards."""
    draft, entries = Draft(), []
    for _ in range(data.draw(st.integers(1, most))):
        entries.append(next_entry(data.draw, draft))
        draft.apply(entries[-1])
    short = compacted(entries)
    again = folded(short)

    assert state(again) == state(draft)
    assert list(again.excluded) == list(draft.excluded)
    assert len(short) <= len(entries)
    for _ in range(3):
        entry = next_entry(data.draw, draft)
        draft.apply(entry)
        again.apply(entry)
        assert state(again) == state(draft)


@settings(max_examples=8)
@given(st.data())
def test_what_is_left_makes_the_same_draft(data):
    it_is_the_same_draft(data, 20)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.data())
def test_what_is_left_of_anything_makes_the_same_draft(data):
    it_is_the_same_draft(data, 60)


def edited(letters):
    """A brief and a version, letter by letter, put aside and taken up."""
    entries = [
        asked(Request("y" * at), Request("y" * (at + 1))) for at in range(letters)
    ]
    entries += [
        e.Begun(WriteRequest(Request("y" * letters))),
        e.Written(0, Settled((Token(1, "Dear", "accepted"),))),
        e.Ended(0),
    ]
    for at in range(letters):
        entries += [e.Edited(0, 4 + at, 0, (("x", "typed"),)), e.TakenUp()]
    return [*entries, e.Edited(0, 4, 1, ()), e.PutAside()]


def test_hours_of_typing_are_an_entry_each():
    """For the brief and for the version; little typing is left as it is."""
    entries = edited(300)
    short = worth_compacting(entries)
    assert [type(entry) for entry in short] == [
        *(e.Asked, e.Begun, e.Written, e.Ended, e.Edited, e.PutAside)
    ]
    assert short[-2] == e.Edited(0, 4, 0, (("x" * 299, "typed"),))
    assert state(folded(short)) == state(folded(entries))
    assert worth_compacting(edited(40)) is None
    assert worth_compacting(short) is None


def written(folder, entries):
    journal = folder.begin()
    for entry in entries:
        journal.add(entry)
    journal.close()
    return journal.path


@pytest.mark.parametrize("key", ["", "a passphrase"])
def test_a_long_journal_is_short_once_it_was_opened(tmp_path, key):
    """Under the store's key where there is one; another window has no part of it, and
    what is added then is there."""
    folder = JournalFolder(tmp_path, lambda: key)
    path = written(folder, edited(150))
    size = path.stat().st_size
    journal, draft = folder.open(path)
    assert path.stat().st_size < size / 10
    assert path.stat().st_mode & 0o077 == 0
    assert state(draft) == state(folded(edited(150)))
    with pytest.raises(JournalError, match="open in another window"):
        folder.open(path)
    journal.add(e.Edited(0, 0, 0, (("Oh. ", "typed"),)))
    journal.close()
    again, draft = folder.open(path)
    again.close()
    assert draft.variant.text.startswith("Oh. Dear")
    assert (b"xxx" in path.read_bytes()) == (not key)
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_it_long(tmp_path, monkeypatch):
    folder = JournalFolder(tmp_path)
    path = written(folder, edited(150))
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "put_in_place", full)
    journal, draft = folder.open(path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])
    journal.add(e.Offline(on=True))
    journal.close()
    assert state(folded(edited(150)))[1] == state(draft)[1]
    assert folder.kept()[0][0].draft.offline


def test_who_waited_for_the_old_file_gets_the_new_one(tmp_path, monkeypatch):
    """A window that opened the file just before another was put in its place."""
    folder = JournalFolder(tmp_path)
    path = written(folder, edited(150))
    lock, came = files.lock, []

    def late(handle):
        if not came:
            came.append(handle)
            folder.open(path)[0].close()
        lock(handle)

    monkeypatch.setattr(files, "lock", late)
    journal, _ = folder.open(path)
    journal.add(e.Offline(on=True))
    journal.close()
    assert folder.kept()[0][0].draft.offline


def killed(folder, key, places):
    """Kill who opens a long journal at these parts of its steps: the draft is there,
    and once it was opened, nothing else is."""
    made = JournalFolder(folder, lambda: key)
    entries = edited(150)
    died, steps = run_to(0, OPEN, folder, written(made, entries), key)
    assert not died
    made.discard(*made.paths())
    for place in places:
        path = written(made, entries)
        died, _ = run_to(max(1, int(place * steps)), OPEN, folder, path, key)
        assert died
        ((kept,), problems) = made.kept()
        assert (state(kept.draft), problems) == (state(folded(entries)), [])
        journal, draft = made.open(path)
        journal.close()
        assert state(draft) == state(folded(entries))
        assert list(folder.iterdir()) == [path]
        made.discard(path)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["", "a passphrase"])
def test_killed_at_any_step_it_loses_nothing(tmp_path, key):
    killed(tmp_path, key, [place / 12 for place in range(13)])
