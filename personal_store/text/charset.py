"""Bytes to text, and header lines to text, whatever the mail program claimed.

Labels are read as the Encoding Standard of browsers reads them, and those of mail that
it does not know. Charsets of seven bits, such as ISO-2022-JP, are read here and not by
Python's codecs, which refuse what Windows writes under their names.
"""

import binascii
import codecs
import re
import tomllib
from email.errors import HeaderParseError
from email.header import decode_header
from encodings.aliases import aliases
from functools import lru_cache
from pathlib import Path

import chardet

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# What the label says -> what the bytes are in practice.
_READ_AS = dict.fromkeys(("ascii", "latin_1", "iso8859_1"), "cp1252") | {
    "iso8859_9": "cp1254",
    "iso8859_11": "cp874",
    "tis_620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf_16": "utf_16_le",
}
# Python's codecs, and names that Python does not know; without signs, 'x-' and 'cs'.
_UNNAMED = (
    *("cp720", "cp737", "cp856", "cp874", "koi8_u", "koi8_t", "viscii", "tcvn"),
    *("mac_arabic", "mac_croatian", "mac_farsi", "mac_romanian", "iso2022_cn"),
)
_SIGNS = re.compile(r"[\W_]+", re.ASCII)
_CODECS: dict[str, str] = {
    **{_SIGNS.sub("", name): codec for name, codec in aliases.items()},
    **{_SIGNS.sub("", name): name for name in (*aliases.values(), *_UNNAMED)},
    **{f"cp{28590 + part}": f"iso8859_{part}" for part in range(1, 17)},
    **{name: codec for codec, names in _DATA["names"].items() for name in names},
}
_NO_TEXT = re.compile(r".*_codec|rot_13|mbcs")
_FIRST_WORD = re.compile(r"[^\s;,(\"']+")
_ISO_8859 = re.compile(r"(?:cs)?iso8859(1[0-6]|[1-9])[ei]?(?:19\d\d|20\d\d)?")
_NUMBERED = re.compile(r"(?:cp|windows|win|ibm|dos|ms|oem)0*(\d{2,5}j?)")

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")

# ISO 2022: what each escape sequence designates, as codec and prefix of its pairs.
_DESIGNATION = re.compile(rb"\x1b(?:\$[()]?[@-DGOPQ]|[()]I)")
_SHIFT = re.compile(rb"\x1b(\$[()]?[@-DGOPQ]|[()][@-J])|([\x0e\x0f\n])")
_PAIRS = {
    b"@": ("euc_jp", b""),
    b"A": ("gb18030", b""),
    b"B": ("euc_jp", b""),
    b"C": ("cp949", b""),
    b"D": ("euc_jp", b"\x8f"),
    b"O": ("euc_jis_2004", b""),
    b"P": ("euc_jis_2004", b"\x8f"),
    b"Q": ("euc_jis_2004", b""),
}
_PAIR = re.compile(rb"(?:[!-~]{2})+")
_SHIFTED_IN = {"iso2022_kr": "cp949", "iso2022_cn": "gb18030"}
_UTF_7 = re.compile(rb"\+([A-Za-z0-9+/]*)-?")
_HZ = re.compile(rb"~\{((?:[!-}][!-~])*)(?:~\})?|~~|~\r?\n")
_EUC = re.compile(rb"\x8f[\xa1-\xfe]{2}|\x8e[\xa1-\xdf]|[\xa1-\xfe]{2}|[\x80-\xff]")
_HIGH = bytes(byte | 0x80 for byte in range(256))
_FOREIGN = bytes(range(128, 256))

_ASCII = dict(enumerate(map(chr, range(128))))
_TABLES = {
    "viscii": _ASCII
    | dict(zip((2, 5, 6, 20, 25, 30, *range(128, 256)), _DATA["viscii"], strict=True)),
    "tcvn": _ASCII | dict(enumerate(_DATA["tcvn"], 128)),
}

_BASE64_WORD = re.compile(r"(=\?[^\s?]+\?[bB]\?)([^\s?]*)\?=")
_FOLD = re.compile(r"\r?\n(?=[ \t])")
_BREAK = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_SAMPLE = 65_536
_BROKEN, _BROKEN_AS_SAID = 10, 3
"""Bytes beyond ASCII for each broken one that UTF-8 and the label need."""
_FEWEST_FOREIGN = 4
"""Bytes beyond ASCII that a guess needs; of fewer, cp1252 is the likeliest reading."""


