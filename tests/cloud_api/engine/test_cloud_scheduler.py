"""Slots and rounds, without a thread."""

import threading

import numpy as np
import pytest

from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import (
    AHEAD,
    CHUNK,
    PromptPace,
    Round,
    Scheduler,
)
from cloud_api.errors import StaleBlockError
from decoding_core.errors import (
    CloudBusyError,
    EngineError,
    SessionLostError,
    VocabularyMismatchError,
)
from decoding_core.messages import Candidates, Verdict
from tests.cloud_api.cloud_fakes import (
    BASE,
    GENERALIST,
    FakeModel,
    fake_models,
    logits_after,
)
from tests.waiting import PATIENCE

NOTHING = Verdict(0, 0, 0, ())
PACE = 2 * PromptPace().tokens
"""Tokens of a prompt beside blocks of one user, before anything was measured."""


class Asked:
    """A round that keeps what became of it."""

    def __init__(self, name, ids, rows=1, warm=False, key=(0, 0), text=0, **options):
        self.logits = self.result = None
        verify = None if warm else self.verify
        options = {"uses_base": True, "position": len(ids) - 1, **options}
        self.round = Round(
            name,
            tuple(ids),
            rows,
            verify=verify,
            key=(text, *key),
            done=self.done,
            **options,
        )

    def verify(self, generalist, base):
        self.logits = generalist, base
        return NOTHING

    def done(self, result):
        if isinstance(result, Verdict):
            self.seconds = result.seconds
        # A verdict comes back with the time that the models took.
        self.result = result if self.logits is None else NOTHING


def made(**options):
    """Models for long texts, and a scheduler for them."""
    models = fake_models(context_length=4000, **options)
    return models, Scheduler(models)


def run(scheduler, *asked):
    for one in asked:
        scheduler.add(one.round)
    scheduler.step()


def test_all_who_wait_are_read_in_one_pass_per_model():
    models = fake_models(slots=3)
    asked = [Asked(name, (n, 2, 3), rows=2) for n, name in enumerate("abc")]

    run(Scheduler(models), *asked)

    assert [one.result for one in asked] == [NOTHING] * 3
    assert asked[0].seconds > 0.0
    assert [len(call) for call in models.generalist.calls] == [3]
    assert [len(call) for call in models.base.calls] == [3]
    generalist, base = asked[1].logits
    assert (generalist[1] == logits_after(GENERALIST, (1, 2, 3))).all()
    assert (base[0] == logits_after(BASE, (1, 2))).all()


def test_a_session_that_ends_leaves_nothing_behind():
    """Neither what was read of it, nor what waits, nor what is to be read ahead."""
    models, scheduler = made()
    run(scheduler, Asked("a", (1, 2, 3)), ahead("b", 3 * AHEAD))
    late = Asked("a", (1, 2, 3, 4))
    scheduler.add(late.round)
    scheduler.release("a")
    scheduler.release("b")

    assert isinstance(late.result, SessionLostError)
    assert scheduler.pause() is None
    assert [*models.generalist.held, *models.base.held] == [[]] * 4


def test_a_chunk_of_a_long_prompt_is_read_beside_rounds_that_are_ready():
    """In one pass; in small chunks as long as the other text is about."""
    models, scheduler = made()
    long = Asked("long", [1] * (3 * CHUNK + 5))
    short = Asked("short", (1, 2))

    run(scheduler, long, short)

    assert (short.result, long.result) == (NOTHING, None)
    for model in (models.generalist, models.base):
        ((first, second),) = model.calls
        assert (first.slot, first.token_ids) == (1, (1, 2))
        assert (second.slot, len(second.token_ids)) == (0, PACE)
    run_all(scheduler)
    assert len(models.generalist.calls[1][0].token_ids) == PACE
    assert long.result == NOTHING
    assert len(models.generalist.held[0]) == len(models.base.held[0]) == 3 * CHUNK + 5


