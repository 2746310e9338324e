"""What OpenAI's clients send and expect, without a server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.openai import (
    Answer,
    ChatBody,
    CompletionBody,
    InvalidBodyError,
    StopFinder,
    Usage,
    read_body,
)

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@given(st.text("ab", max_size=12), st.lists(st.text("ab", min_size=1, max_size=3)))
def test_a_text_ends_before_its_first_stop_string(text, stops):
    """However it comes, and nothing of it is lost where there is none."""
    finder = StopFinder(stops)
    pieces = [finder.push(letter) for letter in text]
    found = finder.found
    shown = "".join(pieces) + finder.rest()

    # Read letter by letter, a text stops where the first stop string is whole.
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    assert found == bool(ends)
    if ends:
        read = text[: min(ends)]
        assert shown == read[: min(read.find(s) for s in stops if s in read)]
    else:
        assert shown == text


def test_a_conversation_is_read():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    sent = {
        **CHAT,
        "messages": [{"role": "developer", "content": parts}],
        "max_tokens": 7.0,
        "max_completion_tokens": 5,
        "stop": "x",
        "stream": True,
        "stream_options": {"include_usage": True},
        "n": 1,
        "tools": [],
        "user": "somebody",
        "temperature": 1,
    }
    body = read_body(ChatBody, json.dumps(sent).encode())
    assert body.messages[0].words == "a\nb"
    assert (body.limit, body.stops, body.tells_usage) == (5, ("x",), True)


@pytest.mark.parametrize(
    ("change", "sentence", "field"),
    [
        ({"n": 2}, "'n' is not supported here; leave it out", "n"),
        ({"tools": [{}]}, "'tools' is not supported", "tools"),
        ({"presence_penalty": 0.5}, "'presence_penalty' is not", "presence_penalty"),
        ({"temperature": "hot"}, "temperature: Input should be", "temperature"),
        ({"messages": []}, "messages: List should have at least", "messages"),
        (
            {"messages": [{"role": "canary", "content": "x"}]},
            "messages.0.role",
            "messages",
        ),
        ({"max_tokens": 0}, "max_tokens: Input should be greater", "max_tokens"),
        ({"stop": ["a"] * 5}, "stop", "stop"),
        (
            {"messages": [{"role": "user", "content": None}]},
            "messages.0: content may be null beside an assistant's calls alone",
            "messages",
        ),
        (
            {"messages": [{"role": "tool", "tool_calls": [{}]}]},
            "messages.0: content may be null",
            "messages",
        ),
    ],
)
def test_what_cannot_be_had_is_told(change, sentence, field):
    with pytest.raises(InvalidBodyError) as refused:
        read_body(ChatBody, json.dumps({**CHAT, **change}).encode())
    assert sentence in str(refused.value)
    assert refused.value.field == field


def test_nothing_that_was_sent_is_quoted():
    body = {"model": "m", "prompt": {"canary-1": "canary-2"}, "n": "canary-3"}
    with pytest.raises(InvalidBodyError) as refused:
        read_body(CompletionBody, json.dumps(body).encode())
    assert "canary" not in str(refused.value)


def test_a_stream_tells_what_the_whole_answer_does():
    answer = Answer("m", 1, chat=True, id="x")
    whole = answer.whole("Hi", "stop", Usage(3, 2))
    events = answer.first() + answer.piece("Hi") + answer.last("stop", Usage(3, 2))

    *lines, done = events.decode().split("\n\n")[:-1]
    bodies = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert done == "data: [DONE]"
    assert {body["id"] for body in bodies} == {whole["id"]} == {"chatcmpl-x"}
    said = [body["choices"][0]["delta"] for body in bodies if body["choices"]]
    assert said == [{"role": "assistant", "content": ""}, {"content": "Hi"}, {}]
    assert bodies[-1]["usage"] == whole["usage"]
    assert whole["usage"]["total_tokens"] == 5
    assert bodies[-2]["choices"][0]["finish_reason"] == "stop"
