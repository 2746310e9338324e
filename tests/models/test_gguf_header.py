"""The header of a model file is read whole or refused with a sentence."""

import io
import struct
import sys
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decoding_core.errors import ModelError
from models import gguf_header
from models.files import locate
from models.gguf_header import MOST_HELD, check_vocabulary, read_layout
from tests.gguf_files import (
    ARRAY,
    BOOL,
    F32,
    STRING,
    U8,
    U32,
    entry,
    gguf,
    listed,
    number,
    tensor_line,
    text,
)


@pytest.fixture
def file(tmp_path):
    def write(data, size=None):
        path = tmp_path / "model.gguf"
        path.write_bytes(data)
        if size:
            with path.open("r+b") as file:
                file.truncate(size)
        return path

    return write


def test_all_kinds_of_values(file):
    path = file(
        gguf(
            entry("name", STRING, text("tiny ☃")),
            entry("count", U32, number(7, 4)),
            entry("yes", BOOL, b"\1"),
            entry("share", F32, struct.pack("<f", 0.5)),
            entry("words", ARRAY, listed(STRING, 2, text("a") + text("\udcff"))),
            entry("numbers", ARRAY, listed(U32, 2, number(1, 4) + number(2, 4))),
        )
    )
    header = read_layout(path).values
    assert list(header.pop("numbers")) == [1, 2]
    assert header == {
        "name": "tiny ☃",
        "count": 7,
        "yes": True,
        "share": 0.5,
        "words": ["a", "\udcff"],
    }


@pytest.mark.slow
def test_the_largest_vocabularies_are_read(file):
    """Of the shape of Gemma's: no published model has a longer list."""
    tokens = b"".join(text(f"▁word{n}") for n in range(262_144))
    merges = b"".join(text(f"▁wo rd{n}") for n in range(514_906))
    path = file(
        gguf(
            entry("tokenizer.ggml.tokens", ARRAY, listed(STRING, 262_144, tokens)),
            entry("tokenizer.ggml.merges", ARRAY, listed(STRING, 514_906, merges)),
            entry("tokenizer.ggml.scores", ARRAY, listed(F32, 262_144, bytes(4 << 18))),
        )
    )
    header = read_layout(path).values
    check_vocabulary(path, header)
    assert len(header["tokenizer.ggml.merges"]) == 514_906


def peak_of(path):
    tracemalloc.start()
    try:
        with pytest.raises(ModelError) as caught:
            read_layout(path)
        return tracemalloc.get_traced_memory()[1], str(caught.value)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "one", [text(""), text("a"), text("ab"), text("ab☃\U0001f389")]
)
def test_a_list_of_strings_is_counted_as_it_is_held(file, monkeypatch, one):
    """In memory, not in the file."""
    monkeypatch.setattr(gguf_header, "MOST_HELD", 2 << 20)
    count = 150_000
    data = gguf(entry("words", ARRAY, listed(STRING, count, one * count)))
    peak, said = peak_of(file(data))
    assert "no usual model" in said
    assert peak < 4 << 20


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "damaged"),
        (b"GGUF", "damaged"),
        (b"GGML" + bytes(100), "damaged"),
        (gguf(count=1 << 60), "more than 4096 entries"),
        (gguf(number((1 << 64) - 1)), "4 million bytes"),
        (gguf(number(1 << 20)), "damaged"),
        (gguf(entry("a", 77, b"")), "damaged"),
        (gguf(entry("a", ARRAY, listed(77, 1, b""))), "damaged"),
        (gguf(entry("a", ARRAY, listed(ARRAY, 1, b""))), "lists of lists"),
        (gguf(entry("a", ARRAY, listed(U8, (1 << 64) - 1, b""))), "MiB of memory"),
        (gguf(entry("a", ARRAY, listed(U8, 1 << 20, b""))), "damaged"),
        (gguf(entry("a", ARRAY, listed(STRING, 1 << 62, b""))), "damaged"),
        (gguf(*[entry("a", U8, b"1")] * 2), "damaged"),
    ],
    ids=range(13),
)
def test_what_cannot_be_read_is_a_sentence(file, data, words):
    """Whichever length is a lie."""
    with pytest.raises(ModelError, match=words):
        read_layout(file(data))


@pytest.mark.parametrize("tokens", [7, "abc", [], None])
def test_a_token_list_that_is_none(file, tokens):
    with pytest.raises(ModelError, match="no token list"):
        check_vocabulary(locate("specialist"), {"tokenizer.ggml.tokens": tokens})


VALID = gguf(
    entry("name", STRING, text("tiny")),
    entry("words", ARRAY, listed(STRING, 3, text("a") + text("bc") + text(""))),
    entry("numbers", ARRAY, listed(U32, 2, bytes(8))),
    entry("yes", BOOL, b"\1"),
)
PIECES = [
    *(number(n) for n in (0, 1, 2, 8, 9, 255, 1 << 20, 1 << 40, (1 << 64) - 1)),
    *(number(n, 4) for n in (0, 7, 8, 9, 12, 13)),
    *(b"GGUF", b"\xff", text("name")),
]


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(VALID)),
            st.integers(0, 12),
            st.sampled_from(PIECES) | st.binary(max_size=12),
        ),
        max_size=4,
    )
)
@example([(133, 0, b"\x01" + bytes(7))])
def test_no_damage_crashes_the_reader(changes):
    """Nor has it hold more than the file could say."""
    data = VALID
    for at, taken, put in changes:
        data = data[:at] + put + data[at + taken :]
    reader = gguf_header._Reader(io.BytesIO(data), len(data))
    try:
        header = reader.layout().values
    except (EOFError, KeyError, gguf_header._TooMuchError):
        header = {}
    flat = [x for v in header.values() for x in (v if isinstance(v, list) else [v])]
    assert sum(map(sys.getsizeof, flat)) <= reader.held + 80 * len(flat)
    assert reader.held <= min(MOST_HELD, 200 * len(data))


def laid_out(*tensors, count=None, entries=()):
    """A file of one list of tensors: name, shape, kind and offset of each."""
    count = len(tensors) if count is None else count
    lines = b"".join(tensor_line(*one) for one in tensors)
    return gguf(*entries, tensors=count) + lines


@pytest.mark.parametrize(
    "data",
    [
        laid_out(("a", (8,), 0, 0), ("a", (8,), 0, 0)),
        laid_out(("a", (8,), 0, 0), count=2),
        laid_out(("a" * 64, (8,), 0, 0)),
        laid_out(("a", (), 0, 0)),
        laid_out(("a", (1,) * 5, 0, 0)),
        laid_out(entries=[entry("general.alignment", STRING, text("x"))]),
        laid_out(entries=[entry("general.alignment", U32, number(0, 4))]),
        laid_out(count=1 << 40),
    ],
)
def test_a_list_of_tensors_that_cannot_be_is_refused(file, data):
    with pytest.raises(ModelError):
        read_layout(file(data))
