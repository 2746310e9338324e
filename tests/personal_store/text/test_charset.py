"""Bytes become the text that their writer saw, whatever the label says."""

import base64
import codecs
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store.text.charset import codec_of, decode, header_text

LABELS = tomllib.loads(Path(__file__).with_name("labels.toml").read_text("utf-8"))


@pytest.mark.parametrize("said", ["{}", '"{}"', "{} (as always)", " {};", "charset={}"])
def test_every_label_means_what_browsers_and_mail_programs_mean(said):
    kinds = [kind.items() for kind in LABELS.values()]
    for codec, names in chain(*kinds):
        for name in names.split():
            for written in (name, name.upper()):
                found = codec_of(said.format(written))
                assert codecs.lookup(found).name == codecs.lookup(codec).name, name


def test_what_names_no_charset_is_no_codec():
    """The bytes are guessed; private characters of browsers help nobody."""
    for label in (
        *("", "x-user-defined", "unknown-8bit", "x-unknown", "default", "binary"),
        *("rot13", "zlib", "hex", "base64", "idna", "unicode_escape", "mbcs"),
    ):
        assert codec_of(label) == "", label
        assert decode(b"caf\xe9", label) == "café", label


AS_CP50221 = (
    b'\x1b$BL@F|$O-!HV@~$G$9!#-jKL!"\x1b(I@^2\x1b$B!A\x1b(B\n'
    b"\x1b$BFs9TL\\\x1b(B OK\x1b(B"
)
JAPANESE = "明日は①番線です。㈱北、ﾀﾞｲ～\n二行目 OK"


def test_japanese_of_seven_bits_is_read_whatever_windows_added():
    """Also without its label: nothing else holds these escape sequences."""
    header = " ".join(JAPANESE.split())
    for label in ("ISO-2022-JP", "iso-2022-jp-ms", "cp50221", "us-ascii", "utf-8", ""):
        assert decode(AS_CP50221, label) == JAPANESE
        word = base64.b64encode(AS_CP50221).decode()
        assert header_text(f"=?{label or 'utf-8'}?B?{word}?=") == header
    assert header_text(AS_CP50221.decode()) == header


ODD = {
    b'\x1b$B$"\nplain\n\x1b$@$"\x1b(J\\\x1b(B\\': "あ\nplain\nあ¥\\",
    b'\x1b$B$"$': "あ$",
    b"\x1b$(D0!\x1b(B.": "丂.",
    b"\x1b$A0!\x1b$(C0!\x1b(B.": "啊가.",
    b"\x0e1\x0f\x1b(I2\x1b(B": "ｱｲ",
    b'\x1b$B$"\x1b(B \xb1\xb2': "あ ｱｲ",
    "はげ".encode(): "はげ",
    "はげ、はげ".encode("euc_jp"): "はげ、はげ",
}
ENCODED = {
    ("iso-2022-kr", "iso2022_kr"): "안녕 Ben, 내일\n또 봐요",
    ("hz-gb-2312", "hz"): "你好 ~ Ben\n明天见",
    ("unicode-1-1-utf-7", "utf-7"): "Grüße + 日本 😀 - so",
    ("utf-7", "utf-7"): "Grüße + 日本",
    ("utf-16", "utf-16-be"): "Grüße\nBen",
    ("utf-16", "utf-16-le"): "Grüße\nBen",
    ("utf-16", "utf-16"): "Grüße\nBen",
    ("utf-16", "utf-8"): "Grüße Ben",
    ("utf-32", "utf-32"): "Grüße Ben",
    ("", "utf-16"): "Grüße Ben",
    ("iso-8859-1", "utf-8-sig"): "Grüße Ben",
}
BYTES = (
    (b"1 + 1 is 2, gr+APw-n, +AGI", "utf-7", "1 + 1 is 2, grün, b"),
    (b"\x0e0!\x0f and \x0e0!", "iso-2022-kr", "가 and 가"),
    (b"~{0! and\n~{0!~}", "hz", "啊 and\n啊"),
    (b"Ti\xaang Vi\xaet, \xd0i \x02", "viscii", "Tiếng Việt, Đi Ẳ"),
    (b"Ti\xd5ng Vi\xd6t", "x-viet-tcvn5712", "Tiếng Việt"),
    (b"\x80 5, \xbc\xdb", "gb2312", "€ 5, 价"),
    (b"na\xefve caf\xe9s for t\xeate-\xe0-t\xeate \x81", "iso-8859-1",
     "naïve cafés for tête-à-tête \ufffd"),
    ("Zażółć gęślą jaźń".encode("cp1250") + b"\x83", "cp1250",
     "Zażółć gęślą jaźń\ufffd"),
)  # fmt: skip


def test_other_charsets_and_those_that_python_lacks_or_reads_too_strictly():
    assert {data: decode(data, "iso-2022-jp") for data in ODD} == ODD
    for (label, codec), text in ENCODED.items():
        assert decode(text.encode(codec), label) == text
    assert [decode(data, label) for data, label, _ in BYTES] == [t for *_, t in BYTES]


WORDS = {
    "=?utf-8?B?Y2Fm?= =?utf-8?B?w6k?=": "café",
    "so =?utf-8?B?Y2Fmw6kg?= and =?utf-8?B?dGVhY?=": "so café and tea",
    "=?utf-8?B?Y2Fmw6kgY2Fmw6?=": "café caf\ufffd",
    "=?ISO-2022-JP?B?GyRCJCIk?= =?ISO-2022-JP?B?JBsoQg==?=": "あい",
    "=?x-sjis?Q?=93=FA=96=7B?= =?hz?Q?_~{0!~}?=": "日本 啊",
}


def test_encoded_words_that_break_the_rules():
    assert {raw: header_text(raw) for raw in WORDS} == WORDS


PIECES = st.sampled_from(
    [
        *(b"\x1b$B", b"\x1b(B", b"\x1b$(C", b"\x1b$)C", b"\x0e", b"\x0f"),
        *(b"~{", b"~}", b"+", b"-", b"\n", b"0!", b"a", b"\xb1", b"\xff\xfe"),
    ]
)
CHARSETS = "iso-2022-jp", "iso-2022-kr", "hz", "utf-7", "utf-16", "euc-jp", ""


@given(st.lists(PIECES, max_size=12).map(b"".join), st.sampled_from(CHARSETS))
def test_no_bytes_stop_the_reading(data, label):
    decode(data, label).encode()
