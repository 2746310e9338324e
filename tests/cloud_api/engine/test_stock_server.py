"""A stock server as an engine: the same verdicts as from whole rows, and a sentence for
whatever goes wrong."""

import json
import socket
import threading
from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cloud_api.engine import stock_client, stock_server
from cloud_api.engine.models import ModelOptions, StockAddress
from cloud_api.engine.stock_client import StockClient, StockServerError, checked_url
from cloud_api.engine.stock_models import check_names, check_role, read_names
from cloud_api.engine.stock_server import StockEngine
from cloud_api.engine.thread import load_models
from decoding_core.errors import (
    CloudBusyError,
    ContextFullError,
    DecodingError,
    EngineError,
    InvalidSettingsError,
    ModelError,
    VocabularyMismatchError,
)
from decoding_core.messages import DraftBlock, digest
from decoding_core.protocols import Reading
from decoding_core.sampling import ArrayRows, log_softmax, log_sum_exp
from decoding_core.settings import MethodSettings, Terms
from decoding_core.verifier import role_of, verify
from models.files import locate
from models.running.interface import token_list_id
from models.running.loading import load_model
from tests.cloud_api.cloud_fakes import (
    BASE,
    GENERALIST,
    VOCABULARY,
    logits_after,
    whole_rows,
)
from tests.cloud_api.fake_vllm import NAMES, write_tokenizer
from tests.waiting import PATIENCE, let_pass

PROMPT = (3, 1, 4, 1, 5, 9, 2, 6)


made = []
"""All clients of a test, which are closed behind it."""


@pytest.fixture(autouse=True)
def _closed():
    yield
    while made:
        made.pop().close()


def client_of(fake, role="generalist", seconds=PATIENCE):
    made.append(StockClient(fake.url, role, fake.key, seconds))
    return made[-1]


def engine_of(fake, *, by_id=False, seconds=PATIENCE):
    client = client_of(fake, "base" if by_id else "generalist", seconds)
    made.append(StockEngine(client, "", NAMES, 2))
    return made[-1]


def block_of(drafted):
    return DraftBlock(0, 0, 0, digest(()), (), tuple(drafted))


CASES = [
    *({}, {"base": "edge"}, {"candidates": 40}, {"temperature": 1.0}),
    *({"method": name} for name in ("lossless", "generalist", "costeer")),
    {"temperature": 1.0, "method": "lossless", "strength": 0.5},
    {"bonus_from": "steered"},
]


@pytest.mark.parametrize("change", CASES, ids=str)
@pytest.mark.parametrize("by_id", [False, True], ids=["base here", "base by id"])
def test_a_verdict_is_that_of_whole_rows(vllm, second, change, by_id):
    """Tokens, counts and log-probabilities; and what lies outside is not less."""
    settings = MethodSettings(**{"candidates": 10, "draft_length": 8, **change})
    role = role_of(settings.terms())
    unlikely = int(whole_rows(GENERALIST, PROMPT, 1)[0].argmin())
    drafted = () if not role.draft_limit else (unlikely, 17, 40, 2, 63, 5, 8, 31)
    rows = role.rows(len(drafted))
    text = (*PROMPT, *drafted)[: len(PROMPT) + rows - 1]
    large, small = engine_of(vllm), engine_of(second, by_id=True)
    reading = Reading(0, text, rows, settings.candidates, drafted)
    (found,) = large.evaluate_rows([reading])
    whole, of_base = (whole_rows(salt, text, rows) for salt in (GENERALIST, BASE))
    base = small.evaluate_rows([reading])[0] if by_id else of_base
    base, of_base = (base, of_base) if role.uses_base else (None, None)

    expected = verify(block_of(drafted), whole, of_base, role)
    actual = verify(block_of(drafted), found, base, role)

    assert actual.accepted == expected.accepted
    assert actual.ratio_sum == pytest.approx(expected.ratio_sum, abs=1e-4)
    assert len(actual.rows) == len(expected.rows) > 0
    for one, other in zip(actual.rows, expected.rows, strict=True):
        assert one.token_ids.tolist() == other.token_ids.tolist()
        assert_allclose(one.generalist_logprobs, other.generalist_logprobs, atol=2e-6)
        assert one.tail_log_ratio >= other.tail_log_ratio - 1e-5
        if role.uses_base:
            assert_allclose(one.base, other.base, atol=2e-6)
        else:
            assert one.tail_log_ratio == pytest.approx(other.tail_log_ratio, abs=1e-5)


