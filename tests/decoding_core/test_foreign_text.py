import io
import json
import logging
import sys
import traceback
import unicodedata
import warnings

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.foreign_text import (
    GatedStream,
    escaped,
    escaped_json,
    gate_output,
    legible,
    one_line,
)
from tests.hostile import HOSTILE, MARK, dangers, is_danger

nasty = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            [*"\x1b\x9b\r\n\t\x00\x7fa", *"\u200b\u200c\u200d\u2060\u180e"]
        ),
        st.sampled_from([*"\u202e\u2066\u2028\ufeff\udc9b\ud800\U0001f3f4"]),
        st.integers(0xE0000, 0xE01F0).map(chr),
    )
)

ORDINARY = (
    "Dear Ana,\n\tthe pier – “photos” came out well… Grüße, Ærøskøbing, Žižkov",
    "नमस्ते, क्\u200dष और क्\u200cष",
    "می\u200cخواهم کتاب\u200cها را بخوانم",
    "שלום, C++\u200e טוב!\u200f السلام عليكم",
    "ភាសា\u200bខ្មែរ \u200bល្អ",
    "日本語と中文，한국어",
    "👩\u200d👩\u200d👧\u200d👦 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 🇩🇪",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # Scotland
    "葛\U000e0100城市",
    "Donau\u00addampf\u00adschiff, \u00a0 1 000 €, \ufffd \ufffc \ue000",
    "ᠮᠣᠩᠭᠣᠯ\u180eᠠ",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_of_every_script_stays(text):
    assert escaped(text) == text
    assert legible(text) == text


@given(nasty)
def test_nothing_dangerous_is_left(text):
    for gate in (escaped, legible, one_line):
        safe = gate(text)
        assert dangers(safe) == []
        assert gate(safe) == safe
        assert escaped(safe) == safe, "what was made legible passes the last gate"
    assert not set(one_line(text)) & set("\n\t")


@given(nasty, nasty)
def test_an_attack_in_two_pieces(one, other):
    assert dangers(escaped(one) + escaped(other)) == []


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"])))
def test_letters_are_never_changed(text):
    """Letters, marks, numbers, punctuation, symbols and spaces of all scripts."""
    text = "".join(letter for letter in text if letter != "\u180e")
    assert escaped(text) == legible(text) == text


def test_every_character_by_itself():
    """Each that has a meaning; and the format characters that stay are these."""
    stay = set()
    for letter in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(letter) in ("Cn", "Co", "Lo"):
            continue  # a million that are nothing, a person's own, or mere letters
        shown = escaped(f"x{letter}x")
        assert not any(map(is_danger, shown)), repr(letter)
        if unicodedata.category(letter) == "Cf" and letter in shown:
            stay.add(ord(letter))
    arabic_and_others = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2}
    written = {0x110BD, 0x110CD, *range(0x13430, 0x13440)}
    marks = {0x61C, 0x200E, 0x200F}
    assert stay <= {0xAD} | arabic_and_others | written | marks


def test_an_escape_says_what_is_there():
    assert escaped("a\x1b[2J\x9b\u202e") == r"a\x1b[2J\x9b\u202e"
    assert escaped("\U000e0041b") == r"\U000e0041b"
    assert escaped("caf\udce9") == r"caf\xe9", "a byte that is no UTF-8"
    assert escaped("\ud800") == r"\ud800"
    assert escaped("photo\u200b.exe") == r"photo\u200b.exe"
    assert escaped("Ru\u200dna") == r"Ru\u200dna"


def test_prose_is_legible():
    """What is without width is left out, what steers leaves a trace, lines stay."""
    assert legible("safe\rforged\r\nnext\u2028last") == "safe\nforged\nnext\nlast"
    assert legible("\ufeffa\u200bb\u202ec\u202c \x1b[2J") == "abc \ufffd[2J"
    assert one_line("Re: a\r\n\tb\x85c\u2029d") == "Re: a b c d"


@given(nasty)
def test_json_stays_the_same(text):
    text = text.encode("utf-8", "ignore").decode()  # JSON in UTF-8 holds no half pair
    line = escaped_json(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(line) == {"text": text}
    assert dangers(line) == []


@pytest.fixture
def terminal():
    """A stream in UTF-8, and what was written to it."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def written(stream):
    return stream.buffer.getvalue().decode(stream.encoding)


def test_whoever_writes_passes_the_gate(terminal, monkeypatch):
    """print, click, logging, warnings, tracebacks, writelines."""
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    gate_output()
    ways = (
        lambda: print(HOSTILE),  # noqa: T201
        lambda: click.echo(HOSTILE),
        lambda: click.echo(HOSTILE, err=True),
        lambda: click.secho(HOSTILE, bold=True, color=True),
        lambda: click.ClickException(HOSTILE).show(),
        lambda: sys.stdout.writelines([HOSTILE, HOSTILE]),
        lambda: logging.StreamHandler().handle(
            logging.makeLogRecord({"msg": HOSTILE, "levelno": 50})
        ),
        lambda: sys.stderr.write(
            warnings.formatwarning(HOSTILE, UserWarning, HOSTILE, 1)
        ),
        lambda: traceback.print_exception(ValueError(HOSTILE)),
        lambda: sys.excepthook(ValueError, ValueError(HOSTILE), None),
    )
    for number, way in enumerate(ways):
        before = len(written(terminal))
        way()
        shown = written(terminal)[before:]
        assert MARK in shown, number
        assert dangers(shown) == [], number


def test_a_stream_in_ascii(monkeypatch):
    """click wraps the bytes of such a stream anew, which must not pass by the gate."""
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    monkeypatch.setattr(sys, "stdout", terminal)
    gate_output()
    click.echo(HOSTILE)
    assert MARK in written(terminal)
    assert dangers(written(terminal)) == []


def test_bytes_find_no_way(terminal):
    """What is no text must go through `ungated`, and say so."""
    gate = GatedStream(terminal)
    with pytest.raises(TypeError):
        gate.write(b"\x1b")
    with pytest.raises(TypeError):
        click.echo(b"\x1b", file=gate)
    assert not hasattr(gate, "buffer")
    assert not hasattr(gate, "detach")
    assert written(terminal) == ""


def test_gating_twice_is_gating_once(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    gate_output()
    gated = sys.stdout
    gate_output()
    assert sys.stdout is gated
