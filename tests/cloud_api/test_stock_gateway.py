"""Our server before a stock one: what a device and a household see of it."""

import threading
from functools import partial

import pytest
from click.testing import CliRunner

from cloud_api.cli import main
from cloud_api.engine.models import ModelOptions, StockAddress
from cloud_api.engine.thread import load_models
from decoding_core.errors import CloudBusyError, CloudUnreachableError
from decoding_core.messages import Kind, OpenSession
from decoding_core.settings import MethodSettings
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.transport.client import CloudVerifier
from tests.cloud_api.cloud_fakes import (
    TOKEN,
    block_after,
    client_of,
    greedy,
    open_session,
    running,
    send_block,
    text_of,
    with_text,
)
from tests.cloud_api.fake_vllm import NAMES_ID, write_tokenizer
from tests.fakes import opened_session
from tests.waiting import PATIENCE, wait_until

SETTINGS = MethodSettings(candidates=10, draft_length=4, temperature=1.0)
REQUEST = OpenSession((1, 2, 3), (), NAMES_ID, SETTINGS.terms())
DRAFTS = ((4, 5, 6, 7), (8, 9, 10, 11), (12, 13, 14, 15), (16, 17, 18, 19))


@pytest.fixture
def gateway(vllm, second, tmp_path):
    options = ModelOptions(
        StockAddress(vllm.url),
        StockAddress(second.url),
        slots=2,
        tokenizer=write_tokenizer(tmp_path).parent,
    )
    with running(lambda: load_models(options)) as server:
        yield server


def test_other_programs_are_served_by_the_stock_server_too(vllm, tmp_path):
    """Of the likeliest tokens that it tells, at temperature 0 the first; where nobody
    here can write its tokens out, one sentence says so."""
    tokenizer = write_tokenizer(tmp_path).parent
    options = ModelOptions(StockAddress(vllm.url), None, 2, tokenizer=tokenizer)
    body = {"model": "generalist", "prompt": "Hello", "max_tokens": 3, "temperature": 0}
    said = []
    for load in (load_models, lambda of: with_text(load_models(of))):
        served = running(partial(load, options), openai=True)
        with served as server, client_of(server) as client:
            said.append(client.post("/openai/v1/completions", json=body))
    refused, written = said
    assert refused.status_code == 400
    assert "--base" in refused.json()["error"]["message"]
    text = text_of(greedy("Hello", 3))
    assert written.json()["choices"][0]["text"] == text


def settled(gateway, patience, before_block=lambda _: None):
    """The settled tokens of a text whose drafts are given, what the device was told,
    and how often its session was opened."""
    notices, sent = [], []
    verifier = CloudVerifier(gateway.url, TOKEN, sent.append)
    session = VerifierSession(verifier, REQUEST, notices.append, patience=patience)
    session.open()
    text = []
    for number, drafted in enumerate(DRAFTS):
        before_block(number)
        session.submit(text, drafted, 0.5)
        verdict = session.collect(text)
        kept = len(drafted) if verdict is None else verdict.accepted
        refused = kept < len(drafted)
        session.settle(text, kept, refused=refused)
        text += drafted[:kept]
        if refused:
            row = verdict.rows[0]
            text.append(int(row.token_ids[row.generalist_logprobs.argmax()]))
    session.close()
    opened = [
        one for one in sent if one.what == "open" and getattr(one, "payload", b"")
    ]
    return text, notices, len(opened)


def test_a_text_goes_on_when_the_stock_server_is_killed_and_comes_back(gateway, vllm):
    """The device waits while it is away, in the session that it has, and the text is
    the one of a quiet day."""
    quiet, _, _ = settled(gateway, Patience())
    model = gateway.engine.models.generalist

    def come_back():
        """Once the gateway has found it away."""
        wait_until(lambda: model.trouble is not None, "it is not missed")
        vllm.start()

    def lose(number):
        if number == 2:
            vllm.stop()
            threading.Thread(target=come_back).start()

    assert settled(gateway, Patience(busy=PATIENCE), lose) == (quiet, [], 1)


def test_no_session_is_opened_while_the_stock_server_is_away_or_another(gateway, vllm):
    """Both are said in words when a device asks to open a text."""
    with client_of(gateway) as client:
        session_id = open_session(client, REQUEST)
        block = block_after((), (4, 5))
        vllm.stop()
        assert send_block(client, session_id, block, REQUEST).kind is Kind.BUSY
        verifier = CloudVerifier(gateway.url, TOKEN, lambda _: None)
        away = "the generalist's server (does not answer|broke the connection off)"
        with pytest.raises(CloudBusyError, match=away):
            opened_session(verifier, REQUEST, patience=Patience(busy=0.0))
        vllm.salt = 77
        vllm.start()
        gateway.engine.models.generalist._trouble_until = 0.0
        assert send_block(client, session_id, block, REQUEST).kind is Kind.ERROR
        with pytest.raises(CloudUnreachableError, match="runs another model than when"):
            verifier.open(REQUEST)
        verifier.close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--generalist-url nowhere", "no address of a server"),
        ("--generalist-url http://h --generalist x", "exclude each other"),
        ("--generalist-url http://h --kv-tokens 2048", "has its own budget"),
        ("--generalist-url http://h --base-url http://i --no-base", "--base and --no"),
        ("--base x --no-base", "--base and --no-base exclude each other"),
        ("--generalist-model m", "go with --generalist-url"),
        ("--generalist-url http://h --base-model m", "goes with --base-url"),
        ("--generalist-url http://h", "--generalist-tokenizer"),
    ],
)
def test_a_command_line_that_cannot_be(arguments, sentence):
    done = CliRunner().invoke(main, ["serve", "--port", "0", *arguments.split()])
    assert done.exit_code != 0
    assert sentence in " ".join(done.output.split())