def test_one_call_reads_a_block_and_one_more_what_it_lacks(vllm):
    """The first has a prompt for each row; a token that is not among the likeliest is
    asked for as the only one that may be sampled, never by id."""
    engine = engine_of(vllm)
    vllm.asked.clear()
    row = log_softmax(logits_after(GENERALIST, PROMPT))
    unlikely = int(row.argmin())

    (rows,) = engine.evaluate_rows([Reading(0, (*PROMPT, unlikely, 5), 3, 10, ())])

    (asked,) = vllm.asked
    assert [len(prompt) for prompt in asked["prompt"]] == [8, 9, 10]
    assert (asked["max_tokens"], asked["logprobs"]) == (1, 14)
    for _ in range(2):
        assert rows.at([0], [unlikely])[0] == pytest.approx(row[unlikely], abs=1e-6)
    (_, again) = vllm.asked
    assert (again["allowed_token_ids"], again["prompt"]) == ([unlikely], [[*PROMPT]])
    for body in vllm.asked:
        assert "logprob_token_ids" not in body
        assert body["cache_salt"]


def test_what_is_only_read_ahead_asks_for_no_rows(vllm):
    vllm.most = 20
    engine = engine_of(vllm)
    vllm.asked.clear()
    engine.evaluate_rows([Reading(1, PROMPT, 1, 0)])
    engine.evaluate_rows([Reading(1, (7,), 1, 10)])
    engine.rollback(1, 4)
    engine.evaluate_rows([Reading(1, (8,), 1, None)])

    assert "logprobs" not in vllm.asked[0]
    texts = [*PROMPT], [*PROMPT, 7], [*PROMPT[:4], 8]
    assert [body["prompt"] for body in vllm.asked] == [[text] for text in texts]
    assert vllm.asked[2]["logprobs"] == engine.candidates == 20
    with pytest.raises(ContextFullError):
        engine.evaluate_rows([Reading(1, [5] * 124, 1, 10)])


@pytest.mark.parametrize("count", [5, 40, VOCABULARY])
def test_a_sum_at_another_temperature_is_never_too_small(vllm, count):
    """So log-probabilities are never too large: a threshold is never undercut. Of a
    flat row at a low temperature all exponentials but the largest's are 0."""
    vllm.most = VOCABULARY
    (rows,) = engine_of(vllm).evaluate_rows([Reading(0, PROMPT, 3, count)])
    whole = log_softmax(whole_rows(GENERALIST, PROMPT, 3))
    for temperature in (1e-3, 0.3, 0.7, 0.9, 1.3, 3.0):
        exact = np.array([log_sum_exp(row, temperature) for row in whole])
        found = rows.log_sum_exps(temperature)
        assert (found >= exact - 1e-6).all(), temperature
        if count == VOCABULARY:
            assert_allclose(found, exact, atol=1e-5, rtol=1e-5)
        if 0.1 < temperature < 1.0 and count == 40:
            assert (found <= exact + 0.05).all(), temperature
    assert rows.log_sum_exps(0.0).tolist() == [0.0] * 3


def test_padding_is_no_token(vllm):
    """The rows of an embedding behind the last token are left out."""
    vllm.padding = 16
    (rows,) = engine_of(vllm).evaluate_rows([Reading(0, PROMPT, 1, 20)])
    ids = rows.likeliest_ids(0, 15, 1e-4)
    assert max(ids) < VOCABULARY
    assert rows.largest_besides(0, ids) >= ArrayRows(
        log_softmax(np.append(logits_after(GENERALIST, PROMPT), np.full(16, 0.5)))[None]
    ).largest_besides(0, np.append(ids, np.arange(64, 80)))


