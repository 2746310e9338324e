"""The plan of blocks: what it promises within its own model, and the model against a
simulation of device, line and server."""

from collections import deque
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_core.draft_length import Costs, DraftLengths, Plan, plan, seconds_a_token
from decoding_core.settings import FIXED_LENGTH, LONGEST, WINDOW

GPU = Costs(draft=0.007, verify=0.040, verify_token=0.0005, round_trip=0.060)
"""A small model that drafts on a device, a large one on a GPU, a line between them."""
LIMITS = (1, 2, 5, LONGEST, 64)

milliseconds = st.sampled_from((1, 3, 10, 30, 100, 300)).map(lambda ms: ms / 1000)
costs = st.builds(
    Costs,
    draft=milliseconds,
    verify=milliseconds,
    verify_token=st.sampled_from([0.0, 0.0005, 0.005]),
    round_trip=st.one_of(st.just(0.0), milliseconds),
)
acceptances = st.sampled_from([0.0, 0.2, 0.5, 0.75, 0.9, 0.97])
windows = st.integers(1, WINDOW)
lengths = st.integers(1, 20)
plans = st.builds(Plan, lengths, lengths, windows).map(
    lambda one: one if one.window > 1 else Plan(one.first, one.first, 1)
)


def answers(costs, plan, tokens):
    """When the device takes in the answer to each block of a text that is kept whole,
    and its length: it drafts token by token, looks for answers in between, sends what
    is long enough while the window has room; the server verifies one block at a
    time."""
    half = costs.round_trip / 2
    now = read = 0.0
    out, pending, told = deque(), 0, []
    while sum(length for _, length in told) < tokens:
        while out and out[0][0] <= now + 1e-9:
            told.append((now, out.popleft()[1]))
        wanted = plan.later if out or (told and plan.window > 1) else plan.first
        if pending >= wanted and len(out) < plan.window:
            read = max(now + half, read) + costs.block(pending)
            out.append((read + half, pending))
            pending = 0
        elif pending >= wanted or (out and plan.window == 1):
            now = max(now, out[0][0])
        else:
            now, pending = now + costs.draft, pending + 1
    return told


def simulated(costs, acceptance, plan):
    """Expected seconds a token: from one refusal to the next, over all places at which
    that may stand; the refused token is replaced, so it counts as one."""
    most = 1
    while acceptance**most > 1e-5:
        most += 1
    times = [time for time, length in answers(costs, plan, most) for _ in range(length)]
    chances = [(1 - acceptance) * acceptance**place for place in range(most)]
    seconds = sum(p * time for p, time in zip(chances, times, strict=False))
    return seconds * (1 - acceptance)


@given(costs, acceptances, plans)
def test_the_formula_is_what_a_simulation_takes(costs, acceptance, plan):
    """In turns and with blocks in flight; the formula gives up runs that hardly ever
    are so long."""
    expected = simulated(costs, acceptance, plan)
    assert seconds_a_token(costs, acceptance, plan) == pytest.approx(expected, rel=0.05)


@given(costs, acceptances, st.sampled_from(LIMITS), st.one_of(windows, st.just("auto")))
def test_no_fixed_length_is_better_than_the_plan_by_more_than_a_twentieth(
    costs, acceptance, limit, window
):
    chosen = plan(costs, acceptance, limit, window)
    assert 1 <= min(chosen.first, chosen.later) <= max(chosen.first, chosen.later)
    assert max(chosen.first, chosen.later) <= limit
    assert window in ("auto", chosen.window)
    seconds = seconds_a_token(costs, acceptance, chosen)
    for number in range(1, WINDOW + 1) if window == "auto" else (window,):
        for length in range(1, limit + 1):
            fixed = Plan(length, length, number)
            assert seconds <= 1.05 * seconds_a_token(costs, acceptance, fixed)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_device_slower_than_its_server_does_not_draft_for_nothing(share):
    """Where drafting a token takes four times what a verdict does, one that was begun
    behind a block would keep a refusal waiting: with little acceptance, take turns."""
    costs = Costs(0.020, 0.005, 0.0, 0.0)
    chosen = plan(costs, share, LONGEST)
    seconds = simulated(costs, share, chosen)
    for window in (1, 2):
        for length in (1, 2, 4, 8):
            fixed = Plan(length, length, window)
            assert seconds <= 1.06 * simulated(costs, share, fixed)
    if share < 0.5:
        assert chosen == Plan(1, 1, 1)


