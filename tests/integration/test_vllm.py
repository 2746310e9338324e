"""A real vLLM server as the generalist: the same tokens as llama.cpp but for ties, and
texts that go on when it, or a gateway before it, is killed.

`make vllm` sets it up; where it is not, these tests are skipped. Both engines read the
embedded generalist as float32.
"""

import os
import signal
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from benchmarks.pair import Pair
from decoding_core.methods.steering import log_steered
from decoding_core.settings import MethodSettings
from edge_app.decoding.session import Patience
from edge_app.transport.client import CloudVerifier
from models.files import locate
from models.running.settings import EngineSettings
from tests import exported_models, vllm_server
from tests.exported_models import emails_asked_for, prompts_of
from tests.integration.test_behind_haproxy import (
    household_behind,
    moved_without_a_trace,
)
from tests.integration.test_losses import OTHER_MODEL, texts
from tests.relay import Relay
from tests.vllm_server import TOKEN, VllmServer, gateway

pytestmark = pytest.mark.slow

METHODS = ("steering", "lossless", "speculative", "generalist")
TEXTS = int(os.environ.get("SPECSTEER_TEXTS", "2"))
TOKENS = 32
TIE = 5e-3
"""Nats: what float32 rounding in other orders can decide either way."""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The embedded pair as float32: files for llama.cpp, folders for vLLM."""
    if not vllm_server.PROGRAM.exists():
        pytest.skip("needs vLLM: make vllm")
    for module in ("torch", "transformers", "gguf"):
        pytest.importorskip(module)
    return exported_models.exported(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def vllm(models, tmp_path_factory):
    log = tmp_path_factory.mktemp("vllm") / "log.txt"
    server = VllmServer(models["transformers"]["generalist"], log)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def pair(models):
    """The device's models, and the generalist that vLLM is compared with."""
    files = models["llama_cpp"]
    settings = EngineSettings(threads=1, precision="float32", extra_buffers=False)
    pair = Pair(files["specialist"], files["generalist"], settings)
    yield pair
    pair.close()


def margin(pair, prompts, settings, ids, other):
    """How near what was decided where two texts part is to being decided otherwise, in
    nats; 0 for texts that are the same."""
    pairs = enumerate(zip(ids, other, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(ids), len(other)))
    if at == len(ids) == len(other):
        return 0.0
    private, large, base = exported_models.opinions(pair.readers(prompts), ids[:at])
    if settings.method == "steering":
        return exported_models.margin(private, large, base, settings)
    strength = 0.0 if settings.method != "lossless" else settings.strength
    target = log_steered(private, large, base, strength)
    return float(np.subtract(*np.sort(target)[:-3:-1]))


@pytest.mark.parametrize("place", ["base here", "base on vllm", "base on the device"])
def test_the_same_tokens_as_llama_cpp_but_for_ties(models, vllm, pair, place, tmp_path):
    """At temperature 0, by each method; ties are counted."""
    files, second = models["llama_cpp"], None
    options = ["--base", files["specialist"]]
    if place == "base on vllm":
        folder = models["transformers"]["specialist"]
        second = VllmServer(folder, tmp_path / "log.txt")
        options = ["--base-url", second.url]
        options += ["--generalist-tokenizer", models["transformers"]["generalist"]]
    if place == "base on the device":
        options = ["--no-base", "--generalist-tokenizer", files["generalist"]]
    found = {}
    try:
        with gateway(vllm, *options) as server:
            for method in METHODS:
                settings = MethodSettings(
                    method=method,
                    temperature=0.0,
                    base="edge" if place == "base on the device" else "cloud",
                )
                counts = Counter()
                for example in emails_asked_for(TEXTS, 1):
                    prompts = prompts_of(pair.small, example, TOKENS)
                    here = pair.write_from(prompts, settings, TOKENS).token_ids
                    there = pair.write_from(
                        prompts, settings, TOKENS, server.verifier
                    ).token_ids
                    gap = margin(pair, prompts, settings, here, there)
                    assert gap <= TIE, (method, gap)
                    counts["same" if here == there else "ties"] += 1
                    counts["tokens"] += len(there)
                found[method] = dict(counts)
    finally:
        if second is not None:
            second.kill()
    sys.stdout.write(f"{place}: {found}\n")  # for docs/log.md, with -s
    assert all(counts["tokens"] >= TEXTS for counts in found.values())


