"""Every method, as a person would run it: two processes and a real socket."""

import json
import threading

import pytest

from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.config.settings import ledger_path
from edge_app.decoding.events import Settled
from edge_app.decoding.on_device import EdgeBaseVerifier
from edge_app.privacy.ledger import read_ledger
from edge_app.service.requests import WriteRequest
from edge_app.service.text_job import TextJob
from edge_app.transport.client import CloudVerifier
from models.engines.llama_cpp import LlamaContext
from models.prompts import Request
from tests.command import specsteer

pytestmark = pytest.mark.usefixtures("same_kernels")
CLEAR = "--token-in-clear"
ON_THE_SERVER = [
    name
    for name in available()
    if name not in ("specialist", "specialist_without_history", "contrast")
]

OF_EACH_KIND = ("steering", "lossless", "generalist")
"""One that the server decides, one that the device decides, one without drafts."""


@pytest.fixture(scope="module")
def fourth(specialist):
    """A context more, for the base on the device."""
    context = LlamaContext(specialist, 1, 1024)
    yield context
    context.close()


def write_request(method, temperature=0.8, base="cloud", seed=2):
    return WriteRequest(
        Request("Thank Ana for the photos.", recipient="Ana"),
        settings=MethodSettings(
            method=method,
            temperature=temperature,
            base=base,
            seed=seed,
            strength=1.3,
            threshold=0.4,
            draft_length=5,
            candidates=40,
        ),
        max_tokens=8,
        background="Tess writes short letters about her pier.",
    )


def job(wanted, verifier, specialist, contexts):
    for context in contexts:
        context.sequence(0).rollback(0)
    events = []
    method, stop = build(wanted.settings), threading.Event()
    text = TextJob(specialist, contexts[0], wanted, method, events.append, stop)
    text.run(lambda: verifier, [])
    return [
        (token.id, token.origin)
        for event in events
        if isinstance(event, Settled)
        for token in event.tokens
    ]


@pytest.mark.parametrize(
    ("method", "temperature"),
    [
        pytest.param(
            *(name, heat),
            marks=() if heat and name in OF_EACH_KIND[:2] else pytest.mark.slow,
        )
        for name in ON_THE_SERVER
        for heat in (0.0, 0.8)
    ],
)
def test_where_the_base_runs_changes_no_text(
    method, temperature, specialist, contexts, fourth, server
):
    """In one process, with exact engines: the base in the cloud and on the device; and
    for methods that draft, with both or the generalist alone behind a socket."""
    if method == "rejection" and not temperature:
        pytest.skip("it needs a temperature")
    sequences = [context.sequence(0) for context in contexts]
    cloud = EngineVerifier(sequences[2], sequences[1])
    expected = job(write_request(method, temperature), cloud, specialist, contexts)
    assert 0 < len(expected) <= 8
    wanted = write_request(method, temperature, "edge")
    inner = EngineVerifier(sequences[2])
    edge = EdgeBaseVerifier(inner, sequences[1]) if _compares(method) else inner
    assert job(wanted, edge, specialist, contexts) == expected
    if _drafts(method):
        far = CloudVerifier(server.url, server.token, lambda _: None)
        wanted_there = write_request(method, temperature)
        assert job(wanted_there, far, specialist, contexts) == expected
        fourth.sequence().rollback(0)
        far = CloudVerifier(server.url, server.token, lambda _: None)
        far = EdgeBaseVerifier(far, fourth.sequence()) if _compares(method) else far
        assert job(wanted, far, specialist, contexts) == expected


def _compares(method):
    return method not in ("generalist", "generalist_with_history", "speculative")


def _drafts(method):
    return method not in (
        *("generalist", "generalist_with_history", "costeer", "lightcosteer"),
    )


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(one, marks=() if one in OF_EACH_KIND else pytest.mark.slow)
        for one in available()
    ],
)
def test_the_command_writes_with_every_method(method, server, letters):
    """`specsteer write --method NAME`, over the socket where it needs one."""
    at = ("--server", server.url, "--token", server.token, CLEAR)
    limit = ("--max-tokens", "6", "--no-offline", "--json", "--verbose")
    result = specsteer("write", "--method", method, *at, *limit, "Thank Ana.")
    assert result.exit_code == 0, result.stderr
    body = json.loads(result.stdout)
    alone = method.startswith("specialist")
    assert 0 < len(body["tokens"]) <= 6
    sends = not alone and method != "contrast"
    assert bool(list(read_ledger(ledger_path()))) == sends
    assert (body["statistics"]["round_trip_ms"] is not None) == sends
    assert {t["origin"] == "local" for t in body["tokens"]} == {alone}
    exact = method in ("lossless", "coupled", "speculative", "generalist", "contrast")
    exact = exact or method == "generalist_with_history"
    exact |= method in ("costeer", "lightcosteer")
    assert (body["statistics"]["truncation_bound"] is not None) == exact
    told = "exact to" in result.stderr or "candidates lacked" in result.stderr
    assert told == exact
    without = ("specialist_without_history", "generalist")  # they read no letters
    assert bool(body["sources"]) == (method not in without)


def test_the_help_lists_the_methods():
    """One line each."""
    lines = specsteer("write", "--help-all").stdout.splitlines()
    for name in available():
        assert sum(line.strip().startswith(f"{name} ") for line in lines) == 1