def test_a_base_is_asked_by_id_in_calls_of_few_tokens(second, monkeypatch):
    """Never for its likeliest tokens: its other gateways ask by id, and would spoil
    them."""
    monkeypatch.setattr(stock_server, "BY_ID", 6)
    engine = engine_of(second, by_id=True)
    engine.evaluate_rows([Reading(0, PROMPT, 1, 10, (4,)), Reading(1, PROMPT, 1, 0)])
    engine.rollback(0, 0)
    (rows,) = engine.evaluate_rows([Reading(0, PROMPT, 3, 10)])
    for body in second.asked:
        by_id = "logprob_token_ids" in body
        assert by_id or "allowed_token_ids" in body or "logprobs" not in body
    second.asked.clear()
    pairs = [row for row in range(3) for _ in range(10)], [*range(10), *range(20, 40)]
    whole = log_softmax(whole_rows(BASE, PROMPT, 3))
    assert_allclose(rows.at(*pairs), whole[pairs], atol=1e-6)
    assert all(len(body["logprob_token_ids"]) <= 6 for body in second.asked)


def test_rows_that_others_have_spoilt_are_asked_for_again(vllm):
    """vLLM gives one token instead of many where a call by id ran in the same step."""
    engine = engine_of(vllm)
    vllm.damaged = 2
    (rows,) = engine.evaluate_rows([Reading(0, PROMPT, 1, 10)])
    assert len(rows.likeliest_ids(0, 10, 1e-4)) == 10
    vllm.damaged = 3
    with pytest.raises(CloudBusyError, match="spoils its other answers"):
        engine.evaluate_rows([Reading(0, (5,), 1, 10)])


def endless(piece, pause=0.0):
    def fault(handler, _):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(piece)
            let_pass(pause)

    return fault


def saying(body, status=200):
    return lambda handler, _: handler.say(body, status) or True


def only(path, fault):
    return lambda handler, asked: asked == path and fault(handler, asked)


COMPLETIONS = "/v1/completions"
FAULTS = {
    "html": (saying(b"<html>hello</html>"), "a web page; is there a vLLM"),
    "nan": (only(COMPLETIONS, saying(b'{"choices": [NaN]}')), "no JSON object"),
    "nothing there": (saying({"detail": "Not Found"}, 404), "no vLLM server at"),
    "key": (saying({"error": "no"}, 401), "SPECSTEER_GENERALIST_KEY"),
    "elsewhere": (saying(b"", 302), "sends its visitors elsewhere"),
    "proxy": (saying(b"<html>", 502), "is not ready .status 502."),
    "endless": (endless(b"x" * 65536), "more than its answer can hold"),
    "slow": (endless(b" ", 0.02), "takes more than 0.5 seconds"),
    "no length": (saying({"data": [{"id": "one"}]}), "only vLLM's servers"),
    "refusal": (
        only(COMPLETIONS, saying({"error": {"message": "no\x1b[2J"}}, 400)),
        "refused .status 400.: no",
    ),
}
NO_ROW = {"index": 0, "logprobs": {"top_logprobs": [{" the": -1}]}}
CHOICES = [], 7, [7], {"index": 0}, [{"index": "0"}], [{"index": []}], [NO_ROW]


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_its_sentence(vllm, name):
    """Within a bound of time and size, without what the server wrote for a terminal."""
    vllm.fault, sentence = FAULTS[name]
    with pytest.raises(DecodingError, match=sentence) as caught:
        engine_of(vllm, seconds=0.5 if name == "slow" else PATIENCE)
    assert "\x1b" not in str(caught.value)


def test_choices_of_no_vllm_are_told(vllm):
    for one in CHOICES:
        vllm.fault = only(COMPLETIONS, saying({"model": "x", "choices": one}))
        with pytest.raises(StockServerError, match="answers as no vLLM does"):
            engine_of(vllm)


def tops(first, rest="-3.0"):
    """The likeliest tokens of an answer, as JSON."""
    values = enumerate((first, *[rest] * 5))
    pairs = [f'"token_id:{number}": {value}' for number, value in values]
    return f"{{{', '.join(pairs)}}}"


