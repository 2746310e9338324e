"""The session's state machine against a plain model, with drops, repeats, reorders,
windows of blocks that become void, blocks that fail, and other texts in between."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cloud_api.service import UNANSWERED, Session
from decoding_core.messages import Kind, Problem, Signal, Verdict, digest
from decoding_core.settings import WINDOW
from decoding_core.verifier import role_of
from tests.cloud_api.cloud_fakes import block_after, open_request

CONTEXT = 60
ids = st.lists(st.integers(0, 9), max_size=4)


def new_session(prompt=(1, 2, 3), text=(), now=0.0, **changes):
    request = open_request(prompt, text, **changes)
    return Session(request, role_of(request.terms), CONTEXT, now)


class LossyNetwork(RuleBasedStateMachine):
    """A device that writes on, and a network that delivers what it likes. The engine is
    that of the server: it drops what is void, also when it learns of that late."""

    def __init__(self):
        super().__init__()
        self.begin(())

    def begin(self, text):
        self.session = new_session(text=text)
        self.text, self.held = list(text), list(text)
        self.key, self.newest = (0, 0), (0, -1)
        self.sent = []  # (block, the whole text that it means)
        self.waiting = []  # in the engine, or on their way to it
        self.answers, self.verified = {}, []
        self.marks = {}  # by epoch: the refused block, whose followers are void
        self.failed = None  # the block behind which none is verified
        self.dropped = []  # by the engine, which has not said so yet

    @rule(settled=ids, drafted=ids, back=st.integers(0, 3), refusal=st.booleans())
    def send(self, settled, drafted, back, refusal):
        """The device goes on from somewhere in its text, in a new epoch after a
        refusal."""
        epoch, round_ = self.key
        self.key = (epoch + refusal, round_ + 1)
        before = self.text[: max(0, len(self.text) - back)]
        block = block_after(before, drafted, settled, *self.key)
        self.text = [*before, *settled, *drafted]
        self.sent.append((block, tuple(self.text)))

    @rule(count=st.integers(1, 3))
    def fill_the_window(self, count):
        """Blocks that follow each other, as if each were kept whole."""
        for _ in range(count):
            self.send([], [1, 2], 0, False)
            self.take_in(*self.sent[-1])

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def deliver(self, data):
        """Any block that was ever sent arrives, perhaps again."""
        self.take_in(*data.draw(st.sampled_from(self.sent[-6:])))

    @precondition(lambda self: self.waiting)
    @rule(
        share=st.floats(0, 1),
        ends=st.sampled_from(["verdict", "failure", "stop", "away"]),
    )
    def verify(self, share, ends):
        """The oldest waiting block has its turn."""
        block = self.waiting.pop(0)
        key = block.epoch, block.round
        if block in self.dropped or self.is_stale(block):
            self.session.finish(block, self.session.resync(key))
            return
        if ends != "verdict":
            problem = Problem.ENGINE if ends == "failure" else Problem.STOPPING
            signal = Signal(Kind.ERROR, *key, problem)
            if ends == "away":  # a server behind the engine
                signal = Signal(Kind.BUSY, *key, 1000)
            self.session.finish(block, signal)
            self.failed = block if key[0] == self.newest[0] else self.failed
            self.dropped += [b for b in self.waiting if self.is_void(b, waits=True)]
            return
        verdict = Verdict(*key, round(share * len(block.drafted)), ())
        self.session.finish(block, verdict)
        assert key not in self.verified, "verified twice"
        self.verified.append(key)
        self.answers[key], self.failed = verdict, None
        if verdict.accepted < len(block.drafted):
            self.marks[key[0]] = key

    @rule(text=ids)
    def replace(self, text):
        """The device puts another text in the place of its own, over another stream.
        What waits goes on in the old session, which nobody asks any more."""
        self.begin(text)

    @invariant()
    def order_only_grows(self):
        """No round is verified after a later one, none after a refusal in its epoch,
        and no window is filled by blocks that are void."""
        assert self.verified == sorted(self.verified)
        assert self.session.idle == (not self.waiting)
        wanted = [b for b in self.waiting if not self.is_stale(b)]
        assert len(wanted) <= WINDOW
        assert len(self.waiting) <= UNANSWERED

    def is_void(self, block, waits=False):
        key, mark = (block.epoch, block.round), self.marks.get(block.epoch)
        failed = self.failed
        behind = failed and block.epoch == failed.epoch
        if waits and failed and (failed.epoch, failed.round) > self.newest:
            behind = False  # the engine never heard of it
        return (mark is not None and key > mark) or (
            behind and block.position > failed.position
        )

    def is_stale(self, block):
        return block.epoch < self.newest[0] or self.is_void(block, waits=True)

    def take_in(self, block, meant):
        expected = self.expected(block)
        before = self.session.token_ids
        decision = self.session.receive(block)
        if not isinstance(expected, str):
            assert decision is expected
        else:
            assert expected == name_of(decision)
        if isinstance(decision, tuple):
            assert decision == (1, 2, 3, *meant)
            self.waiting.append(block)
            self.newest = max(self.newest, (block.epoch, block.round))
            self.failed = None  # it has come again, or an epoch has begun
            self.held = list(meant)
        else:
            assert self.session.token_ids == before
            self.failed = block if expected == "busy" else self.failed

    def expected(self, block):
        """The plain model: the name of the decision, or the very answer."""
        key = block.epoch, block.round
        kept = list(self.answers)[-WINDOW:]
        if key in kept:
            return self.answers[key]
        if block in self.waiting:
            return "join"
        held = self.held[: block.position]
        follows = len(held) == block.position and digest(held) == block.digest
        old = key < self.newest and block is not self.failed
        if old or self.is_void(block) or not follows:
            return "resync"
        same = [b for b in self.waiting if b.epoch == key[0]]
        wanted = [b for b in same if not self.is_void(b, waits=True)]
        if len(wanted) >= WINDOW or len(self.waiting) >= UNANSWERED:
            return "busy"
        size = 3 + block.position + len(block.settled) + len(block.drafted)
        return "error" if size > CONTEXT else "verify"


def name_of(decision):
    if isinstance(decision, Signal):
        return decision.kind.name.lower()
    return {tuple: "verify", type(None): "join", Verdict: "verdict"}[type(decision)]


TestLossyNetwork = LossyNetwork.TestCase
TestLossyNetwork.settings = settings(max_examples=15, stateful_step_count=30)


def test_a_refusal_by_the_device_is_none_to_the_server():
    """Where the device decides, the server counts nothing kept and nothing refused."""
    first, second = block_after((), (1, 2)), block_after((1, 2), (3,), round_=1)
    for changes in ({"method": "coupled"}, {"method": "lossless"}, {"base": "edge"}):
        session = new_session(**changes)
        session.receive(first)
        session.finish(first, Verdict(0, 0, 0, ()))
        assert isinstance(session.receive(second), tuple), changes


def test_frames_follow_the_terms():
    for changes, expected in (
        ({"candidates": 20}, (1, 21, True)),
        ({"method": "coupled"}, (4, 5, True)),
        ({"method": "rejection", "temperature": 1.0}, (0, 6, True)),
        ({"method": "generalist"}, (1, 5, False)),
        ({"base": "edge", "bonus": True}, (5, 6, False)),
    ):
        frames = new_session(**changes).frames
        assert (frames.rows, frames.row_limit, frames.with_base) == expected, changes


def test_a_device_that_fills_the_window_with_void_blocks_has_to_wait():
    """A new epoch with every block: no more is held for it than a device that waits
    for its verdicts can need."""
    session = new_session()
    blocks = [block_after((), (n % 9,), epoch=n, round_=n) for n in range(50)]
    decisions = [name_of(session.receive(block)) for block in blocks]

    assert decisions == ["verify"] * UNANSWERED + ["busy"] * (50 - UNANSWERED)
    session.finish(blocks[0], session.resync((0, 0)))
    assert isinstance(session.receive(blocks[-1]), tuple)


def test_no_block_overtakes_one_that_had_no_room():
    """The device drafts again what was refused, so that the block behind follows the
    text held here; then the one before it would be old when it comes again."""
    session = new_session()
    blocks = [block_after((), (5,), epoch=n, round_=n) for n in range(UNANSWERED + 1)]
    behind = block_after((5,), (6,), epoch=UNANSWERED, round_=UNANSWERED + 1)
    assert name_of([session.receive(block) for block in blocks][-1]) == "busy"
    session.finish(blocks[0], session.resync((0, 0)))

    assert session.receive(behind).kind is Kind.RESYNC
    assert isinstance(session.receive(blocks[-1]), tuple)


def test_a_context_that_fills_up_with_a_block_out_costs_no_block():
    """The block that finds no room changes nothing; the one before it is answered, and
    a shorter one in its place is taken."""
    session = new_session(text=range(53))
    out = block_after(range(53), (1, 2))
    session.receive(out)
    text = (*range(53), 1, 2)
    full = session.receive(block_after(text, (3, 4, 5), round_=1))
    shorter = session.receive(block_after(text, (3, 4), round_=1))
    verdict = Verdict(0, 0, 2, ())
    session.finish(out, verdict)

    assert full == Signal(Kind.ERROR, 0, 1, Problem.CONTEXT_FULL)
    assert shorter == (1, 2, 3, *text, 3, 4)
    assert session.receive(out) is verdict
