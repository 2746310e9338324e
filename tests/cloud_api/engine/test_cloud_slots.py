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


class CountingModel:
    """A `BatchEngine` that counts what it reads, and says nothing of it."""

    name, vocabulary_id, vocabulary_size = "counting", "counting", 1
    context_length = 1 << 20

    def __init__(self, slots):
        self.slots = slots
        self.count = self.passes = 0

    def rollback(self, slot, position):
        pass

    def evaluate(self, readings):
        self.passes += 1
        self.count += sum(len(reading.token_ids) for reading in readings)
        return [np.zeros((reading.rows, 1), np.float32) for reading in readings]


@dataclass
class Device:
    """Writes one text: each block carries a settled token and eight drafted ones."""

    prompt: int = 320
    blocks: int = 40
    pause: float = 0.02
    """Seconds from a verdict to the next block."""
    starts: float = 0.0
    kept: int = 4
    seed: int = 0
    user: str = ""
    device: str = ""
    drafted: int = 9
    """Tokens of a block."""
    opens: bool = False
    """Whether the text is read ahead first."""

    def rounds(self, name):
        """The rounds of its blocks, one after the other."""
        choose = random.Random(self.seed)
        text = [choose.randrange(1 << 30) for _ in range(self.prompt)]
        for number in range(self.blocks):
            drafted = [choose.randrange(1 << 30) for _ in range(self.drafted)]
            ids, rows = (*text, *drafted), self.drafted
            block = Round(name, ids, rows, False, lambda *_: Verdict(0, 0, 0, ()))
            block.party = self.user, self.device
            yield block, number
            text += drafted[: self.kept]


class Household:
    """Devices around a scheduler. Time passes as the model reads, and otherwise jumps
    to what happens next."""

    def __init__(self, slots, devices):
        self.jumped = 0.0
        self.model = CountingModel(slots)
        self.scheduler = Scheduler(Models(self.model), lambda: self.now)
        self.devices = devices
        self.answers = [0] * len(devices)
        self.times = [[] for _ in devices]
        """How long each block of each device took."""
        self.ended = []

    @property
    def now(self):
        """The time that the model has taken, and that nothing happened."""
        return SECONDS_A_TOKEN * (self.model.count + self.model.passes) + self.jumped

    @property
    def waits(self):
        """The longest that a block of each device took."""
        return [max(times, default=0.0) for times in self.times]

    def _open(self, n):
        device = self.devices[n]
        choose = random.Random(device.seed)
        text = tuple(choose.randrange(1 << 30) for _ in range(device.prompt))
        ahead = Round(str(n), text[:-1], 0, False)
        ahead.party = device.user, device.device
        self.scheduler.add(ahead)

    def write(self, until=None):
        """Let every device write its text to the end, or until one of them has."""
        rounds = [d.rounds(str(n)) for n, d in enumerate(self.devices)]
        arrivals = [(d.starts, n) for n, d in enumerate(self.devices)]
        heapq.heapify(arrivals)
        answered = []
        opened = {n for n, d in enumerate(self.devices) if not d.opens}
        while until not in self.ended:
            while arrivals and arrivals[0][0] <= self.now:
                at, n = heapq.heappop(arrivals)
                if n not in opened:
                    opened.add(n)
                    self._open(n)
                    heapq.heappush(arrivals, (at + self.devices[n].pause, n))
                    continue
                found = next(rounds[n], None)
                if found is None:
                    self.scheduler.release(str(n))
                    self.ended.append(n)
                    continue
                found[0].done = lambda result, n=n, at=at: answered.append(
                    (n, at, result)
                )
                self.scheduler.add(found[0])
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
                self.answers[n] += 1
                self.times[n].append(self.now - at)
                heapq.heappush(arrivals, (self.now + self.devices[n].pause, n))
            answered.clear()
        return self


