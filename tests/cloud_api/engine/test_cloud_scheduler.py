"""Slots and rounds, without a thread."""

import threading

import numpy as np
import pytest

from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import (
    AHEAD,
    CHUNK,
    PassTimes,
    PromptPace,
    Round,
    Scheduler,
)
from cloud_api.errors import StaleBlockError
from decoding_core.errors import CloudBusyError, EngineError, SessionLostError
from decoding_core.messages import Candidates, Verdict
from models.engines.llama_cpp import LlamaModel
from models.files import locate
from models.running.settings import EngineSettings
from tests.cloud_api.cloud_fakes import (
    BASE,
    GENERALIST,
    fake_models,
    logits_after,
    whole_rows,
)
from tests.waiting import PATIENCE

NOTHING = Verdict(0, 0, 0, ())
PACE = 2 * PromptPace().tokens
"""Tokens of a prompt beside blocks of one user, before anything was measured."""


class Asked:
    """A round that keeps what became of it."""

    def __init__(self, name, ids, rows, key, options):
        self.logits = self.result = None
        options = {"verify": self.verify, "position": len(ids) - 1, **options}
        ids = tuple(ids)
        self.round = Round(name, ids, rows, True, key=key, done=self.done, **options)

    def verify(self, generalist, base):
        self.logits = generalist, base
        return NOTHING

    def done(self, result):
        if isinstance(result, Verdict):
            self.seconds = result.seconds
        # A verdict comes back with the time that the models took.
        self.result = result if self.logits is None else NOTHING


class Desk:
    """A scheduler of models for long texts, and who asks it."""

    def __init__(self, models=None, **options):
        self.models = models or fake_models(context_length=4000, **options)
        self.scheduler = Scheduler(self.models)

    def add(self, name, ids, round_=0, rows=1, epoch=0, text=0, **options):
        """A block that waits."""
        asked = Asked(name, ids, rows, (text, epoch, round_), options)
        self.scheduler.add(asked.round)
        return asked

    def ahead(self, name, ids, text=0):
        """A text to read before its first block comes."""
        self.add(name, ids, rows=0, verify=None, text=text)

    def read(self, *asked, **options):
        """What became of a block after one step."""
        found = self.add(*asked, **options)
        self.scheduler.step()
        return found

    def read_all(self):
        while self.scheduler.pause() == 0.0:
            self.scheduler.step()

    @property
    def calls(self):
        """What the generalist read in each pass, by slot."""
        return [
            {r.slot: list(r.token_ids) for r in call}
            for call in self.models.generalist.calls
        ]


def broken(_):
    return EngineError("broken")


def size_read(model):
    return sum(len(r.token_ids) for call in model.calls for r in call)


def test_all_who_wait_are_read_in_one_pass_per_model():
    desk = Desk(slots=3)
    asked = [desk.add(name, (n, 2, 3), rows=2) for n, name in enumerate("abc")]
    desk.scheduler.step()

    assert [one.result for one in asked] == [NOTHING] * 3
    assert asked[0].seconds > 0.0
    assert [len(model.calls) for model in desk.models.each()] == [1, 1]
    generalist, base = asked[1].logits
    assert (generalist[1] == logits_after(GENERALIST, (1, 2, 3))).all()
    assert (base[0] == logits_after(BASE, (1, 2))).all()


def test_who_may_share_a_pass_follows_from_what_passes_took():
    """By medians, so that a single slow one says nothing; nobody before that is known,
    and no long block, which others would wait for."""
    card, processor = PassTimes(), PassTimes()
    assert not card.share(1)
    for tokens in (8, 8, 8, 40, 40, 40, 9, 9):
        card.note(tokens, 0.04 + 0.0005 * tokens)
        processor.note(tokens, 0.002 + 0.003 * tokens)
    card.note(8, 5.0)
    assert (card.fixed, card.token) == pytest.approx((0.04, 0.0005), rel=0.03)
    assert [card.share(n) for n in (1, 9, 16, 40)] == [True, True, True, False]
    assert not processor.share(1)


def test_a_session_that_ends_leaves_nothing_behind():
    """Neither what was read of it, nor what waits, nor what is to be read ahead."""
    desk = Desk()
    desk.ahead("b", range(3 * AHEAD))
    desk.read("a", (1, 2, 3))
    last = desk.add("a", (1, 2, 3, 4), 1)
    for name in "ab":
        desk.scheduler.release(name)

    assert isinstance(last.result, SessionLostError)
    assert desk.scheduler.pause() is None
    assert [model.held for model in desk.models.each()] == [[[], []]] * 2


