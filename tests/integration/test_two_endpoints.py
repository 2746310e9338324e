"""The device's endpoint and the server's take the same bodies."""

import json

import pytest

from tests.cloud_api.cloud_fakes import HEADERS, ask, running
from tests.cloud_api.test_openai_routes import load
from tests.edge_app.endpoint.test_endpoint import KEY, ScriptedService, serving

PLACES = {
    "device": ("specsteer", f"Bearer {KEY}"),
    "server": ("generalist", HEADERS["Authorization"]),
}
WORDS = [{"role": "user", "content": "Greet Ben"}]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FOUND = {"role": "tool", "tool_call_id": "1", "content": "Ben is at the pier"}


@pytest.fixture(scope="module")
def urls():
    with serving(ScriptedService()) as (device, _, _), running(load, openai=True) as s:
        yield {"device": device, "server": s.url + "/openai/v1"}


def sent(urls, place, content, path="/chat/completions", **headers):
    model, key = PLACES[place]
    return ask(
        "POST",
        urls[place] + path,
        headers={"Authorization": key, **headers},
        content=content.replace(b"MODEL", model.encode()),
    )


def chat(**fields):
    body = {"model": "MODEL", "messages": WORDS, "max_tokens": 3, **fields}
    return json.dumps(body).encode()


def said(*turns):
    return chat(messages=[*turns, *WORDS])


RIGHT = {
    "a mark of the order of bytes": b"\xef\xbb\xbf" + chat(),
    "spaces around": b"\r\n\t " + chat() + b"\n",
    "nulls": chat(
        **dict.fromkeys(("temperature", "top_p", "seed", "stop", "stream", "n")),
        **dict.fromkeys(("stream_options", "logprobs", "tools", "functions", "user")),
        **dict.fromkeys(("response_format", "max_completion_tokens", "logit_bias")),
    ),
    "unknown fields": chat(store=False, metadata={"a": [1]}, reasoning_effort="low"),
    "numbers that are whole": chat(max_tokens=3.0, n=1.0, seed=7.0, temperature=0),
    "a newer name of the limit": chat(max_tokens=None, max_completion_tokens=3),
    "parts": said({"role": "system", "content": [{"type": "text", "text": "Briefly"}]}),
    "a name and a refusal": said(
        {"role": "user", "content": "Hello", "name": "ben"},
        {"role": "assistant", "content": "Hello", "refusal": None},
    ),
    "one string to stop at": chat(stop="zzzz"),
    "a pair of surrogates": said({"role": "user", "content": "\U0001f600"}),
    "calls without words": said({"role": "user", "content": "Find Ben"}, CALLED, FOUND),
    "calls of before tools": said(
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "Ben is at the pier"},
    ),
    "calls with words": said({**CALLED, "content": "I look"}, FOUND),
    "usage": chat(stream=True, stream_options={"include_usage": True, "more": 1}),
    "more than there is room for": chat(max_tokens=100_000, stop=[" ", "e", "a", "\n"]),
}
HALF = "\ud83d"
WRONG = {
    "half in a turn": said({"role": "user", "content": f"a{HALF}"}),
    "half in a name": chat(**{HALF: 1}),
    "half in a field that is not looked at": chat(user=f"\ude00{HALF}"),
    "half in a call": said({**CALLED, "tool_calls": [{HALF: HALF}]}),
    "half in bytes": chat(user="XX").replace(b"XX", b"\xed\xa0\xbd"),
    "no UTF-8": chat(user="XX").replace(b"XX", b"\xff\xfe"),
    "UTF-16": chat().decode().encode("utf-16"),
    "no words and no calls": said({"role": "assistant", "content": None}),
    "no words of the user": said({**CALLED, "role": "user"}),
    "a picture": said({"role": "user", "content": [{"type": "image_url"}]}),
    "no parts": said({"role": "user", "content": []}),
    "a text for a number": chat(max_tokens="3"),
    "a truth for a number": chat(temperature=True),
    "no number": chat(temperature=7).replace(b"7", b"NaN"),
    "a number without end": chat(seed=7).replace(b"7", b"9" * 5000),
    "brackets without end": b"[" * 100_000,
}


@pytest.mark.parametrize("place", PLACES)
def test_what_openai_takes_is_taken(urls, place):
    """And the body's kind is not looked at."""
    for kind, body in RIGHT.items():
        answer = sent(urls, place, body)
        assert answer.status_code == 200, (kind, answer.text)
    for kind in ("", "text/plain", "application/json; charset=x"):
        answer = sent(urls, place, chat(), **{"Content-Type": kind})
        assert answer.status_code == 200, kind


def test_what_is_wrong_is_refused_with_a_sentence(urls):
    """The same one, never as a fault of the program, and nothing sent is quoted."""
    for kind, body in WRONG.items():
        device, server = (sent(urls, place, body) for place in PLACES)
        assert device.status_code == server.status_code == 400, (kind, device.text)
        assert device.json()["error"] == server.json()["error"], kind
        assert device.json()["error"]["type"] == "invalid_request_error", kind
        assert "\\ud83d" not in device.text, kind


@pytest.mark.parametrize("place", PLACES)
def test_names_and_headers_of_any_bytes_are_no_fault(urls, place):
    """Also in the address of a model."""
    for name in ("%ED%A0%BD", "%FF", "%00", "\u00e9", "x" * 3000):
        answer = ask(
            "GET",
            urls[place] + f"/models/{name}",
            headers={"Authorization": PLACES[place][1]},
        )
        assert answer.status_code == 404
    for odd in (b"Bearer \xed\xa0\xbd", b"\xff", b"Bearer"):
        answer = ask("GET", urls[place] + "/models", headers={b"Authorization": odd})
        assert answer.status_code == 401
    for header in (b"X-Request-Id", b"Content-Type", b"OpenAI-Organization"):
        head = {"Authorization": PLACES[place][1].encode(), header: b"\xed\xa0\xbd"}
        answer = ask("POST", urls[place] + "/completions", headers=head, content=b"{}")
        assert answer.status_code == 400