def rounds(lengths, costs, kept, count=64):
    """Tell `lengths` of rounds that cost and kept this."""
    for number in range(count):
        length = (lengths.next(0), lengths.next(1), 1 + number % 5)[number % 3]
        for _ in range(length):
            lengths.drafted(costs.draft, number % 2)
        models = costs.block(length)
        stay = kept(length, number)
        lengths.verified(length, stay, models, models + costs.round_trip)


def test_costs_are_learnt_from_rounds():
    """Each part apart: blocks of several lengths tell a block's from a token's."""
    lengths = DraftLengths("auto", "auto", LONGEST)
    assert (lengths.next(0), lengths.next(1)) == (FIXED_LENGTH, FIXED_LENGTH)
    assert lengths.window == 1
    rounds(lengths, GPU, lambda length, number: length)
    found = lengths.costs
    for name in ("draft", "verify", "verify_token", "round_trip"):
        assert getattr(found, name) == pytest.approx(getattr(GPU, name), rel=1e-6)


def test_the_time_on_the_line_is_the_shortest_that_was_seen():
    """A verdict that waited behind other blocks, or on a busy server, says nothing
    about the line."""
    lengths = DraftLengths("auto", "auto", LONGEST)
    for waited in (0.5, 0.1, 0.3):
        lengths.verified(4, 4, 0.04, waited)
    assert lengths.costs.round_trip == pytest.approx(0.06)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8, 1.0])
def test_acceptance_is_learnt_from_rounds(share):
    """Of the tokens up to the first refused one; those behind it say nothing."""
    lengths, chance = DraftLengths("auto", "auto", LONGEST), Random(3)

    def kept(length, number):
        refused = (i for i in range(length) if chance.random() >= share)
        return next(refused, length)

    rounds(lengths, GPU, kept, 400)
    assert lengths.acceptance == pytest.approx(share, abs=0.12)
    chosen = Plan(lengths.next(0), lengths.next(1), lengths.window)
    best = plan(GPU, lengths.acceptance, LONGEST)
    seconds = seconds_a_token(GPU, lengths.acceptance, chosen)
    assert seconds <= 1.05 * seconds_a_token(GPU, lengths.acceptance, best)


def slowed(lengths, factor, count=60):
    """Tell `lengths` of rounds that take so many times as long while both work."""
    for number in range(count):
        ahead = lengths.window > 1
        times = factor if ahead else 1.0
        for place in range(lengths.next(number % 2)):
            lengths.drafted(times * GPU.draft, ahead and bool(place or number))
        length = lengths.next(number % 2)
        models = times * GPU.block(length)
        lengths.verified(length, length - 1, models, models + GPU.round_trip)


def test_a_text_begins_in_turns_and_drafts_ahead_where_that_is_faster():
    lengths = DraftLengths("auto", "auto", LONGEST)
    assert lengths.window == 1
    slowed(lengths, 1.0)
    assert lengths.window > 1