def decode(data: bytes, label: str = "") -> str:
    """Text of the bytes: valid UTF-8 beats the label, the label beats a guess.

    A byte order mark beats them all. Charsets of seven bits are valid UTF-8 whatever
    they say, so their labels and escape sequences are asked before.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return storable(data[len(mark) :].decode(name, "replace"))
    label_codec = codec_of(label)
    shifted = _shifted(data, label_codec)
    if shifted is not None:
        return storable(shifted)
    tries = (("utf-8", _BROKEN), (label_codec, _BROKEN_AS_SAID))
    for name, _ in tries:
        text = _decoded(data, name, "strict")
        if text is not None:
            return storable(text)
    # It is what it claims after all if a few broken bytes are all that contradicts.
    foreign = len(data) - len(data.translate(None, _FOREIGN))
    for name, share in tries:
        text = _decoded(data, name, "replace") or "\ufffd" * foreign
        if foreign >= share * text.count("\ufffd"):
            return storable(text)
    guess = ""
    if foreign >= _FEWEST_FOREIGN:
        guess = codec_of(chardet.detect(data[:_SAMPLE])["encoding"] or "")
    return storable(_decoded(data, guess or "cp1252", "replace") or "")


@lru_cache(500)
def codec_of(label: str) -> str:
    """The codec that reads what carries this label; empty if it is unknown."""
    first = _FIRST_WORD.search(label)
    for said in (label, first[0] if first else ""):
        key = _SIGNS.sub("", said.lower()).removeprefix("charset").lstrip("x")
        for name in (key, key.removeprefix("cs")):
            iso = _ISO_8859.fullmatch(name)
            numbered = _NUMBERED.fullmatch(name)
            if iso:
                name = f"iso8859{iso[1]}"
            elif numbered:
                name = f"cp{numbered[1]}"
            codec = _CODECS.get(name, "")
            if codec and not _NO_TEXT.fullmatch(codec):
                return _READ_AS.get(codec, codec)
    return ""


def _decoded(data: bytes, codec: str, errors: str) -> str | None:
    """The text; None if the codec refuses it."""
    try:
        if codec == "euc_jp":
            text = _EUC.sub(lambda code: _japanese(code[0]), data).decode()
            return None if errors == "strict" and "\ufffd" in text else text
        if codec in _TABLES:
            return codecs.charmap_decode(data, errors, _TABLES[codec])[0]
        if codec == "gb18030" and errors == "replace":
            errors = "cp936"
        return data.decode(codec, errors)
    except (UnicodeError, LookupError):
        return None


def _euro(error: UnicodeError) -> tuple[str, int]:
    """Windows writes the euro sign as a byte that GB 18030 does not know."""
    assert isinstance(error, UnicodeDecodeError)
    is_euro = error.object[error.start] == 0x80
    return ("€", error.start + 1) if is_euro else ("\ufffd", error.end)


codecs.register_error("cp936", _euro)


@lru_cache(10_000)
def _japanese(code: bytes) -> bytes:
    """A character of EUC-JP as UTF-8, with those that NEC and IBM added.

    Only the codec of Windows knows these, so the place in the table is put in its way.
    """
    codec = "cp932"
    if len(code) == 3:
        codec = "euc_jp"
    elif len(code) == 2 and code[0] == 0x8E:
        code = code[1:]
    elif len(code) == 2:
        row, cell = code[0] - 0xA1, code[1] - 0xA1
        lead = row // 2 + (0x81 if row < 62 else 0xC1)
        code = bytes((lead, cell + (0x9F if row % 2 else 0x40 + (cell > 62))))
    else:
        return "\ufffd".encode()
    return code.decode(codec, "replace").encode()


def _shifted(data: bytes, codec: str) -> str | None:
    """Text whose bytes look like others, of seven bits or UTF-16; None if it is not."""
    if codec.startswith(("utf_16", "utf_32")):
        if _CONTROL.search(plain := _decoded(data, "utf-8", "strict") or "\0"):
            swapped = codec == "utf_16_le" and data[::2].count(0) > data[1::2].count(0)
            return _decoded(data, "utf_16_be" if swapped else codec, "replace")
        return plain
    if codec == "utf_7" and data.isascii():
        return _UTF_7.sub(_of_utf_7, data).decode()
    if codec == "hz":
        high = _HZ.sub(_of_hz, data)
        return _decoded(high, "gb18030", "strict" if high == data else "replace")
    if codec.startswith("iso2022") and (b"\x0e" in data or b"\x1b" in data):
        return _iso_2022(data, codec)
    if b"\x1b" in data and _DESIGNATION.search(data):
        return _iso_2022(data, "iso2022_kr" if b"\x1b$)C" in data else "iso2022_jp")
    return None


def _of_utf_7(found: re.Match[bytes]) -> bytes:
    text = _decoded(b"+" + found[1] + b"-", "utf_7", "strict")
    return found[0] if text is None else text.encode("utf-8", "replace")


def _of_hz(found: re.Match[bytes]) -> bytes:
    if found[1] is not None:
        return found[1].translate(_HIGH)
    return b"~" if found[0] == b"~~" else b""


def _iso_2022(data: bytes, codec: str) -> str:
    """Text with escape sequences; a line begins in ASCII, whatever ended the last."""
    pieces: list[str] = []
    at, low, high, out = 0, b"(B", b"", False
    for shift in [*_SHIFT.finditer(data), None]:
        piece = data[at : shift.start() if shift else len(data)]
        pieces.append(_piece(piece, (high or b")") if out else low, codec))
        if shift is None:
            break
        at = shift.end()
        if shift[2]:
            out = shift[2] == b"\x0e"
            if shift[2] == b"\n":
                pieces.append("\n")
                low = b"(B"
        elif b")" in shift[1]:
            high = shift[1]
        else:
            low = shift[1]
    return "".join(pieces)


def _piece(piece: bytes, designated: bytes, codec: str) -> str:
    """What stands between two escape sequences."""
    native = _SHIFTED_IN.get(codec, "cp932")
    kind = designated[-1:]
    if designated.startswith(b"$") or (kind == b")" and native != "cp932"):
        pairs, prefix = _PAIRS.get(kind, (native, b""))
        piece = _PAIR.sub(lambda pair: _with_prefix(pair[0], prefix), piece)
        return _decoded(piece, pairs, "replace") or ""
    if kind in (b"I", b")"):  # half-width kana
        return _decoded(piece.translate(_HIGH), "cp932", "replace") or ""
    text = piece.decode() if piece.isascii() else decode(piece, native)
    return text.translate({0x5C: "¥", 0x7E: "‾"}) if kind == b"J" else text


def _with_prefix(pair: bytes, prefix: bytes) -> bytes:
    high = pair.translate(_HIGH)
    return b"".join(prefix + high[at : at + 2] for at in range(0, len(high), 2))


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
    if not raw.isascii() or "\x1b" in raw:
        raw = decode(raw.encode("utf-8", "surrogateescape"))
    if "=?" in raw:
        raw = storable(_encoded_words(raw))
    return " ".join(raw.replace("\0", "").split())


def unfolded(raw: str) -> str:
    """A header value on one line; the blank that begins a folded line stays."""
    return _FOLD.sub("", raw)


def _encoded_words(raw: str) -> str:
    # The library reads line by line and drops the blanks between lines.
    line = _BREAK.sub(" ", unfolded(raw))
    try:
        try:
            chunks = decode_header(line)
        except HeaderParseError:
            chunks = decode_header(_BASE64_WORD.sub(_whole_bytes, line))
    except (HeaderParseError, binascii.Error, ValueError):
        return raw
    return "".join(
        chunk if isinstance(chunk, str) else _chunk_text(chunk, label)
        for chunk, label in chunks
    )


def _whole_bytes(word: re.Match[str]) -> str:
    """An encoded word that was cut off, as far as it has whole bytes."""
    letters = word[2].rstrip("=")
    return f"{word[1]}{letters[: -1 if len(letters) % 4 == 1 else None]}?="


def _chunk_text(chunk: bytes, label: str | None) -> str:
    if label is not None:
        return decode(chunk, label.partition("*")[0])  # RFC 2231 adds a language
    try:
        return chunk.decode("raw-unicode-escape")  # what decode_header encoded it with
    except UnicodeError:
        return chunk.decode("latin-1")
