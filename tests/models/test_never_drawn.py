"""Control characters, their pictures and headers of mails are never drawn."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.never_drawn import Unwritten, closing, opens_header
from models.prompts import Excerpt, Request, private_messages, without_controls

WORDS = ["Sub", "ject", "Subject", ":", "Subject:", "\n", "\n\n", "ok", " : ", "**"]


class Bytes:
    """A token for each byte, some words, and one that ends the text."""

    pieces = (*(bytes([n]) for n in range(256)), *map(str.encode, WORDS), b"")
    size = len(pieces)

    def tokenize(self, text, control):
        assert control
        return {"<think>": [7], "</think>": [8]}.get(text, [1, 2, 3])

    def piece(self, token_id):
        return self.pieces[token_id]


unwritten = Unwritten(Bytes())


def may_follow(text: bytes, piece: bytes, **options) -> bool:
    never = unwritten.after(**options)(list(text))
    return Bytes.pieces.index(piece) not in set(map(int, never))


@given(st.text(max_size=6))
@example("\u2400")
@example("\u241b")
@example("a\ufffd")
@example("\u20ac")
def test_all_other_text_can_be_written(text):
    """Byte by byte: of a character that is allowed, no byte is forbidden."""
    odd = any((c < " " and c not in "\t\n") or "\x7f" <= c <= "\x9f" for c in text)
    odd |= any("\u2400" <= c <= "\u243f" or c in "\\^\ufffd" for c in text)
    data, never = text.encode(), unwritten.after()
    free = all(
        data[at] not in set(map(int, never(list(data[:at])))) for at in range(len(data))
    )
    assert free is not odd


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (b"", b"Subject:"),
        (b"Hi,\n", b"Subject:"),
        (b"Hi,\n\nSubject", b":"),
        (b"Hi,\n**Sub", b"ject"),
        (b"Subject", b" : "),
        (b"To be answered", b":"),
        (b"Notes", b":"),
        (b"Betreff", b":"),
    ],
)
def test_no_line_of_a_mail_opens_with_a_header(text, piece):
    """Of no other text is that held to be one."""
    last = text + piece
    if b":" in piece:
        assert not may_follow(text, piece, is_mail=True)
    assert may_follow(text, piece)
    assert opens_header((last if b":" in piece else last + b":").decode())


def test_spelled_controls_are_written_where_they_were_read():
    assert not may_follow(b"a", b"\\")
    assert may_follow(b"a", b"\\", read="C:\\new")
    assert not may_follow(b"a", b"^", read="C:\\new")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("one\u240atwo", "one\ntwo"),
        ("one\\nTwo", "one\nTwo"),
        ("Thanks,\\nana", "Thanks,\nana"),
        ("one\\r\\n\\nTwo", "one\n\nTwo"),
        ("one ^J two", "one \n two"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("a\x00\x1b[2J\u241b\ufffdb", "a[2Jb"),
        ("C:\\new\\temp", "C:\\new\\temp"),
        ("a\tb x^2", "a\tb x^2"),
    ],
)
def test_no_model_reads_a_control_character_or_its_picture(text, read):
    """In whatever part of a prompt; line ends end lines."""
    excerpt = Excerpt("email", text, text, text)
    (system, user) = private_messages(Request(text, "email", text), [excerpt], text)
    assert without_controls(text) == read
    for message in (system, user):
        assert read.strip() in message.content
        assert without_controls(message.content) == message.content


@pytest.mark.parametrize(
    ("words", "end"),
    [
        ("<|im_start|>assistant\n<think>\n", "\n</think>\n\n"),
        ("<think>", "\n\n</think>\n\n"),
        ("<think>\n\n</think>\n\n", ""),
        ("<think></think>assistant [THINK]", "\n\n[/THINK]\n\n"),
        ("<|im_start|>assistant\n", ""),
    ],
)
def test_a_block_that_a_prompt_opens_is_closed(words, end):
    """One that it closes itself is left alone."""
    assert closing(words) == end
