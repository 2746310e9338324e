"""A llama-server as an engine: the verdicts of whole rows, a text of another vocabulary
that goes on when the server is killed, and a sentence for whatever goes wrong."""

import os
import socket
import subprocess
import threading
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from cloud_api.engine.llama_server import LlamaServerEngine
from cloud_api.engine.models import ModelOptions, StockAddress
from cloud_api.engine.stock_client import StockClient, StockServerError
from cloud_api.engine.thread import load_models
from decoding_core.byte_space import ByteVocabulary, Wording
from decoding_core.errors import (
    CloudBusyError,
    DecodingError,
    InvalidSettingsError,
    VocabularyMismatchError,
)
from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.protocols import Reading
from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of, verify
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.decoding.two_vocabularies import BytesVerifier
from edge_app.transport.client import CloudVerifier
from models.files import locate
from models.running.loading import load_language
from tests.cloud_api.cloud_fakes import (
    BASE,
    GENERALIST,
    TOKEN,
    VOCABULARY,
    FakeText,
    fake_models,
    logits_after,
    running,
    whole_rows,
    with_text,
)
from tests.cloud_api.fake_llama_server import FakeLlamaServer
from tests.cloud_api.fake_vllm import NAMES, FakeVllm
from tests.waiting import PATIENCE, moments, wait_until

PROMPT = (3, 1, 4, 1, 5, 9, 2, 6)
LETTER = "Dear Ana, à bientôt 🙂".encode()
MESSAGES = (("user", "Thank Ana for the photos."),)
BYTES = ByteVocabulary([*(bytes([one]) for one in range(256)), b""], [256])
"""A device whose tokens are bytes."""


@pytest.fixture
def server():
    fake = FakeLlamaServer(GENERALIST)
    yield fake
    fake.stop()


@pytest.fixture
def engine(server):
    with closing(StockClient(server.url, "generalist", "", PATIENCE)) as client:
        engine = LlamaServerEngine(client, "", NAMES, 2)
        yield engine
        engine.close()


@pytest.fixture(scope="module")
def language():
    with closing(load_language(locate("specialist"))) as found:
        yield found


@pytest.fixture
def speaking(language):
    """A server that cuts texts, whose file is on this machine."""
    size, file = language.vocabulary.size, str(locate("specialist"))
    words = language.vocabulary
    fake = FakeLlamaServer(
        GENERALIST, size=size, vocabulary=words, file=file, length=2048
    )
    yield fake
    fake.stop()


def loaded(fake, tokenizer=None):
    return load_models(ModelOptions(StockAddress(fake.url), None, tokenizer=tokenizer))


@pytest.mark.parametrize("method", ["steering", "lossless", "coupled", "generalist"])
def test_a_verdict_is_that_of_whole_rows(engine, method):
    """A drafted token that is none of the likeliest has its own log-probability."""
    settings = MethodSettings(candidates=10, draft_length=8, method=method, base="edge")
    role = role_of(settings.terms())
    unlikely = int(whole_rows(GENERALIST, PROMPT, 1)[0].argmin())
    drafted = (unlikely, 17, 40, 2, 63, 5, 8, 31) if role.draft_limit else ()
    rows = role.rows(len(drafted))
    text = (*PROMPT, *drafted)[: len(PROMPT) + rows - 1]
    block = DraftBlock(0, 0, 0, digest(()), (), drafted)
    (found,) = engine.evaluate_rows([Reading(0, text, rows, 10, drafted)])

    actual = verify(block, found, None, role)
    expected = verify(block, whole_rows(GENERALIST, text, rows), None, role)

    for one, other in zip(actual.rows, expected.rows, strict=True):
        assert one.token_ids.tolist() == other.token_ids.tolist()
        assert_allclose(one.generalist_logprobs, other.generalist_logprobs, atol=2e-6)


