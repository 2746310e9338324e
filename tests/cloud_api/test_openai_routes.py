"""The plain generalist, asked with OpenAI's own client."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import numpy as np
import pytest

from cloud_api import openai as writing
from cloud_api.engine.models import ModelOptions
from cloud_api.engine.thread import load_models
from decoding_core.messages import Verdict
from decoding_core.protocols import Reading
from decoding_core.sampling import likeliest
from models.chat import prompt_ids
from models.files import locate
from models.prompts import Message
from models.running.loading import load_model
from models.running.settings import EngineSettings
from tests.cloud_api.cloud_fakes import (
    GENERALIST,
    HEADERS,
    PLAIN,
    TOKEN,
    VOCABULARY,
    FakeText,
    ask,
    block_after,
    client_of,
    fake_models,
    greedy,
    logits_after,
    open_request,
    open_session,
    running,
    send_block,
    text_of,
    with_text,
)
from tests.waiting import PATIENCE, wait_until


def openai():
    """Imported by the tests that ask with it alone: that takes more than a second, in
    each process that collects tests."""
    return pytest.importorskip("openai")


def load(end_ids=(), **options):
    return with_text(fake_models(**options), end_ids)


@pytest.fixture(scope="module")
def server():
    with running(load, openai=True) as server:
        yield server


@pytest.fixture(scope="module")
def asked(server):
    with client(server) as asked:
        yield asked


def client(server, **options):
    http = httpx.Client(verify=PLAIN, timeout=PATIENCE)
    return openai().OpenAI(
        base_url=server.url + "/openai/v1",
        http_client=http,
        **{"api_key": TOKEN, "max_retries": 0, **options},
    )


HELLO = [{"role": "user", "content": "Hello"}]


def completed(asked, prompt, **wanted):
    """The text of a completion and why it ended."""
    done = asked.completions.create(model="fake-1", prompt=prompt, **wanted)
    return done.choices[0].text, done.choices[0].finish_reason


def test_it_names_its_models(asked):
    assert [one.id for one in asked.models.list()] == ["fake-1", "generalist"]
    assert asked.models.retrieve("fake-1").object == "model"
    with pytest.raises(openai().NotFoundError):
        asked.models.retrieve("fake-2")


def test_a_completion_is_what_the_generalist_writes(asked):
    """Whole and as a stream."""
    wanted = {"model": "fake-1", "prompt": "Once", "temperature": 0, "max_tokens": 9}
    whole = asked.completions.create(**wanted)
    stream = [one.choices[0] for one in asked.completions.create(**wanted, stream=True)]
    expected = text_of(greedy("Once", 9))
    assert whole.choices[0].text == "".join(one.text for one in stream) == expected
    assert whole.choices[0].finish_reason == stream[-1].finish_reason == "length"
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (4, 9)


def test_a_chat_goes_through_the_template(asked):
    """The one for models without one: each turn with an empty line behind it."""
    wanted = {"model": "generalist", "messages": HELLO, "temperature": 0}
    usage = {"include_usage": True}
    whole = asked.chat.completions.create(**wanted, max_tokens=6)
    limit = {"max_completion_tokens": 6, "stream": True, "stream_options": usage}
    stream = list(asked.chat.completions.create(**wanted, **limit))
    said = [one.choices[0].delta.content or "" for one in stream if one.choices]
    assert whole.choices[0].message.content == "".join(said)
    assert "".join(said) == text_of(greedy("Hello\n\n", 6))
    assert stream[-1].usage == whole.usage


def test_it_stops_at_the_end_and_at_a_stop_string_and_where_the_room_ends(asked):
    tokens = greedy("Once", 508)
    end = next(token for token in tokens if tokens.index(token) >= 8)
    ended = text_of(tokens[: tokens.index(end)])
    stop = ended[3:5]
    assert completed(asked, "Once", temperature=0) == (text_of(tokens), "length")
    with running(lambda: load([end]), openai=True) as server, client(server) as asked:
        assert completed(asked, "Once", temperature=0) == (ended, "stop")
        stopped = completed(asked, "Once", temperature=0, stop=[stop, "never"])
        assert stopped == (ended[: ended.index(stop)], "stop")


class Parts(FakeText):
    """Every token is a blank and two thirds of a character, as SentencePiece has
    words."""

    begins_with_blank = True

    def piece(self, token_id):
        return b" \xe2\x82"


def test_a_chat_does_not_begin_with_the_blank_of_its_first_word():
    """A completion does: it goes on with words. A limit inside a character sends
    nothing of that; neither whole nor as a stream."""
    models = with_text(fake_models(), vocabulary=Parts)
    wanted = {"model": "generalist", "temperature": 0, "max_tokens": 2}
    with running(lambda: models, openai=True) as server, client(server) as asked:
        chat = partial(asked.chat.completions.create, **wanted, messages=HELLO)
        text = partial(asked.completions.create, **wanted, prompt="a")
        said = [one.choices[0].delta.content or "" for one in chat(stream=True)]
        assert chat().choices[0].message.content == "".join(said) == "\ufffd "
        said = [one.choices[0].text for one in text(stream=True)]
        assert text().choices[0].text == "".join(said) == " \ufffd "


def test_a_seed_gives_the_same_text_again(asked):
    one, same, other = (
        completed(asked, "x", seed=seed, top_p=0.9, max_tokens=20)
        for seed in (7, 7, -8)
    )
    assert one == same != other


def test_what_is_drawn_has_the_models_distribution(asked):
    """The first token over 200 seeds, within what chance does once in a million."""
    texts = [
        completed(asked, "dice", seed=seed, max_tokens=1)[0] for seed in range(200)
    ]
    weights = np.exp(logits_after(GENERALIST, FakeText().tokenize("dice")))
    expected = weights / weights.sum()
    counts = np.bincount([ord(t) - 32 for t in texts], minlength=64)
    bound = np.sqrt(VOCABULARY / (4 * 200)) + np.sqrt(np.log(1e6) / (2 * 200))
    assert np.abs(counts / 200 - expected).sum() / 2 < bound


@pytest.mark.parametrize(
    ("change", "kind", "code"),
    [
        ({"model": "gpt-9"}, "NotFoundError", "model_not_found"),
        ({"n": 2}, "BadRequestError", "invalid_request"),
        ({"prompt": "x" * 600}, "BadRequestError", "context_length_exceeded"),
        ({"prompt": ""}, "BadRequestError", "invalid_request"),
    ],
)
def test_errors_have_the_shape_that_clients_know(asked, change, kind, code):
    wanted = {"model": "fake-1", "prompt": "x", **change}
    for stream in (True, False):
        with pytest.raises(getattr(openai(), kind)) as refused:
            asked.completions.create(**wanted, stream=stream)
        assert refused.value.code == code
        assert "x" * 9 not in str(refused.value)


def test_bodies_that_are_none_and_too_large(server):
    ask_it = partial(ask, url=server.url + "/openai/v1/completions", headers=HEADERS)
    found = [ask_it("POST", content=one) for one in (b"{canary", b"x" * (3 << 20))]
    found += [ask_it("GET")]
    brief = {"model": "fake-1", "messages": [{"role": "user", "content": "x"}]}
    brief["verbosity"] = "low"
    chat = server.url + "/openai/v1/chat/completions"
    found += [ask("POST", chat, headers=HEADERS, json=brief)]
    assert [one.status_code for one in found] == [400, 413, 405, 400]
    assert "'verbosity' is not supported" in found.pop().text
    broken, large, wrong = (one.json()["error"] for one in found)
    assert broken["message"] == "the body is not JSON in UTF-8"
    assert large["code"] == "body_too_large"
    assert wrong["type"] == "invalid_request_error"


def test_a_text_and_a_session_are_read_together():
    """Both go on, and in the same passes where both wait."""
    models = load(slots=3)
    with (
        running(lambda: models, openai=True) as server,
        client(server) as asked,
        client_of(server) as device,
        ThreadPoolExecutor() as pool,
    ):
        other, session = (open_session(device, open_request((n,))) for n in (1, 2))
        texts = server.app.state.texts
        models.generalist.gate.clear()
        first = block_after([], [1, 2])
        pool.submit(send_block, device, other, first)
        assert models.generalist.entered.wait(PATIENCE)
        wanted = {"model": "fake-1", "prompt": "Once", "max_tokens": 400, "seed": 1}
        begun = pool.submit(asked.completions.create, **wanted, stream=True)
        wait_until(lambda: len(texts) == 1, "the text does not begin")
        answer = pool.submit(send_block, device, session, first)
        wait_until(lambda: len(server.service.running) == 2)
        models.generalist.gate.set()
        assert isinstance(answer.result(PATIENCE), Verdict)
        stream = begun.result(PATIENCE)
        next(iter(stream))
        block = block_after([], [1, 2], epoch=1)
        assert isinstance(send_block(device, session, block), Verdict)
        stream.close()
        wait_until(lambda: len(texts) == 0, "a text that nobody reads goes on")
    assert [len(call) for call in models.generalist.calls[:2]] == [1, 2]


@pytest.mark.parametrize("why", ["revoked", "stopping"])
def test_a_text_ends_with_its_device_and_with_the_server(why):
    """With an error, at once."""
    with running(load, openai=True) as server, client(server) as asked:
        wanted = {"model": "fake-1", "prompt": "Once", "max_tokens": 500, "seed": 3}
        stream = asked.completions.create(**wanted, stream=True)
        pieces = iter(stream)
        next(pieces)
        if why == "revoked":
            server.on_loop(lambda: server.service.end_device("owner"))
        else:
            server.ask_to_stop()
        with pytest.raises((openai().APIError, httpx.HTTPError)) as broken:
            list(pieces)
        if why == "revoked":
            assert "may not be used any more" in str(broken.value)
        wait_until(lambda: len(server.app.state.texts) == 0)


def test_as_many_texts_as_may_be(monkeypatch):
    models = load(slots=2)
    monkeypatch.setattr(writing, "TEXTS_OF_A_USER", 1)
    with (
        running(lambda: models, openai=True) as server,
        client(server) as asked,
        ThreadPoolExecutor() as pool,
    ):
        models.generalist.gate.clear()
        first = pool.submit(completed, asked, "a", max_tokens=1)
        texts = server.app.state.texts
        wait_until(lambda: len(texts) == 1, "the text does not begin")
        with pytest.raises(openai().RateLimitError) as refused:
            completed(asked, "b")
        assert refused.value.response.headers["retry-after"] == "5"
        models.generalist.gate.set()
        assert first.result(PATIENCE)
        assert completed(asked, "b", max_tokens=1)


def test_a_fault_is_told_without_what_was_sent():
    """Before the first piece as an error, behind it as the last event."""
    models = load(slots=2)
    with running(lambda: models, openai=True) as server, client(server) as asked:
        models.generalist.fault = lambda _: RuntimeError("canary")
        with pytest.raises(openai().InternalServerError) as refused:
            asked.completions.create(model="fake-1", prompt="canary", stream=True)
        assert "canary" not in json.dumps(refused.value.body)
        models.generalist.fault = lambda reading: (
            RuntimeError("canary") if len(reading.token_ids) == 1 else None
        )
        stream = asked.completions.create(model="fake-1", prompt="go", stream=True)
        with pytest.raises(openai().APIError) as broken:
            list(stream)
        assert "canary" not in str(broken.value)


@pytest.mark.slow
def test_the_embedded_generalist_answers():
    """A chat of it, token by token as the model alone would write."""
    settings = EngineSettings(threads=1)
    options = ModelOptions(locate("generalist"), None, 1, 512, settings)
    wanted = {"model": "generalist", "messages": HELLO, "temperature": 0}
    served = running(lambda: load_models(options), openai=True)
    with served as server, client(server) as asked:
        done = asked.chat.completions.create(**wanted, max_tokens=12)
    model = load_model(locate("generalist"), settings)
    engine, vocabulary = model.open(1, 512, owns_model=True), model.vocabulary
    said = [Message("user", "Hello")]
    ids = prompt_ids(vocabulary.tokenize, model.chat_template, said)
    text, row = [], engine.evaluate([Reading(0, ids)])[0][-1]
    while len(text) < 12 and likeliest(row) not in vocabulary.end_ids:
        text.append(likeliest(row))
        row = engine.evaluate([Reading(0, text[-1:])])[0][-1]
    assert done.choices[0].message.content == vocabulary.detokenize(text)
    assert done.usage.prompt_tokens == len(ids)
    engine.close()
