"""The drawer of the voice, as a person uses it, over a real store."""

import json

from textual.widgets import OptionList
from tui_helpers import gated_service, make_app, play, until

from edge_app.retrieval.voice import mark, voice_of
from models.prompts import Request
from personal_store import Store, import_source

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