def test_each_row_is_a_request_of_one_token_more(server, engine):
    """Behind the one before; a text that is only read ahead asks for no row."""
    server.asked.clear()
    unlikely = int(logits_after(GENERALIST, PROMPT).argmin())
    (rows,) = engine.evaluate_rows([Reading(0, (*PROMPT, unlikely, 5), 3, 10, ())])
    assert [len(one["prompt"]) for one in server.asked] == [8, 9, 10]
    assert all(one["n_predict"] == 1 == one["top_k"] for one in server.asked)
    value = log_softmax(logits_after(GENERALIST, PROMPT))[unlikely]
    assert rows.at([0], [unlikely])[0] == pytest.approx(value, abs=1e-6)
    assert [one[0] for one in server.asked[3]["logit_bias"]] == [unlikely]
    engine.evaluate_rows([Reading(1, PROMPT, 1, 0)])
    assert server.asked[-1]["n_predict"] == 0


def test_a_part_of_a_character_is_looked_up_in_the_whole_row(server, engine):
    """The server says nothing where it samples one: not if it is the likeliest either,
    as another is sampled there."""
    row = log_softmax(logits_after(GENERALIST, PROMPT))
    server.parts = int(row.argmax()), int(row.argmin())
    (rows,) = engine.evaluate_rows([Reading(0, PROMPT, 1, 10)])
    assert_allclose(rows.at([0], server.parts), row[list(server.parts)], atol=1e-6)
    assert server.asked[-1]["n_probs"] == VOCABULARY


def test_texts_are_read_side_by_side(server, engine):
    readings = [Reading(0, PROMPT, 2, 10), Reading(1, (7, 7), 2, 10)]
    for rows, reading in zip(engine.evaluate_rows(readings), readings, strict=True):
        whole = whole_rows(GENERALIST, reading.token_ids, 2)
        for row in range(2):
            best = int(whole[row].argmax())
            assert best in rows.likeliest_ids(row, 10, 0.0)
    assert engine.client.on_this_machine


def test_another_model_behind_the_address(server, engine):
    engine.evaluate_rows([Reading(0, PROMPT, 1, 10)])
    server.stop()
    with pytest.raises(CloudBusyError):
        engine.evaluate_rows([Reading(0, (5,), 1, 10)])
    server.salt = BASE
    server.start()
    engine._trouble_until = 0.0
    with pytest.raises(StockServerError, match="runs another model than when"):
        engine.evaluate_rows([Reading(0, (5,), 1, 10)])


def place(**changed):
    told = {"id": 1, "logprob": -1.0, "top_logprobs": [{"id": 1, "logprob": -1.0}]}
    return {"completion_probabilities": [told | changed]}