def read(slots, devices):
    return Household(slots, devices).write().model.count


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prompt": 20},
        {"prompt": 20, "blocks": 150},
        {"pause": 0.9},
        {"prompt": 900, "pause": 0.0},
        {"kept": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("slots", [4, 2])
def test_texts_do_not_push_each_other_out(changes, slots):
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
    endless = [Device(seed=n, blocks=2000, kept=0, pause=0.0) for n in range(2)]
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


@pytest.mark.parametrize("of", ["one device", "devices", "users"])
def test_prompts_that_are_read_do_not_keep_a_short_one_waiting(of):
    """Four of them hold all slots; the longest gives way, once."""
    long = [
        Device(
            2000,
            3,
            seed=n,
            user=str(n) if of == "users" else "",
            device="" if of == "one device" else str(n),
        )
        for n in range(4)
    ]
    late = Device(300, 3, seed=9, starts=1.0, user="9" if of == "users" else "")
    home = Household(4, [*long, replace(late, device="9")]).write()

    assert home.times[4][0] < (2.0 if of == "users" else 1.0)
    assert max(home.waits) < 13


def test_nobody_waits_for_ever_for_those_who_send_blocks():
    """A prompt has its turn after some steps, though blocks always wait."""
    busy = [Device(20, 4000, 0.0, seed=n, user=f"busy {n % 2}") for n in range(4)]
    late = Device(400, 2, seed=9, starts=0.2, user="busy 0")
    home = Household(8, [*busy, late]).write(until=4)

    assert home.waits[4] < 10


devices = st.builds(
    Device,
    prompt=st.integers(1, 400),
    blocks=st.integers(0, 12),
    pause=st.sampled_from([0.0, 0.01, 0.5, 3.0, 20.0]),
    starts=st.floats(0, 5),
    kept=st.integers(0, 9),
    seed=st.integers(0, 3),
    user=st.sampled_from("ab"),
    device=st.sampled_from("xy"),
    opens=st.booleans(),
)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), st.lists(devices, max_size=8))
def test_every_block_of_every_device_is_answered(slots, devices):
    home = Household(slots, devices).write()

    assert home.answers == [device.blocks for device in devices]
    assert sorted(home.ended) == list(range(len(devices)))


DONE = Verdict(0, 0, 0, ())


class BoundedModel(CountingModel):
    """Holds no more tokens than there is memory for."""

    def __init__(self, slots, budget):
        super().__init__(slots)
        self.held, self.budget, self.most = [0] * slots, budget, 0

    def rollback(self, slot, position):
        self.held[slot] = position

    def evaluate(self, readings):
        for reading in readings:
            self.held[reading.slot] += len(reading.token_ids)
        self.most = max(self.most, sum(self.held))
        assert self.most <= self.budget
        return super().evaluate(readings)


def bounded(budget, devices, slots=8):
    home = Household(slots, devices)
    home.model = BoundedModel(slots, budget)
    models = Models(home.model, kv_tokens=budget)
    home.scheduler = Scheduler(models, lambda: home.now)
    return home, models


@settings(max_examples=15, deadline=None)
@given(
    sizes=st.lists(st.integers(5, 900), min_size=2, max_size=6),
    users=st.integers(1, 3),
    pause=st.sampled_from((0.0, 0.02, 3.0)),
)
def test_all_texts_are_written_within_the_tokens_there_are(sizes, users, pause):
    """Whoever needs more than is left waits, or has idle texts leave."""
    devices = [
        Device(prompt=size, blocks=8, pause=pause, seed=n, user=str(n % users))
        for n, size in enumerate(sizes)
    ]
    home, models = bounded(1024, devices)
    home.write()
    assert home.answers == [8] * len(sizes)
    assert models.counts.generalist.held == sum(home.model.held)


def test_the_longest_unused_text_of_who_has_the_most_leaves():
    """And it is read once more when it goes on; the others are not."""
    home, models = bounded(1024, [])
    scheduler = home.scheduler

    def write(name, user, tokens):
        home.jumped += 1
        block = Round(name, tuple(range(tokens)), 1, False, lambda *_: DONE)
        block.party = user, ""
        scheduler.add(block)
        while scheduler.pause() == 0.0:
            scheduler.step()

    write("first", "ana", 220)
    write("second", "ana", 260)
    write("third", "ben", 200)
    write("fourth", "ben", 250)  # fits
    assert models.counts.evictions == {}
    write("third", "ben", 300)  # six more than there are
    assert models.counts.evictions == {"budget": 1}
    assert not scheduler._texts["first"].slot
    assert scheduler._texts["second"].slot
    read = home.model.count
    write("fourth", "ben", 251)
    assert home.model.count == read + 2  # the one before it too
    write("first", "ana", 221)
    assert models.counts.reread == 220


def test_another_text_that_is_read_ahead_stays_within_the_tokens():
    home, models = bounded(1024, [])
    for name, key, tokens in (("a", 0, 500), ("b", 0, 400), ("a", 1, 900)):
        ahead = Round(name, tuple(range(key, key + tokens)), 0, False)
        ahead.key, ahead.party = (key, 0, 0), (name, "")
        home.scheduler.add(ahead)
        while home.scheduler.pause() == 0.0:
            home.scheduler.step()

    assert home.model.most == 900
    assert models.counts.evictions == {"budget": 1}
