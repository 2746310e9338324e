"""Letters as bad programs write them, from their bytes to the owner's words."""

import base64
import binascii
import quopri
import re
from contextlib import suppress

import pytest

from personal_store.mail.mime import EncryptedError, opened
from personal_store.reading.letters import Letter, read_now
from personal_store.records import Document, Skipped
from tests.waiting import no_hang

ME = "ida@example.org"
HEAD = (
    b"From: Ida Holm <ida@example.org>\nTo: Per <per@example.net>\n"
    b"Subject: the well\nDate: Sun, 3 Mar 2024 08:00:00 +0000\n"
    b"Message-ID: <1@example.org>\nMIME-Version: 1.0\n"
)
TEXT = (
    "Dear Per,\n\nthe well behind the house has water again, crème de la crème. "
    "I have cleaned the bucket, oiled the chain and painted the lid in green.\n\n"
    "Bring the children on Saturday, they may draw the first bucket themselves.\n\nIda"
)
FOOTER = (
    b"\n_______________________________________________\nwells mailing list\n"
    b"wells@lists.example.net\nhttps://lists.example.net/mailman/listinfo/wells\n"
)


def read(raw: bytes, **more):
    return read_now(Letter(raw, 0, "here", frozenset({ME}), **more))


def own(raw: bytes) -> str:
    item = read(raw)
    assert isinstance(item, Document), item
    return item.text


def letter(body: bytes, kind: str = "text/plain; charset=utf-8", encoding="") -> bytes:
    more = f"Content-Type: {kind}\n"
    if encoding:
        more += f"Content-Transfer-Encoding: {encoding}\n"
    return HEAD + more.encode() + b"\n" + body


def part(body: str, kind: str = "text/plain; charset=utf-8", more: str = "") -> str:
    return f"--w\nContent-Type: {kind}\n{more}\n{body}\n"


def mixed(*parts: str) -> bytes:
    body = "".join(parts) + "--w--\n"
    return letter(body.encode(), 'multipart/mixed; boundary="w"')


def wrapped(data: bytes, width: int = 76) -> bytes:
    text = base64.b64encode(data)
    lines = (text[at : at + width] for at in range(0, len(text), width))
    return b"\n".join(lines) + b"\n"


BASE64 = wrapped(TEXT.encode())
LONG = wrapped(TEXT.encode(), 1000)
THIRDS = [TEXT.encode()[at : at + 97] for at in range(0, 300, 97)]
SHORT = "See you at the well, Per."
LINE = "Hello Ben, this was never encoded at all, though its header says so."


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (BASE64 + FOOTER, TEXT),
        (BASE64.replace(b"=", b"") + FOOTER, TEXT),
        (BASE64.replace(b"=", b"") + b"Unsubscribe\n", TEXT),
        (b"[from outside]\n\n" + BASE64, TEXT),
        (BASE64 + b"\nwells\n-- \nchat\n", TEXT),
        (b"\n".join(map(wrapped, THIRDS)), TEXT),
        (b"".join(wrapped(piece).replace(b"=", b"") for piece in THIRDS), TEXT),
        (b"".join(base64.b64encode(piece) for piece in THIRDS), TEXT),
        (BASE64.replace(b"\n", b"!\n"), TEXT),
        (BASE64[:30] + b" " + BASE64[30:] + FOOTER, TEXT),
        (BASE64[:30] + b"\xa0*" + BASE64[30:], TEXT),
        (wrapped(TEXT.encode(), 62), TEXT),
        (LONG + FOOTER, TEXT),
        (LONG[:30] + b"!\n " + LONG[30:], TEXT),
        (b"[External]\n" + wrapped(SHORT.encode()), SHORT),
        (b"[External] Not from us.\n" + wrapped(SHORT.encode()), SHORT),
        (TEXT.encode(), TEXT),  # these only claim to be base64
        (LINE.encode(), LINE),
    ],
)
def test_broken_base64_gives_the_whole_text_and_no_other(body, text):
    assert own(letter(body, encoding="base64")) == text


