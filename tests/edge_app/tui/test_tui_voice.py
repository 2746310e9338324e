"""The drawer of the voice and what is learnt from, as a person uses it, over a real
store."""

import json

import pytest
from textual.widgets import OptionList
from tui_helpers import drafted, gated_service, make_app, play, until

from edge_app.retrieval.voice import mark, voice_of
from edge_app.service.requests import ServiceConfig
from edge_app.service.service import WritingService
from models.prompts import Request
from personal_store import Store, import_source

pytestmark = pytest.mark.usefixtures("drawn_when_asked")

LETTER = "Hey Ana!\n\nThe kettle sings, and number {n} came.\n\nxo\nSam"


def test_lines_are_read_changed_pinned_and_struck_out(tmp_path):
    """Enter shows the letters that a line is from; u takes everything back."""
    rows = [{"text": LETTER.format(n=n), "to": "Ana", "kind": "email"} for n in "abcd"]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        names = ("text", "to", "kind")
        mapping = {name: name for name in names}
        import_source(store, "jsonl", tmp_path / "rows.jsonl", mapping=mapping)

    def opened(act):
        with Store.open(path) as store:
            return act(store)

    service = gated_service()
    service.voice = lambda *asked: opened(lambda s: voice_of(s.db, *asked))
    service.mark_voice = lambda *said: opened(lambda s: mark(s.db, *said))
    app = make_app(service, tmp_path)

    def voice():
        return opened(lambda store: voice_of(store.db, "email", "Ana"))

    def states():
        return [one.state for one in app.screen._listed[:2]]

    async def steps(pilot):
        app.page.brief.request = Request("Thank her", "email", "Ana")
        app.writing.ask(app.page.brief.request)
        await pilot.press("alt+v")
        await until(pilot, lambda: len(getattr(app.screen, "_listed", ())) > 5)
        shown = app.screen.query_one(OptionList).get_option_at_index(0).prompt
        assert "greeting          Hey {name}!  4 of 4" in str(shown)
        await pilot.press("p", "down")
        await until(pilot, lambda: states() == ["pinned", ""])
        await pilot.press("x")
        await until(pilot, lambda: states() == ["pinned", "struck"])
        await pilot.press("u", "c", *"!", "enter")
        await until(pilot, lambda: states() == ["pinned", "set"])
        assert voice().value("sign-off") == "xo!"
        await pilot.press("u", "g")
        await until(pilot, lambda: app.screen._to == "" and states()[:1] != ["pinned"])
        assert [line.state for line in voice().lines[:2]] == ["pinned", ""]

    play(app, steps)


def test_what_is_taken_away_is_kept_with_its_draft(tmp_path):
    """Copied and changed again, it is the same letter; the service keeps it, with the
    address that the name has."""
    path, kept = tmp_path / "store.db", []
    keeper = WritingService(ServiceConfig(path, path, path, tmp_path / "ledger.jsonl"))
    with Store.open(path) as store:
        rows = {"text": "Hi there.", "kind": "email"}
        (tmp_path / "rows.jsonl").write_text(json.dumps(rows))
        import_source(store, "jsonl", tmp_path / "rows.jsonl")
    service = gated_service()

    def keep(finished):
        keeper.keep_finished(finished)
        kept.append(finished)

    service.keep_finished = keep
    app = make_app(service, tmp_path)

    async def steps(pilot):
        app.writing.samples = False
        await drafted(pilot)
        await pilot.press("alt+c")
        await until(pilot, lambda: len(kept) == 1)
        await pilot.press("space", "A", "h", "alt+c")
        await until(pilot, lambda: len(kept) == 2)

    play(app, steps)
    first, second = kept
    assert first.name == second.name
    assert (first.text, first.own_share) == (first.drafted, 0.0)
    assert second.text == f"{first.text} Ah"
    assert second.drafted == first.drafted
    assert 0.0 < second.own_share < 0.2
    with Store.open(path) as store:
        ((number, *row),) = store.db.execute(
            """SELECT id, body, asked, drafted, excluded, recipient, author FROM record
               JOIN edit ON record_id = record.id"""
        ).fetchall()
    brief = first.brief
    assert keeper.texts([number]) == []
    (shown,) = keeper.texts([number], excluded=True)
    assert shown.excerpt == second.text.strip()
    wanted = [second.text.strip(), brief.text, first.drafted, 1, brief.recipient, 1]
    assert row == wanted
