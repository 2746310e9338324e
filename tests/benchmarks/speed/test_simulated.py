"""The loop in simulated time, against what can be computed without it."""

import pytest

from benchmarks.speed.simulated import Loop, Machine, best_loop, simulate

GPU = Machine(draft=0.007, verify=0.0443, round_trip=0.06)


@pytest.mark.parametrize("length", [1, 3, 8])
@pytest.mark.parametrize("acceptance", [0.5, 0.9])
def test_taking_turns_is_the_known_formula(length, acceptance):
    """Leviathan et al., theorem 3.8, where a refused token is redrawn and a full block
    has no bonus."""
    found = simulate(GPU, Loop(length, length, 1), acceptance, 60_000)
    tokens = (1 - acceptance**length) / (1 - acceptance)
    turn = length * GPU.draft + GPU.block(length) + GPU.round_trip
    assert found.seconds_a_token == pytest.approx(turn / tokens, rel=0.02)
    assert found.tokens_a_block == pytest.approx(tokens, rel=0.02)
    assert found.busy == 0.0


@pytest.mark.parametrize("acceptance", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("window", [1, 2, 4])
def test_no_loop_is_faster_than_the_single_chain(acceptance, window):
    """Whatever its lengths are."""
    for lengths in ((1, 1), (2, 6), (8, 8)):
        found = simulate(GPU, Loop(*lengths, window), acceptance, 4_000)
        # A hundredth for the luck of so many tokens.
        assert found.seconds_a_token > 0.96 * GPU.single_chain(acceptance)


def test_everything_kept_leaves_the_slower_side():
    """Drafting alone, or verifying alone, once a window is wide enough."""
    far = Machine(draft=0.01, verify=0.001, round_trip=0.02)
    assert simulate(far, Loop(4, 4, 4), 1.0).seconds_a_token == pytest.approx(
        0.01, rel=0.01
    )
    slow = Machine(draft=0.001, verify=0.08, round_trip=0.02)
    assert simulate(slow, Loop(4, 4, 4), 1.0).seconds_a_token == pytest.approx(
        0.02, rel=0.01
    )
    assert simulate(far, Loop(4, 4, 4), 1.0).in_vain < 0.01


def test_nothing_kept_costs_a_round_a_token():
    """One draft, one trip, one pass; the rest is in vain."""
    found = simulate(GPU, Loop(1, 4, 3), 0.0, 200)
    # A verdict is heard when the draft step beside it is over.
    once = GPU.draft + GPU.block(1) + GPU.round_trip
    assert once <= found.seconds_a_token <= once + GPU.draft
    assert found.tokens_a_block == 1.0
    assert found.in_vain > 0.8


def test_drafting_on_is_faster_than_taking_turns():
    """At their own best lengths."""
    for acceptance in (0.75, 0.9):
        turns = simulate(GPU, best_loop(GPU, acceptance, (1,), tokens=200), acceptance)
        ahead = simulate(GPU, best_loop(GPU, acceptance, (2,), tokens=200), acceptance)
        assert ahead.seconds_a_token < 0.95 * turns.seconds_a_token


def test_a_branch_that_is_always_hit_saves_its_drafts():
    """Where there was time for it: the first block after a refusal is there."""
    loop = Loop(2, 2, 1)
    without = simulate(GPU, loop, 0.5, 8_000)
    hit = simulate(GPU, Loop(2, 2, 1, hits=(1.0,)), 0.5, 8_000)
    # One block of two in four is kept whole, and so needs its drafts.
    rounds = without.seconds_a_token / hit.seconds_a_token
    turn = 2 * GPU.draft + GPU.block(2) + GPU.round_trip
    assert rounds == pytest.approx(turn / (turn - 0.75 * 2 * GPU.draft), rel=0.01)
    busy = Machine(draft=0.05, verify=0.001)
    assert simulate(busy, Loop(2, 2, 2, (1.0,)), 0.5) == simulate(
        busy, Loop(2, 2, 2), 0.5
    )
