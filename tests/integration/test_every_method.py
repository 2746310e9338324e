"""Every method, as a person would run it: two processes and a real socket."""

import json
import threading

import pytest
from click.testing import CliRunner

from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.cli import cli
from edge_app.config.settings import ledger_path
from edge_app.decoding.events import Sent, Settled, SourcesFound
from edge_app.decoding.on_device import EdgeBaseVerifier
from edge_app.privacy.ledger import read_ledger
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.service import WritingService
from edge_app.service.text_job import TextJob
from edge_app.transport.client import CloudVerifier
from models.engines.llama_cpp import LlamaContext
from models.files import locate
from models.prompts import Request
from models.running.machine import probe
from models.running.settings import EngineSettings

CLEAR = "--token-in-clear"
ON_THE_SERVER = [
    name
    for name in available()
    if name not in ("specialist", "specialist_without_history", "contrast")
]

OF_EACH_KIND = ("steering", "lossless", "generalist")
"""One that the server decides, one that the device decides, one without drafts."""


@pytest.fixture(autouse=True)
def same_kernels(monkeypatch):
    """As the server's and the reference's."""
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    probe.cache_clear()
    yield
    probe.cache_clear()


def run(*arguments):
    return CliRunner().invoke(
        cli, ["write", *arguments], input="", prog_name="specsteer"
    )


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
        max_tokens=12,
        background="Tess writes short letters about her pier.",
    )


def job(wanted, verifier, specialist, contexts):
    for context in contexts:
        context.sequence(0).rollback(0)
    events = []
    method, stop = build(wanted.settings), threading.Event()
    text = TextJob(specialist, contexts[0], wanted, method, events.append, stop)
    text.run(verifier, [])
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
    with the base here and the generalist behind a socket, for methods that draft."""
    if method == "rejection" and not temperature:
        pytest.skip("it needs a temperature")
    sequences = [context.sequence(0) for context in contexts]
    cloud = EngineVerifier(sequences[2], sequences[1])
    expected = job(write_request(method, temperature), cloud, specialist, contexts)
    assert 0 < len(expected) <= 12
    wanted = write_request(method, temperature, "edge")
    inner = EngineVerifier(sequences[2])
    edge = EdgeBaseVerifier(inner, sequences[1]) if _compares(method) else inner
    assert job(wanted, edge, specialist, contexts) == expected
    if _drafts(method):
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
    result = run("--method", method, *at, *limit, "Thank Ana.")
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


def test_the_command_with_the_base_on_this_device(server):
    """The same text at temperature 0."""
    at = ("--server", server.url, "--token", server.token, CLEAR, "--json")
    texts = [
        json.loads(run(*at, "--base", base, *options, "Thank Ana.").stdout)["text"]
        for base in ("cloud", "edge")
        for options in [("--temperature", "0", "--max-tokens", "12")]
    ]
    assert texts[0] == texts[1]


def test_the_automatic_threshold_from_the_command_line(server):
    """As a word; and what is neither word nor number is wrong usage."""
    at = ("--server", server.url, "--token", server.token, CLEAR, "--json")
    result = run(*at, "--threshold", "auto", "--max-tokens", "6", "Thank Ana.")
    assert json.loads(result.stdout)["settings"]["threshold"] == "auto"
    assert run("--threshold", "many", "x").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "rejection", "--temperature", "0"), "needs a temperature above"),
        (("--method", "costeer", "--offline"), "does nothing offline"),
        (("--method", "generalist", "--offline"), "does nothing offline"),
        (
            *(("--method", "generalist_with_history", "--server", "http://a.example"),),
            "gives your history to the large model",
        ),
        (
            *(("--method", "generalist_with_history", "--server", "http://10.1.2.3"),),
            "runs on this machine only, not at http://10.1.2.3",
        ),
    ],
)
def test_what_cannot_run_says_why(arguments, words):
    """In one sentence, with status 1, before anything is sent."""
    result = run(*arguments, "--sample", "x")
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stdout == ""
    assert not list(read_ledger(ledger_path()))


def test_the_help_lists_the_methods():
    """One line each."""
    lines = run("--help-all").stdout.splitlines()
    for name in available():
        assert sum(line.strip().startswith(f"{name} ") for line in lines) == 1


@pytest.mark.parametrize("method", ["generalist", "generalist_with_history"])
def test_who_reads_the_history(method, server, tmp_path):
    """The private prompt leaves with the one baseline that says so."""
    service = WritingService(
        ServiceConfig(
            locate("specialist"),
            locate("generalist"),
            tmp_path / "store.db",
            tmp_path / "ledger.jsonl",
            server.url,
            server.token,
            EngineSettings(extra_buffers=False),
            token_in_clear=True,
        )
    )
    events = []
    service.write(write_request(method), events.append, threading.Event())
    opening = next(e for e in events if isinstance(e, Sent) and e.what == "open")
    vocabulary = service._model.vocabulary
    sent = b"".join(map(vocabulary.piece, json.loads(opening.payload)["prompt_ids"]))
    assert (b"her pier" in sent) == (method == "generalist_with_history")
    assert any(isinstance(event, SourcesFound) for event in events)
    service.close()
