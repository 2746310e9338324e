"""Bytes become the text that their writer saw, whatever the label says."""

import base64
import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store.text.charset import codec_of, decode, header_text

# The labels of the Encoding Standard (encoding.spec.whatwg.org), by what they mean.
STANDARD = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2"
    " iso_8859-2:1987 l2 latin2",
    "iso8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3"
    " iso_8859-3:1988 l3 latin3",
    "iso8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4"
    " iso_8859-4:1988 l4 latin4",
    "iso8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595"
    " iso_8859-5 iso_8859-5:1988",
    "iso8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114"
    " iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6"
    " iso_8859-6:1987",
    "iso8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126"
    " iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e"
    " iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual csiso88598i"
    " iso-8859-8-i logical",
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1"
    " iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii"
    " windows-1252 x-cp1252",
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9"
    " iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk"
    " iso-ir-58 x-gbk gb18030",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987"
    " ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
    "iso2022_kr": "csiso2022kr iso-2022-kr",
    "hz": "hz-gb-2312",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}
# And those that only mail has.
OF_MAIL = {
    "utf-7": "utf-7 unicode-1-1-utf-7 x-unicode-2-0-utf-7 csUTF7",
    "cp850": "cp-850 IBM850 dos-850",
    "cp437": "ibm437 437",
    "cp1251": "win-1251 windows1251",
    "cp1252": "windows-28591 ansi",
    "iso8859-15": "windows-28605",
    "koi8-u": "cp21866",
    "iso2022_jp": "iso-2022-jp-ms cp50220 CP50221 _iso-2022-jp$ESC x-iso-2022-jp",
    "euc_jp": "eucJP-ms cp51932",
    "cp949": "x-windows-949 uhc",
}


@pytest.mark.parametrize("said", ["{}", '"{}"', "{} (as always)", " {};", "charset={}"])
@pytest.mark.parametrize("labels", [STANDARD, OF_MAIL], ids=["standard", "mail"])
def test_every_label_means_what_browsers_and_mail_programs_mean(said, labels):
    for codec, names in labels.items():
        for name in names.split():
            for written in (name, name.upper()):
                found = codec_of(said.format(written))
                assert codecs.lookup(found).name == codecs.lookup(codec).name, name


@pytest.mark.parametrize(
    "label",
    [
        *("", "x-user-defined", "unknown-8bit", "x-unknown", "default", "binary"),
        *("rot13", "zlib", "hex", "base64", "idna", "unicode_escape", "mbcs"),
    ],
)
def test_what_names_no_charset_is_no_codec(label):
    """The bytes are guessed; private characters of browsers help nobody."""
    assert codec_of(label) == ""
    assert decode(b"caf\xe9", label) == "café"


SAYINGS = {
    "windows-874": "สวัสดีครับ พบกันพรุ่งนี้",
    "x-mac-cyrillic": "Привіт, до завтра",
    "cp-850": "Schöne Grüße",
    "x-gbk": "明天见，别忘了带伞",
    "big5": "明天見，別忘了帶傘",
    "ks_c_5601-1987": "내일 봐요 똠방각하",
    "x-sjis": "明日は①番線で～",
    "euc-jp": "明日は①番線で～",
    "koi8-ru": "До завтра",
    "iso-8859-8-i": "להתראות מחר",
    "windows-1253": "Τα λέμε αύριο",
    "iso-8859-9": "Yarın görüşürüz",
}


@pytest.mark.parametrize("label", SAYINGS)
def test_letters_come_out_as_they_were_written(label):
    text = SAYINGS[label]

    assert decode(euc(text, codec_of(label)), label) == text


def euc(text: str, codec: str) -> bytes:
    """With the characters of Windows, which Python's EUC-JP has not."""
    if codec != "euc_jp":
        return text.encode(codec)
    return b"".join(
        char.encode() if char.isascii() else bytes(one | 0x80 for one in jis(char))
        for char in text
    )


def jis(char: str) -> bytes:
    """Row and cell of a character in the tables of Windows."""
    lead, trail = char.encode("cp932")
    row = (lead - (0x81 if lead < 0xE0 else 0xC1)) * 2 + (trail >= 0x9F)
    cell = trail - (0x9F if trail >= 0x9F else 0x40 + (trail > 0x7F))
    return bytes((row + 0x21, cell + 0x21))


def iso_2022(text: str) -> bytes:
    """As CP50221 writes it."""
    found, shift = b"", b"(B"
    for char in text:
        if char.isascii():
            now, data = b"(B", char.encode()
        elif "\uff61" <= char <= "\uff9f":
            now, data = b"(I", bytes((char.encode("cp932")[0] & 0x7F,))
        else:
            now, data = b"$B", jis(char)
        found += (b"" if now == shift else b"\x1b" + now) + data
        shift = now
    return found + b"\x1b(B"


JAPANESE = "明日は①番線です。㈱北、ﾀﾞｲ～\n二行目 OK"