NUMBERS = {
    "many digits": tops("9" * 400),
    "as many below 0": tops("-" + "9" * 400),
    "too many digits to read": tops("9" * 5000),
    "beyond a float": tops("1e999"),
    "below a float": tops("-1e999"),
    "truths": tops("true", "false"),
    "words": tops('"-1"', "null"),
    "certain each": tops("-0.0", "-0.0"),
    "above 0": tops("5.0", "5.0"),
    "all unlikely": tops("-8000", "-8000"),
    "a name of many digits": '{"token_id:%s": -1.0}' % ("9" * 5000),
    "a name of other digits": '{"token_id:\u0664": -1.0}',
    "half a name": '{"token_id:\\ud83d": -1.0}',
    "a list": "[-1.0]",
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_whatever_numbers_come_are_rows_or_a_sentence(vllm, kind):
    """Never an error of a library, nor an infinite number."""
    engine = engine_of(vllm)
    words = '{"model": "small-talk", "system_fingerprint": "vllm-0.32.0-754ad8b0", '
    words += '"choices": [{"index": 0, "logprobs": {"top_logprobs": [%s]}}]}'
    vllm.fault = only(COMPLETIONS, saying((words % NUMBERS[kind]).encode()))
    try:
        (rows,) = engine.evaluate_rows([Reading(0, PROMPT, 1, 2)])
        ids = rows.likeliest_ids(0, 2, 0.0)
    except DecodingError:
        return
    for temperature in (0.01, 1.0, 4.0):
        found = rows.at([0], ids) / temperature - rows.log_sum_exps(temperature)
        assert np.isfinite(found).all(), found
        assert (found <= 0.0).all(), found


def test_a_greeting_of_tls_that_drips_is_over_in_time(monkeypatch):
    """Each piece of it comes in time; all together they would take an hour."""
    monkeypatch.setattr(stock_client, "_CONNECT_SECONDS", 0.3)
    over = threading.Event()

    def drip(listener):
        peer, _ = listener.accept()
        with peer, suppress(OSError):
            peer.sendall(b"\x16\x03\x03\x3f\xff")
            while not over.is_set():
                peer.sendall(b"\x02")
                let_pass(0.02)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        port = listener.getsockname()[1]
        made.append(StockClient(f"https://127.0.0.1:{port}", "generalist"))
        with pytest.raises(CloudBusyError):
            made[-1].ask("/v1/models")
        assert not over.is_set()
        over.set()
        thread.join()


def test_a_server_that_serves_something_else_than_is_wanted(vllm):
    """Of several models one is chosen. `processed_logprobs` gives the only token that
    is allowed a share of 1."""
    vllm.names = ("one", "two")
    client = client_of(vllm)
    for model, names, sentence in (
        ("", NAMES, "serves one, two; choose one with"),
        ("three", NAMES, "no model 'three' but one, two"),
        ("two", (*NAMES, b"more"), "fewer tokens than the vocabulary"),
    ):
        with pytest.raises(StockServerError, match=sentence):
            StockEngine(client, model, names, 1)
    assert StockEngine(client, "two", NAMES, 1).name == "two"
    vllm.processed = True
    with pytest.raises(StockServerError, match="--logprobs-mode raw_logprobs"):
        StockEngine(client, "two", NAMES, 1)


def test_another_model_behind_the_address(vllm, caplog):
    """After it was away, or silent for a while, a server is looked at again."""
    engine = engine_of(vllm)
    reading = [Reading(0, PROMPT, 1, 10)]
    engine.evaluate_rows(reading)
    vllm.stop()
    engine.rollback(0, 0)
    with pytest.raises(CloudBusyError):
        engine.evaluate_rows(reading)
    vllm.salt = BASE
    vllm.start()
    with pytest.raises(CloudBusyError):  # nobody waits for it again at once
        engine.evaluate_rows(reading)
    engine._trouble_until = 0.0
    with pytest.raises(StockServerError, match="runs another model than when"):
        engine.evaluate_rows(reading)
    with pytest.raises(StockServerError, match="start this one again"):
        engine.evaluate_rows(reading)
    vllm.salt = GENERALIST
    engine.evaluate_rows(reading)
    assert engine.trouble is None
    sentences = "does not answer", "runs another model than when", "is back"
    for record, sentence in zip(caplog.records, sentences, strict=True):
        assert f"the generalist's server {sentence}" in record.message


def test_terms_that_a_few_log_probabilities_do_not_suffice_for():
    """Methods of the device work at every temperature: a constant in a row plays no
    part in them."""
    for change, by_id, sentence in (
        ({"candidate_rule": "contrast"}, False, "candidate_rule"),
        ({"temperature": 1.5}, False, "above temperature 1"),
        ({"temperature": 0.7}, True, "gives single tokens"),
        ({"candidates": 200}, True, "at most 128 tokens"),
    ):
        role = role_of(MethodSettings(**change).terms())
        with pytest.raises(InvalidSettingsError, match=sentence):
            check_role(role, base_by_id=by_id)
    for temperature in (0.0, 0.7, 1.0, 1.5):
        for name in ("lossless", "speculative", "generalist", "costeer", "coupled"):
            role = role_of(Terms(name, temperature=temperature, rule="stochastic"))
            check_role(role, base_by_id=True)
        steering = role_of(Terms("steering", temperature=min(temperature, 1.0)))
        check_role(steering, base_by_id=False)


def test_addresses_that_are_none():
    """The one that clients of OpenAI are given is one; no error tells a password."""
    assert checked_url("https://host:8000/v1/") == "https://host:8000"
    for url in ("host:8000", "ftp://host/", "http://host:port", "http://host/?key=x"):
        with pytest.raises(InvalidSettingsError, match="no address"):
            checked_url(url)
    with pytest.raises(InvalidSettingsError, match="SPECSTEER_GENERALIST_K") as caught:
        checked_url("http://me:secret@host/")
    assert "secret" not in str(caught.value)


def test_a_key_travels_in_a_header_alone(vllm):
    vllm.key = "sk-secret"
    assert engine_of(vllm).candidates == 40
    assert "sk-secret" not in json.dumps(vllm.asked)
    assert "sk-secret" not in repr(StockAddress(vllm.url, "", vllm.key))


def test_tokens_of_a_file_of_a_folder_and_of_a_model_are_the_same(tmp_path):
    path = write_tokenizer(tmp_path)
    assert read_names(tmp_path) == NAMES
    specialist = locate("specialist")
    assert token_list_id(read_names(specialist)) == load_model(specialist).vocabulary_id
    path.write_text('{"model": {"vocab": {"a": 900000000}}}')
    with pytest.raises(ModelError, match="names its tokens in no known way"):
        read_names(tmp_path)


def test_a_server_with_other_tokens_is_refused(vllm):
    client = client_of(vllm)
    assert check_names(NAMES, client, "small-talk")
    vllm.words = [*(n.decode() for n in NAMES[:5]), "other\x1b"]
    with pytest.raises(VocabularyMismatchError, match=r"token 5 is 'other.*'Ġw05'"):
        check_names(NAMES, client, "small-talk")
    vllm.fault = only("/tokenize", saying({"detail": "Not Found"}, 404))
    assert not check_names(NAMES, client, "small-talk")


def test_a_server_that_is_not_there_is_named(vllm):
    vllm.stop()
    address = StockAddress(vllm.url)
    with pytest.raises(EngineError, match=f"at {vllm.url}, or correct --gen"):
        load_models(ModelOptions(address, None, tokenizer=locate("specialist")))
    vllm.start()


def test_something_else_behind_an_address_is_told_as_such(vllm):
    """Before it is known which kind of server answers."""
    options = ModelOptions(StockAddress(vllm.url), None, tokenizer=locate("specialist"))
    for answer, sentence in (
        (saying({"detail": "Not Found"}, 404), "there is no vLLM server at"),
        (saying({"data": 7}), "serves no model"),
        (saying({"data": [7, {"id": "lm", "owned_by": "me"}]}), "and llama-server can"),
        (saying(b"\xff{}"), "no JSON object"),
    ):
        vllm.fault = answer
        with pytest.raises(StockServerError, match=sentence):
            load_models(options)
