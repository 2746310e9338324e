"""What a text costs: the formulas against the loop itself, against published sizes, and
against the little that is known of the paper's own table."""

import json

import llama_cpp
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cost.acceptance import measured
from benchmarks.cost.bench_cost import command
from benchmarks.cost.operations import (
    Text,
    full_share,
    share_kept,
    steering,
    tokens_per_round,
    with_history,
)
from benchmarks.cost.shapes import Shape, ShapedPair, published, shape_of
from benchmarks.cost.traffic import Written, traffic
from decoding_core.errors import ModelError
from decoding_core.messages import OpenSession
from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, VerifierHere, role_of
from edge_app.decoding.events import EventEmitter, Tally
from edge_app.decoding.loop import decode_loop
from models.engines.llama_cpp import LlamaModel
from models.files import locate
from models.running.settings import EngineSettings
from tests.fakes import HashEngine, opened_session, verdict_on

QWEN = "qwen3-0.6b/32b"
ONE = Shape(1, 1, 0, 0, 0, 0, 1, 0)
"""A token costs six operations, wherever it stands."""
NONE = Shape(0, 1, 0, 0, 0, 0, 0, 0)
PRIVATE, PUBLIC = tuple(range(9)), tuple(range(4))


class OnTheWire(VerifierHere):
    """A verifier whose messages are encoded, decoded and counted."""

    local = False

    def __init__(self, inner):
        super().__init__()
        self.inner, self.bytes = inner, 0

    def open(self, request):
        self.frames = role_of(request.terms).frames
        return self.inner.open(request)

    def verify(self, block):
        up = self.frames.encode_block(block)
        answer = verdict_on(self.inner, self.frames.decode_block(up))
        down = self.frames.encode_verdict(answer, len(block.drafted))
        self.bytes += len(up) + len(down)
        return self.frames.decode_answer(down)

    def close(self):
        self.inner.close()


class Run:
    """A text of the real loop, with scripted engines that count what they read."""

    def __init__(self, settings, tokens=600):
        self.small, self.large, self.base = map(HashEngine, ("small", "large", "base"))
        self.wire = OnTheWire(EngineVerifier(self.large, self.base))
        request = OpenSession(PUBLIC, (), "fake", settings.terms())
        session = opened_session(self.wire, request)
        tally = Tally()
        loop = decode_loop(
            settings,
            build(settings),
            self.small,
            PRIVATE,
            session,
            EventEmitter(tally.add, lambda token: b"x"),
            max_tokens=tokens,
        )
        self.tokens = sum(len(block.token_ids) for block in loop.blocks())
        self.statistics = tally.statistics()
        drafted = self.statistics.drafted
        self.share = self.statistics.accepted / drafted if drafted else 0.0


@pytest.mark.parametrize(
    "length", [8, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))]
)
@pytest.mark.parametrize(
    ("threshold", "bonus"),
    [
        *((0.5, False), (0.5, True)),
        *(pytest.param(one, False, marks=pytest.mark.slow) for one in (0.02, 4.0)),
    ],
)
def test_the_formula_counts_what_the_models_read(length, threshold, bonus):
    """Token by token, prompts and refused drafts too, in the real loop, in turns."""
    # At temperature 0 such engines write one span over and over.
    settings = MethodSettings(
        threshold=threshold,
        draft_length=length,
        window=1,
        temperature=1.0,
        candidates=17,
        bonus_from="steered" if bonus else "none",
    )
    run = Run(settings)
    text = Text(run.tokens, len(PUBLIC), length, bonus=bonus)
    history = len(PRIVATE) - len(PUBLIC)
    small = sum(run.small.evaluations) + sum(run.base.evaluations)
    both = steering(ShapedPair("", "", ONE, ONE, {}), text, history, run.share)
    server = steering(ShapedPair("", "", NONE, ONE, {}), text, history, run.share)
    assert server / 6 == pytest.approx(sum(run.large.evaluations), rel=0.02)
    # Full blocks are guessed from the share alone; one more token for each.
    assert (both - server) / 6 == pytest.approx(small, rel=0.04)


@pytest.mark.parametrize(
    "method",
    [
        *("steering", "lossless"),
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("rejection", "costeer")
        ),
    ],
)
def test_bytes_are_those_of_the_loop(method):
    """Frames of a text that was really written, over encode and decode."""
    settings = MethodSettings(
        method=method, draft_length=4, window=1, candidates=17, temperature=1.0
    )
    run = Run(settings)
    text = Text(run.tokens, len(PUBLIC), 4)
    found = {t.method: t for t in traffic(settings, Written(text, 0, run.share, 17))}
    one = found[method]
    frames = one.per_token(text.tokens) - one.opening / text.tokens
    assert frames == pytest.approx(run.wire.bytes / run.tokens, rel=0.02)


