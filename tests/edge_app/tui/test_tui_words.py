"""What the screen says: true, plain, and one figure for one thing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tui_helpers import gated_service, make_app, play, settle, writing_at
from tui_tapes import LETTER, REQUEST, SOURCES, held_letter, letter_recording

from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from decoding_core.wire_json import open_to_json
from edge_app.decoding.events import (
    Drafted,
    EventEmitter,
    Finished,
    PrivacySpent,
    Sent,
    Settled,
    Source,
    Statistics,
    Token,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.service.tape import RecordedService
from edge_app.tui.draft import Begun
from edge_app.tui.letters import date, reason, subject
from edge_app.tui.meters import Traffic
from edge_app.tui.screens import cards as cards_text
from edge_app.tui.screens import cards as title_line
from edge_app.tui.screens.cards import sent_card, strip_line
from edge_app.tui.screens.numbers import rows
from edge_app.tui.screens.page import starting
from edge_app.tui.screens.sent import said_by, told_of
from edge_app.tui.text import Run, count_words
from edge_app.tui.variant import STRUCK_SECONDS, Variant
from edge_app.tui.writing import Writing
from models.prompts import Request


def cards(writing) -> dict[str, str]:
    said = {
        "sources_card": cards_text.sources_card(writing, 35),
        "sent_card": cards_text.sent_card(writing, 35),
        "numbers_card": cards_text.numbers_card(writing),
        "strip_line": cards_text.strip_line(writing),
    }
    return {name: text.plain for name, text in said.items()}


@pytest.mark.parametrize("samples", [True, False])
def test_your_letters_are_the_persons_own(samples):
    """And the sample is named for what it is, in every card."""
    with writing_at(gated_service()) as writing:
        writing.samples = samples
        settle(writing, lambda: writing.ready and bool(writing.counts))
        before = cards(writing)["sources_card"]
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        writing.samples = False  # letters were read meanwhile; this text is as it was
        said = cards(writing)
    name = "Tess's sample letters" if samples else "your letters"
    card = said["sent_card"].replace("\n", " ")
    assert card.startswith(f"{name}: 2 stock phrases, 0 facts your request")
    assert said["strip_line"].startswith("left: 2 stock phrases, 0 facts · ")
    assert ("your" in before) is not samples
    assert not any("your letters" in text for text in said.values()) or not samples


def test_each_figure_stands_once():
    """The words of the text, by who wrote them, add up; shares, token counts, times
    and bytes are in the drawers."""
    with writing_at(gated_service()) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        variant = writing.variant
        writing.edit(variant, 0, 0, [("Well, ", "typed")])
        said = cards(writing)
    first, *rows = said["numbers_card"].splitlines()
    counts = [int(row.split()[0]) for row in rows]
    assert first == f"{sum(counts)} words"
    assert counts[-1] == 1
    assert not any(
        mark in text for text in said.values() for mark in ("%", " ms", "kB")
    )
    assert f"{sum(counts)} words, {counts[1]} redrawn" in said["strip_line"]


def test_a_source_has_a_subject_a_date_and_a_reason():
    pier, _visit, jam = SOURCES
    request = replace(REQUEST, text="Thank Ana for the photograph and the jams.")
    assert (subject(pier), date(pier)) == ("pier photos", "Aug 2024")
    same = replace(pier, score_parts={"same_recipient": 0.3})
    assert reason(same, request) == "same person · photograph"
    assert reason(jam, request) == "jams"
    bare = Source(1, "note", 1.0, {"same_kind": 0.1}, "")
    assert (subject(bare), date(bare)) == ("note", "")
    assert reason(bare, request) == "emails like it"
    assert reason(replace(bare, score_parts={}), request) == "one of the latest"
    assert subject(replace(bare, title="email to Bo, 2026-01-02")) == "email to Bo"


def test_the_start_is_told():
    """Before the first word: what is waited for, on the page."""
    fake = gated_service(ready=False)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        assert "loading the models" in starting(writing)
        fake.ready.set()
        told = set()
        writing.variant.opened = None

        def settled() -> bool:
            told.add(starting(writing))
            return not writing.service_busy

        settle(writing, settled)
        variant = writing.variant
        variant.ended, variant.settled = None, []
        assert starting(writing) == "reading 3 letters…"
        variant.opened = None
        assert starting(writing) == "reading 3 letters… asking the checker…"
        variant.sources = ()
        assert starting(writing) == "looking for letters that fit…"


def test_the_dot_tells_of_a_dead_server():
    """Ended while nobody writes, silent in the middle of a text, and back."""
    fake = gated_service()
    letter = letter_recording()
    end = [Settled((Token(1, " alone", "local"),)), Finished("end", Statistics())]
    fake.recordings = [letter, [*letter[:20], *end], letter]
    with writing_at(fake) as writing:

        def dot() -> str:
            return title_line.server(writing).plain

        settle(writing, lambda: writing.ready)
        assert dot().startswith("● own server")
        fake.server_ended = lambda: True
        writing.look_at_checker()
        assert dot().startswith("✗ the checker has ended")
        fake.server_ended = lambda: False
        writing.look_at_checker()
        for start in ("● own server", "✗ no answer", "● own server"):
            writing.again(REQUEST)
            settle(writing, lambda: not writing.service_busy)
            assert dot().startswith(start)
        writing.offline = True
        assert dot().startswith("○ offline")


def test_what_was_told_is_shown_where_it_was_reckoned():
    """In what left and among the numbers, and nowhere before."""
    writing = Writing(RecordedService([]), MethodSettings())
    writing.draft_state.apply(Begun(WriteRequest(Request("x"))))
    variant = writing.variants[0]
    variant.apply(Sent(0.0, "http://a", "block", 9, (1,), b""), 1.0)
    assert "told" not in sent_card(writing, 60).plain
    assert "told" not in [row[0] for row in rows(writing)]
    for nats, total in ((2.5, 2.5), (0.5, 3.0)):
        told = PrivacySpent(nats, 1, total, 2, 2.5, 4.0, 8.0, True, 0)
        variant.apply(told, 1.0)
    card = sent_card(writing, 60).plain
    assert "told of your history: 3.0 nats" in card
    found = {name: value for name, value, _ in rows(writing)}
    assert found["told"] == "3.0 of 8 nats"


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


def test_a_word_looks_whole_and_no_space_is_underlined(tmp_path):
    """A refused piece is a word by itself; what is held back is bold, so it shows
    without colours too."""
    app = make_app(gated_service(), tmp_path)
    runs: list[Run] = [
        *(("heaven", "replaced"), ("ly", "kept"), (".", "kept"), (" wo", "kept")),
        *(("rked", "refused"), (" di", "waiting"), ("dn't", "kept"), (" x y", "held")),
    ]

    async def steps(pilot):
        editor = app.page.editor
        editor._rewrite(runs)
        line = editor.get_line(0)
        looks = {line.plain[one.start : one.end]: one.style for one in line.spans}
        assert list(looks) == ["heavenly", "rked", "didn't", "x", "y"]
        assert looks["heavenly"].underline
        assert looks["rked"].strike
        assert looks["x"].bold

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


def played(events, now=0.0):
    variant = Variant(WriteRequest(REQUEST))
    for event in events:
        variant.apply(event, now)
    return variant


def test_the_settled_tokens_are_the_text():
    assert played(letter_recording()).text == LETTER


def test_drafted_words_wait_until_they_are_settled():
    variant = played([Drafted(1, "A"), Drafted(2, " b")])

    assert variant.shown(0.0) == [("A", "waiting"), (" b", "waiting")]
    variant.apply(Settled((Token(1, "A", "accepted"),)), 0.0)
    assert variant.shown(0.0) == [("A", "kept"), (" b", "waiting")]


def test_a_refused_word_is_struck_for_a_moment_before_what_replaced_it():
    variant = played(
        [
            *(
                Drafted(at, text)
                for at, text in enumerate(["I", " fly", " a", " kite"])
            ),
            Verified(4, 1, (" fly", " a", " kite"), 0.1),
            Settled((Token(0, "I", "accepted"), Token(9, " walk", "recovered"))),
            Drafted(5, " home"),
        ]
    )

    assert variant.shown(0.1) == [
        ("I", "kept"),
        (" fly", "refused"),
        (" walk", "replaced"),
        (" home", "waiting"),
    ]
    assert (" fly", "refused") not in variant.shown(STRUCK_SECONDS + 0.1)


def test_a_refusal_moves_no_line_and_strikes_one_word():
    """A line break that waits is not shown before it is settled, a refused one never;
    a word is struck with all its pieces, and a new one in the place of the last."""
    variant = played([Drafted(1, "One"), Drafted(2, ".\n\n"), Drafted(3, "Two")])
    assert variant.shown(0.0) == [("One", "waiting"), (".", "waiting")]
    variant.apply(Verified(3, 1, (".\n\n", "Two"), 0.1), 0.0)
    assert variant.shown(0.0) == [("One", "waiting"), (".", "refused")]
    variant.apply(Settled((Token(1, "One", "accepted"),)), 0.0)
    for word in (" wor", "ked", " well"):
        variant.apply(Drafted(4, word), 0.0)
    variant.apply(Verified(3, 0, (" wor", "ked", " well"), 0.1), 0.0)
    assert variant.shown(0.0) == [("One", "kept"), (" worked", "refused")]
    variant.apply(Verified(1, 0, ("\n",), 0.1), 0.0)
    assert [text for text, _ in variant.shown(0.0)] == ["One", " worked"]


def test_a_token_that_was_not_drafted_voids_what_waits():
    variant = played([Drafted(1, "A"), Drafted(2, " b")])

    variant.apply(Settled((Token(7, "The", "recovered"),)), 0.0)

    assert variant.shown(0.0) == [("The", "replaced")]


def test_after_a_stop_nothing_is_added():
    variant = played(letter_recording()[:13])
    text = variant.text

    variant.stop(1.0)
    variant.apply(Drafted(1, " more"), 1.0)
    variant.apply(Settled((Token(1, " more", "accepted"),)), 1.0)
    variant.apply(Finished("stopped", Statistics()), 1.1)

    assert variant.text == "".join(words for words, _ in variant.shown(1.0)) == text


def test_numbers_are_those_of_the_recording():
    with writing_at(gated_service()) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        found = {name: value for name, value, _ in rows(writing)}
    assert (found["drafted"], found["kept"], found["redrawn"]) == ("56", "91.1%", "2")
    assert (found["round trip"], found["speed"]) == ("38 ms", "23.0 tokens/s")


def test_words_count_as_they_look():
    runs = [("It's a", "kept"), ("bc de", "typed"), (" f", "replaced")]

    assert count_words(runs) == {"kept": 1, "replaced": 1, "typed": 2, "pasted": 0}
