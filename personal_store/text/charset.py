"""Bytes to text, and header lines to text, whatever the mail program claimed."""

import binascii
import codecs
import re
from email.errors import HeaderParseError
from email.header import decode_header

import chardet

# What the label says -> what the bytes are in practice (the browsers' rule).
_ALIASES = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "iso-8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
}
# Encodings whose bytes look like ASCII: here the label must be believed first.
_SEVEN_BIT = re.compile(r"iso-2022|utf-?7|hz|utf-?16|utf-?32", re.IGNORECASE)
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_BREAK = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_SAMPLE = 65_536
_FEWEST_FOREIGN = 4
"""Bytes beyond ASCII that a guess needs; of fewer, cp1252 is the likeliest reading."""


def decode(data: bytes, label: str = "") -> str:
    """Text of the bytes: valid UTF-8 beats the label, the label beats a guess."""
    label = label.strip().strip("'\"").lower()
    tries = ["utf-8-sig", _ALIASES.get(label, label)]
    if _SEVEN_BIT.match(label):
        tries.reverse()
    for name in tries:
        text = _strictly(data, name)
        if text is not None:
            return storable(text)
    # It is UTF-8 after all if a few broken bytes are all that keeps it from being it.
    text = data.decode("utf-8", "replace")
    foreign = len(data) - len(text)  # each accented letter takes an extra byte
    if text and foreign > 10 * text.count("\ufffd"):
        return storable(text)
    guess = ""
    if sum(byte > 127 for byte in data[:_SAMPLE]) >= _FEWEST_FOREIGN:
        guess = chardet.detect(data[:_SAMPLE])["encoding"] or ""
    if not _is_text_codec(guess):
        guess = "cp1252"
    return storable(data.decode(guess, "replace"))


def _strictly(data: bytes, name: str) -> str | None:
    if not name or not _is_text_codec(name):
        return None
    try:
        return data.decode(name)
    except (UnicodeError, ValueError):
        return None


def _is_text_codec(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError, UnicodeError):
        return False


def storable(text: str) -> str:
    """A text without NUL and halves of surrogate pairs, which SQLite refuses."""
    text = text.replace("\0", "").removeprefix("\ufeff")
    if text.isascii():  # known without a look at it
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def header_text(raw: str) -> str:
    """A header value as a person reads it: RFC 2047 words and raw bytes decoded."""
    if not raw.isascii():
        raw = decode(raw.encode("utf-8", "surrogateescape"))
    if "=?" in raw:
        raw = storable(_encoded_words(raw))
    return " ".join(raw.replace("\0", "").split())


def unfolded(raw: str) -> str:
    """A header value on one line; the blank that begins a folded line stays."""
    return _FOLD.sub("", raw)


def _encoded_words(raw: str) -> str:
    try:
        # The library reads line by line and drops the blanks between lines.
        chunks = decode_header(_BREAK.sub(" ", unfolded(raw)))
    except (HeaderParseError, binascii.Error, ValueError):
        return raw
    return "".join(
        chunk if isinstance(chunk, str) else _chunk_text(chunk, label)
        for chunk, label in chunks
    )


def _chunk_text(chunk: bytes, label: str | None) -> str:
    if label is not None:
        return decode(chunk, label.partition("*")[0])  # RFC 2231 adds a language
    try:
        return chunk.decode("raw-unicode-escape")  # what decode_header encoded it with
    except UnicodeError:
        return chunk.decode("latin-1")