@pytest.mark.parametrize("charset", ["latin-1", "iso-2022-jp", "koi8-r", "gb18030"])
def test_broken_base64_of_any_charset(charset):
    said = {"iso-2022-jp": "井戸に水が戻りました。", "koi8-r": "В колодце есть вода."}
    text = "\n".join([said.get(charset, "The well has water: 30 ° at noon.")] * 9)
    body = wrapped(text.encode(charset)) + FOOTER

    assert own(letter(body, f"text/plain; charset={charset}", "base64")) == text


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("below", [b"", FOOTER])
@pytest.mark.parametrize("last", range(4))
def test_base64_in_the_alphabet_of_addresses(end, below, last):
    text = "¿Ünder¿ the well ??? >>> ÿÿÿ ~~~ " * 9 + "fin?>" * last
    coded = wrapped(text.encode()).translate(bytes.maketrans(b"+/", b"-_"))
    assert b"-" in coded or b"_" in coded

    body = (coded + below).replace(b"\n", end)

    assert own(letter(body, encoding="base64")) == text.strip()


def test_a_multipart_that_is_encoded_as_a_whole_or_lacks_its_boundary():
    inner = part(TEXT).encode() + b"--w--\n"
    assert (
        own(letter(wrapped(inner), 'multipart/mixed; boundary="w"', "base64")) == TEXT
    )
    assert own(letter(TEXT.encode(), 'multipart/alternative; boundary="w"')) == TEXT


ENDS = {
    "returns": [(b"\n", b"\r")],
    "returns and one feed": [(b"\n", b"\r"), (b"again,", b"again,\n")],
    "last feed": [(b"\n", b"\r"), (rb"\Z", b"\n")],
    "doubled returns": [(b"\n", b"\r\r\n")],
    "feed and return": [(b"\n", b"\n\r")],
    "three returns": [(b"\n", b"\r\r\r\n")],
    "windows": [(b"\n", b"\r\n")],
    "one header": [(b"the well\n", b"the well\r\r\n")],
    "one header of windows": [(b"\n", b"\r\n"), (b"the well\r", b"the well\r\r")],
    "blank lines above": [(rb"\A", b"\r\n\n")],
    "all but the headers": [(rb"\n(?![A-Z][A-Za-z-]+: )", b"\r\r\n")],
}