def test_every_method_has_its_bytes():
    """Those that ask no server have none; a history counts where it is sent."""
    text = Text()
    near, far = (
        {t.method: t for t in traffic(MethodSettings(), Written(text, h, 0.5, 1000))}
        for h in (0, 5000)
    )
    assert set(near) == set(available())
    for name, one in near.items():
        asked = build(MethodSettings(method=name, temperature=1.0)).needs_generalist
        assert (one.per_token(100) > 0.0) == asked
        sends_history = name == "generalist_with_history"
        assert (far[name].opening > one.opening) == sends_history


def test_a_base_on_the_device_changes_what_the_server_sends():
    """L alone, for every position."""
    text = Text(draft_length=4)
    sent = {}
    for base in ("cloud", "edge"):
        found = traffic(MethodSettings(base=base), Written(text, 0, 0.5, 1000))
        sent[base] = {one.method: one.down for one in found}
    assert sent["edge"]["steering"] > 2 * sent["cloud"]["steering"]
    assert sent["edge"]["lossless"] < sent["cloud"]["lossless"]
    assert sent["edge"]["speculative"] == sent["cloud"]["speculative"]


def test_published_sizes_come_out():
    """Weights without embeddings, as the models' own pages give them."""
    pair = published()[QWEN]
    assert pair.specialist.weights == pytest.approx(0.44e9, rel=0.01)
    assert pair.generalist.weights == pytest.approx(31.2e9, rel=0.01)


@pytest.mark.parametrize("role", ["specialist", "generalist"])
def test_a_file_gives_its_own_shape(role):
    """As many weights as llama.cpp finds, but for embeddings and norms."""
    shape = shape_of(locate(role))
    model = LlamaModel(locate(role), EngineSettings(threads=1))
    found = llama_cpp.llama_model_n_params(model.handle)
    model.close()
    norms = (2 * shape.layers + 1) * shape.width
    assert found == shape.weights + shape.width * shape.vocabulary + norms


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50))
def test_reading_in_parts_costs_the_same(after, first, second):
    """And each token attends to itself and to all before it."""
    shape = Shape(3, 16, 4, 2, 5, 6, 32, 100)
    whole = shape.reading(first + second, after, 1)
    parts = shape.reading(first, after, 0) + shape.reading(second, after + first, 1)
    assert whole == pytest.approx(parts)
    seen = sum(after + i + 1 for i in range(first + second))
    multiplied = (first + second) * shape.weights + 3 * 4 * (5 + 6) * seen
    assert whole == pytest.approx(2 * (multiplied + 16 * 100))


@given(st.floats(0, 1), st.integers(1, 16))
def test_full_blocks_fit_the_share(p, length):
    """The inverse of keeping every token with probability p; a full block brings no
    token of its own unless a bonus is drawn."""
    share = sum(p**i for i in range(1, length + 1)) / length
    assert full_share(share, length) == pytest.approx(p**length, abs=1e-6)
    assert share_kept(p, length) == pytest.approx(share)
    assert 1 - 1e-6 <= tokens_per_round(share, length) <= length + 1e-6
    more = tokens_per_round(share, length, bonus=True)
    assert more == pytest.approx(tokens_per_round(share, length) + p**length, abs=1e-6)


def test_steering_pays_with_a_long_history():
    """The large model reads none of it; without one, blocks cost more than steps."""
    pair, text = published()[QWEN], Text()
    savings = [
        with_history(pair, text, history) / steering(pair, text, history, 0.56)
        for history in (0, 500, 2000, 10000)
    ]
    assert savings == sorted(savings)
    assert savings[0] < 1 < savings[1]
    costs = [steering(pair, text, 2000, share) for share in (0.40, 0.56, 0.80, 0.82)]
    assert costs == sorted(costs, reverse=True)


PAPER = {100: (4.01, 2.30, 1.72), 1000: (4.25, 2.32, 1.74), 10_000: (6.64, 2.50, 1.88)}
"""SpecSteer's operations for 100 new tokens, by context: the generalist that reads the
history, and steering at the thresholds that are probably 0.5 and 0.1. Their unit is not
legible, and is the same for all."""


