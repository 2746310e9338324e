"""How a voice shifts the specialist's logits: turns, the frame and end of a letter."""

from dataclasses import replace

import numpy as np
import pytest

from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.decoding.deciders import Drafter, Draws
from edge_app.decoding.shaping import FAR, MOST, Frame, Length, Shaping, Turn
from tests.fakes import HashEngine
from tests.writing import Writing

WORDS = [
    *("Best", " wishes", "Toodle", " pip", " I", "I", " am", "'m", " here", "Hi"),
    *(" Ana", ",", ".", "\n\n", ".\n\n", ",\n", "So", " long", " it", " goes", "Sam"),
    *(" ", "\n", "x", ".\n", "<end>", "best", "toodle", "i", "sam"),
]
END = WORDS.index("<end>")
FRAME = Frame("Hi Ana,", "So", "it goes.", "Toodle pip,", "Sam", 3)


class Words:
    """A vocabulary of whole words; the longest that fits is taken."""

    size = len(WORDS)
    end_ids = frozenset([END])

    def tokenize(self, text):
        ids = []
        while text:
            fit = (word for word in WORDS if text.startswith(word))
            best = max(fit, key=len, default="x")
            ids.append(WORDS.index(best))
            text = text[len(best) :]
        return ids

    def piece(self, token):
        return b"" if token == END else WORDS[token].encode()


WORDS_OF = Words()


def moved(shaping, text):
    """How many nats each word gains behind a text, of those that change."""
    after = shaping(WORDS_OF.tokenize(text), np.zeros(len(WORDS)))
    return {WORDS[i]: round(float(d), 2) for i, d in enumerate(after) if abs(d) > 0.01}


def test_what_is_taken_out_gives_its_place_to_what_is_put_there():
    """Where a line begins or a word has ended, and on along both phrases, from where
    they part, with great and small first letters; never by more than the bound."""
    shaping = Shaping(WORDS_OF, [Turn("Best wishes", "Toodle pip", 4.0)])
    two = round(float(np.log(2)), 2)
    small = {"best": -4.0, "toodle": two}
    assert moved(shaping, "So long.\n\n") == small | {"Best": -4.0, "Toodle": two}
    assert moved(shaping, "So long.\n\nBest") == {" wishes": -4.0}
    assert moved(shaping, "Toodle") == {" pip": 2.0}
    assert moved(Shaping(WORDS_OF, [Turn("Sam", nats=99.0)]), "") == {
        "Sam": -MOST,
        "sam": -MOST,
    }
    waits = Shaping(WORDS_OF, [Turn("Best wishes", "", 3.0, lead=1)])
    assert moved(waits, "") == {}
    assert moved(waits, "Best") == {" wishes": -3.0}
    parting = Shaping(WORDS_OF, [Turn("I am", "I'm", 3.0)])
    assert moved(parting, "So long I") == {" am": -3.0, "'m": two}
    assert moved(parting, "So long") == {}


def test_nothing_is_said_behind_what_was_asked_for():
    """Its last word and nearly all others must have been said, and the sentence ends as
    it would: a comma ends no body."""
    shaping = Shaping(WORDS_OF, frame=Frame("Hi Ana,"), asked=("long", "go"))
    half = round(float(np.log(1.5)), 2)
    assert not moved(shaping, "Hi Ana,\n\nSo it goes")
    done = {".": -MOST / 2, ".\n\n": half, ".\n": half}
    assert moved(shaping, "Hi Ana,\n\nSo long it goes") == done
    ends = {"\n\n": MOST / 2, "<end>": MOST / 2}
    assert moved(shaping, "Hi Ana,\n\nSo long it goes.") == done | ends
    review = Shaping(WORDS_OF, asked=("long", "go"))
    assert moved(review, "So long it goes.") == {"<end>": MOST / 2}
    asked = ("her", "wish", "pip", "sam", "go")
    most = Shaping(WORDS_OF, frame=Frame("Hi"), asked=asked)
    assert moved(most, "Hi\n\nSam here wishes pip it") == {}
    assert moved(most, "Hi\n\nSam here wishes it goes") == done