@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_a_text_of_any_length_is_verified(chunks, more):
    models, scheduler = made()
    asked = Asked("a", range(chunks * CHUNK + more), rows=2)

    run(scheduler, asked)
    for _ in range(chunks):
        scheduler.step()

    assert asked.result == NOTHING
    assert read_tokens(models.base) == chunks * CHUNK + more


def test_the_shorter_of_two_prompts_is_read_first_and_the_longer_is_not_forgotten():
    """In every third step the one that waits the longest has its turn."""
    models, scheduler = made()
    long = Asked("long", [1] * (9 * CHUNK))
    short = Asked("short", [2] * (3 * CHUNK + 5))

    run(scheduler, long, short)
    run_all(scheduler)

    read = [r.slot for c in models.generalist.calls for r in c]
    assert read[:5] == [1, 1, 0, 1, 1]
    assert (long.result, short.result) == (NOTHING, NOTHING)


def ahead(name, length):
    """A text to read before its first block comes."""
    return Asked(name, range(length), 0, True)


def read_tokens(model):
    return sum(len(r.token_ids) for call in model.calls for r in call)


def run_all(scheduler):
    while scheduler.pause() == 0.0:
        scheduler.step()


@pytest.mark.parametrize("steps", range(6))
def test_no_token_is_read_twice_whenever_the_first_block_comes(steps):
    """A text read ahead is a part of its first block's; nothing is rolled back for it
    afterwards, so that the second block reads its own tokens alone."""
    models, scheduler = made()
    length = CHUNK + 40
    scheduler.add(ahead("a", length).round)
    for step in range(1, steps + 1):
        scheduler.step()
        for model in (models.generalist, models.base):
            assert model.held[0] == list(range(min(step * AHEAD, length)))
    text = [*range(length), 1, 2, 3]
    first, second = Asked("a", text, rows=3), Asked("a", [*text, 4, 5, 6], rows=3)
    for block in (first, second):
        scheduler.add(block.round)
        run_all(scheduler)

    assert (first.result, second.result) == (NOTHING, NOTHING)
    for model in (models.generalist, models.base):
        assert read_tokens(model) == length + 6
    assert (first.logits[1][2] == logits_after(BASE, text)).all()


def test_a_block_goes_before_what_is_read_ahead_which_never_undoes_it():
    """Also where the block goes on earlier, or was there first."""
    models, scheduler = made()
    scheduler.add(ahead("a", 3 * AHEAD).round)
    scheduler.step()
    text = [*range(AHEAD), 1, 2, 3]
    for more in ([], [4, 5, 6]):
        block = Asked("a", [*text, *more], rows=3)
        run(scheduler, block, ahead("a", 5), ahead("b", AHEAD))
        assert block.result == NOTHING

    assert read_tokens(models.generalist) == len(text) + 3


def test_what_is_read_ahead_leaves_a_slot_free():
    """Until one is freed: the last is for the next block."""
    models, scheduler = made(slots=3)
    for name in "abcd":
        scheduler.add(ahead(name, AHEAD + 1).round)
    run_all(scheduler)

    assert [len(held) for held in models.generalist.held] == [AHEAD + 1] * 2 + [0]
    scheduler.release("a")
    assert scheduler.pause() == 0.0
    run_all(scheduler)
    assert sorted(map(len, models.generalist.held)) == [0, AHEAD + 1, AHEAD + 1]


def test_a_single_slot_is_lent_and_given_back_to_a_block():
    models, scheduler = made(slots=1)
    scheduler.add(ahead("a", 3 * AHEAD).round)
    scheduler.step()
    assert models.generalist.held == [list(range(AHEAD))]

    block = Asked("b", (1, 2))
    run(scheduler, block)

    assert block.result == NOTHING
    assert models.generalist.held == [[1, 2]]
    assert scheduler.pause() is None