def test_the_papers_table_of_operations():
    """Counted by passes, with a bonus and two drafted tokens, each of which stays with
    the published chance, and with a weight as one operation. Every cell is met within a
    tenth, and so is the ratio at 10,000."""
    pair, text = published()[QWEN], Text(100, 100, 2, "published", bonus=True)
    unit = with_history(pair, text, 0) / PAPER[100][0]
    for context, (alone, *steered) in PAPER.items():
        history = context - 100
        found = with_history(pair, text, history) / unit
        assert found == pytest.approx(alone, rel=0.01)
        for threshold, cell in zip((0.5, 0.1), steered, strict=True):
            share = share_kept(pair.accepted[threshold], 2)
            found = steering(pair, text, history, share) / unit
            assert found == pytest.approx(cell, rel=0.1)
    large = with_history(pair, text, 9_900)
    small = steering(pair, text, 9_900, share_kept(pair.accepted[0.1], 2))
    assert large / small == pytest.approx(6.64 / 1.88, rel=0.1)


def test_a_lower_threshold_keeps_more_in_the_loop():
    """1, 0.5, 0.1, 0.01, in this order; with scripted engines."""
    shares = [
        Run(
            MethodSettings(
                threshold=limit,
                rule="greedy",
                temperature=1.0,
                candidates=17,
                draft_length=8,
            )
        ).share
        for limit in (1.0, 0.5, 0.1, 0.01)
    ]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1] - 0.3


@pytest.mark.slow
def test_a_lower_threshold_keeps_more_with_the_embedded_pair():
    """The order of the paper, on texts that the pair writes."""
    limits = (1.0, 0.5, 0.1, 0.01)
    found = measured(
        locate("specialist"),
        locate("generalist"),
        limits,
        writers=4,
        tokens=100,
        draft_length=8,
        threads=1,
    )
    shares = [found[limit] for limit in limits]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def run(*arguments):
    return CliRunner().invoke(command, arguments)


def test_the_command_prints_both_tables(tmp_path):
    """And writes the same figures as JSON."""
    file = tmp_path / "cost.json"
    result = run("--pair", QWEN, "--history", "0,2000", "--json", str(file))
    assert result.exit_code == 0, result.output
    body = json.loads(file.read_text())
    assert [line["history"] for line in body["operations"]] == [0, 2000]
    assert list(body["accepted"]) == ["1", "0.5", "0.1", "0.01"]
    less = body["operations"][1]["times less"]["0.5"]
    assert f"({less:.2f}x)" in result.stdout
    for name in available():
        assert f"\n{name} " in result.stdout
    table = run("--pair", QWEN, "--history", "0,2000", "--markdown").stdout
    assert "| --- |" in table
    assert f"({less:.2f}x) |" in table


def test_shapes_of_files_and_shares_that_are_given():
    """No model is loaded for that."""
    result = run("--threshold", "0.5", "--accepted", "0.25", "--history", "100")
    assert result.exit_code == 0, result.output
    assert "25%" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--pair", QWEN, "--threshold", "0.3"), "give the shares with --accepted"),
        (("--pair", QWEN, "--accepted", "0.3"), "for each of --threshold"),
        (("--pair", QWEN, "--threshold", "1", "--accepted", "2"), "from 0 to 1"),
        (("--pair", QWEN, "--specialist", "x.gguf"), "leave the files out"),
        (("--specialist", "x.gguf"), "there is no model file at x.gguf"),
    ],
)
def test_what_cannot_be_counted_says_why(arguments, words):
    """In one sentence."""
    result = run(*arguments)
    assert result.exit_code == 1
    assert words in " ".join(result.output.split())


@pytest.mark.parametrize("numbers", ["", "1,x", "-1", "inf"])
def test_what_is_no_number_is_wrong_usage(numbers):
    """Before anything is read."""
    assert run("--pair", QWEN, "--threshold", numbers).exit_code == 2


def test_shapes_that_are_not_counted_are_refused(tmp_path, monkeypatch):
    """Experts, and layers of several kinds."""
    usual = {
        "general.architecture": "x",
        "x.block_count": 2,
        "x.embedding_length": 8,
        "x.feed_forward_length": 16,
        "x.attention.head_count": 2,
        "tokenizer.ggml.tokens": ["a", "b"],
    }
    headers = {
        "fine": usual,
        "experts": usual | {"x.expert_count": 8},
        "layers": usual | {"x.attention.head_count_kv": [1, 2]},
        "nothing": {"general.architecture": "x"},
    }
    monkeypatch.setattr(
        "benchmarks.cost.shapes.read_header", lambda path: headers[path.name]
    )
    assert shape_of(tmp_path / "fine") == Shape(2, 8, 2, 2, 4, 4, 16, 2)
    for name in ("experts", "layers", "nothing"):
        with pytest.raises(ModelError):
            shape_of(tmp_path / name)