@pytest.mark.parametrize("changes", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("nested", [False, True])
def test_lines_may_end_in_any_way(changes, nested):
    raw = mixed(part(TEXT), part("9", "text/csv")) if nested else letter(TEXT.encode())
    for found, put in changes:
        raw = re.sub(found, put, raw)

    item = read(raw)

    assert isinstance(item, Document)
    assert item.text.split() == TEXT.split()
    assert item.text.count("\n\n") == TEXT.count("\n\n")
    assert (item.title, item.recipient_address) == ("the well", "per@example.net")
    assert item.sent_at == 1709452800


NAMED = 'text/plain; charset=utf-8; name="letter.txt"'
INLINE = "Content-Disposition: inline\n"
FILE = "Content-Disposition: attachment; filename=x.txt\n"


@pytest.mark.parametrize(
    "parts",
    [
        (part(TEXT, NAMED), part("AAAA", "image/png")),
        (part(TEXT, NAMED, INLINE), part("nobody's words here", NAMED, FILE)),
        (part(TEXT, NAMED, INLINE), part("nobody's words here", NAMED, INLINE)),
        (part(" "), part(TEXT, more="Content-Disposition: inline; filename=a.txt\n")),
        (part(TEXT), part("nobody's words here", NAMED, INLINE)),
    ],
)
def test_a_text_with_a_name_is_the_letter_if_there_is_no_other(parts):
    """And if it is no attached one."""
    assert own(mixed(*parts)) == TEXT
    assert isinstance(read(mixed(part("nobody's words", NAMED, FILE))), Skipped)


HTML = "text/html; charset=utf-8"
PAGE = "<p>Dear Per,</p><p>the well has water again, come and see.</p><p>Ida</p>"
PAGE_TEXT = "Dear Per,\n\nthe well has water again, come and see.\n\nIda"


def test_html_beside_plain_text_is_read_once():
    text, page = part(PAGE_TEXT), part(PAGE, HTML)
    for parts in ((page, part(FOOTER.decode())), (page, text), (text, page)):
        assert own(mixed(*parts)).split() == PAGE_TEXT.split()


def test_words_below_a_file_stay_whatever_their_form():
    raw = mixed(
        part("The first half of it.\nAnd more & more."),
        part("AAAA", "image/png"),
        part("<p>The second half of it.</p>", HTML),
    )

    assert " ".join(own(raw).split()) == (
        "The first half of it. And more & more. The second half of it."
    )


FLOWED = "text/plain; charset=utf-8; format=flowed"
PLAIN = "text/plain; charset=utf-8"
FROM_THE_WELL = "Yes, from the well.\n\nIndeed it is so."


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        (FLOWED, "One \ntwo \nthree.\n", "One two three."),
        (f"{FLOWED}; delsp=yes", "Wel \nlen und \nmehr  \nhier.",
         "Wellen undmehr hier."),
        (FLOWED, "It is so:\n From here on it rains \n From time to time.\n",
         "It is so:\nFrom here on it rains From time to time."),
        (FLOWED, "So:\n\n >3 m is deep, I think \nso.\n\n> Deep?\n\nYes, it is.",
         "So:\n\n>3 m is deep, I think so.\n\nYes, it is."),
        (FLOWED, "So it is:\n  * two blanks, one of them meant\n",
         "So it is:\n * two blanks, one of them meant"),
        (FLOWED, "Here it is, my dear.\n-- \nIda\nHolm & Sons, Bergen",
         "Here it is, my dear."),
        # a text of an unknown kind is plain, as RFC 2046 has it
        ("text/markdown; charset=utf-8", TEXT, TEXT),
        ("text/x-any; charset=utf-8", TEXT, TEXT),
        ("text/richtext",
         "Dear Per,<nl><nl>the <bold>well</bold>\nhas<comment>x</comment> <lt>water.",
         "Dear Per,\n\nthe well has <water."),
        # a sentence may begin like a file in the text
        (PLAIN, "begin 644 of them today.\nOr begin 100 tomorrow, as you like it.",
         "begin 644 of them today.\nOr begin 100 tomorrow, as you like it."),
        # the mark of a mailbox goes, that of a quote does not
        (PLAIN, "Dear Per,\n\n>From the well one sees the sea,\nand so it is.\n\n> So?",
         "Dear Per,\n\nFrom the well one sees the sea,\nand so it is."),
        (PLAIN, ">Where from?\n\nYes, from the well.\n\n>From the well?\n\n"
         "Indeed it is so.", FROM_THE_WELL),
        (PLAIN, "Yes, from the well.\n\n>From the well?\n> Really?\n\n"
         "Indeed it is so.", FROM_THE_WELL),
    ],
)  # fmt: skip
def test_a_letter_of_one_part(kind, body, text):
    assert own(letter(body.encode(), kind)) == text


QUOTED = quopri.encodestring(TEXT.encode())


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        *((said, BASE64) for said in ("BASE64", "base-64", '"base64"', "base64;")),
        ("base64 (as always)", BASE64),
        *(  # soft breaks with blanks behind them
            ("quoted-printable", QUOTED.replace(b"=\n", end))
            for end in (b"=  \n", b"=\t\n", b"=\r\r\n")
        ),
    ],
)
def test_an_encoding_may_be_written_oddly(encoding, body):
    assert own(letter(body, encoding=encoding)) == TEXT


def alternative(*parts: str) -> bytes:
    return mixed(*parts).replace(b"multipart/mixed", b"multipart/alternative")


def test_a_stuffed_line_stays_one_s_own_in_the_thread():
    """Also where the HTML part or the answered message has lines cut."""
    plain = "It is so:\n\n > I write it so \nmyself.\n\nWill you come?\n"
    page = "<p>It is so:</p><blockquote type=cite>Will you come?</blockquote>"

    text = own(alternative(part(plain, FLOWED), part(page, HTML)))

    assert text.startswith("It is so:\n\n> I write it so myself.")