def test_what_was_read_ahead_is_taken_back_before_a_text_that_is_written():
    models, scheduler = made(slots=3)
    run(scheduler, Asked("writing", (1, 2, 3)))
    scheduler.add(ahead("opened", 9).round)
    run_all(scheduler)
    for name in ("b", "c"):
        run(scheduler, Asked(name, (7, 8)))

    again = Asked("writing", (1, 2, 3, 4))
    run(scheduler, again)

    assert [r.token_ids for r in models.generalist.calls[-1]] == [(3, 4)]


def test_a_token_is_read_alone_only_where_all_of_its_text_are():
    """And again, with others, where the text goes on in blocks: its figures are those
    of a single token."""
    models, scheduler = made()
    steps = [
        Asked("a", (1, 2, *range(3, n)), key=(0, n), alone=True) for n in (4, 5, 6)
    ]
    blocks = [Asked("a", tuple(range(1, n)), key=(0, n)) for n in (7, 8, 10)]
    for asked in (*steps, *blocks):
        run(scheduler, asked)
    read = [list(call[0].token_ids) for call in models.generalist.calls]
    assert read == [[1, 2, 3], [4], [5], [4, 5, 6], [6, 7], [8, 9]]


def test_one_fault_has_one_victim():
    """A text that is read ahead is left to its first block."""
    models = fake_models()

    def fault(reading):
        return EngineError("broken") if 13 in reading.token_ids else None

    models.base.fault = fault
    good, bad = Asked("good", (1, 2)), Asked("bad", (1, 13))

    scheduler = Scheduler(models)
    scheduler.add(ahead("bad", 14).round)
    scheduler.step()
    assert scheduler.pause() is None
    assert models.generalist.held == [[], []]
    run(scheduler, good, bad)

    assert good.result == NOTHING
    assert isinstance(bad.result, EngineError)
    again = Asked("bad", (1, 14), rows=1)
    run(scheduler, again)
    assert (again.logits[0] == logits_after(GENERALIST, (1, 14))).all()


def test_a_server_that_is_away_is_nobodys_fault():
    """All are asked to come again, it is asked once, and what was read stays read."""
    models, scheduler = made()
    run(scheduler, Asked("one", (1, 2)), Asked("two", (1, 3)))
    calls = len(models.generalist.calls)
    models.generalist.fault = lambda _: CloudBusyError("away", 0.5)
    both = [Asked("one", (1, 2, 3), key=(0, 1)), Asked("two", (1, 3, 4), key=(0, 1))]

    run(scheduler, *both)

    assert [str(one.result) for one in both] == ["away", "away"]
    assert len(models.generalist.calls) == calls + 1
    models.generalist.fault = None
    again = Asked("one", (1, 2, 3), key=(0, 1))
    run(scheduler, again)
    assert again.result == NOTHING
    assert models.generalist.calls[-1][0].token_ids == (1, 2, 3)


def refusing(name, token_ids, key, kept=0):
    """A block of one drafted token, of which so many are kept."""
    asked = Asked(name, token_ids, key=key, whole=1)
    asked.round.verify = lambda *_: Verdict(*key, kept, ())
    return asked


def test_what_follows_a_refusal_is_dropped_before_it_is_computed():
    """Also what comes only then; the next epoch goes on."""
    models, scheduler = made()
    blocks = [refusing("a", (1, 2, *range(n)), (0, n), n < 1) for n in range(4)]
    for block in blocks[:3]:
        scheduler.add(block.round)
    other = Asked("b", (7, 8))
    scheduler.add(other.round)
    run_all(scheduler)
    scheduler.add(blocks[3].round)
    again = refusing("a", (1, 2, 9), (1, 4), 1)
    run(scheduler, again)

    assert [block.result.accepted for block in blocks[:2]] == [1, 0]
    assert all(isinstance(block.result, StaleBlockError) for block in blocks[2:])
    assert (other.result, again.result.accepted) == (NOTHING, 1)
    assert len(models.generalist.calls) == 3