def test_a_chunk_of_a_long_prompt_is_read_beside_rounds_that_are_ready():
    """In one pass; in small chunks as long as the other text is about."""
    desk = Desk()
    long = desk.add("long", [1] * (3 * CHUNK + 5))
    short = desk.read("short", (1, 2))

    assert (short.result, long.result) == (NOTHING, None)
    assert desk.calls == [{1: [1, 2], 0: [1] * PACE}]
    desk.read_all()
    assert desk.calls[1] == {0: [1] * PACE}
    assert long.result == NOTHING
    assert [len(model.held[0]) for model in desk.models.each()] == [3 * CHUNK + 5] * 2


@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_a_text_of_any_length_is_verified(more):
    for chunks in (1, 2):
        desk = Desk()
        asked = desk.add("a", range(chunks * CHUNK + more), rows=2)
        for _ in range(chunks + 1):
            desk.scheduler.step()

        assert asked.result == NOTHING
        assert size_read(desk.models.base) == chunks * CHUNK + more


def test_the_shorter_of_two_prompts_is_read_first_and_the_longer_is_not_forgotten():
    """In every third step the one that waits the longest has its turn."""
    desk = Desk()
    sizes = {"long": 9 * CHUNK, "short": 3 * CHUNK + 5}
    both = [desk.add(name, [1] * size) for name, size in sizes.items()]
    desk.read_all()

    assert [slot for call in desk.calls for slot in call][:5] == [1, 1, 0, 1, 1]
    assert [one.result for one in both] == [NOTHING, NOTHING]


@pytest.mark.parametrize("steps", range(6))
def test_no_token_is_read_twice_whenever_the_first_block_comes(steps):
    """A text read ahead is a part of its first block's; nothing is rolled back for it
    afterwards, so that the second block reads its own tokens alone."""
    desk, length = Desk(), CHUNK + 40
    desk.ahead("a", range(length))
    for step in range(1, steps + 1):
        desk.scheduler.step()
        for model in desk.models.each():
            assert model.held[0] == list(range(min(step * AHEAD, length)))
    text = [*range(length), 1, 2, 3]
    first = desk.add("a", text, rows=3)
    desk.read_all()
    second = desk.add("a", [*text, 4, 5, 6], rows=3)
    desk.read_all()

    assert (first.result, second.result) == (NOTHING, NOTHING)
    assert [size_read(model) for model in desk.models.each()] == [length + 6] * 2
    assert (first.logits[1][2] == logits_after(BASE, text)).all()


def test_a_block_goes_before_what_is_read_ahead_which_never_undoes_it():
    """Also where the block goes on earlier, or was there first."""
    desk = Desk()
    desk.ahead("a", range(3 * AHEAD))
    desk.scheduler.step()
    text = [*range(AHEAD), 1, 2, 3]
    for more in ([], [4, 5, 6]):
        block = desk.add("a", [*text, *more], rows=3)
        desk.ahead("a", range(5))
        desk.ahead("b", range(AHEAD))
        desk.scheduler.step()
        assert block.result == NOTHING

    assert size_read(desk.models.generalist) == len(text) + 3


def test_what_is_read_ahead_leaves_a_slot_free():
    """Until one is freed: the last is for the next block."""
    desk = Desk(slots=3)
    for name in "abcd":
        desk.ahead(name, range(AHEAD + 1))
    for released in "ab":
        assert desk.scheduler.pause() == 0.0
        desk.read_all()
        held = desk.models.generalist.held
        assert sorted(map(len, held)) == [0, AHEAD + 1, AHEAD + 1]
        desk.scheduler.release(released)


def test_a_single_slot_is_lent_and_given_back_to_a_block():
    desk = Desk(slots=1)
    desk.ahead("a", range(3 * AHEAD))
    desk.scheduler.step()
    assert desk.models.generalist.held == [list(range(AHEAD))]

    assert desk.read("b", (1, 2)).result == NOTHING
    assert desk.models.generalist.held == [[1, 2]]
    assert desk.scheduler.pause() is None


def test_what_was_read_ahead_is_taken_back_before_a_text_that_is_written():
    desk = Desk(slots=3)
    desk.read("writing", (1, 2, 3))
    desk.ahead("opened", range(9))
    desk.read_all()
    for name in "bc":
        desk.read(name, (7, 8))
    desk.read("writing", (1, 2, 3, 4), 1)

    assert [*desk.calls[-1].values()] == [[3, 4]]


