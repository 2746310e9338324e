"""Who holds a slot, and for how long: devices that write in virtual time."""

import heapq
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_api.engine.models import Models
from cloud_api.engine.scheduler import (
    LONGEST_PATIENCE_SECONDS,
    PATIENCE_SECONDS,
    TENURE,
    Round,
    Scheduler,
)
from decoding_core.messages import Verdict

SECONDS_A_TOKEN = 0.001
DONE = Verdict(0, 0, 0, ())


class CountingModel:
    """A `BatchEngine` that counts what it reads and holds, no more than there is memory
    for, and says nothing of it."""

    name, vocabulary_id, vocabulary_size = "counting", "counting", 1
    context_length = 1 << 20

    def __init__(self, slots, budget):
        self.slots, self.budget = slots, budget or 1 << 30
        self.count = self.passes = self.most = 0
        self.held = [0] * slots

    def rollback(self, slot, position):
        self.held[slot] = position

    def evaluate(self, readings):
        self.passes += 1
        for reading in readings:
            self.count += len(reading.token_ids)
            self.held[reading.slot] += len(reading.token_ids)
        self.most = max(self.most, sum(self.held))
        assert self.most <= self.budget
        return [np.zeros((reading.rows, 1), np.float32) for reading in readings]


@dataclass
class Device:
    """Writes one text: each block carries a settled token and eight drafted ones."""

    prompt: int = 320
    blocks: int = 40
    pause: float = 0.02  # seconds from a verdict to the next block
    starts: float = 0.0
    kept: int = 4
    seed: int = 0
    user: str = ""
    device: str = ""
    drafted: int = 9  # tokens of a block
    opens: bool = False  # whether the text is read ahead first

    def rounds(self, name):
        """What it sends, one after the other."""
        choose = random.Random(self.seed)
        party = self.user, self.device
        text = [choose.randrange(1 << 30) for _ in range(self.prompt)]
        if self.opens:
            yield Round(name, tuple(text[:-1]), 0, False, party=party)
        for _ in range(self.blocks):
            drafted = [choose.randrange(1 << 30) for _ in range(self.drafted)]
            ids = (*text, *drafted)
            yield Round(name, ids, self.drafted, False, lambda *_: DONE, party=party)
            text += drafted[: self.kept]


class Household:
    """Devices around a scheduler. Time passes as the model reads, and otherwise jumps
    to what happens next."""

    def __init__(self, slots, devices, budget=None):
        self.jumped = 0.0
        self.model = CountingModel(slots, budget)
        models = Models(self.model, kv_tokens=budget)
        self.counts = models.counts
        self.scheduler = Scheduler(models, lambda: self.now)
        self.devices = devices
        self.times = [[] for _ in devices]  # how long each block of each device took
        self.ended = []

    @property
    def now(self):
        """The time that the model has taken, and that nothing happened."""
        return SECONDS_A_TOKEN * (self.model.count + self.model.passes) + self.jumped

    @property
    def waits(self):
        """The longest that a block of each device took."""
        return [max(times, default=0.0) for times in self.times]

    def add(self, round_):
        """Read what a round asks for, and nothing else that comes later."""
        self.scheduler.add(round_)
        while self.scheduler.pause() == 0.0:
            self.scheduler.step()

    def write(self, until=None):
        """Let every device write its text to the end, or until one of them has."""
        rounds = [d.rounds(str(n)) for n, d in enumerate(self.devices)]
        arrivals = [(d.starts, n) for n, d in enumerate(self.devices)]
        heapq.heapify(arrivals)
        answered = []
        while until not in self.ended:
            while arrivals and arrivals[0][0] <= self.now:
                at, n = heapq.heappop(arrivals)
                found = next(rounds[n], None)
                if found is None:
                    self.scheduler.release(str(n))
                    self.ended.append(n)
                    continue
                found.done = lambda result, n=n, at=at: answered.append((n, at, result))
                if found.verify is None:
                    heapq.heappush(arrivals, (at + self.devices[n].pause, n))
                self.scheduler.add(found)
            pause = self.scheduler.pause()
            if pause == 0.0:
                before = self.now
                self.scheduler.step()
                if self.now == before:
                    self.jumped += SECONDS_A_TOKEN
            else:
                moments = [at for at, _ in arrivals[:1]]
                moments += [] if pause is None else [self.now + pause]
                if not moments:
                    break
                self.jumped += max(1e-9, min(moments) - self.now)
            for n, at, result in answered:
                assert isinstance(result, Verdict)
                self.times[n].append(self.now - at)
                heapq.heappush(arrivals, (self.now + self.devices[n].pause, n))
            answered.clear()
        return self