ENRICHED = """<bold>Dear Per,</bold>


the well has <color><param>red</param>water</color> again, 1 << 2 & so on,
on the same line.


<nofill>  one
  two</nofill>


<excerpt>Has the well water?

I should like to know.</excerpt>


Ida
"""


def test_enriched_text_is_read():
    """RFC 1896: one line end is a blank, and what was answered is marked."""
    kind = "text/enriched; charset=us-ascii"
    said = "Dear Per,\n\nthe well has water again, 1 < 2 & so on, on the same line."
    plain = part(f"{said}\n\none\ntwo\n\nHas the well water?\n\nIda")

    for raw in (
        letter(ENRICHED.encode(), kind),
        alternative(plain, part(ENRICHED, kind)),
    ):
        assert own(raw) == f"{said}\n\none\ntwo\n\nIda"


UUENCODED = "begin 644 a map.png\n" + "".join(
    binascii.b2a_uu(bytes(range(at, at + 45))).decode() for at in (0, 45, 90, 135)
)
UUENCODED += "`\nend\n"


@pytest.mark.parametrize(
    "file",
    [
        UUENCODED,
        UUENCODED.replace("`\n", "\n"),
        UUENCODED * 2,
        "=ybegin line=128 size=3 name=a b\n\x8a\u00e4*+,\n=yend size=3\n",
        f"begin-base64 644 map\n{BASE64.decode()}====\n",
    ],
)
def test_a_file_in_the_text_is_no_text(file):
    body = f"Here is the map.\n\n{file}\nTell me what you think of it.\n"

    text = own(letter(body.encode()))

    assert text == "Here is the map.\n\nTell me what you think of it."


SIGNED = """-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA512
Comment: from the well

Three things for you:

- - the bucket is clean
- - the chain is oiled

- -----BEGIN WELL-----
From here on all is well.
-----BEGIN PGP SIGNATURE-----

iQEzBAEBCgAdFiEE
-----END PGP SIGNATURE-----
"""


def test_a_signed_text_loses_what_signing_added():
    as_it_is = SIGNED.replace("Comment: ", "NotDashEscaped: ").replace("- -", "-")
    for body in (SIGNED, as_it_is):
        assert own(letter(body.encode())) == (
            "Three things for you:\n\n- the bucket is clean\n- the chain is oiled\n\n"
            "-----BEGIN WELL-----\nFrom here on all is well."
        )


DATA, SIGN, CIPHER = (bytes.fromhex(f"2a864886f70d01070{end}") for end in (1, 2, 3))


def element(tag: int, *inner: bytes, wide: int = 0, open_ended: bool = False) -> bytes:
    content = b"".join(inner)
    if open_ended:
        return bytes((tag, 0x80)) + content + b"\0\0"
    size = len(content)
    if size < 128 and not wide:
        return bytes((tag, size)) + content
    width = wide or (size.bit_length() + 7) // 8
    return bytes((tag, 0x80 | width)) + size.to_bytes(width) + content


def signed(message: bytes, *, chunks: int = 0, open_ended: bool = False) -> bytes:
    def wrap(tag: int, *inner: bytes) -> bytes:
        return element(tag, *inner, open_ended=open_ended)

    held = element(0x04, message)
    if chunks:
        pieces = [message[at : at + chunks] for at in range(0, len(message), chunks)]
        held = wrap(0x24, *(element(0x04, piece, wide=2) for piece in pieces))
    inner = wrap(0x30, element(0x06, DATA), wrap(0xA0, held))
    algorithms = element(0x31, element(0x30, element(0x06, b"\x60\x86")))
    version = element(0x02, b"\1")
    signers = element(0x31, element(0x30, version))
    content = wrap(0x30, version, algorithms, inner, signers)
    return wrap(0x30, element(0x06, SIGN), wrap(0xA0, content))


INSIDE = b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + TEXT.encode()
SMIME = "application/pkcs7-mime; smime-type=signed-data; name=smime.p7m"


