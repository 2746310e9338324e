"""Whatever happens between device and server, the text is the one of a quiet day."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from decoding_core.errors import (
    CloudRefusedError,
    CloudUnreachableError,
    EngineError,
    MessageError,
    SessionLostError,
)
from decoding_core.messages import (
    Candidates,
    DraftBlock,
    Kind,
    OpenSession,
    Problem,
    Signal,
    Verdict,
    digest,
)
from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, VerifierHere, role_of
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.transport.client import CloudVerifier
from tests.edge_app.decoding.losing_server import DISTURBANCES, LOSING, Hurried
from tests.fakes import HashEngine, seeds, verdict_on
from tests.writing import PRIVATE, PUBLIC, Run, Writing

METHODS = [
    name
    for name in available()
    if build(MethodSettings(method=name, temperature=1.0)).needs_generalist
]


def check_same(quiet, disturbed):
    """The whole text, one opening for each loss, none in vain, and nothing said."""
    assert disturbed.text == quiet.text
    assert disturbed.loop.ended == quiet.loop.ended
    assert not disturbed.notices
    server = disturbed.server
    if disturbed.settings.window == 1:
        assert len(server.opened) == 1 + server.losses
    else:  # with a block that was void already, a session may be lost in silence
        assert len(server.opened) <= 1 + server.losses
    assert all(list(text) == quiet.ids[: len(text)] for text in server.opened)
    assert all(seconds <= 10 for seconds in disturbed.stop.waits)


def spread(first, kinds, window):
    """Disturbances at every fifth frame, where blocks are sent one by one: patience is
    for one block at a time."""
    step = 5 * window
    return {first + step * index: list(some) for index, some in enumerate(kinds)}


some = st.lists(st.sampled_from(DISTURBANCES), unique=True, max_size=2)
lengths = st.one_of(st.just("auto"), st.integers(1, 9))
disturbances = st.tuples(st.integers(0, 9), st.lists(some, max_size=12))


# Each example writes two texts, so the fast suite looks at few.
@settings(max_examples=8)
# A block behind one that was put off followed, as the same tokens were drafted again.
@example(
    *("rejection", 0.7, "cloud", 4, 9, 4, 2),
    (9, [["expire"], ["answer busy", "repeat the block"], ["restart"], [], []]),
)
@given(
    st.sampled_from(METHODS),
    st.sampled_from([0.0, 0.7]),
    st.sampled_from(["cloud", "edge"]),
    st.integers(1, 9),
    st.integers(0, 50),
    st.integers(1, 4),
    lengths,
    disturbances,
)
def test_no_loss_shows_in_the_text(
    method, temperature, base, length, seed, window, other_length, losses
):
    """Drops, repeats, late answers, restarts, evictions, expiry, faults, at any point,
    in every method, with any number of blocks out, of any length: the text is the one
    that is written in turns."""
    settings = MethodSettings(
        method=method,
        temperature=0.7 if method == "rejection" else temperature,
        base=base,
        draft_length=length,
        window=1,
        seed=seed,
        threshold="auto" if seed % 2 and method == "steering" else 0.5,
    )
    other = replace(settings, draft_length=other_length, window=window)
    check_same(
        Run(settings, seed=str(seed)),
        Run(other, spread(*losses, window), seed=str(seed), timing=seed),
    )


# A draft that the server had no room for was cut, and the device took itself for full.
@example("lossless", "cloud", 4, 2, 2, 1, (0, []))
@given(
    st.sampled_from(METHODS),
    st.sampled_from(["cloud", "edge"]),
    st.integers(1, 9),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from([1, 2, 4]),
    disturbances,
)
def test_the_end_of_a_context_is_the_same_after_losses(
    method, base, length, device, server, window, losses
):
    """The text ends where no token fits any more, on either side, and says so; with
    blocks out nothing is lost, and nothing there twice."""
    settings = MethodSettings(
        method=method, temperature=0.7, base=base, draft_length=length, window=window
    )
    contexts = {
        "context": len(PRIVATE) + device,
        "server_context": len(PUBLIC) + server,
    }
    quiet = Run(settings, **contexts)
    check_same(quiet, Run(settings, spread(*losses, window), **contexts))
    assert quiet.loop.ended == "full"
    drafts = build(settings).drafts
    assert len(quiet.text) >= min(device + drafts, server)
    assert len(quiet.text) <= server + 1


@pytest.mark.parametrize("place", ["device", "server"])
def test_a_block_is_cut_to_the_room_that_is_left(place):
    """Nine tokens fit; drafts of eight neither end the text early nor are lost."""
    rooms = {"device": (8, 100), "server": (100, 9)}[place]
    run = Run(
        MethodSettings(threshold=0.0, draft_length=8),
        context=len(PRIVATE) + rooms[0],
        server_context=len(PUBLIC) + rooms[1],
    )
    assert len(run.text) == 9
    assert run.loop.ended == "full"


@seeds(1, 40)
@pytest.mark.parametrize(
    ("method", "window"),
    [
        ("steering", 4),
        *(
            pytest.param(method, window, marks=pytest.mark.slow)
            for method in ("steering", "lossless", "coupled", "speculative")
            for window in (1, 2, 4)
        ),
    ],
)
def test_fifteen_losses_in_three_hundred_tokens(method, window, seeds):
    """Restarts, evictions, expiry, dropped sockets, at places of each seed's own."""
    kinds = (*LOSING, "lose the block", "lose the answer")
    for seed in seeds:
        settings = MethodSettings(
            method=method, temperature=0.7, seed=seed, draft_length=8, window=window
        )
        quiet = Run(settings, max_tokens=300)
        step = quiet.server.frames // 15
        losses = {
            step * i + (seed + i) % step: [kinds[(seed + i) % len(kinds)]]
            for i in range(15)
        }
        disturbed = Run(settings, losses, max_tokens=300)
        check_same(quiet, disturbed)
        assert disturbed.server.losses >= 8
        assert disturbed.server.frames <= quiet.server.frames + 15 * window


