"""What was told of the history, in the app's words; no screen takes part."""

import json

from textual.content import Content
from tui_helpers import gated_service, make_app, play, until

from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from decoding_core.wire_json import open_to_json
from edge_app.decoding.events import (
    Drafted,
    Event,
    EventEmitter,
    HeldBack,
    Opened,
    Reckoned,
    Sent,
    Settled,
    Source,
    SourcesFound,
    StandsIn,
    Token,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.service.tape import RecordedService
from edge_app.tui.draft import Begun
from edge_app.tui.meters import Traffic
from edge_app.tui.screens.cards import sent_card, strip_line
from edge_app.tui.screens.numbers import rows
from edge_app.tui.screens.page import legend
from edge_app.tui.screens.sent import said_by, told_of
from edge_app.tui.text import Run
from edge_app.tui.variant import Variant
from edge_app.tui.writing import Writing
from models.prompts import Request


def test_what_was_told_is_shown_where_it_was_reckoned():
    """In what left and among the numbers, and nowhere before."""
    writing = Writing(RecordedService([]), MethodSettings())
    writing.draft_state.apply(Begun(WriteRequest(Request("x"))))
    variant = writing.variants[0]
    variant.apply(Sent(0.0, "http://a", "block", 9, (1,), b""), 1.0)
    assert "told" not in sent_card(writing, 60).plain
    assert "told" not in [row[0] for row in rows(writing)]
    for nats, total in ((2.5, 2.5), (0.5, 3.0)):
        told = Reckoned(nats, 1, total, 2, 2.5, 4.0, 8.0, True, 0)
        variant.apply(told, 1.0)
    card = sent_card(writing, 60).plain
    assert "told of your history: 3.0 nats" in card
    found = {name: value for name, value, _ in rows(writing)}
    assert found["told"] == "3.0 of 8 nats"


def held_letter() -> list[Event]:
    """A letter of which two words stayed here, and what stood in for them left."""
    secret = "Ana swam across the cold black water"
    source = Source(1, "email to Ana, 2024-08-19: water", 1.0, {}, secret)
    words = ["Ana", " swam", " across", " the", " cold", " black", " water"]
    stand_in = ((90, " ..."),)
    held = HeldBack("phrase", "words in the order", " the cold", " ...", 3, 2)
    return [
        SourcesFound((source,)),
        Opened("server", local=False),
        *(Drafted(at, word) for at, word in enumerate(words)),
        Sent(0.0, "http://a", "block", 9, (0, 1, 2), b""),
        StandsIn(stand_in),
        Verified(3, 3, (), 0.1),
        Settled(tuple(Token(at, words[at], "accepted") for at in range(3))),
        held,
        Settled(tuple(Token(at, words[at], "local") for at in (3, 4))),
        Sent(0.0, "http://a", "block", 9, (90, 5, 6), b""),
    ]


def test_words_that_were_held_back_did_not_leave():
    """The card and the drawer say how many, and a new draft begins with none."""
    writing = Writing(RecordedService([]), MethodSettings())
    writing.draft_state.apply(Begun(WriteRequest(Request("x"))))
    variant = writing.variants[0]
    for event in held_letter():
        writing.happened(variant, event)

    assert variant.runs()[3:] == [(" the", "held"), (" cold", "held")]
    assert "2 words held back from the checker" in sent_card(writing, 60).plain
    assert "“the cold” stayed here, “...” was sent" in told_of(variant)
    assert "2 words held back" in strip_line(writing).plain
    writing.begin_anew()
    assert sent_card(writing, 60).plain == "nothing was sent yet"
    assert strip_line(writing).plain.startswith("nothing was sent yet")


def test_what_is_held_back_does_not_silence_the_checker():
    """No verdict comes for it, and none is waited for."""
    writing = Writing(RecordedService([]), MethodSettings())
    writing.draft_state.apply(Begun(WriteRequest(Request("x"))))
    variant = writing.variants[0]
    for event in held_letter():
        writing.happened(variant, event)
    assert not writing.checker_silent
    alone = Settled((Token(5, " black", "local"),))
    writing.happened(variant, alone)
    assert writing.checker_silent


def test_the_legend_explains_what_was_held_back():
    """In no more cells than the narrowest page with a legend has."""
    variant = Variant(WriteRequest(Request("x")))
    assert legend(None) == legend(variant)
    for event in held_letter():
        variant.apply(event, 1.0)
    said = Content.from_markup(legend(variant))
    assert "bold held back" in said.plain
    assert said.cell_length <= 71


def test_held_words_look_the_same_in_the_view_and_in_the_editor(tmp_path):
    """Bold, so without colours too."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        pane = app.page.pane
        await until(pilot, lambda: pane.view.size.width > 0)
        runs: list[Run] = [("He met", "kept"), (" Zoltan", "held"), (".", "kept")]
        pane.view.rewrite(0, runs)
        pane.editor.show_runs(runs)
        line = pane.editor.get_line(0)
        (span,) = line.spans
        assert line.plain[span.start : span.end] == "Zoltan"
        looks = [segment.style for segment in pane.view._draw(0)]
        assert span.style.bold
        assert span.style in looks
        await pilot.pause()

    play(app, steps)


def test_each_message_says_its_bytes_in_words():
    """The request with a letter that two of its tokens make, opened anew with a text;
    blocks by the opening before them; what nobody told words of, as a number."""
    pieces = {1: b"user\nThank Am", 2: b"\xc3", 3: b"\xa9lie.", 4: b"", 5: b" Dear"}
    told = []
    EventEmitter(told.append, pieces.__getitem__).posed([1, 2, 3, 4])
    terms = MethodSettings(draft_length=4).terms()
    frames, lost = role_of(terms).frames, tuple(range(90, 99))

    def opening(*text):
        said = OpenSession((1, 2, 3, 4), text, "fake", terms)
        body = json.dumps(open_to_json(said)).encode()
        return Sent(1.0, "http://a:1", "open", 500, text, body.ljust(400))

    def block(settled, drafted):
        said = DraftBlock(0, 0, 0, digest(()), settled, drafted)
        body = frames.encode_block(said)
        return Sent(2.0, "http://a:1", "block", 99, (*settled, *drafted), body)

    traffic = Traffic()
    for event in (
        *told,
        *(Drafted(5, " Dear"), Drafted(6, " Ana")),
        *(opening(), block((), (5, 6)), block((5,), lost[:3]), opening(5)),
        Sent(3.0, "http://a:1", "close", 90, (), b""),
        Sent(3.0, "http://a:1", "open", 90, (), b'{"prompt_ids": [1, 2]}'),
        Sent(3.0, "http://a:1", "block", 90, (5, 6), b"\xff"),
    ):
        traffic.apply(event)
    request = {"your request": "user\nThank Amélie."}
    unknown = "(3 pieces, whose words nothing here tells)"
    assert [said_by(traffic, number) for number in range(len(traffic.sent))] == [
        request,
        {"drafted": " Dear Ana"},
        {"settled before": " Dear", "drafted": unknown},
        request | {"the text so far": " Dear"},
        {},
        {},
        {"in words": " Dear Ana"},
    ]
