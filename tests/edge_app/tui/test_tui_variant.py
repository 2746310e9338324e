"""One version as a fold over events."""

from tui_tapes import REQUEST, letter_recording

from edge_app.decoding.events import (
    Drafted,
    Finished,
    Settled,
    Statistics,
    Token,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.tui.meters import numbers
from edge_app.tui.text import count_words
from edge_app.tui.variant import STRUCK_SECONDS, Variant

LETTER = (
    "Dear Ana,\n\nThank you for the photographs. The one of the three of us on the "
    "pier at Whitby made me laugh out loud.\n\nI can come on the weekend of the 14th."
    " I will bring the plum jam and we can walk the old railway line to the coast."
    "\n\nLove,\nBen"
)


def played(events, now=0.0):
    variant = Variant(WriteRequest(REQUEST))
    for event in events:
        variant.apply(event, now)
    return variant


def test_the_settled_tokens_are_the_text():
    assert played(letter_recording()).text == LETTER


def test_drafted_words_wait_until_they_are_settled():
    variant = played([Drafted(1, "A"), Drafted(2, " b")])

    assert variant.tail(0, 0.0) == [("A", "waiting"), (" b", "waiting")]
    variant.apply(Settled((Token(1, "A", "accepted"),)), 0.0)
    assert variant.tail(0, 0.0) == [("A", "kept"), (" b", "waiting")]


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

    assert variant.tail(0, 0.1) == [
        ("I", "kept"),
        (" fly", "refused"),
        (" walk", "replaced"),
        (" home", "waiting"),
    ]
    assert variant.steady() == 1
    assert (" fly", "refused") not in variant.tail(0, STRUCK_SECONDS + 0.1)
    assert variant.steady() == 1, "the last word may go on"


def test_a_refusal_moves_no_line_and_strikes_one_word():
    """A line break that waits is not shown before it is settled, a refused one never;
    a word is struck with all its pieces, and a new one in the place of the last."""
    variant = played([Drafted(1, "One"), Drafted(2, ".\n\n"), Drafted(3, "Two")])
    assert variant.tail(0, 0.0) == [("One", "waiting"), (".", "waiting")]
    variant.apply(Verified(3, 1, (".\n\n", "Two"), 0.1), 0.0)
    assert variant.tail(0, 0.0) == [("One", "waiting"), (".", "refused")]
    variant.apply(Settled((Token(1, "One", "accepted"),)), 0.0)
    for word in (" wor", "ked", " well"):
        variant.apply(Drafted(4, word), 0.0)
    variant.apply(Verified(3, 0, (" wor", "ked", " well"), 0.1), 0.0)
    assert variant.tail(0, 0.0) == [("One", "kept"), (" worked", "refused")]
    variant.apply(Verified(1, 0, ("\n",), 0.1), 0.0)
    assert [text for text, _ in variant.tail(0, 0.0)] == ["One", " worked"]


def test_a_token_that_was_not_drafted_voids_what_waits():
    variant = played([Drafted(1, "A"), Drafted(2, " b")])

    variant.apply(Settled((Token(7, "The", "recovered"),)), 0.0)

    assert variant.tail(0, 0.0) == [("The", "replaced")]


def test_after_a_stop_nothing_is_added():
    variant = played(letter_recording()[:13])
    text = variant.text

    variant.stop(1.0)
    variant.apply(Drafted(1, " more"), 1.0)
    variant.apply(Settled((Token(1, " more", "accepted"),)), 1.0)
    variant.apply(Finished("stopped", Statistics()), 1.1)

    assert (variant.text, variant.tail(len(variant.settled), 1.0)) == (text, [])


def test_numbers_are_those_of_the_recording():
    found = numbers(played(letter_recording()), 1.0)

    assert (found.drafted, found.accepted, found.replaced) == (56, 51, 2)
    assert found.round_trip_ms == 38.0
    assert found.tokens_per_second == 23.0


def test_words_count_as_they_look():
    runs = [("It's a", "kept"), ("bc de", "typed"), (" f", "replaced")]

    assert count_words(runs) == {"kept": 1, "replaced": 1, "typed": 2, "pasted": 0}