@pytest.mark.parametrize("kind", [SMIME, 'application/octet-stream; name="smime.p7m"'])
@pytest.mark.parametrize(
    "data",
    [
        signed(INSIDE),
        signed(INSIDE, chunks=40),
        signed(INSIDE, chunks=64, open_ended=True),
        signed(b"Content-Type: application/x-pkcs7-mime\n\n" + signed(INSIDE)),
    ],
)
def test_a_letter_inside_its_signature_is_read(data, kind):
    assert own(letter(wrapped(data), kind, "base64")) == TEXT


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\r\n"])
@pytest.mark.parametrize("encoding", ["", "binary"])
def test_a_signature_that_is_sent_as_bytes(end, encoding):
    head, data = letter(b"", SMIME, encoding).replace(b"\n", end), b"\r\n\r\0\n\n\r\r\n"
    inside = b"Content-Type: text/plain; charset=utf-8\n\n" + TEXT.encode()

    for extra in (b"", data):
        body = signed(b"X-Bytes: 1\r\n" + inside, chunks=13)
        assert own(head + body + extra) == TEXT


def test_a_signed_part_is_the_letter_above_a_footer_and_a_file_below_a_text():
    def smime(message):
        more = "Content-Transfer-Encoding: base64\n"
        return part(wrapped(signed(message)).decode(), SMIME, more)

    other = smime(b"Content-Type: text/plain\n\nNot her words at all.")

    assert own(mixed(smime(INSIDE), part(FOOTER.decode()))) == TEXT
    assert own(mixed(part(TEXT), other)) == TEXT


ENCRYPTED = element(0x30, element(0x06, CIPHER), element(0xA0, element(0x30)))
ALONE = element(0x30, element(0x02, b"\1"), element(0x31), element(0x31))
CERTIFICATES = element(0x30, element(0x06, SIGN), element(0xA0, ALONE))
IN_PARTS = (
    b"--w\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--w\n"
    b"Content-Type: application/octet-stream\n\nx\n--w--\n"
)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (letter(wrapped(ENCRYPTED), "application/pkcs7-mime", "base64"), "encrypted"),
        (letter(IN_PARTS, "multipart/encrypted; boundary=w"), "encrypted"),
        (letter(b"-----BEGIN PGP MESSAGE-----\n\nhQ\n-----END PGP MESSAGE-----\n"),
         "encrypted"),
        (letter(wrapped(CERTIFICATES), "application/pkcs7-mime", "base64"),
         "without own words"),
    ],
)  # fmt: skip
def test_what_is_encrypted_is_left_out_and_said_so(raw, reason):
    """Certificates alone are not called so."""
    item = read(raw)

    assert isinstance(item, Skipped)
    assert item.reason == reason


@pytest.mark.parametrize(
    "unit", [b"a\n", b"!a", b"QQ==\n", b"=", b"6enp6enp" * 9 + b"\n"]
)
def test_hostile_base64_takes_no_long_time(unit):
    with no_hang():
        read(letter(unit * (300_000 // len(unit)), encoding="base64"))


def test_damaged_signatures_raise_nothing_else():
    cut = signed(INSIDE)[:90]
    endless = b"0\x80" + b"0\0" * 400_000
    for data in (b"", b"0", b"0\x80" * 5_000, b"0\x84\xff\xff\xff\xff", cut, endless):
        with no_hang(), suppress(ValueError):
            opened(data)
    with pytest.raises(EncryptedError):
        opened(ENCRYPTED)


META = '<meta http-equiv="Content-Type" content="text/html; charset={}">'


@pytest.mark.parametrize(
    "head",
    [META.format("koi8-r"), "<meta charset=koi8-r>", '<?xml encoding="koi8-r"?>'],
)
@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=us-ascii"])
def test_html_may_say_what_charset_it_has(head, kind):
    page = f"<html><head>{head}</head><p>Вода.</p><p>И рыба, да.</p></html>"

    assert own(letter(page.encode("koi8-r"), kind)) == "Вода.\n\nИ рыба, да."