MALFORMED = {
    "no object": {"completion_probabilities": 7},
    "nothing": {"completion_probabilities": []},
    "old names": {"completion_probabilities": [{"content": "x", "probs": []}]},
    "a name": place(top_logprobs=["x"]),
    "above 0": place(top_logprobs=[{"id": 1, "logprob": 1e999}]),
    "no number": place(top_logprobs=[{"id": 1, "logprob": None}]),
    "a truth": place(top_logprobs=[{"id": True, "logprob": -1.0}]),
    "below every id": place(top_logprobs=[{"id": -1, "logprob": -1.0}]),
    "too few": place(),
    "certain each": place(top_logprobs=[{"id": n, "logprob": 0} for n in range(14)]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_an_answer_that_is_none_is_told(server, engine, name):
    answer = MALFORMED[name] | {"model": "small-talk"}
    server.fault = lambda handler, path: (
        path == "/completion" and (handler.say(answer) or True)
    )
    with pytest.raises(DecodingError, match=r"as no llama-server|no JSON"):
        engine.evaluate_rows([Reading(0, PROMPT, 1, 10)])


def test_numbers_of_any_size_are_log_probabilities(server, engine):
    """The lowest float stands for a probability of 0, and is as good as that."""
    tops = [{"id": n, "logprob": -6.0 if n else -0.1} for n in range(13)]
    tops.append({"id": 13, "logprob": -(10**400)})
    answer = place(top_logprobs=tops) | {"model": "small-talk"}
    server.fault = lambda handler, path: (
        path == "/completion" and (handler.say(answer) or True)
    )
    (rows,) = engine.evaluate_rows([Reading(0, PROMPT, 1, 10)])
    assert rows.at([0], [13])[0] == -104.0


def test_servers_that_give_too_little(server):
    with closing(StockClient(server.url, "generalist", "", PATIENCE)) as client:
        with pytest.raises(VocabularyMismatchError, match="has 64 tokens, fewer than"):
            LlamaServerEngine(client, "", (*NAMES, b"more"), 1)
        server.bent = True
        with pytest.raises(StockServerError, match="after its own changes"):
            LlamaServerEngine(client, "", NAMES, 1)
        server.length = None
        with pytest.raises(StockServerError, match="how many tokens its model reads"):
            LlamaServerEngine(client, "", NAMES, 1)
    with (
        closing(StockClient(server.url, "base")) as client,
        pytest.raises(InvalidSettingsError, match="base cannot run on a llama-server"),
    ):
        LlamaServerEngine(client, "", NAMES, 1)


def test_an_ollama_is_refused_with_what_to_do_instead(language):
    def ollama(handler, path):
        models = {"data": [{"id": "llama3.2", "owned_by": "library"}]}
        known = {"/v1/models": models, "/api/version": {"version": "0.13.5"}}
        handler.say(known.get(path, {}), 200 if path in known else 404)
        return True

    fake = FakeVllm(GENERALIST)
    fake.fault = ollama
    with pytest.raises(StockServerError, match=r"is an Ollama, .* start llama"):
        loaded(fake, locate("specialist"))
    fake.stop()


def test_its_file_is_read_where_it_is_on_this_machine(speaking, language, capsys):
    """What the server gives, what that allows and costs is said in one line; its tokens
    are known, so devices of other families are served."""
    models = loaded(speaking)
    assert models.words.prompt_ids(MESSAGES)
    assert models.words.vocabulary.text(models.words.vocabulary.spelled(LETTER)) == (
        LETTER
    )
    assert models.generalist.vocabulary_id == language.vocabulary.id
    (line,) = capsys.readouterr().err.splitlines()
    assert "is a llama-server: it gives the 1000 likeliest" in line
    assert "costs 9 requests" in line
    models.generalist.close()
    speaking.file = "/nowhere/\x00" + "x" * 300
    with pytest.raises(InvalidSettingsError, match="give --generalist-tokenizer"):
        loaded(speaking)


def test_tokens_that_are_not_what_they_are_said_to_be(speaking, language):
    """Bytes that lie, that are none, and a tokenizer that changes the text."""
    speaking.piece = lambda token: b"x" + language.vocabulary.piece(token)
    with pytest.raises(VocabularyMismatchError, match="has other tokens: of a text"):
        loaded(speaking)
    speaking.piece = language.vocabulary.piece
    for piece in ([256], {"a": 1}, None, [0xC3, 0x28], "\ud83d"):
        answer = {"tokens": [{"id": 1, "piece": piece}]}
        speaking.fault = lambda handler, path, said=answer: (
            path == "/tokenize" and (handler.say(said) or True)
        )
        with pytest.raises(VocabularyMismatchError, match="has other tokens"):
            loaded(speaking)
    speaking.fault = None

    class Lower:
        def tokenize(self, text):
            return language.vocabulary.tokenize(text.lower())

    speaking.vocabulary = Lower()
    with pytest.raises(VocabularyMismatchError, match="has other tokens"):
        loaded(speaking)


def test_a_file_gives_words_to_vllm_too(language, capsys):
    """Without a base here; its key, its refusal and its size are `StockEngine`'s."""
    fake = FakeVllm(GENERALIST)
    fake.padding = language.vocabulary.size - VOCABULARY
    fake.words = [one.decode() for one in language.vocabulary.names()[:200]]
    models = loaded(fake, locate("specialist"))
    assert models.words.prompt_ids(MESSAGES)
    assert "is a vLLM: it gives" in capsys.readouterr().err
    models.generalist.close()
    fake.stop()


def written(url, before_block=lambda _: None):
    """The rows of each block that a device of other tokens gets for a letter, and what
    it is told."""
    notices = []
    with closing(CloudVerifier(url, TOKEN, lambda _: None)) as client:
        terms = MethodSettings(method="generalist", candidates=40).terms()
        wording = Wording(BYTES, client.vocabulary())
        verifier = BytesVerifier(client, wording, MESSAGES)
        session = VerifierSession(
            verifier,
            OpenSession((1,), (), "of bytes", terms),
            notices.append,
            patience=Patience(busy=PATIENCE),
        )
        session.open()
        text, rows = [], []
        for number, start in enumerate(range(0, len(LETTER), 4)):
            before_block(number)
            session.submit(text, tuple(LETTER[start : start + 4]), 0.5)
            verdict = session.collect(text)
            rows.append(
                [
                    dict(
                        zip(
                            one.token_ids.tolist(), one.generalist_logprobs, strict=True
                        )
                    )
                    for one in (verdict.rows if verdict else ())
                ]
            )
            kept = min(4, len(LETTER) - start)
            session.settle(text, kept, refused=False)
            text += LETTER[start : start + 4]
        session.close()
    return rows, notices


@pytest.mark.parametrize("kind", ["llama-server", "vLLM"])
def test_a_text_in_bytes_goes_on_when_the_server_is_killed(kind, request, language):
    """The device waits in its session, and gets the rows of a quiet day."""
    if kind == "vLLM":
        speaking = FakeVllm(GENERALIST, length=2048)
        speaking.padding = language.vocabulary.size - VOCABULARY
        speaking.words = [one.decode() for one in language.vocabulary.names()[:200]]
        request.addfinalizer(speaking.stop)
    else:
        speaking = request.getfixturevalue("speaking")
    with running(lambda: loaded(speaking, locate("specialist"))) as gateway:
        quiet, notices = written(gateway.url)
        assert quiet
        assert not notices
        model = gateway.engine.models.generalist

        def come_back():
            wait_until(lambda: model.trouble is not None, "it is not missed")
            speaking.start()

        def lose(number):
            if number == 2:
                speaking.stop()
                threading.Thread(target=come_back).start()

        assert written(gateway.url, lose) == (quiet, [])


PROGRAM = os.environ.get("SPECSTEER_LLAMA_SERVER", "")
"""A real llama-server, for the test that needs one."""
FILE = os.environ.get("SPECSTEER_LLAMA_MODEL") or str(locate("generalist"))
NEAR = 1.0  # nats; weights of four bits are computed in several ways


class Poor(FakeText):
    """Tokens of a few letters: it has none for the others."""

    size = VOCABULARY

    def piece(self, token_id):
        return b"Dear Ana"[token_id : token_id + 1]


def test_a_text_that_it_has_no_tokens_for_goes_on_alone():
    """The device is told that the model failed, and keeps what it has."""
    models = with_text(fake_models(), vocabulary=Poor)
    with running(lambda: models) as gateway:
        rows, notices = written(gateway.url)
    assert all(rows[:2])
    assert not any(rows[2:])
    assert "the server's model failed" in str(notices)


class RealServer:
    """A llama-server with a model of this machine."""

    def __init__(self, log):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self.start()
        for _ in moments(log.read_text, pause=0.2):
            with suppress(OSError):
                urllib.request.urlopen(f"{self.url}/health", timeout=PATIENCE).close()
                break

    def start(self):
        where = "--host", "127.0.0.1", "--port", str(self.port)
        command = [PROGRAM, "--model", FILE, *where, "-c", "2048", "-np", "1"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self):
        """As by a power cut."""
        self.process.kill()
        self.process.wait()


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM, reason="SPECSTEER_LLAMA_SERVER names no program")
def test_a_real_one_gives_the_rows_of_llama_cpp_and_may_be_killed(tmp_path):
    """Killed in mid-text and started again; the model read here is the same file."""
    with running(lambda: load_models(ModelOptions(Path(FILE), None))) as here:
        expected, _ = written(here.url)
    real = RealServer(tmp_path / "log.txt")

    def lose(number):
        if number == 2:
            real.stop()
            real.start()

    try:
        with running(lambda: loaded(real)) as gateway:
            found, notices = written(gateway.url, lose)
    finally:
        real.stop()
    assert not notices
    for (one, *_), (other, *_) in zip(found, expected, strict=True):
        best = max(other, key=other.get)
        assert one[best] == pytest.approx(other[best], abs=NEAR)
