"""Letters as bad programs write them, from their bytes to the owner's words."""

import base64
import binascii
import quopri
import re
from contextlib import suppress
from itertools import product

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


def alternative(*parts: str) -> bytes:
    return mixed(*parts).replace(b"multipart/mixed", b"multipart/alternative")


BASE64 = wrapped(TEXT.encode())
LONG = wrapped(TEXT.encode(), 1000)
THIRDS = [TEXT.encode()[at : at + 97] for at in range(0, 300, 97)]
SHORT = "See you at the well, Per."
LINE = "Hello Ben, this was never encoded at all, though its header says so."
IN_BASE64 = [
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
]
WELL = "The well has water: 30 ° at noon."
SAYINGS = {"latin-1": WELL, "iso-2022-jp": "井戸に水が戻りました。",
           "koi8-r": "В колодце есть вода.", "gb18030": WELL}  # fmt: skip


def base64_letters():
    """Also of any charset, and in the alphabet of addresses."""
    for body, text in IN_BASE64:
        yield letter(body, encoding="base64"), text
    for charset, said in SAYINGS.items():
        text = "\n".join([said] * 9)
        body = wrapped(text.encode(charset)) + FOOTER
        yield letter(body, f"text/plain; charset={charset}", "base64"), text
    for last, below, end in product(range(4), (b"", FOOTER), (b"\n", b"\r\n")):
        text = "¿Ünder¿ the well ??? >>> ÿÿÿ ~~~ " * 9 + "fin?>" * last
        coded = wrapped(text.encode()).translate(bytes.maketrans(b"+/", b"-_"))
        assert b"-" in coded or b"_" in coded
        body = (coded + below).replace(b"\n", end)
        yield letter(body, encoding="base64"), text.strip()


NAMED = 'text/plain; charset=utf-8; name="letter.txt"'
INLINE = "Content-Disposition: inline\n"
FILE = "Content-Disposition: attachment; filename=x.txt\n"
WITH_NAMES = [
    (part(TEXT, NAMED), part("AAAA", "image/png")),
    (part(TEXT, NAMED, INLINE), part("nobody's words here", NAMED, FILE)),
    (part(TEXT, NAMED, INLINE), part("nobody's words here", NAMED, INLINE)),
    (part(" "), part(TEXT, more="Content-Disposition: inline; filename=a.txt\n")),
    (part(TEXT), part("nobody's words here", NAMED, INLINE)),
]
HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
FLOWED = "text/plain; charset=utf-8; format=flowed"
FROM_THE_WELL = "Yes, from the well.\n\nIndeed it is so."
OF_ONE_PART = [
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
]  # fmt: skip
QUOTED = quopri.encodestring(TEXT.encode())
ENCODED = [
    *((said, BASE64) for said in ("BASE64", "base-64", '"base64"', "base64;")),
    ("base64 (as always)", BASE64),
    *(  # soft breaks with blanks behind them
        ("quoted-printable", QUOTED.replace(b"=\n", end))
        for end in (b"=  \n", b"=\t\n", b"=\r\r\n")
    ),
]
META = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">'
HEADS = (META, "<meta charset=koi8-r>", '<?xml encoding="koi8-r"?>')
PAGES = [
    f"<html><head>{head}</head><p>Вода.</p><p>И рыба.</p></html>" for head in HEADS
]
ENRICHED = """<bold>Dear Per,</bold>


the well has <color><param>red</param>water</color> again, 1 << 2 & so on,
on the same line.


<nofill>  one
  two</nofill>


<excerpt>Has the well water?

I should like to know.</excerpt>


Ida
"""
ENRICHED_TYPE = "text/enriched; charset=us-ascii"
ENRICHED_TEXT = (
    "Dear Per,\n\nthe well has water again, 1 < 2 & so on, on the same line."
    "\n\none\ntwo\n\nIda"
)
ANSWERED = ENRICHED_TEXT.replace("Ida", "Has the well water?\n\nIda")
UUENCODED = "begin 644 a map.png\n" + "".join(
    binascii.b2a_uu(bytes(range(at, at + 45))).decode() for at in (0, 45, 90, 135)
)
UUENCODED += "`\nend\n"
FILES = [
    UUENCODED,
    UUENCODED.replace("`\n", "\n"),
    UUENCODED * 2,
    "=ybegin line=128 size=3 name=a b\n\x8a\u00e4*+,\n=yend size=3\n",
    f"begin-base64 644 map\n{BASE64.decode()}====\n",
]
WITH_FILE = "Here is the map.\n\n{}Tell me what you think of it."
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
SIGNED_TEXT = (
    "Three things for you:\n\n- the bucket is clean\n- the chain is oiled\n\n"
    "-----BEGIN WELL-----\nFrom here on all is well."
)
AS_IT_IS = SIGNED.replace("Comment: ", "NotDashEscaped: ").replace("- -", "-")
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