def test_a_later_epoch_makes_the_blocks_that_wait_stale():
    """Where the device decides, the server learns of a refusal by the next epoch."""
    models, scheduler = made()
    old = [Asked("a", (1, 2, n), key=(0, n)) for n in range(3)]
    new = Asked("a", (1, 2, 9), key=(1, 3))

    run(scheduler, *old, new)
    late = Asked("a", (1, 2, 4), key=(0, 4))
    run(scheduler, late)

    assert all(isinstance(one.result, StaleBlockError) for one in (*old, late))
    assert new.result == NOTHING
    assert len(models.generalist.calls) == 1


@pytest.mark.parametrize("again", [0, 3])
def test_what_stands_behind_a_block_that_failed_waits_for_it(again):
    """Until it comes again, under its name or a later one."""
    models, scheduler = made()
    texts = [(1, 2), (1, 2, 3), (1, 2, 3, 4)]
    first, second, third = (
        Asked("a", text, key=(0, n)) for n, text in enumerate(texts)
    )
    models.base.fault = lambda _: EngineError("broken")
    run(scheduler, first, second)
    models.base.fault = None
    run(scheduler, third)
    later = [Asked("a", text, key=(0, again + n)) for n, text in enumerate(texts)]
    for one in later:
        scheduler.add(one.round)
    run_all(scheduler)

    assert isinstance(first.result, EngineError)
    assert isinstance(second.result, StaleBlockError)
    assert isinstance(third.result, StaleBlockError)
    assert [one.result for one in later] == [NOTHING] * 3


def test_a_new_text_keeps_the_slot_and_what_both_begin_with():
    """It makes the blocks of the old one stale."""
    models, scheduler = made()
    run(scheduler, Asked("a", range(40)))
    old = Asked("a", range(43), key=(7, 9))
    scheduler.add(old.round)
    scheduler.add(Asked("a", (*range(30), 60, 61), 0, True, text=1).round)
    run_all(scheduler)
    block = Asked("a", (*range(30), 60, 61, 5, 6), rows=2, text=1)
    run(scheduler, block)

    assert isinstance(old.result, StaleBlockError)
    assert block.result == NOTHING
    for model in (models.generalist, models.base):
        read = [reading.token_ids for call in model.calls[1:] for reading in call]
        assert read == [(60, 61), (5, 6)]


def test_both_models_read_at_the_same_time_where_they_may():
    """Each waits inside its evaluation until the other has begun; a fault of one is
    told when the other has ended."""
    pair = fake_models()
    models = Models(pair.generalist, pair.base, at_once=True)
    scheduler = Scheduler(models)
    both = threading.Barrier(2)
    for model in models.each():
        model.fault = lambda _: both.wait(PATIENCE) and None
    asked, failed, again = (
        Asked("a", (1, 2, *range(n)), key=(0, n)) for n in (0, 1, 1)
    )
    run(scheduler, asked)
    models.generalist.fault = None
    models.base.fault = lambda _: EngineError("broken")
    run(scheduler, failed)
    models.base.fault = None
    run(scheduler, again)
    scheduler.close(EngineError("over"))

    assert (asked.result, again.result) == (NOTHING, NOTHING)
    assert isinstance(failed.result, EngineError)
    assert models.base.threads - models.generalist.threads
    assert (again.logits[1] == logits_after(BASE, (1, 2, 0))).all()


NAN = Candidates(*(np.array([x]) for x in (1, float("nan"), 0.0)))


@pytest.mark.parametrize(
    "verify", [lambda *_: 1 / 0, lambda *_: Verdict(0, 0, 0, (NAN,))]
)
def test_what_nobody_expected_is_told_without_its_words(verify):
    """Nor are values that are not finite answered."""
    asked = Asked("a", (1, 2))
    asked.round.verify = verify
    run(Scheduler(fake_models()), asked)

    assert isinstance(asked.result, EngineError)
    assert str(asked.result) == "a model failed to compute"


def test_models_that_do_not_share_a_vocabulary_are_no_pair():
    with pytest.raises(VocabularyMismatchError, match=r"fake-1.*fake-2"):
        Models(FakeModel(GENERALIST), FakeModel(BASE, vocabulary="other"))