def read(slots, devices):
    return Household(slots, devices).write().model.count


@pytest.mark.parametrize(
    ("slots", "changes"),
    [
        (4, {}),
        (2, {"prompt": 20, "blocks": 150}),
        (4, {"pause": 0.9}),
        (2, {"prompt": 900, "pause": 0.0}),
        (4, {"prompt": 20, "kept": 8}),
    ],
)
def test_texts_do_not_push_each_other_out(slots, changes):
    """Five texts on fewer slots read at most 1.2 times the tokens of five on five."""
    devices = [Device(seed=n, starts=n / 100, **changes) for n in range(5)]

    assert read(slots, devices) <= 1.2 * read(5, devices)


def test_slots_are_lent_in_the_order_in_which_texts_came():
    devices = [Device(seed=n, starts=n / 1000, blocks=10) for n in range(12)]
    home = Household(2, devices).write()

    firsts = sorted(range(12), key=lambda n: home.ended.index(n) // 2)
    assert firsts == list(range(12))


def test_a_text_without_end_keeps_no_other_waiting_for_ever():
    """All of whose drafts are refused, so that it does not even get longer: others wait
    until it has read ten times what it costs to be read anew."""
    endless = [Device(seed=n, blocks=800, kept=0, pause=0.0) for n in range(2)]
    late = Device(seed=9, starts=1.0, blocks=3)
    home = Household(2, [*endless, late]).write()

    tenure = TENURE * len(endless) * (320 + 9) * SECONDS_A_TOKEN
    assert home.ended[0] == 2
    assert 0.1 * tenure < home.waits[2] < 1.2 * tenure


def test_a_silent_device_keeps_its_slot_for_a_second():
    """As long as nobody waits for longer, so that it goes on where it was."""
    silent = Device(blocks=2, pause=30.0)
    alone = Household(1, [silent]).write()
    assert alone.model.count == 320 + 9 + 5 + 4

    late = Device(seed=9, starts=10.0, blocks=1)
    home = Household(1, [silent, late]).write()
    assert home.waits[1] < 0.5
    waiting = Device(seed=9, starts=0.5, blocks=1)
    home = Household(1, [silent, waiting]).write()
    assert PATIENCE_SECONDS - 0.5 <= home.waits[1] <= PATIENCE_SECONDS + 0.5


def test_a_slow_device_is_given_the_time_that_it_took_before():
    """So that it loses its slot once, and not with each block."""
    slow = [Device(seed=n, starts=n / 100, pause=1.5) for n in range(5)]

    assert 2 * slow[0].pause < LONGEST_PATIENCE_SECONDS
    assert read(4, slow) <= read(5, slow) + 5 * (320 + 9)


def p95(times):
    return float(np.percentile(times, 95))


QUIET = Device(seed=99, user="quiet", opens=True, pause=0.05, blocks=40)


@pytest.mark.parametrize(
    ("flood", "slots"),
    [
        ([Device(2000, 0, opens=True)] * 256, 4),
        ([Device(2000, 8, opens=True)] * 32, 4),
        ([Device(2000, 8)] * 32, 16),
        ([Device(100, 200, 0.0)] * 16, 4),
        ([Device(100, 200, 0.0, drafted=40)] * 8, 16),
    ],
    ids=["openings", "prompts", "more slots", "blocks", "long blocks"],
)
def test_a_flood_at_most_doubles_the_time_of_another_user_s_blocks(flood, slots):
    """Of 95 in 100, whatever the other user's devices send. The first, which waits for
    the prompt, has half of the time, and a slot at once."""
    alone = Household(slots, [QUIET]).write()
    flood = [
        replace(one, seed=n, user="flood", device=str(n % 3), starts=n / 1000)
        for n, one in enumerate(flood)
    ]
    home = Household(slots, [replace(QUIET, starts=0.5), *flood])
    home.write(until=0)

    longest = max(one.drafted for one in flood)
    assert p95(home.times[0]) <= 2 * max(p95(alone.times[0]), longest / 1000)
    prompt = (QUIET.prompt + longest) / 1000
    assert home.times[0][0] <= 4 * prompt


def test_a_user_with_a_share_of_slots_keeps_it_while_thinking():
    """Whatever another user asks; and who has none gets one at once."""
    flood = [Device(seed=n, user="flood", pause=0.0, blocks=150) for n in range(8)]
    thinking = Device(seed=9, user="quiet", pause=20.0, blocks=3, starts=0.3)
    home = Household(4, [*flood, thinking]).write(until=8)

    assert max(home.times[8][1:]) < 0.1


def test_devices_of_one_user_share_its_slots():
    many = [Device(seed=n, device="a", pause=0.0, blocks=200) for n in range(6)]
    one = Device(seed=9, device="b", starts=0.5, blocks=5)
    home = Household(4, [*many, one]).write(until=6)

    assert home.waits[6] < 3.0


@pytest.mark.parametrize(
    ("users", "devices", "most"),
    [
        ([""] * 5, [*"aaaab"], 1.0),
        ([""] * 5, [*"abcde"], 1.0),
        ([*"abcde"], "abcde", 2),
    ],
)
def test_prompts_that_are_read_do_not_keep_a_short_one_waiting(users, devices, most):
    """Four of them hold all slots; the longest gives way, once."""
    texts = [
        Device(2000, 3, seed=n, user=user, device=device)
        for n, (user, device) in enumerate(zip(users, devices, strict=True))
    ]
    texts[4] = replace(texts[4], prompt=300, starts=1.0)
    home = Household(4, texts).write()

    assert home.times[4][0] < most
    assert max(home.waits) < 13


def test_nobody_waits_for_ever_for_those_who_send_blocks():
    """A prompt has its turn after some steps, though blocks always wait."""
    busy = [Device(20, 4000, 0.0, seed=n, user=f"busy {n % 2}") for n in range(4)]
    late = Device(400, 2, seed=9, starts=0.2, user="busy 0")
    home = Household(8, [*busy, late]).write(until=4)

    assert home.waits[4] < 10


devices = st.builds(
    Device,
    prompt=st.integers(1, 800),
    blocks=st.integers(0, 12),
    pause=st.sampled_from([0.0, 0.01, 0.5, 3.0, 20.0]),
    starts=st.floats(0, 5),
    kept=st.integers(0, 9),
    seed=st.integers(0, 3),
    user=st.sampled_from("ab"),
    device=st.sampled_from("xy"),
    opens=st.booleans(),
)


@settings(max_examples=20)
@given(st.integers(1, 8), st.lists(devices, max_size=8), st.sampled_from((None, 1024)))
def test_every_block_of_every_device_is_answered(slots, devices, budget):
    """Within the tokens there are: whoever needs more than is left waits, or has idle
    texts leave."""
    home = Household(slots, devices, budget).write()

    assert [len(times) for times in home.times] == [d.blocks for d in devices]
    assert sorted(home.ended) == list(range(len(devices)))
    assert home.counts.generalist.held == sum(home.model.held)


def test_the_longest_unused_text_of_who_has_the_most_leaves():
    """And it is read once more when it goes on; the others are not."""
    home = Household(8, [], 1024)
    counts = home.counts

    def write(name, user, tokens):
        home.jumped += 5
        ids = tuple(range(tokens))
        home.add(Round(name, ids, 1, False, lambda *_: DONE, party=(user, "")))

    write("first", "ana", 220)
    write("second", "ana", 260)
    write("third", "ben", 200)
    write("fourth", "ben", 250)  # fits
    assert counts.evictions == {}
    write("third", "ben", 300)  # six more than there are
    assert counts.evictions == {"budget": 1}
    read = home.model.count
    write("fourth", "ben", 251)
    write("second", "ana", 261)
    assert home.model.count == read + 4  # the ones before them too
    assert counts.reread == 0
    write("first", "ana", 221)
    assert counts.reread == 220


def test_another_text_that_is_read_ahead_stays_within_the_tokens():
    home = Household(8, [], 1024)
    for name, key, tokens in (("a", 0, 500), ("b", 0, 400), ("a", 1, 900)):
        ids = tuple(range(key, key + tokens))
        home.add(Round(name, ids, 0, False, key=(key, 0, 0), party=(name, "")))

    assert home.model.most == 900
    assert home.counts.evictions == {"budget": 1}


class Card(Household):
    """Devices around a model whose pass takes 40 ms, and half a one for each token."""

    FIXED, TOKEN = 0.04, 0.0005

    @property
    def now(self):
        return (
            self.FIXED * self.model.passes
            + self.TOKEN * self.model.count
            + (self.jumped)
        )


class Processor(Card):
    """The same work, but each token takes as long as the one before."""

    FIXED, TOKEN = 0.001, 0.005


def people(count, pause, drafted=9):
    """Users who write; one of them is there before the others."""
    return [
        Device(
            *(100, 60 if n else 400, pause, n and 0.5 + n / 1000),
            kept=drafted,
            seed=n,
            user=str(n),
            drafted=drafted,
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("kind", [Card, Processor])
def test_blocks_of_different_people_share_a_pass_where_that_costs_little(kind):
    """Of sixteen people who draft for as long as a pass takes, half wait at its end. On
    processors each waits for no more than what is read as fast as one."""
    home = kind(16, people(16, 0.06)).write(until=1)
    batches = home.counts.generalist.batches
    most = max(batches)
    assert most >= 7 if kind is Card else most <= 2
    if kind is Card:
        usual = [one for times in home.times[1:] for one in times[5:-5]]
        assert p95(usual) < 3 * (kind.FIXED + 8 * 9 * kind.TOKEN)


def test_those_who_come_back_at_once_share_every_pass():
    """Else two halves take turns, each as long as both: nobody has ever waited for the
    others. Who stops to think is waited for once, for a part of a pass."""
    quick = people(12, 0.004, drafted=1)
    home = Card(12, quick).write()
    assert max(home.counts.generalist.batches) == 12
    usual = [one for times in home.times[1:] for one in times[20:-20]]
    assert p95(usual) < 1.5 * (Card.FIXED + 12 * Card.TOKEN)

    thinking = replace(quick[1], pause=30.0)
    home = Card(12, [quick[0], thinking, *quick[2:]]).write(until=0)
    usual = [one for times in home.times[2:] for one in times[20:-20]]
    assert p95(usual) < 1.5 * (Card.FIXED + 12 * Card.TOKEN)


@pytest.mark.parametrize(("fixed", "pause"), [(0.001, 0), (0.004, 0.02), (0.009, 0)])
def test_blocks_of_twice_the_length_at_most_double_the_time_of_another_s(fixed, pause):
    """Once some passes have told what a token costs: they are read in parts, and no
    chunk of a prompt beside them; yet the prompts have their turns."""

    class Home(Card):
        FIXED, TOKEN = fixed, 0.0033

    quiet = Device(300, 150, pause, user="quiet", seed=99)
    alone = Home(6, [quiet]).write()
    flood = [
        Device(60, 4 if n > 2 else 4000, 0, 4 + n / 10, 0, n, "flood", drafted=17)
        for n in range(40)
    ]
    home = Home(6, [replace(quiet, starts=5.0), *flood]).write(until=0)

    assert max(home.times[0][40:]) <= 2.2 * max(alone.times[0][1:])
    assert sum(map(bool, home.times[4:])) > 5
