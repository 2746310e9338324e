"""The attack finds who wrote a text, and finds nothing where nothing is to be found."""

import numpy as np
import pytest

from benchmarks.privacy.attack import PublicView, evidence_of, seen_in
from benchmarks.quality.writing import FramedVerifier
from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, role_of
from edge_app.decoding.events import EventEmitter, Sent
from edge_app.decoding.loop import DecodeLoop
from edge_app.privacy.ledger import Entry
from tests.fakes import HashEngine, opened_session

SIZE = 9
PUBLIC = (0,)


class Small(HashEngine):
    """The small model: the first token of its prompt says which word it favours, and
    how strongly; a public prompt favours none."""

    def __init__(self, boost=2.5):
        super().__init__("small", SIZE, memory=1, spread=0.7)
        self.boost = boost

    def logits(self):
        found = np.array(super().logits())
        favoured = self.read[0]
        if favoured:
            found[favoured] += self.boost
        return found


def recording(entries):
    """The verifier of a server, which keeps the bytes that it is sent in `entries`."""

    def record(event):
        if isinstance(event, Sent):
            entries.append(Entry(0.0, "", event.what, event.size, (), event.payload))

    large = HashEngine("large", SIZE, memory=1, spread=0.7)
    return FramedVerifier(EngineVerifier(large, Small()), record)


def written(favoured, seed, tokens=24, **options):
    """What a server sees of a text by a writer with a favourite word; 0: by none."""
    options = {"temperature": 1.0, "candidates": SIZE, "draft_length": 4, **options}
    settings = MethodSettings(seed=seed, **options)
    method, entries = build(settings), []
    verifier = recording(entries)
    request = OpenSession(PUBLIC, (), "fake", settings.terms())
    loop = DecodeLoop(
        settings,
        method,
        Small(),
        (favoured,),
        opened_session(verifier, request),
        EventEmitter(lambda _: None, lambda token: b"x"),
        max_tokens=tokens,
    )
    for _ in loop.blocks():
        pass
    return seen_in(entries)


def evidence(seen, favoured, most=10_000, top_p=1.0):
    large = HashEngine("large", SIZE, memory=1, spread=0.7)
    view = PublicView(seen, top_p, Small(), large, most)
    return evidence_of(Small(), {"it": view}, (favoured,))["it"]


QUICK = ("steering", "lossless")
SLOW = ("rejection", "speculative", "lightcosteer")
METHODS = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


def found(favoured, seed, writer, **options):
    """Whether a writer's text is found among those of eight."""
    seen = written(writer, seed, **options)
    scores = [evidence(seen, k).sum() for k in range(1, SIZE)]
    return int(np.argmax(scores)) + 1 == favoured


@pytest.mark.parametrize(
    "options",
    [
        {"method": "steering"},
        pytest.param({"method": "lossless"}, marks=pytest.mark.slow),
        pytest.param({"temperature": 0.0}, marks=pytest.mark.slow),
    ],
)
def test_a_history_that_is_trivially_distinct_is_found(options):
    """Eight writers, each with a favourite word: chance is an eighth."""
    hits = [found(k, 10 + k, k, tokens=60, **options) for k in range(1, SIZE)]
    assert np.mean(hits) >= 0.75


def test_drafts_of_the_base_are_found_by_chance():
    """They were drawn without a history, whoever's is guessed."""
    hits = [found(1 + n % 8, 100 + n, 0) for n in range(32)]
    # By chance 4 of 32; more than 13 are found once in a hundred thousand runs.
    assert sum(hits) <= 13


@pytest.mark.parametrize("method", METHODS)
def test_evidence_is_a_likelihood_ratio(method):
    """Without a history the ratio P/B has mean 1, over drafts, refusals and redraws: an
    attacker who left one out, or counted one twice, would be off."""
    ratios = []
    for seed in range(150):
        seen = written(0, seed, tokens=4, method=method)
        ratios.append(np.exp(evidence(seen, 3).sum()))
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1.0) < 4 * error


def test_what_left_is_read_from_the_bytes():
    """Each drafted token once, behind what stood before it, refused ones too; a redrawn
    one with the token that was refused in its place."""
    seen = written(2, 5, tokens=30)
    drafts = [one for one in seen.departures if one.origin == "draft"]
    redraws = [one for one in seen.departures if one.origin == "redraw"]
    assert redraws
    assert len({(one.prefix, one.token) for one in drafts}) == len(drafts)
    by_prefix = {one.prefix: one.token for one in drafts}
    for one in redraws:
        assert by_prefix[one.prefix] == one.refused
    on_the_way = [one for one in seen.departures if seen.kept(one)]
    text = {len(one.prefix): one.token for one in on_the_way}
    assert tuple(text[place] for place in sorted(text)) == seen.settled


def test_a_block_that_is_sent_again_tells_nothing_new():
    entries = []
    settings = MethodSettings(temperature=1.0, draft_length=3)
    recording(entries).open(OpenSession(PUBLIC, (), "fake", settings.terms()))
    frames = role_of(settings.terms()).frames
    block = DraftBlock(0, 0, 0, digest(()), (), (3, 4, 5))
    frame = frames.encode_block(block)
    sent = Entry(0.0, "", "block", len(frame), (), frame)
    once, twice = seen_in([*entries, sent]), seen_in([*entries, sent, sent])
    assert once.departures == twice.departures
    assert len(once.departures) == 3