@pytest.mark.parametrize(("usual", "besides"), [(10.0, ""), (11.0, " I am here.")])
def test_a_letter_begins_and_ends_as_all_of_them_do(usual, besides):
    """The body ends where the model would end it, with the usual last words, and before
    them what is often said if the letter is short; a word far from likely is not
    forced."""
    frame, ids = replace(FRAME, besides=("I am here.",)), []
    shaping = Shaping(WORDS_OF, length=Length(0.0, 99.0, usual), frame=frame)
    rng = np.random.default_rng(5)
    body = iter([" long", ".\n\n", ".", "x"])
    while not ids or ids[-1] != END:
        text = "".join(WORDS[one] for one in ids)
        row = rng.normal(size=len(WORDS)) * 0.1
        if text.startswith("Hi Ana,\n\nSo") and "goes" not in text:
            wanted = next(body) if "." not in text else "Best"
            row[WORDS.index(wanted)] += 8.0
        ids.append(int(shaping(ids, row).argmax()))
        assert len(ids) < 40
    assert "".join(WORDS[one] for one in ids[:-1]) == (
        f"Hi Ana,\n\nSo long.{besides} it goes.\n\nToodle pip,\nSam"
    )


def test_first_words_stand_below_a_greeting_that_came_out_otherwise():
    shaping = Shaping(WORDS_OF, frame=replace(FRAME, opening="So long."))
    for greeting in ("Hi Ana,", "Hi Sam Ana,"):
        assert moved(shaping, f"{greeting}\n\n")["So"] == MOST
        assert moved(shaping, f"{greeting}\n\nSo")[" long"] == MOST
    assert "So" not in moved(shaping, "Hi Sam")
    assert "So" not in moved(shaping, "Hi Ana,\n\nBest")


def test_nothing_behind_a_body_is_lifted_beyond_the_bound():
    """What is said besides the most, then the last words, then the end of the body."""
    frame = replace(FRAME, besides=("I am here.",))
    shaping = Shaping(WORDS_OF, length=Length(0.0, 99.0, 20.0), frame=frame)
    ids, row = WORDS_OF.tokenize("Hi Ana,\n\nSo long"), np.zeros(len(WORDS))
    row[WORDS.index(".\n\n")] = 9.0
    shaping(ids, row)  # the body may end here
    ids.append(WORDS.index("."))
    order = [WORDS.index(word) for word in (" I", " it", "\n\n")]
    for spread in (1.0, 30.0):
        row = np.random.default_rng(1).normal(size=len(WORDS)) * spread
        gain = shaping(ids, row.copy()) - row
        assert gain.max() <= FAR + 1e-9
        assert set(np.flatnonzero(gain)) <= set(order)
    after = shaping(ids, np.zeros(len(WORDS)))
    assert after[order].tolist() == [MOST, 4.0, 0.0]


def test_the_usual_last_words_stand_last():
    """Once a whole sentence of them was said they go on, and nothing else follows."""
    frame = replace(FRAME, opening="", closing="So long. I am", besides=("I am here.",))
    shaping = Shaping(WORDS_OF, length=Length(0.0, 99.0, 99.0), frame=frame)
    body = "Hi Ana,\n\nBest."
    assert moved(shaping, f"{body} So long. I") == {" am": MOST}
    assert moved(shaping, f"{body} So long. I am") == {"\n\n": MOST}


