"""Messages are cut into the same parts as by Python's own, slower parser."""

import email.parser
import email.policy
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.takeout import messages
from personal_store.mime import message_of

AWKWARD = sorted((Path(__file__).parent / "awkward").glob("*.eml"))


def parts(message):
    """Type, headers and content of each leaf; attachments without content."""
    if message.is_multipart():
        if message.get_content_maintype() != "multipart":
            return [(message.get_content_type(), [*map(str, message.keys())], None)]
        return [leaf for part in message.get_payload() for leaf in parts(part)]
    content = message.get_payload(decode=True)
    is_text = message.get_content_maintype() == "text"
    kept = content if is_text else None
    return [(message.get_content_type(), [*map(str, message.keys())], kept)]


def library(raw):
    return email.parser.BytesParser(policy=email.policy.compat32).parsebytes(raw)


@pytest.mark.parametrize("path", AWKWARD, ids=lambda path: path.stem)
def test_awkward_messages_have_the_same_parts(path):
    raw = path.read_bytes()

    assert parts(message_of(raw)) == parts(library(raw))


def test_a_mailbox_has_the_same_parts():
    for raw in messages(150, seed=3):
        assert parts(message_of(raw)) == parts(library(raw))


LINES = st.sampled_from(
    [
        b"",
        b"--a",
        b"--a--",
        b"--ab",
        b"--a  ",
        b"x--a",
        b"--b",
        b"--b--",
        b"some text",
        b"Content-Type: text/html",
        b'Content-Type: multipart/mixed; boundary="b"',
        b"Content-Type: multipart/digest; boundary=b",
        b"\xff\xfe",
    ]
)
TOP = b"From: a@example.org\nContent-Type: multipart/mixed; boundary=a\n\n"


@settings(deadline=None)
@given(st.lists(LINES, max_size=14), st.sampled_from([b"\n", b"\r\n"]))
def test_no_text_is_invented_or_lost(lines, ending):
    """Every line of a text part is a line of the message, in its order."""
    raw = (TOP + b"\n".join(lines)).replace(b"\n", ending)

    told = [
        line
        for kind, _, content in parts(message_of(raw))
        if kind.startswith("text/")
        for line in content.splitlines()
    ]

    rest = iter(raw.splitlines())
    assert all(line in rest for line in told)


@pytest.mark.parametrize(
    "body",
    [b"--a" * 2_000_000, b"--a\n" * 500_000, b"\n--a" + b" " * 4_000_000, b"-" * 10**7],
    ids=["one line", "many parts", "long line", "dashes"],
)
def test_hostile_boundaries_take_no_long_time(body):
    started = time.process_time()

    message_of(TOP + body)

    assert time.process_time() - started < 3
