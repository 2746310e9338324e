"""Messages are cut into the same parts as by Python's own, slower parser."""

import email.charset
import email.message
import email.parser
import email.policy
import email.utils
import re
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.store.prose import messages
from personal_store.mail.mail import parse
from personal_store.mail.mime import content_of, message_of, with_plain_ends
from personal_store.text.charset import header_text, unfolded
from tests.waiting import no_hang

AWKWARD = sorted((Path(__file__).parents[1] / "cleaning" / "awkward").glob("*.eml"))


def parts(message):
    """Type, headers and content of each part without parts; others without content."""
    return [
        (part.type, part.headers, part.type.startswith("text/") and part.decoded())
        for part in chain.from_iterable(message.units())
    ]


def expected_parts(message):
    """The same of a message that the library has read."""
    if message.is_multipart() and message.get_content_maintype() == "multipart":
        return [leaf for part in message.get_payload() for leaf in expected_parts(part)]
    is_text = message.get_content_maintype() == "text"
    content = is_text and message.get_payload(decode=True)
    return [(message.get_content_type(), headers_of(message), content)]


def headers_of(message):
    found = {}
    for name, value in message.raw_items():
        found.setdefault(name.lower(), []).append(value)
    return found


def library(raw):
    return email.parser.BytesParser(policy=email.policy.compat32).parsebytes(raw)


ODD = (
    b"From: a@example.org\nFrom here on it is text.",  # the envelope comes last
    b"Content-Type: text",
    b"Content-Type: a/b/c",
    b"Content-Type: multipart/digest; boundary=x\n\n--x\n\nSubject: s\n\nA.\n--x\n"
    b"Content-Type: text/plain\n\nB.\n--x--",
)


def test_messages_have_the_same_parts():
    """Awkward ones, with the line ends of Unix and of Windows, and a mailbox. Odd ones,
    too, but for blanks at the ends of their texts."""
    awkward = [path.read_bytes() for path in AWKWARD]
    windows = [re.sub(rb"\r?\n", b"\r\n", raw) for raw in awkward]

    assert awkward
    for raw in (*awkward, *windows, *messages(200, seed=3)):
        assert parts(message_of(raw)) == expected_parts(library(raw)), raw[:300]
    for head in ODD:
        raw = head + b"\n\nThe text.\n"
        told, expected = (
            [(*rest, text and text.split()) for *rest, text in found]
            for found in (parts(message_of(raw)), expected_parts(library(raw)))
        )
        assert told == expected, raw


FIELDS = (b"From: a@example.org", b"Subject:", b"subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=",
          b"Subject: \xff bytes \0", b"X-Long: one", b" two", b"\tthree", b" ",
          b": nameless", b"From somebody Mon Mar 12 10:02:03 2024", b"not a header",
          b"spaced : name", b"a:b:c", b"X-Old: one\rX-Mac: two", b"G\xfc: no name",
          b"")  # fmt: skip
HEADERS = st.lists(st.sampled_from(FIELDS), max_size=9)


@given(HEADERS, st.sampled_from([b"\n", b"\r\n"]))
@example([b"", b"From: a@example.org"], b"\n")
@example([b"From: a@example.org", b"From somebody Mon Mar 12", b"To: b"], b"\n")
@example([b"From: a@example.org", b"X-Old: one\rX-Mac: two", b"To: b"], b"\n")
@example([b"From: a@example.org", b" two", b"X-Old: one\rX-Mac: two"], b"\r\n")
def test_broken_headers_are_read_as_the_library_reads_them(lines, ending):
    """Once their lines end alike, and without blank lines above them."""
    raw = ending.join([*lines, b"", b"The text.", b""])

    plain = with_plain_ends(raw).lstrip(b"\r\n")
    assert message_of(raw).headers == headers_of(library(plain))


TOKENS = st.sampled_from(
    [
        *("text/plain", "TEXT/Html", "multipart/mixed", "text", "a/b/c", "", " "),
        *(";", "; ", ";\n ", "=", "charset", "boundary", "name", '"', "\\", "'", "*"),
        *("utf-8", '"b=;x"', '"a b"', "<c>", "(note)", "us-ascii''x%20y", "*0*", "é"),
    ]
)