def test_a_token_is_read_alone_only_where_all_of_its_text_are():
    """And again, with others, where the text goes on in blocks: its figures are those
    of a single token."""
    desk = Desk()
    for n, alone in ((3, True), (4, True), (5, True), (6, False), (7, False)):
        desk.read("a", range(n), n, alone=alone)
    desk.read("a", range(9), 9)
    read = [*range(3)], [3], [4], [3, 4, 5], [5, 6], [7, 8]
    assert [call[0] for call in desk.calls] == [*read]


def test_one_fault_has_one_victim():
    """A text that is read ahead is left to its first block."""
    desk = Desk()

    def fault(reading):
        return EngineError("broken") if 13 in reading.token_ids else None

    desk.models.base.fault = fault
    desk.ahead("bad", range(14))
    desk.scheduler.step()
    assert desk.scheduler.pause() is None
    assert desk.models.generalist.held == [[], []]
    good, bad = desk.add("good", (1, 2)), desk.read("bad", (1, 13))

    assert good.result == NOTHING
    assert isinstance(bad.result, EngineError)
    again = desk.read("bad", (1, 14))
    assert (again.logits[0] == logits_after(GENERALIST, (1, 14))).all()


def test_a_server_that_is_away_is_nobodys_fault():
    """All are asked to come again, it is asked once, and what was read stays read."""
    desk = Desk()
    desk.add("one", (1, 2))
    desk.read("two", (1, 3))
    desk.models.generalist.fault = lambda _: CloudBusyError("away", 0.5)
    both = desk.add("one", (1, 2, 3), 1), desk.read("two", (1, 3, 4), 1)

    assert [str(one.result) for one in both] == ["away", "away"]
    assert len(desk.calls) == 2
    desk.models.generalist.fault = None
    assert desk.read("one", (1, 2, 3), 1).result == NOTHING
    assert [*desk.calls[-1].values()] == [[1, 2, 3]]


def test_a_block_that_is_read_in_parts_has_the_rows_of_a_whole_one():
    """Where each token costs as much as the one before, and another's are half as long.
    These are read between the parts; after a fault the slot is empty."""
    desk = Desk(slots=2)
    desk.scheduler = Scheduler(desk.models, lambda: size_read(desk.models.base))
    ana, ben = {"party": ("ana", "")}, {"party": ("ben", "")}
    text = range(600)
    for n in range(4):
        desk.read("long", text[: 20 * (n + 1)], n, rows=17, **ana)
        desk.read("short", text[: 8 * (n + 1)], n, rows=8, **ben)
    desk.read_all()
    for lost in (False, True):
        n, passes = 5 + lost, len(desk.calls)
        block = desk.read("long", text[: 17 * n], n, rows=17, **ana)
        assert block.result is None
        if lost:
            desk.models.base.fault = lambda r: (
                broken(r) if 47 in r.token_ids[:8] else None
            )
        desk.read("short", text[: 8 * n], n, rows=8, **ben)
        desk.read_all()
        assert block.result == NOTHING
        sizes = [[len(ids) for ids in call.values()] for call in desk.calls[passes:]]
        if lost:
            assert sizes == [[9], [8, 8], [8 * n], [17 * n]]
        else:
            assert (sizes, block.seconds) == ([[9], [8, 8]], 9 + 8 + 8)
        for salt, rows in zip((GENERALIST, BASE), block.logits, strict=True):
            assert (rows == whole_rows(salt, text[: 17 * n], 17)).all()


def refusing(kept, **key):
    """A verdict on a block of one drafted token, of which `kept` stay."""
    verdict = Verdict(key.get("epoch", 0), key["round_"], kept, ())
    return {**key, "whole": 1, "verify": lambda *_: verdict}


def test_what_follows_a_refusal_is_dropped_before_it_is_computed():
    """Also what comes only then; the next epoch goes on."""
    desk = Desk()
    blocks = [
        desk.add("a", (1, 2, *range(n)), **refusing(n < 1, round_=n)) for n in range(3)
    ]
    other = desk.add("b", (7, 8))
    desk.read_all()
    blocks.append(desk.add("a", (1, 2, 0, 1, 2), 3))
    again = desk.read("a", (1, 2, 9), **refusing(1, epoch=1, round_=4))

    assert [block.result.accepted for block in blocks[:2]] == [1, 0]
    assert all(isinstance(block.result, StaleBlockError) for block in blocks[2:])
    assert (other.result, again.result.accepted) == (NOTHING, 1)
    assert len(desk.calls) == 3


