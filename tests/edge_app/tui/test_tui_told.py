"""What was told of the history, in the app's words; no screen takes part."""

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Reckoned, Sent
from edge_app.decoding.events import to_json as event_to_json
from edge_app.service.requests import WriteRequest
from edge_app.tui.drafts import Writing
from edge_app.tui.journal.entries import Begun
from edge_app.tui.recording import RecordedService, from_json
from edge_app.tui.screens.numbers import rows
from edge_app.tui.words.cards_text import sent_card
from models.prompts import Request


def test_what_was_told_is_shown_where_it_was_reckoned():
    """In what left and among the numbers, and nowhere before."""
    writing = Writing(RecordedService([]), MethodSettings())
    writing.draft_state.apply(Begun(WriteRequest(Request("x"))))
    variant = writing.variants[0]
    writing.traffic.apply(Sent(0.0, "http://a", "block", 9, (1,), b""))
    assert "told" not in sent_card(writing, 60).plain
    assert "told" not in [row[0] for row in rows(writing)]
    for nats, total in ((2.5, 2.5), (0.5, 3.0)):
        told = Reckoned(nats, 1, total, 2, 2.5, 4.0, 8.0, True, 0)
        assert from_json(event_to_json(told)) == told
        writing.traffic.apply(told)
        variant.apply(told, 1.0)
    card = sent_card(writing, 60).plain
    assert "told of your history: 3.0 nats" in card
    found = {name: value for name, value, _ in rows(writing)}
    assert found["told"] == "3.0 of 8 nats"