class Failing(VerifierHere):
    """Passes on to another verifier, but for the calls that `errors` names."""

    local = False

    def __init__(self, errors=None, open_errors=None):
        super().__init__()
        self.inner = EngineVerifier(HashEngine("large"), HashEngine("base"))
        self.errors, self.open_errors = dict(errors or {}), dict(open_errors or {})
        self.blocks, self.opened = [], []

    def open(self, request):
        self.opened.append(request)
        if error := self.open_errors.pop(len(self.opened) - 1, None):
            raise error
        return self.inner.open(request)

    def verify(self, block):
        self.blocks.append(block)
        if error := self.errors.pop(len(self.blocks) - 1, None):
            raise error
        return verdict_on(self.inner, block)

    def close(self):
        self.inner.close()


class Waiting(Writing):
    """A text of the real loop with a failing verifier; a second passes each round."""

    def __init__(self, verifier, pauses=(), max_tokens=60, **options):
        self.now, self.waits = 0.0, Hurried()
        super().__init__(
            MethodSettings(draft_length=3),
            HashEngine("small"),
            verifier,
            max_tokens,
            (),
            patience=Patience(pauses),
            stop=self.waits,
            clock=lambda: self.now,
            **options,
        )
        for _ in self.loop.blocks():
            self.now += 1.0


GONE = CloudUnreachableError("there is no answer")
FAULT, LOST = EngineError("a fault"), SessionLostError("gone")
REFUSED = CloudRefusedError("the token is refused")


def test_a_server_that_is_back_is_used_again():
    """Left after the fourth block; asked two seconds later, with the text so far."""
    verifier = Failing({4: GONE})
    writing = Waiting(verifier)
    origins = writing.origins
    first, last = origins.index("local"), len(origins) - origins[::-1].index("local")
    assert set(origins[first:last]) == {"local"}
    assert "local" not in origins[last:]
    assert len(origins[last:]) > 20
    assert len(writing.notices) == 2
    assert "the rest is written on this device alone" in writing.notices[0]
    assert "is back" in writing.notices[1]
    again = verifier.opened[1]
    assert again.text_ids == tuple(writing.ids[:last])


def test_a_server_that_opens_and_never_judges_is_asked_ever_more_seldom():
    """And nothing is said of it: it is not back."""
    verifier = Failing(dict.fromkeys(range(4, 100), GONE))
    writing = Waiting(verifier, max_tokens=100)
    assert len(writing.notices) == 1
    assert set(writing.origins[20:]) == {"local"}
    assert 2 <= len(verifier.blocks) - 4 <= 5


