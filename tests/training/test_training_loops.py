"""Loops are marked from the third time on, cost what they should, and are unlearnt."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.loops import AVOID, SILENT, babbling, looped, looped_examples
from training.tokenizer import END, PAD, START

PIECES = [20, 21, 22, 23]
IDS = st.lists(st.integers(0, 8191), max_size=60)


def plain(ids):
    return [one % SILENT for one in ids]


@given(IDS, st.integers(0, 300), st.integers(0, 9999))
def test_what_was_there_stays_and_copies_are_marked(ids, room, seed):
    """One span stands once as it was, once unmarked for learning, then to be avoided;
    what follows it is as before."""
    made = looped(ids, Random(seed), room)
    marked = [i for i, one in enumerate(made) if one >= SILENT]
    assert len(made) <= max(room, len(ids))
    if not marked:
        assert made == ids
        return
    start, end = marked[0], marked[-1] + 1
    assert made[:start] + made[end:] == ids
    silent = sum(SILENT <= one < AVOID for one in made)
    times, rest = divmod(end - start, silent)
    assert (rest, times >= 3) == (0, True)
    span = made[start - silent : start]
    assert made[start : start + silent] == [one + SILENT for one in span]
    assert made[start + silent : end] == [one + AVOID for one in span] * (times - 1)


@given(IDS, st.integers(0, 300), st.integers(0, 9999))
def test_babble_is_put_into_a_text_that_stays(ids, room, seed):
    """Only pieces, none of them learnt, the last few several times; between tokens
    that have no marks."""
    made = babbling(ids, Random(seed), room, PIECES)
    marked = [i for i, one in enumerate(made) if one >= SILENT]
    assert len(made) <= max(room, len(ids))
    if not marked:
        assert made == ids
        return
    start, end = marked[0], marked[-1] + 1
    assert made[:start] + made[end:] == ids
    assert set(plain(made[start:end])) <= set(PIECES)
    avoided = [one - AVOID for one in made[start:end] if one >= AVOID]
    silent = plain(made[start : end - len(avoided)])
    again = [n for n in range(1, 6) if len(silent) >= 2 * n]
    assert any(
        silent[-n:] == silent[-2 * n : -n] and avoided == silent[-n:] * (size // n)
        for n in again
        if (size := len(avoided)) >= 2 * n
    )


@given(st.integers(0, 9999))
def test_control_tokens_are_never_repeated(seed):
    """An end or a padding within a loop would be something else."""
    ids = [START, 10, 11, END, 12, 13, PAD] * 8
    made = next(looped_examples(iter([ids]), Random(seed), 400, PIECES))
    assert min(plain(one for one in made if one >= SILENT), default=9) > PAD


def test_marked_tokens_cost_their_avoidance():
    """-ln p to be learnt, -ln (1 - p) to be avoided, nothing in silence or padding; if
    the network is certain of one to be avoided, no infinity spoils the weights."""
    torch = pytest.importorskip("torch")
    from training.network import cost_of, targets, unmarked

    torch.manual_seed(0)
    logits = torch.randn(4, 8192, requires_grad=True)
    chances = logits.detach().softmax(1)
    marked = torch.tensor([5, 7 + AVOID, 9 + SILENT, PAD])
    cost = cost_of(logits, marked)
    expected = -chances[0, 5].log() - (1 - chances[1, 7]).log()
    torch.testing.assert_close(cost, expected)
    cost.backward()
    assert logits.grad[0, 5] < 0 < logits.grad[1, 7]
    assert not logits.grad[2:].any()
    assert targets(torch.cat([torch.tensor([4]), marked])[None]) == 2
    assert unmarked(marked).tolist() == [5, 7, 9, PAD]
    sure = torch.full((1, 16), -100.0)
    sure[0, 5] = 100
    sure.requires_grad_()
    cost = cost_of(sure, torch.tensor([5 + AVOID]))
    cost.backward()
    assert 10 < float(cost.detach()) < 20
    assert torch.isfinite(sure.grad).all()