def test_a_text_that_is_resumed_goes_on_as_if_it_had_never_stopped():
    """From every place, also from the midst of the usual last words."""
    settings, size = MethodSettings(threshold=0.0, temperature=0.7), len(WORDS)
    frame = replace(FRAME, besides=("I am here.",))

    def write(seed, given=()):
        small, *more = (HashEngine(n + seed, size) for n in ("small", "large", "base"))
        shaping = Shaping(WORDS_OF, length=Length(0.0, 20.0, 14.0), frame=frame)
        options = {"given_ids": given, "shape": shaping}
        verifier = EngineVerifier(*more)
        return Writing(settings, small, verifier, 60, (END,), loop=options).run()

    for seed in ("3", "24"):
        text = write(seed)
        assert " I am here. it goes.\n\nToodle pip" in "".join(WORDS[n] for n in text)
        for cut in range(1, len(text)):
            assert text[:cut] + write(seed, text[:cut]) == text


def test_sentences_begin_with_the_letters_of_the_person():
    """Behind a stop and below a greeting, not behind "e.g."; names, "I", words that may
    be names and what may be a sign-off stay as they are."""
    log = [0.0, *(round(float(np.log(number)), 2) for number in range(1, 8))]
    turned = {"Best": -MOST, "best": log[2], "So": -MOST, "Hi": -MOST, "x": log[3]}
    how = {"small": True, "openers": ["best", "ana", "sam", "i"], "read": "by Sam"}
    review, mail = Shaping(WORDS_OF, **how), Shaping(WORDS_OF, frame=Frame(), **how)
    below, second = "Hi Ana,\n\n", "Hi Ana,\n\nSo it goes.\n\n"
    for text in ("", below, "So it goes.\n", second):
        assert moved(review, text) == turned
    assert moved(review, "it goes.") == {" Ana": -MOST, " ": log[2]}
    assert [moved(mail, text) for text in (below, "", second)] == [turned, {}, {}]
    elsewhere = "So it goes", "it goes, e.g.", "it goes, I.", "Hi\n"
    assert not any(moved(review, text) for text in elsewhere)
    signed = Shaping(WORDS_OF, frame=Frame(sign_off="Best"), **how)
    assert moved(signed, second)["Best"] == moved(signed, second)["Hi"] + 2 * MOST
    begun = (" wishes", " pip", " am", " here", " long", " it", " goes")
    great = dict.fromkeys(begun, -MOST) | {" ": log[7], " I": log[2]}
    assert moved(Shaping(WORDS_OF, small=False), "it goes.") == great


def test_the_end_is_pressed_beyond_the_usual_length_alone():
    shaping = Shaping(WORDS_OF, length=Length(0.0, 8.0))
    found = [
        moved(shaping, "So" + " long" * more).get("<end>", 0.0) for more in (6, 9, 99)
    ]
    assert found == [0.0, pytest.approx(3.0), MOST]


def test_a_word_that_was_just_said_is_not_said_again():
    """Behind a comma, or a third time, unless what is read says it twice."""
    shaping = Shaping(WORDS_OF)
    assert moved(shaping, "So long,") == {" long": -MOST}
    assert moved(shaping, "So long, long,") == {" long": -MOST}
    assert moved(shaping, "So long long") == {" long": -MOST}
    assert moved(shaping, "So, ") == {"So": -MOST}
    assert moved(shaping, "Samx, Sam") == {"x": -MOST}
    assert moved(shaping, "So long") == moved(shaping, "So long.") == {}
    twice = Shaping(WORDS_OF, read="A long, long way.")
    assert moved(twice, "So long,") == {}
    assert moved(twice, "So long, long,") == {" long": -MOST}


def test_who_draws_and_who_counts_see_the_shifted_logits():
    """So that an account reckons with what is drawn from."""
    seen, draws = [], Draws(MethodSettings(temperature=0.0).draw())
    draw = draws.draft
    draws.draft = lambda logits, *rest: (
        seen.append(logits.copy()) or draw(logits, *rest)
    )

    class Shape:
        reach = 0

        def __call__(self, before, logits):
            logits[len(before)] += 50.0
            return logits

    drafter = Drafter(HashEngine("s"), [1, 2], draws, shape=Shape())
    assert [drafter.next([]), drafter.next([])] == [0, 1]
    assert np.array_equal(seen, drafter.logits)
