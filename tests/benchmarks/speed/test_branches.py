"""What is guessed of a refusal before its verdict, and what a guess is worth."""

import pytest

from benchmarks.speed.bench_branches import (
    Guesses,
    Recording,
    Refusal,
    among_first,
    gain,
)
from benchmarks.speed.rig.engines import Pace, PacedBatch
from benchmarks.speed.rig.trace import Trace, TraceLogits
from benchmarks.speed.simulated import Machine
from decoding_core.messages import TokenBlock
from decoding_core.protocols import Reading
from edge_app.decoding.events import EventEmitter

PROMPT = 5


def recording(rows):
    logits = TraceLogits(Trace(0.5, 0), "specialist", PROMPT, 2048)
    found = Recording(PacedBatch("small", Pace(0.0), logits, 2048, 1, 99))
    found.likeliest.update(rows)
    return found


def test_a_refusal_is_ranked_among_what_was_likely():
    """Its token in the row without the refused one; place and token among all, an
    early place before a late one that is as likely."""
    rows = {
        PROMPT + 2: [(7, 0.6), (8, 0.3), (9, 0.1)],
        PROMPT + 3: [(4, 0.5), (5, 0.45), (6, 0.05)],
    }
    guesses = Guesses(recording(rows), PROMPT)
    emitter = EventEmitter(guesses.hear, lambda _: b"")
    for token in (1, 2):
        emitter.drafted(token)
    emitter.verified(2, 2, 0.1)
    emitter.settled(TokenBlock((1, 2), ("accepted",) * 2))
    for token in (7, 4):
        emitter.drafted(token)
    emitter.verified(2, 1, 0.1)
    emitter.settled(TokenBlock((7, 6), ("accepted", "recovered")))
    # Before it: 5 after 7 (0.45 times what is kept), 8, 9.
    assert guesses.refusals == [Refusal(rank=2, branch=4)]
    assert guesses.accepted == 3


def test_a_token_that_nobody_thought_of_has_no_rank():
    guesses = Guesses(recording({PROMPT: [(7, 0.6)]}), PROMPT)
    emitter = EventEmitter(guesses.hear, lambda _: b"")
    emitter.drafted(7)
    emitter.verified(1, 0, 0.1)
    emitter.settled(TokenBlock((3,), ("recovered",)))
    assert guesses.refusals == [Refusal(rank=0, branch=0)]
    assert [among_first([0, 1, 3], n) for n in (1, 2, 3)] == [1, 1, 2]


def test_the_likeliest_are_those_of_each_place():
    """By how many tokens were read; a rollback writes over them."""
    found = recording({})
    found.evaluate([Reading(0, [1] * (PROMPT + 2), 2)])
    drafted = Trace(0.5, 0).drafted
    assert sorted(found.likeliest) == [PROMPT + 1, PROMPT + 2]
    assert found.likeliest[PROMPT + 1][0][0] == drafted(1)
    found.rollback(0, PROMPT)
    found.evaluate([Reading(0, [1])])
    assert found.likeliest[PROMPT + 1][0][0] == drafted(1)


@pytest.mark.slow
def test_no_branch_pays_where_the_device_never_idles():
    """And one that is always hit does where it waits."""
    assert gain(Machine(0.05, 0.001), 0.8, (1.0,), 1.0) == 0.0
    assert gain(Machine(0.007, 0.0443, round_trip=0.2), 0.5, (1.0,), 1.0) > 0.0