@pytest.mark.parametrize("killed", ["vllm", "one of two gateways"])
def test_a_text_goes_on_when_a_server_is_killed(models, vllm, pair, killed):
    """In mid-text, and the text is the same. vLLM is started again, and the session
    stays; another gateway is reached through a relay, and the session opened there."""
    example, *_ = emails_asked_for(TEXTS, 1)
    settings = MethodSettings(temperature=0.0, draft_length=4, window=1)
    prompts = prompts_of(pair.small, example, TOKENS)
    here = pair.write_from(prompts, settings, TOKENS)
    lost = threading.Event()

    class Losing(CloudVerifier):
        def submit(self, block):
            if len(block.drafted) and block.position > 8 and not lost.is_set():
                lost.set()
                if killed == "vllm":
                    vllm.kill()
                    vllm.start(wait=False)
                else:
                    server.end(signal.SIGKILL)
            super().submit(block)

    base = models["llama_cpp"]["specialist"]
    with (
        gateway(vllm, "--base", base) as server,
        gateway(vllm, "--base", base) as other,
        closing(Relay(server.port, other.port)) as relay,
    ):
        there = pair.write_from(
            prompts,
            settings,
            TOKENS,
            lambda emit: Losing(relay.url, TOKEN, emit),
            patience=Patience(busy=600.0),
        )
    assert lost.is_set()
    assert margin(pair, prompts, settings, here.token_ids, there.token_ids) <= TIE


def test_a_gateway_and_the_other_ones_vllm_are_killed_under_several_texts(
    models, vllm, specialist, tmp_path
):
    """Behind a real HAProxy, at 0.7: who was at the gateway goes on at the other, where
    all wait until its vLLM is back."""
    second = VllmServer(models["transformers"]["generalist"], tmp_path / "log.txt")
    own = "--base", locate("specialist"), "--sessions", "8"
    options = [("--generalist-url", one.url, *own) for one in (vllm, second)]
    try:
        with household_behind("haproxy", tmp_path, options) as household:
            gateway, _ = household[0][0]

            def loses():
                gateway.kill()
                second.kill()
                second.start(wait=False)

            moved = moved_without_a_trace(household, specialist, loses)
    finally:
        second.kill()
    sys.stdout.write(f"{moved} texts went on at the other gateway\n")


def test_other_programs_get_what_vllm_writes_piece_by_piece(models, vllm):
    """By OpenAI's own client, at temperature 0."""
    openai = pytest.importorskip("openai")
    words = "Write an email to Ana: thank her for the photos of the garden."
    asked = {"messages": [{"role": "user", "content": words}], "max_tokens": 40}

    def pieces(url):
        with openai.OpenAI(base_url=url, api_key=TOKEN) as client:
            stream = client.chat.completions.create(
                model="generalist", temperature=0.0, stream=True, **asked
            )
            found = [part.choices[0].delta.content for part in stream if part.choices]
            return [piece for piece in found if piece]

    base = models["llama_cpp"]["specialist"]
    with gateway(vllm, "--base", base, "--openai") as server:
        ours = pieces(f"{server.url}/openai/v1")
    assert len(ours) > 8
    assert "".join(ours) == "".join(pieces(f"{vllm.url}/v1"))


class Engine:
    """The vLLM behind a gateway, as what is lost in mid-text."""

    in_bytes = True

    def __init__(self, vllm, gateway):
        self._vllm, self.port = vllm, gateway.port

    def end(self, number):
        assert number == signal.SIGKILL
        self._vllm.kill()

    def start(self):
        self._vllm.start(wait=False)


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A vLLM with a model of another vocabulary."""
    if not OTHER_MODEL or not vllm_server.PROGRAM.exists():
        pytest.skip("needs SPECSTEER_SMOLLM2 and vLLM: make vllm")
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("stranger")
    exported_models.export_folder(Path(OTHER_MODEL), folder / "model")
    server = VllmServer(folder / "model", folder / "log.txt")
    yield server
    server.kill()


@pytest.mark.parametrize("method", METHODS)
def test_a_letter_beside_another_vocabulary(method, stranger, specialist):
    """vLLM is killed in mid-text and started again."""
    settings = MethodSettings(method=method, temperature=0.0, draft_length=4, window=1)
    options = "--no-base", "--generalist-tokenizer", OTHER_MODEL
    with (
        gateway(stranger, *options) as server,
        texts(Engine(stranger, server), specialist) as write,
    ):
        quiet = write(settings, {}, TOKENS)
        lost = write(settings, {quiet.rounds // 2: "kill"}, TOKENS)
    assert len(quiet.ids) == len(lost.ids) == TOKENS
    same = lost.ids == quiet.ids  # but for ties: a new server reads in other passes
    found = f"{'same' if same else 'another'}, {len(set(lost.openings))} openings"
    sys.stdout.write(f"{method}: {found}: {lost.whole}\n")
