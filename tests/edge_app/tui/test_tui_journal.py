"""The journal is the state: whatever happens, and wherever it is cut off, what comes
back is what an undisturbed run had at that point."""

from __future__ import annotations

import asyncio
import copy
import os
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App
from tui_helpers import drafted_at, gated_service
from tui_tapes import LETTER, REQUEST, SOURCES

from decoding_core.settings import MethodSettings
from edge_app.config import sealed
from edge_app.decoding.events import (
    Alternatives,
    Choice,
    Finished,
    Given,
    Opened,
    Place,
    Settled,
    SourcesFound,
    Statistics,
    Token,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.service.tape import RecordedService
from edge_app.tui import draft as e
from edge_app.tui.draft import THRESHOLDS, TONES, Draft, Stretch, Style, asked
from edge_app.tui.journal import Journal, JournalError, JournalFolder
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.text import joined, spliced
from edge_app.tui.writing import Writing
from models.prompts import Request

texts = st.text(max_size=8) | st.sampled_from(["\ud800", "a\r\nb", "\u2028", "\x1b[2J"])
runs = st.lists(
    st.tuples(texts, st.sampled_from(["kept", "replaced", "typed", "pasted"]))
)
styles = st.builds(
    Style, st.sampled_from([*TONES]), st.integers(0, 5), st.sampled_from(THRESHOLDS)
)
origins = st.sampled_from(["accepted", "recovered", "bonus", "local"])
events = st.one_of(
    st.just(SourcesFound(tuple(replace(s, excerpt="") for s in SOURCES))),
    st.just(Opened("own server", local=False)),
    st.integers(0, 9).map(Given),
    st.just(Alternatives(0, (Place((Choice(1, "x", 0.5, 0.25, None),), True),))),
    st.just(Verified(3, 2, ("x",), 0.05)),
    st.lists(st.builds(Token, st.integers(0, 9), texts, origins)).map(
        lambda tokens: Settled(tuple(tokens))
    ),
    st.sampled_from(["end", "stopped"]).map(lambda why: Finished(why, Statistics(3))),
)


def state(draft: Draft) -> tuple:
    """All of a draft that a person could miss, as it is now."""
    parts = (
        draft.request,
        [
            (v.number, v.request, v.settled, v.edited, v.saved, v.sources, v.opened,
             v.verified, v.reason, v.statistics, v.stopped, v.writing, v.before,
             v.after, v.given, v.weighed)
            for v in draft.attempts
        ],
        [variant.number for variant in draft.variants],
        draft.current,
        draft.excluded,
        draft.offline,
        draft.reply_to,
        draft.style,
        draft.aside,
    )  # fmt: skip
    return copy.deepcopy(parts)


def next_entry(draw, draft: Draft) -> e.Entry:
    """Something that can happen to `draft`."""
    if draft.attempts:
        at = draw(st.integers(0, len(draft.attempts) - 1))
        length = sum(len(text) for text, _ in draft.attempts[at].runs())
        start = draw(st.integers(0, length))
        shown = [variant.number for variant in draft.variants]
        more = [
            st.builds(e.Written, st.just(at), events),
            st.builds(e.Stopped, st.just(at), st.booleans()),
            st.just(e.Ended(at)),
            st.builds(
                e.Edited,
                st.just(at),
                st.just(start),
                st.integers(0, length - start),
                runs.map(tuple),
            ),
            st.builds(e.Saved, st.just(at), texts),
        ]
        more += [st.sampled_from(shown).map(e.Shown)] if shown else []
        stretch = st.integers(0, length - start).map(
            lambda rest: Stretch(at, start, rest)
        )
    else:
        more, stretch = [], st.none()
    source = st.sampled_from([replace(s, excerpt="") for s in SOURCES])
    requests = st.builds(Request, texts, st.just("note"), texts)
    begun = st.builds(
        WriteRequest,
        requests,
        settings=st.builds(MethodSettings, seed=st.integers(0, 1 << 60)),
        offline=st.booleans(),
        excluded=st.frozensets(st.integers(0, 9)),
    )
    return draw(
        st.one_of(
            *more,
            *more,  # more often than these
            requests.map(lambda new: asked(draft.request, new) or e.TakenUp()),
            begun.map(e.Begun),
            st.builds(e.Begun, begun, st.booleans(), stretch),
            st.builds(e.ReplyTo, st.none() | source),
            st.builds(e.Styled, styles),
            st.builds(e.LeftOut, source, st.booleans()),
            st.booleans().map(e.Offline),
            st.just(e.PutAside()),
        )
    )


@pytest.fixture(scope="module")
def quick_keys():
    """Keys are made of a passphrase with less work, as each file has one of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealed, "_FACTOR", 1 << 4)
        yield
        sealed._derived.cache_clear()


@pytest.mark.usefixtures("quick_keys")
@settings(max_examples=6)  # each reads and writes files
@given(st.data(), st.sampled_from(["", "a passphrase"]))
def test_what_comes_back_is_what_there_was(tmp_path_factory, data, key):
    """Killed at any byte, and gone on with: nothing acknowledged is lost or changed."""
    folder = JournalFolder(
        tmp_path_factory.mktemp("drafts", numbered=True), lambda: key
    )
    journal, draft = Journal(folder), Draft()
    ends, states = [0], [state(draft)]

    def happen() -> None:
        entry = next_entry(data.draw, draft)
        journal.add(entry)
        assert not journal.problem
        draft.apply(entry)
        assert e.from_line(e.to_line(entry)) == entry
        ends.append(journal.path.stat().st_size)
        states.append(state(draft))

    for _ in range(data.draw(st.integers(1, 12))):
        happen()
    journal.close()

    # The process or the machine ends: the file is cut anywhere behind its first line.
    first = journal.path.read_bytes().index(b"\n") + 1
    cut = data.draw(st.integers(first, ends[-1]) | st.sampled_from(ends[1:]))
    os.truncate(journal.path, cut)
    whole = sum(1 for end in ends[1:] if end <= cut)
    journal, draft = folder.open(journal.path)
    assert state(draft) == states[whole]

    del ends[whole + 1 :], states[whole + 1 :]
    for _ in range(2):
        happen()
    journal.close()
    ((one,), problems) = folder.kept()
    assert not problems
    assert state(one.draft) == states[-1]


@given(runs, st.data())
def test_a_splice_is_that_of_the_letters(before, data):
    text = "".join(text for text, _ in before)
    at = data.draw(st.integers(0, len(text)))
    removed = data.draw(st.integers(0, len(text) - at))
    inserted = data.draw(runs)
    made = spliced(before, at, removed, inserted)

    def letters(of):
        return [(letter, state) for text, state in of for letter in text]

    wanted = letters(before)
    wanted[at : at + removed] = letters(inserted)
    assert letters(made) == wanted
    assert made == joined(made)


def test_the_screen_is_what_the_journal_folds_to(tmp_path):
    """Random typing, pasting, cutting, undoing and redoing in the editor: the origins
    are those of the text as it was then."""
    folder = JournalFolder(tmp_path / "drafts")
    draft, journal, chance = Draft(), Journal(folder), random.Random(3)
    breaks = ["", "x", "two\nlines", "a\r\nb", "\u2028", "q\x85\n", "\r"]

    def happen(entry) -> None:
        journal.add(entry)
        draft.apply(entry)

    happen(e.Begun(WriteRequest(REQUEST)))
    tokens = (Token(1, "Dear,\n\nat", "accepted"), Token(2, " Whit\r\nby", "recovered"))
    happen(e.Written(0, Settled((*tokens, Token(3, "\x0b", "accepted")))))
    happen(e.Ended(0))

    class EditorApp(App):
        def compose(self):
            yield DraftEditor(
                lambda variant, at, removed, runs: happen(
                    e.Edited(variant.number, at, removed, tuple(runs))
                )
            )

    def place(editor):
        row = chance.randrange(editor.document.line_count)
        return row, chance.randint(0, len(editor.document.get_line(row)))

    async def edit() -> None:
        app = EditorApp()
        async with app.run_test(size=(40, 12)):
            editor = app.query_one(DraftEditor)
            editor.show(draft.variant, 0.0)
            for _ in range(20):
                stages = [editor.runs()]
                for _ in range(8):
                    editor.replace(chance.choice(breaks), place(editor), place(editor))
                    editor.history.checkpoint()
                    if editor.runs() != stages[-1]:
                        stages.append(editor.runs())
                    assert joined(editor.runs()) == draft.variant.runs()
                undone = [editor.runs()]
                while editor.history.undo_stack:
                    editor.undo()
                    undone.append(editor.runs())
                assert all(stage in undone for stage in stages)
                assert joined(editor.runs()) == draft.variant.runs()
                while editor.history.redo_stack:
                    editor.redo()
                assert editor.runs() == stages[-1]
                editor.history.clear()

    asyncio.run(edit())
    assert state(folder.kept()[0][0].draft) == state(draft)


def journal_with(folder: JournalFolder, words: str) -> Journal:
    journal = Journal(folder)
    journal.add(asked(Request(""), Request(words)))
    return journal


def test_only_one_has_a_journal_open(tmp_path):
    folder = JournalFolder(tmp_path)
    journal = journal_with(folder, "one")
    for use in (folder.open, folder.discard):
        with pytest.raises(JournalError, match="open in another window"):
            use(journal.path)
    journal.close()
    folder.open(journal.path)[0].close()
    folder.discard(journal.path)
    assert not folder.paths()


def test_a_sealed_draft_needs_the_key_of_the_store(tmp_path):
    """And a plain one is sealed when it is opened after the store was encrypted, or by
    the command that encrypts it."""
    key = ""
    folder = JournalFolder(tmp_path, lambda: key)
    journal = journal_with(folder, "my secret words")
    journal.close()
    assert b"secret" in journal.path.read_bytes()

    key = "a passphrase"
    journal, draft = folder.open(journal.path)
    assert draft.request.text == "my secret words"
    journal.add(asked(draft.request, Request("other secret")))
    with pytest.raises(JournalError, match="open in another window"):
        folder.open(journal.path)
    journal.close()
    assert b"secret" not in journal.path.read_bytes()
    assert folder.kept()[0][0].draft.request.text == "other secret"

    assert folder.convert("another passphrase") == []
    with pytest.raises(JournalError, match="sealed with another key"):
        folder.open(journal.path)
    key = "another passphrase"
    assert folder.convert("") == []
    key = ""
    assert folder.kept()[0][0].draft.request.text == "other secret"
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl"]


@pytest.mark.parametrize("wrong", ["moved", "of another draft", "changed"])
def test_a_sealed_line_stands_where_it_was_written(tmp_path, wrong):
    """None is read in another's place, and what is behind it is not read either."""
    folder = JournalFolder(tmp_path, lambda: "a passphrase")
    journal, other = journal_with(folder, "one"), journal_with(folder, "other")
    for entry in (e.Offline(on=True), e.Offline(on=False), e.Offline(on=True)):
        journal.add(entry)
        other.add(entry)
    journal.close()
    other.close()
    lines = journal.path.read_bytes().splitlines(keepends=True)
    match wrong:
        case "moved":
            lines[3], lines[4] = lines[4], lines[3]
        case "of another draft":
            lines[3] = other.path.read_bytes().splitlines(keepends=True)[3]
        case _:
            lines[3] = lines[3][:-9] + b"AAAA" + lines[3][-5:]
    journal.path.write_bytes(b"".join(lines))
    again, draft = folder.open(journal.path)
    again.close()
    assert (draft.request.text, draft.offline) == ("one", True)


@pytest.mark.parametrize(
    "head",
    [b"", b"[]\n", b"[" * 100_000 + b"\n", b"\xff\n", b'{"specsteer_draft": 1}\n',
     b'{"specsteer_draft": 9, "begun": "", "salt": "", "check": ""}\n'],
    ids=["empty", "no object", "deep", "no text", "half a header", "newer"],
)  # fmt: skip
def test_what_cannot_be_read_is_named_and_left(tmp_path, head):
    (tmp_path / "draft-1.jsonl").write_bytes(head)
    folder = JournalFolder(tmp_path)
    writing = Writing(RecordedService([]), MethodSettings(), journals=folder)
    assert not writing.take_up()
    ((sentence, _),) = writing.news
    assert str(tmp_path / "draft-1.jsonl") in sentence
    assert "this page is a new draft" in sentence
    assert (tmp_path / "draft-1.jsonl").read_bytes() == head


@pytest.mark.parametrize("wrong", ["checksum", "place", "state", "version"])
def test_what_stands_behind_a_damaged_line_is_set_aside(tmp_path, wrong):
    folder = JournalFolder(tmp_path)
    journal = journal_with(folder, "one")
    journal.add(e.Begun(WriteRequest(REQUEST)))
    match wrong:
        case "place":
            journal.add(e.Edited(0, 5, 1, ()))
        case "state":
            journal.add(e.Edited(0, 0, 0, (("x", "waiting"),)))
        case "version":
            journal.add(e.Stopped(7))
        case _:
            journal.add(e.Offline(on=True))
    journal.add(e.Offline(on=True))
    journal.close()
    body = journal.path.read_bytes()
    if wrong == "checksum":
        line = body.splitlines()[-2]
        body = body.replace(line + b"\n", b"0" * 8 + line[8:] + b"\n", 1)
        journal.path.write_bytes(body)
    again, draft = folder.open(journal.path)
    again.close()
    assert len(draft.attempts) == 1
    assert not draft.offline
    assert journal.path.with_suffix(".damaged").read_bytes() == body


def test_a_full_disk_loses_nothing_once_there_is_room(tmp_path, monkeypatch):
    """Half a line that it took is taken back."""
    folder = JournalFolder(tmp_path)
    journal = journal_with(folder, "one")
    write = os.write

    def full(handle, data):
        if len(data) > 10:
            return write(handle, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    journal.add(asked(Request("one"), Request("one two")))
    assert journal.problem == "the disk is full"
    assert folder.kept()[0][0].draft.request.text == "one"
    monkeypatch.setattr(os, "write", write)
    journal.add(asked(Request("one two"), Request("one two three")))
    assert not journal.problem
    assert folder.kept()[0][0].draft.request.text == "one two three"


def test_texts_of_sources_stay_in_the_store(tmp_path):
    """There alone they can be forgotten."""
    folder = JournalFolder(tmp_path / "drafts")
    with drafted_at(gated_service(), journals=folder) as writing:
        writing.exclude(SOURCES[0])
    ((one,), _) = folder.kept()
    assert one.draft.variant.text == LETTER
    assert [source.title for source in one.draft.variant.sources]
    assert b"yellow hat is a disgrace" not in one.path.read_bytes()


def test_folding_refuses_what_is_not_there():
    with pytest.raises(ValueError, match="not there"):
        Draft().apply(e.Shown(0))
