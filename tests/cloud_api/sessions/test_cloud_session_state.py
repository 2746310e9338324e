"""The session's state machine against a plain model, with drops, repeats, reorders."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cloud_api.sessions.state import WINDOW, Join, Session, Verify
from decoding_core.messages import DraftBlock, Verdict, digest
from decoding_core.verifier import role_of
from decoding_core.wire import Kind, Problem, Signal
from tests.cloud_api.cloud_fakes import block_after, open_request

CONTEXT = 60
ids = st.lists(st.integers(0, 9), max_size=4)


def new_session(prompt=(1, 2, 3), text=(), now=0.0, **changes):
    request = open_request(prompt, text, **changes)
    return Session(request, role_of(request.terms), CONTEXT, now)


class LossyNetwork(RuleBasedStateMachine):
    """A device that writes on, and a network that delivers what it likes."""

    def __init__(self):
        super().__init__()
        self.session = new_session()
        self.text = []
        self.key = (0, 0)
        self.sent = []  # (block, the whole text that it means)
        self.waiting = []
        self.answers = {}
        self.verified = []
        self.held = []
        self.newest = (0, -1)
        self.refused = None

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

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def deliver(self, data):
        """Any block that was ever sent arrives, perhaps again."""
        block, meant = data.draw(st.sampled_from(self.sent[-6:]))
        expected = self.expected(block)
        before = self.session.token_ids
        decision = self.session.receive(block)
        if not isinstance(expected, str):
            assert decision is expected
        else:
            assert expected == name_of(decision)
        if isinstance(decision, Verify):
            assert decision.token_ids == (1, 2, 3, *meant)
            self.take(block, meant)
        else:
            assert self.session.token_ids == before

    @precondition(lambda self: self.waiting)
    @rule(share=st.floats(0, 1), fails=st.booleans())
    def verify(self, share, fails):
        """The oldest waiting block has its turn."""
        block = self.waiting.pop(0)
        key = block.epoch, block.round
        after_refusal = self.refused and key[0] == self.refused[0]
        wanted = key[0] == self.newest[0] and not after_refusal
        assert self.session.still_wanted(key) == bool(wanted)
        if fails or not wanted:
            self.session.finish(block, self.session.resync(key))
            return
        verdict = Verdict(*key, round(share * len(block.drafted)), ())
        self.session.finish(block, verdict)
        assert key not in self.verified, "verified twice"
        self.verified.append(key)
        self.answers[key] = verdict
        if verdict.accepted < len(block.drafted):
            self.refused = key

    @invariant()
    def order_only_grows(self):
        """No round is verified after a later one, none after a refusal in its epoch."""
        assert self.verified == sorted(self.verified)
        assert self.session.idle == (not self.waiting)

    def take(self, block, meant):
        self.waiting.append(block)
        self.newest = (block.epoch, block.round)
        self.held = list(meant)

    def expected(self, block):
        """The plain model: the name of the decision, or the very answer."""
        key = block.epoch, block.round
        kept = list(self.answers)[-WINDOW:]
        if key in kept:
            return self.answers[key]
        if block in self.waiting:
            return "join"
        old = key < self.newest
        late = self.refused and key[0] == self.refused[0] and key > self.refused
        held = self.held[: block.position]
        if old or late or len(held) < block.position or digest(held) != block.digest:
            return "resync"
        if len(self.waiting) >= WINDOW:
            return "busy"
        size = 3 + block.position + len(block.settled) + len(block.drafted)
        return "error" if size > CONTEXT else "verify"


def name_of(decision):
    if isinstance(decision, Signal):
        return decision.kind.name.lower()
    return {Verify: "verify", Join: "join", Verdict: "verdict"}[type(decision)]


TestLossyNetwork = LossyNetwork.TestCase
TestLossyNetwork.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None
)


def test_a_block_that_does_not_follow_is_told_how_much_is_held():
    session = new_session(text=(7, 8, 9))

    wrong = DraftBlock(0, 0, 2, digest([7, 7]), (), (1,))
    beyond = DraftBlock(0, 0, 4, digest([7, 8, 9, 9]), (), (1,))

    assert session.receive(wrong) == Signal(Kind.RESYNC, 0, 0, 3)
    assert session.receive(beyond) == Signal(Kind.RESYNC, 0, 0, 3)


def test_a_reopened_session_goes_on_from_its_text():
    session = new_session(text=(7, 8, 9))

    decision = session.receive(block_after((7, 8, 9), (4, 5)))

    assert decision == Verify((1, 2, 3, 7, 8, 9, 4, 5))


def test_a_block_beyond_the_context_changes_nothing():
    session = new_session(text=range(55))

    decision = session.receive(block_after(range(55), (1, 2, 3)))

    assert decision == Signal(Kind.ERROR, 0, 0, Problem.CONTEXT_FULL)
    assert session.token_ids == (1, 2, 3, *range(55))


@pytest.mark.parametrize(
    "changes", [{"method": "coupled"}, {"method": "lossless"}, {"base": "edge"}]
)
def test_a_refusal_by_the_device_is_none_to_the_server(changes):
    """Where the device decides, the server counts nothing kept and nothing refused."""
    session = new_session(**changes)
    first, second = block_after((), (1, 2)), block_after((1, 2), (3,), round_=1)
    session.receive(first)
    session.finish(first, Verdict(0, 0, 0, ()))

    assert isinstance(session.receive(second), Verify)


def test_a_block_that_failed_may_be_sent_again():
    session = new_session()
    block = block_after((), (1, 2))
    session.receive(block)
    session.finish(block, Signal(Kind.ERROR, 0, 0, Problem.ENGINE))

    assert session.receive(block) == Verify((1, 2, 3, 1, 2))


def test_frames_follow_the_terms():
    found = {
        name: (frames.rows, frames.row_limit, frames.with_base)
        for name, frames in (
            ("steering", new_session(candidates=20).frames),
            ("coupled", new_session(method="coupled", candidates=20).frames),
            ("rejection", new_session(method="rejection", temperature=1.0).frames),
            ("speculative", new_session(method="speculative").frames),
            ("generalist", new_session(method="generalist").frames),
            ("base elsewhere", new_session(base="edge").frames),
            ("a bonus elsewhere", new_session(base="edge", bonus=True).frames),
        )
    }
    assert found == {
        "steering": (1, 21, True),
        "coupled": (4, 20, True),
        "rejection": (0, 6, True),
        "speculative": (4, 5, False),
        "generalist": (1, 5, False),
        "base elsewhere": (4, 6, False),
        "a bonus elsewhere": (5, 6, False),
    }


def test_a_draft_sent_again_after_a_refusal_is_new():
    """In the next epoch at the same place, as in rejection."""
    session = new_session(method="rejection", temperature=1.0)
    first, second = block_after((), (1, 2)), block_after((), (1, 2), epoch=1, round_=1)
    session.receive(first)
    session.finish(first, Verdict(0, 0, 0, ()))

    assert session.receive(second) == Verify((1, 2, 3, 1, 2))