@pytest.mark.parametrize(
    "label", ["ISO-2022-JP", "iso-2022-jp-ms", "cp50221", "us-ascii", "utf-8", ""]
)
def test_japanese_of_seven_bits_is_read_whatever_windows_added(label):
    """Also without its label: nothing else holds these escape sequences."""
    data = iso_2022(JAPANESE)

    assert decode(data, label) == JAPANESE
    word = base64.b64encode(data).decode()
    assert header_text(f"=?{label or 'utf-8'}?B?{word}?=") == " ".join(JAPANESE.split())
    assert header_text(data.decode()) == " ".join(JAPANESE.split())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b$B$\"\nplain\n\x1b$@$\"\x1b(J\\\x1b(B\\", "あ\nplain\nあ¥\\"),
        (b"\x1b$B$\"$", "あ$"),
        (b"\x1b$(D0!\x1b(B.", "丂."),
        (b"\x1b$A0!\x1b$(C0!\x1b(B.", "啊가."),
        (b"\x0e1\x0f\x1b(I2\x1b(B", "ｱｲ"),
        (b"\x1b$B$\"\x1b(B \xb1\xb2", "あ ｱｲ"),
        ("はげ".encode(), "はげ"),
        ("はげ、はげ".encode("euc_jp"), "はげ、はげ"),
    ],
    ids=[
        *("line ends", "cut", "supplement", "others", "shifts", "eight bits"),
        *("is utf-8", "is euc"),
    ],
)  # fmt: skip
def test_odd_japanese(data, text):
    assert decode(data, "iso-2022-jp") == text


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("iso-2022-kr", "iso2022_kr", "안녕 Ben, 내일\n또 봐요"),
        ("hz-gb-2312", "hz", "你好 ~ Ben\n明天见"),
        ("unicode-1-1-utf-7", "utf-7", "Grüße + 日本 😀 - so"),
        ("utf-7", "utf-7", "Grüße + 日本"),
        ("utf-16", "utf-16-be", "Grüße\nBen"),
        ("utf-16", "utf-16-le", "Grüße\nBen"),
        ("utf-16", "utf-16", "Grüße\nBen"),
        ("utf-16", "utf-8", "Grüße Ben"),
        ("utf-32", "utf-32", "Grüße Ben"),
        ("", "utf-16", "Grüße Ben"),
        ("iso-8859-1", "utf-8-sig", "Grüße Ben"),
    ],
)
def test_other_charsets_that_look_like_ascii(label, codec, text):
    assert decode(text.encode(codec), label) == text


def test_seven_bits_that_are_broken_lose_what_is_broken_alone():
    assert decode(b"1 + 1 is 2, gr+APw-n, +AGI", "utf-7") == "1 + 1 is 2, grün, b"
    assert decode(b"\x0e0!\x0f and \x0e0!", "iso-2022-kr") == "가 and 가"
    assert decode(b"~{0! and\n~{0!~}", "hz") == "啊 and\n啊"


@pytest.mark.parametrize(
    ("data", "label", "text"),
    [
        (b"Ti\xaang Vi\xaet, \xd0i \x02", "viscii", "Tiếng Việt, Đi Ẳ"),
        (b"Ti\xd5ng Vi\xd6t", "x-viet-tcvn5712", "Tiếng Việt"),
        (b"\x80 5, \xbc\xdb", "gb2312", "€ 5, 价"),
        (b"na\xefve caf\xe9s for t\xeate-\xe0-t\xeate \x81", "iso-8859-1",
         "naïve cafés for tête-à-tête \ufffd"),
        ("Zażółć gęślą jaźń".encode("cp1250") + b"\x83", "cp1250",
         "Zażółć gęślą jaźń\ufffd"),
    ],
    ids=["viscii", "tcvn", "euro", "hole", "another hole"],
)  # fmt: skip
def test_charsets_that_python_lacks_or_reads_too_strictly(data, label, text):
    assert decode(data, label) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("=?utf-8?B?Y2Fm?= =?utf-8?B?w6k?=", "café"),
        ("so =?utf-8?B?Y2Fmw6kg?= and =?utf-8?B?dGVhY?=", "so café and tea"),
        ("=?utf-8?B?Y2Fmw6kgY2Fmw6?=", "café caf\ufffd"),
        ("=?ISO-2022-JP?B?GyRCJCIk?= =?ISO-2022-JP?B?JBsoQg==?=", "あい"),
        ("=?x-sjis?Q?=93=FA=96=7B?= =?hz?Q?_~{0!~}?=", "日本 啊"),
    ],
    ids=["unpadded", "cut", "cut letter", "split letter", "labels"],
)
def test_encoded_words_that_break_the_rules(raw, text):
    assert header_text(raw) == text


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *(b"\x1b$B", b"\x1b(B", b"\x1b$(C", b"\x1b$)C", b"\x0e", b"\x0f"),
                *(b"~{", b"~}", b"+", b"-", b"\n", b"0!", b"a", b"\xb1", b"\xff\xfe"),
            ]
        ),
        max_size=12,
    ).map(b"".join),
    st.sampled_from(
        ["iso-2022-jp", "iso-2022-kr", "hz", "utf-7", "utf-16", "euc-jp", ""]
    ),
)
def test_no_bytes_stop_the_reading(data, label):
    decode(data, label).encode()