def test_a_verdict_that_is_overdue_is_not_waited_for():
    """Only one that is about to come is: a token takes 7 ms."""
    lengths = DraftLengths("auto", 2, LONGEST)
    drafted = [0.9] * 8
    assert lengths.worth_a_token(drafted, 3, 0.0)  # nothing is known yet
    rounds(lengths, GPU, lambda length, number: length // 2)
    assert lengths.worth_a_token(drafted, 3, 2 * GPU.draft)
    assert not lengths.worth_a_token(drafted, 3, 0.1 * GPU.draft)
    assert lengths.worth_a_token(drafted, 3, -2 * GPU.draft)


@pytest.mark.parametrize(("length", "window"), [(5, 2), (5, "auto"), ("auto", 1)])
def test_what_is_set_stays(length, window):
    lengths = DraftLengths(length, window, LONGEST)
    for _ in range(3):
        rounds(lengths, GPU, lambda size, number: size * (number % 2), 10)
        if length != "auto":
            assert lengths.next(0) == lengths.next(2) == length
        if window != "auto":
            assert lengths.window == window


def test_a_block_ends_where_the_specialist_was_not_sure():
    lengths = DraftLengths("auto", 1, LONGEST, by_confidence=True)
    rounds(lengths, GPU, lambda size, number: size * (number % 3 > 0))
    sure, unsure = 0.999, 0.2
    few, many = lengths.next(0, [unsure] * 40), lengths.next(0, [sure] * 40)
    assert 1 <= few < many <= LONGEST
    assert few < lengths.next(0, [unsure, *[sure] * 40]) < many
    assert lengths.next(0, [sure, *[unsure] * few, *[sure] * 9]) == few + 1
    assert lengths.chance([sure, unsure]) < lengths.chance([sure, sure])


def test_what_becomes_of_drafted_tokens_is_learnt():
    """Where whatever the specialist is sure of is refused, its word counts for less."""
    lengths = DraftLengths("auto", 1, LONGEST, by_confidence=True)
    for _ in range(40):
        lengths.drafted(0.01, 0)
        lengths.verified(1, 0, 0.01, 0.02, [0.999])
        lengths.verified(1, 1, 0.01, 0.02, [0.2])
    assert lengths.chance([0.999]) < 0.15 < 0.9 < lengths.chance([0.2])
    assert lengths.next(0, [0.999]) == 1


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1e-6, 1.0), max_size=30),
    st.sampled_from(["auto", 5]),
    st.sampled_from(["auto", 1, 3]),
    st.integers(0, 3),
)
def test_a_block_never_shrinks_while_it_is_drafted(thought, length, window, out):
    """What was found long enough is so with whatever is drafted behind it, and else
    there is room for one more; what is set stays, and so does all by no confidence.
    Beside other texts it is one of few lengths."""
    lengths = DraftLengths(length, window, LONGEST, by_confidence=True)
    rounds(lengths, GPU, lambda size, number: size * (number % 3 > 0), 10)
    whole = lengths.next(out, thought)
    for count in range(len(thought)):
        some = lengths.next(out, thought[:count])
        assert some == whole if whole <= count else some > count or some == LONGEST
    blind = DraftLengths(length, window, LONGEST)
    rounds(blind, GPU, lambda size, number: size * (number % 3 > 0), 10)
    assert blind.next(out, thought) == blind.next(out)
    beside = DraftLengths(length, window, LONGEST, together=True)
    assert beside.next(out, thought) == (length if length != "auto" else 4)
    rounds(beside, GPU, lambda size, number: size * (number % 3 > 0), 10)
    assert beside.next(out) == length or beside.next(out) in range(4, LONGEST + 1, 4)
    assert length == "auto" or whole == length


@pytest.mark.parametrize(("limit", "expected"), [(0, 0), (1, 1)])
def test_a_limit_of_nothing_or_one_is_kept(limit, expected):
    """Methods that draw each token from candidates draft none, in turns."""
    lengths = DraftLengths("auto", "auto", limit)
    assert lengths.next(0) == lengths.next(1) == expected
    assert limit or lengths.window == 1
    for _ in range(5):
        lengths.verified(limit, limit, 0.0, 0.0)
    assert lengths.next(0) == lengths.next(1) == expected


def test_drafting_ahead_ends_where_it_is_hardly_ever_kept():
    lengths = DraftLengths("auto", 4, LONGEST)
    assert lengths.begins_a_block([])
    rounds(lengths, GPU, lambda length, number: 0)
    assert lengths.begins_a_block([])
    assert not lengths.begins_a_block([0.9, 0.9])
    rounds(lengths, GPU, lambda length, number: length, 400)
    assert lengths.begins_a_block([0.9] * 3 * LONGEST)
