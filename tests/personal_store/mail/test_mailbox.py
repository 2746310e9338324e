"""A mailbox is split where messages begin, and nowhere else."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store.mail import mailbox as boxes
from tests.mailboxes import ENVELOPE, mailbox, message

PIECES = (ENVELOPE, message(), b"\n", b"\r\n", b">From a\n", b"  \n",
          b"\xef\xbb\xbf")  # fmt: skip


def contents(data: bytes, start: int = 0) -> list[bytes]:
    return [raw.content for raw in boxes.split(io.BytesIO(data), start)]


def test_messages_come_out_as_they_went_in():
    """Also when a line of the text starts with 'From ' or '>From '. Escapes are undone
    in the first line, in lines next to each other, and only at their starts."""
    messages = [
        message("From here on it rained.\n\nFrom now on it will not."),
        message(">From a quote.", number=2),
        message("Last", number=3),
    ]
    assert contents(mailbox(messages)[:-1] + b"\n") == messages

    body = b">From a\n>From b\r\n>>From c\nno >From d\n>Fro"
    content = b"From x\nSubject: s\n\nFrom a\nFrom b\r\n>From c\nno >From d\n>Fro"
    bare = [message(), b"\nonly text\n", message(number=2)]  # one has no headers
    assert contents(mailbox(bare)) == bare
    assert contents(ENVELOPE + b">From x\nSubject: s\n\n" + body + b"\r\n") == [content]


AWAY = "Hello.\n\nFrom Monday 12:30 to 2024 we are away.\n\nFrom me with love"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("first", [message(AWAY) + b"\n", message()])
def test_programs_forget_to_escape_and_leave_blank_lines_out(first, end):
    """Prose that starts with 'From ' splits nothing, a missing line joins nothing."""
    data = ENVELOPE + first + ENVELOPE + message(number=2)

    assert len(contents(data.replace(b"\n", end))) == 2


@given(st.binary(max_size=3000))
def test_no_bytes_stop_the_splitter(data):
    """And together the messages cover the file."""
    found = list(boxes.split(io.BytesIO(b"From " + data)))

    assert [raw.begin for raw in found[1:]] == [raw.end for raw in found[:-1]]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_in_a_file_the_same_messages_are_found(tmp_path, pieces):
    """Those that are read at once, and those of which only the place is told; from
    the beginning, and from where one begins."""
    path = tmp_path / "box.mbox"
    path.write_bytes(b"".join(pieces))
    with path.open("rb") as stream:
        expected = list(boxes.split(stream))
    assert [one.message() for one in boxes.stretches(path)] == expected
    for at, begun in enumerate(expected):
        later = [one.message() for one in boxes.stretches(path, begun.begin)]
        assert later == expected[at:]


def test_a_huge_message_is_kept_in_part():
    """What lies beyond the limit is passed over; the next message is found."""
    huge = message("y" * (boxes.MAX_MESSAGE + 3_000_000))
    data = mailbox([huge, message(number=2)])

    first, second = contents(data)

    assert len(first) <= boxes.MAX_MESSAGE
    assert second == message(number=2)


FORWARDED = (
    "Look what came:\n\nFrom liv@example.org Mon Jan  8 10:11:12 2024\n"
    "Received: by mail.example.org\nSubject: boat\n\nCome on board.\n\nSam"
)


def with_length(body: str, *, wrong: int = 0) -> bytes:
    """A message of which the length is told, and nothing escaped."""
    return message(body, headers=f"Content-Length: {len(body) + 1 + wrong}")


@pytest.mark.parametrize("name", ["Content-Length", "Content-length", "content-length"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_true_length_holds_a_message_together(name, last, end):
    size = len(FORWARDED.encode().replace(b"\n", end) + end)
    messages = [message(FORWARDED, headers=f"{name}: {size}")]
    messages += [] if last else [message(number=2)]
    data = b"".join(ENVELOPE + one + b"\n" for one in messages)

    changed = [one.replace(b"\n", end) for one in messages]
    assert contents(data.replace(b"\n", end)) == changed


@pytest.mark.parametrize("lost", [1, 2])
def test_the_last_line_end_of_a_mailbox_may_be_lost(lost):
    data = ENVELOPE + with_length(FORWARDED) + b"\n"

    assert contents(data[:-lost]) == [with_length(FORWARDED)[:-1]]


@pytest.mark.parametrize("wrong", [-200, -126, -40, -3, 3, 40, 400, 4_000, 10**7])
def test_a_wrong_length_neither_loses_nor_joins_messages(wrong):
    messages = [
        with_length("One and two and three.\n" * 9, wrong=wrong),
        *(message(number=number) for number in range(2, 6)),
    ]

    assert contents(mailbox(messages)) == messages


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.booleans()), min_size=1, max_size=6),
    st.integers(3, 5000),
    st.booleans(),
)
def test_blocks_may_end_anywhere(sizes, block, told):
    """The size of the reads changes nothing, and every end is a place to go on from;
    if lengths are told, they are believed everywhere."""
    bodies = ["x" * size + FORWARDED * (told and holds) for size, holds in sizes]
    messages = [with_length(body + "\n") if told else message(body) for body in bodies]
    data = mailbox(messages)
    if told:
        data = b"".join(ENVELOPE + one + b"\n" for one in messages)
    whole, boxes._BLOCK = boxes._BLOCK, block
    try:
        found = list(boxes.split(io.BytesIO(data)))
    finally:
        boxes._BLOCK = whole

    assert [raw.content for raw in found] == messages
    for index, raw in enumerate(found):
        assert contents(data, raw.end) == messages[index + 1 :]


@pytest.mark.parametrize("end", [b"\r", b"\r\r\n", b"\n\r"])
def test_mailboxes_with_odd_line_ends(tmp_path, end):
    """Of old Macs, and of programs that wrote each return twice."""
    messages = [message("One\n>From two\nthree", number=n) for n in range(4)]
    data = mailbox(messages).replace(b"\n", end)
    path = tmp_path / "box"
    path.write_bytes(data)
    if end == b"\n\r":
        messages = [one.replace(b"\n", b"\r\n") for one in messages]

    assert boxes.looks_like_mailbox(data[:300])
    found = [one.message() for one in boxes.stretches(path)]
    assert [one.content for one in found] == messages
    assert contents(data) == messages
    assert all(boxes.begins_message(io.BytesIO(data), one.begin) for one in found)
    if end == b"\r":  # a stray feed among them ends no headers
        path.write_bytes(data.replace(b"Subject: Plan\r", b"Subject: Plan\r\n"))
        assert [one.message().content for one in boxes.stretches(path)] == messages