class Forgetting(EngineVerifier):
    """Has lost its session when the second block is handed over behind the first."""

    def __init__(self):
        super().__init__(HashEngine("large"), HashEngine("base"))
        self.lost = 0

    def submit(self, block):
        if self._out and not self.lost:
            self.lost += 1
            self._out.clear()
            self.close()
            raise SessionLostError("there is no such session")
        super().submit(block)


def test_a_session_that_is_lost_behind_a_block_is_opened_again():
    """It is learnt before the verdict on the first, of which nobody knows any more."""
    verifier = Forgetting()
    session = VerifierSession(
        verifier,
        OpenSession(PUBLIC, (), "fake", MethodSettings().terms()),
        lambda _: None,
        may_go_offline=False,
    )
    session.open()
    session.submit([], [3, 4], 0.5)
    session.submit([], [5, 6], 0.5)
    assert verifier.lost == 1
    assert session.collect([]) is not None


@pytest.mark.parametrize(
    ("errors", "open_errors", "first", "last", "says"),
    [
        ({}, {0: GONE}, "local", "", "the text is written on this device alone"),
        # One fault of a model is tried again, with the same block; two are not.
        ({4: FAULT}, {}, "accepted", "", None),
        ({4: FAULT, 5: FAULT}, {}, "accepted", "", "a fault"),
        # Its token was taken back, say: it is left for good.
        ({4: LOST}, {1: REFUSED}, "accepted", "local", "refused; the rest is written"),
    ],
)
def test_no_error_of_a_server_ends_a_text(errors, open_errors, first, last, says):
    writing = Waiting(verifier := Failing(errors, open_errors))
    assert len(writing.origins) == 60
    assert (writing.origins[0] == "local") == (first == "local")
    assert (writing.origins[-1] == "local") == (last == "local")
    assert says is None or says in writing.notices[0]
    if says is None:
        assert "local" not in writing.origins
        assert not writing.notices
        assert verifier.blocks[4] == verifier.blocks[5]
    assert last != "local" or len(verifier.opened) == 2


@pytest.mark.parametrize(
    ("errors", "options"),
    [
        # A wrong address or a proxy: to be mended, not to be written around.
        ({0: REFUSED}, {}),
        # --no-offline, after the same patience.
        ({4: GONE}, {"may_go_offline": False}),
    ],
)
def test_an_error_is_raised_before_any_verdict_and_not_offline(errors, options):
    (error,) = errors.values()
    with pytest.raises(type(error)):
        Waiting(Failing(errors), **options)


class Answering:
    """A connection that gives prepared frames."""

    awaits_answers = False

    def __init__(self, *answers):
        self.answers = list(answers)

    def request(self, what, *_, **__):
        return {"session_id": "s", "generalist": "g", "base": "b"}

    def connect(self, *_):
        pass

    def send(self, *_, **__):
        pass

    def receive(self, *, wait=True, **_):
        return self.answers.pop(0)

    def disconnect(self):
        return True


def verified(*answers):
    """The verdict on round (2, 7) when these are the answers."""
    terms = MethodSettings(draft_length=2).terms()
    frames = role_of(terms).frames
    verifier = CloudVerifier("http://x", "", lambda _: None)
    verifier._connection = Answering(
        *(
            frames.encode_signal(one)
            if isinstance(one, Signal)
            else frames.encode_verdict(one, 2)
            for one in answers
        )
    )
    verifier.open(OpenSession(PUBLIC, (), "fake", terms))
    return verdict_on(verifier, DraftBlock(2, 7, 0, digest(()), (), (3, 4)))


def verdict(epoch, round_):
    row = Candidates(np.array([5], np.int32), *np.zeros((2, 1), np.float32))
    return Verdict(epoch, round_, 1, (row,))


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        # Taken for this round's, one to a round never sent would settle unread words.
        ([verdict(2, 8)], "another round"),
        ([verdict(3, 0)], "another round"),
        # Nobody waits for a server that never comes to the point.
        ([verdict(2, 6)] * 100, "another round"),
        # A stop is sent unasked, with the newest round that the server saw.
        ([Signal(Kind.ERROR, 2, 6, Problem.STOPPING)], "stopping"),
    ],
)
def test_answers_to_no_block_that_is_out_end_in_a_sentence(answers, says):
    with pytest.raises((MessageError, CloudUnreachableError), match=says):
        verified(*answers)