def smime_letters():
    """The text is inside a signature, which may be sent as bytes."""
    for data, kind in product(
        (
            signed(INSIDE),
            signed(INSIDE, chunks=40),
            signed(INSIDE, chunks=64, open_ended=True),
            signed(b"Content-Type: application/x-pkcs7-mime\n\n" + signed(INSIDE)),
        ),
        (SMIME, 'application/octet-stream; name="smime.p7m"'),
    ):
        yield letter(wrapped(data), kind, "base64"), TEXT
    body = signed(b"X-Bytes: 1\r\n" + INSIDE.replace(b"\r\n", b"\n"), chunks=13)
    for encoding, end, extra in product(
        ("", "binary"), (b"\n", b"\r\n", b"\r\r\n"), (b"", b"\r\n\r\0\n\n\r\r\n")
    ):
        yield letter(b"", SMIME, encoding).replace(b"\n", end) + body + extra, TEXT


def smime_part(message):
    more = "Content-Transfer-Encoding: base64\n"
    return part(wrapped(signed(message)).decode(), SMIME, more)


OTHER = smime_part(b"Content-Type: text/plain\n\nNot her words at all.")
WHOLE = wrapped(f"{part(TEXT)}--w--\n".encode())
LETTERS = {
    "broken base64 gives the whole text and no other": [*base64_letters()],
    "a multipart is encoded as a whole, or lacks its boundary": [
        (letter(WHOLE, 'multipart/mixed; boundary="w"', "base64"), TEXT),
        (letter(TEXT.encode(), 'multipart/alternative; boundary="w"'), TEXT),
    ],
    "a text with a name is the letter if there is no other": [
        (mixed(*parts), TEXT) for parts in WITH_NAMES
    ],
    "a letter of one part": [
        (letter(body.encode(), kind), text) for kind, body, text in OF_ONE_PART
    ],
    "an encoding may be written oddly": [
        (letter(body, encoding=encoding), TEXT) for encoding, body in ENCODED
    ],
    "html may say what charset it has": [
        (letter(page.encode("koi8-r"), kind), "Вода.\n\nИ рыба.")
        for page in PAGES
        for kind in ("text/html", "text/html; charset=us-ascii")
    ],
    # RFC 1896: one line end is a blank, and what was answered is marked
    "enriched text": [
        (letter(ENRICHED.encode(), ENRICHED_TYPE), ENRICHED_TEXT),
        (alternative(part(ANSWERED), part(ENRICHED, ENRICHED_TYPE)), ENRICHED_TEXT),
    ],
    "a file in the text is no text": [
        (letter(WITH_FILE.format(f"{file}\n").encode()), WITH_FILE.format(""))
        for file in FILES
    ],
    "a signed text loses what signing added": [
        (letter(body.encode()), SIGNED_TEXT) for body in (SIGNED, AS_IT_IS)
    ],
    "a letter inside its signature": [*smime_letters()],
    "a signed part above a footer": [
        (mixed(smime_part(INSIDE), part(FOOTER.decode())), TEXT)
    ],
    "a signed part below a text is a file": [(mixed(part(TEXT), OTHER), TEXT)],
}


@pytest.mark.parametrize("letters", LETTERS.values(), ids=LETTERS)
def test_the_words_of_the_owner_come_out(letters):
    for raw, text in letters:
        assert own(raw) == text, raw


def test_an_attached_text_is_no_letter():
    assert isinstance(read(mixed(part("nobody's words", NAMED, FILE))), Skipped)


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


def test_a_stuffed_line_stays_one_s_own_in_the_thread():
    """Also where the HTML part or the answered message has lines cut."""
    plain = "It is so:\n\n > I write it so \nmyself.\n\nWill you come?\n"
    page = "<p>It is so:</p><blockquote type=cite>Will you come?</blockquote>"

    text = own(alternative(part(plain, FLOWED), part(page, HTML)))

    assert text.startswith("It is so:\n\n> I write it so myself.")


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