def test_a_later_epoch_makes_the_blocks_that_wait_stale():
    """Where the device decides, the server learns of a refusal by the next epoch."""
    desk = Desk()
    old = [desk.add("a", (1, 2, n), n) for n in range(3)]
    new = desk.read("a", (1, 2, 9), 3, epoch=1)
    old.append(desk.read("a", (1, 2, 4), 4))

    assert all(isinstance(one.result, StaleBlockError) for one in old)
    assert new.result == NOTHING
    assert len(desk.calls) == 1


@pytest.mark.parametrize("again", [0, 3])
def test_what_stands_behind_a_block_that_failed_waits_for_it(again):
    """Until it comes again, under its name or a later one."""
    desk = Desk()
    texts = [(1, 2), (1, 2, 3), (1, 2, 3, 4)]
    desk.models.base.fault = broken
    first, second = desk.add("a", texts[0]), desk.read("a", texts[1], 1)
    desk.models.base.fault = None
    third = desk.read("a", texts[2], 2)
    later = [desk.add("a", text, again + n) for n, text in enumerate(texts)]
    desk.read_all()

    kinds = [type(one.result) for one in (first, second, third)]
    assert kinds == [EngineError, StaleBlockError, StaleBlockError]
    assert [one.result for one in later] == [NOTHING] * 3


def test_a_new_text_keeps_the_slot_and_what_both_begin_with():
    """It makes the blocks of the old one stale."""
    desk = Desk()
    desk.read("a", range(40))
    old = desk.add("a", range(43), 9, epoch=7)
    text = *range(30), 60, 61
    desk.ahead("a", text, text=1)
    desk.read_all()
    block = desk.read("a", (*text, 5, 6), rows=2, text=1)

    assert isinstance(old.result, StaleBlockError)
    assert block.result == NOTHING
    assert desk.calls[1:] == [{0: [60, 61]}, {0: [5, 6]}]


def test_drafts_of_one_request_read_their_prompt_once():
    """The slot of another text of the same user has it; nobody else's is looked at."""
    model = LlamaModel(locate("specialist"), EngineSettings(extra_buffers=False))
    models = Models(model.open(3, 256), model.open(3, 256))
    desk, ids = Desk(models), tuple(range(5, 85))
    both = [desk.add(name, ids, party=("ana", name)) for name in "ab"]
    desk.read_all()
    read = models.counts.generalist.tokens
    assert len(ids) < read <= len(ids) + 4
    assert models.counts.base.tokens == read
    desk.add("c", ids, party=("ben", "z"))
    desk.read_all()
    assert models.counts.generalist.tokens == read + len(ids)
    for one, other in zip(*(one.logits for one in both), strict=True):
        assert np.allclose(one, other, atol=1e-3)
    desk.scheduler.close(SessionLostError("the test ends"))
    for slots in models.each():
        slots.close()
    model.close()


def test_both_models_read_at_the_same_time_where_they_may():
    """Each waits inside its evaluation until the other has begun; a fault of one is
    told when the other has ended."""
    pair = fake_models()
    desk = Desk(Models(pair.generalist, pair.base, at_once=True))
    both = threading.Barrier(2)
    for model in desk.models.each():
        model.fault = lambda _: both.wait(PATIENCE) and None
    asked = desk.read("a", (1, 2))
    desk.models.generalist.fault = None
    desk.models.base.fault = broken
    failed = desk.read("a", (1, 2, 0), 1)
    desk.models.base.fault = None
    again = desk.read("a", (1, 2, 0), 1)
    desk.scheduler.close(EngineError("over"))

    assert (asked.result, again.result) == (NOTHING, NOTHING)
    assert isinstance(failed.result, EngineError)
    assert pair.base.threads - pair.generalist.threads
    assert (again.logits[1] == logits_after(BASE, (1, 2, 0))).all()


NAN = Candidates(*(np.array([x]) for x in (1, float("nan"), 0.0)))


@pytest.mark.parametrize(
    "verify", [lambda *_: 1 / 0, lambda *_: Verdict(0, 0, 0, (NAN,))]
)
def test_what_nobody_expected_is_told_without_its_words(verify):
    """Nor are values that are not finite answered."""
    asked = Desk().read("a", (1, 2), verify=verify)

    assert isinstance(asked.result, EngineError)
    assert str(asked.result) == "a model failed to compute"