@settings(max_examples=60)
@given(st.lists(TOKENS, max_size=12).map("".join))
@example('text/plain; charset="utf-8"; format=flowed')
@example("text/plain; name*=utf-8''Gr%C3%BC%C3%9Fe.txt")
@example("attachment; filename=a.pdf; filename=b.pdf;")
def test_parameters_are_those_that_the_library_finds(value):
    """Also of what is written in no common way, once its lines are joined; those
    without a value may be left out."""
    message = email.message.Message()
    message["Content-Type"] = unfolded(value)
    expected = {}
    for name, said in message.get_params([]):
        text = email.utils.collapse_rfc2231_value(said)
        expected.setdefault(name.lower(), text)

    told = content_of(value)

    assert {**expected, **told.parameters} == expected
    assert all(told.parameters.get(k, "") == v for k, v in expected.items())
    if told.value.count("/") == 1:
        assert told.value == message.get_content_type()


LINES = (b"", b"--a", b"--a--", b"--ab", b"--a  ", b"x--a", b"--b", b"--b--",
         b"some text", b"Content-Type: text/html", b"\xff\xfe",
         b'Content-Type: multipart/mixed; boundary="b"',
         b"Content-Type: multipart/digest; boundary=b")  # fmt: skip
TOP = b"From: a@example.org\nContent-Type: multipart/mixed; boundary=a\n\n"


@given(st.lists(st.sampled_from(LINES), max_size=14), st.sampled_from([b"\n", b"\r\n"]))
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


BOUNDARIES = (b"--a" * 400_000, b"--a\n" * 300_000, b"\n--a" + b" " * 1_000_000,
              b"-" * 10**6)  # fmt: skip
PARAMETERS = (" " * 2_000_000 + "x", "; a=b" * 100_000, "; a=" + "b" * 2_000_000 + '"',
              ";" + " ;" * 80_000)  # fmt: skip
HEADS = (b"a: b\n" * 200_000, b"a" * 4_000_000, b"a:\n" + b" x\n" * 500_000,
         b":\n" * 200_000)  # fmt: skip


@pytest.mark.parametrize("case", range(4))
def test_hostile_messages_take_no_long_time(case):
    """Boundaries, parameters and headers without an end."""
    with no_hang():
        list(message_of(TOP + BOUNDARIES[case]).units())
        content_of("text/plain" + PARAMETERS[case])
        message_of(HEADS[case])


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        # without a charset it is guessed, where there is enough to guess from
        (b"Gr\xfc\xdfe", "Grüße"),
        ("Привет, как дела".encode("koi8-r"), "Привет, как дела"),
        # a fold keeps its blank, but between two encoded words
        (b"from the\r\n\t=?UTF-8?B?Y2Fmw6k=?=\r\n\ttoo", "from the café too"),
        (b"=?UTF-8?Q?Caf?=\n =?UTF-8?Q?=C3=A9?=", "Café"),
        (b"=?us-ascii*en?Q?Caf?= =?iso-8859-1*fr?Q?=E9?=", "Café"),
    ],
)
def test_headers_are_decoded(raw, read):
    assert header_text(raw.decode("ascii", "surrogateescape")) == read


WORDS = st.text("abcü 丼", min_size=1, max_size=8).map(str.strip).filter(bool)
PIECES = st.one_of(
    st.text("abc,.", min_size=1, max_size=8),
    WORDS.map(email.charset.Charset("utf-8").header_encode),
)


@given(
    st.lists(PIECES, min_size=1, max_size=6),
    st.lists(st.sampled_from([" ", "\n ", "\r\n ", "\n\t"]), min_size=6, max_size=6),
)
def test_encoded_subjects_are_read_as_the_library_reads_them(pieces, blanks):
    raw = "".join(map("".join, zip(blanks, pieces, strict=False))).strip()
    message = email.message_from_string(
        f"Subject: {raw}\n\ntext", policy=email.policy.default
    )

    assert header_text(raw) == " ".join(str(message["Subject"]).split())


@pytest.mark.parametrize("fold", ["\n ", "\r\n\t", "\n  "])
def test_a_boundary_folded_in_its_middle_is_found(fold):
    """Whether the blank is part of it or not; the text was lost as a whole."""
    for said in (f"abc{fold}def".replace("\r", "").replace("\n", ""), "abcdef"):
        raw = (
            "From: sam@example.com\nContent-Type: multipart/mixed;\n"
            f' boundary="abc{fold}def"\n\n--{said}\n\nThe text.\n--{said}--\n'
        )
        assert parse(raw.encode()).plain == "The text."
