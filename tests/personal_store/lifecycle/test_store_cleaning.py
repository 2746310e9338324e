"""Cleaning never fails, never invents a line, and is done after one pass."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from personal_store.cleaning.cleaning import clean_mail, clean_text
from personal_store.mail.mail import parse
from personal_store.reading.letters import read_letter
from tests.waiting import no_hang

FRAGMENTS = st.sampled_from(
    [
        "Hello Anna,",
        "the plan is ready.",
        "> a quoted line",
        "On Tue, Mar 12, 2024 at 10:15 AM Anna <anna@example.org> wrote:",
        "On 12.03.24 10:15, Anna",
        "wrote:",
        "-----Original Message-----",
        "From: Anna <anna@example.org>",
        "Sent: Tuesday",
        "To: Sam",
        "Best regards,",
        "Sam",
        "Sam Lee | +1 555 010 0199",
        "-- ",
        "--",
        "Sent from my iPhone",
        "_" * 30,
        "users mailing list",
        "CONFIDENTIALITY NOTICE: this is secret.",
        "-----BEGIN PGP SIGNATURE-----",
        "-----END PGP SIGNATURE-----",
        "-----BEGIN PGP SIGNED MESSAGE-----",
        "Hash: SHA256",
        "",
        "   ",
        "\x0c",
        ">50 mm",
        "Ann <ann@example.org> schrieb:",
        "--- Option A ---",
        "P.S. The key is under the pot.",
        "Tel: +49 30 5550 1234",
        "Harbour Office",
        "Begin forwarded message:",
        "\ufdd0\ufdd1",
        "   ----- Forwarded Message ----- From: Ann <a@b.org>To: Sam",
        "---------------------- Forwarded by Ann Lee/HQ on 03/12/2024",
        "10:15 AM ---------------------------",
        "Ann Lee@HQ",
        "03/12/2024 10:15 AM",
        "To: Sam/HQ@HQ",
        "cc:",
        "Subject: plan",
        "Subject",
        "To",
        "\tLumen & Oak",
        "From:  Ann Lee                  03/12/2024 10:15 AM",
        "On Tue, 12 Mar 2024 at 10:15, Ann<a@b.org> wrote:   Will you?",
        "Forwarded message:",
        "> From: Ann <a@b.org>",
        "> Subject: plan",
        "  Original Message  ",
        ">>> Ann Lee 03/12/24 10:15 AM >>>",
        "##- Please type your reply above this line -##",
        "<",
        "mailto:Ann <a@b.org>",
        "> wrote:",
        "|---------+---------------------------->",
        "Get BlueMail for Android",
        "https://example.org/app",
        "You reach him here:",
    ]
)
BODIES = st.lists(FRAGMENTS | st.text(max_size=20), max_size=25).map("\n".join)


def is_subsequence(lines, of):
    remaining = iter(of)
    return all(line in remaining for line in lines)


@settings(deadline=None, max_examples=40)
@given(BODIES)
@example("\x85\u2028a")
def test_cleaning_again_changes_nothing(body):
    """strip(strip(x)) == strip(x)."""
    once = clean_text(body).text

    assert clean_text(once).text == once


@settings(deadline=None)
@given(BODIES.filter(lambda text: text.isprintable() or "\n" in text))
def test_own_lines_are_lines_of_the_message(body):
    """What is kept is a subsequence of the lines that were there."""
    lines = [line.rstrip() for line in body.replace("\x0c", "\n").split("\n")]
    kept = [line for line in clean_text(body).text.split("\n") if line]

    # Control characters are dropped and exotic breaks split lines: leave those out.
    if all(line.isprintable() for line in lines):
        assert is_subsequence(kept, lines)


@settings(deadline=None)
@given(st.binary(max_size=400), st.binary(max_size=400))
def test_no_bytes_stop_the_parser(head, body):
    """Any bytes give a letter, a reason or a failure, without NUL."""
    raw = b"From: a@example.org\nContent-Type: multipart/mixed; boundary=" + head
    for data in (body, head + b"\n\n" + body, raw + b"\n\n" + body):
        assert "\0" not in clean_mail(parse(data)).text
        read_letter(data, position=1, where="here")


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_markup_stops_the_parser(html):
    """Any HTML gives text."""
    raw = b"From: a@example.org\nContent-Type: text/html; charset=utf-8\n\n"

    clean_mail(parse(raw + html.encode("utf-8", "replace")))


@pytest.mark.parametrize(
    "line",
    [
        "My grandfather wrote:",
        "On 12 March 2024 my grandfather wrote:",
        "The flight is at 10:30 and on 12 May we wrote:",
        "Send it to anna@example.org:",
        "From: that moment on it rained.",
        "Sent with love, yesterday.",
        "This message is for you.",
    ],
)
def test_prose_that_looks_like_a_quote_stays(line):
    """A verb and a colon are not enough to cut what follows."""
    body = f"Hello.\n{line}\n\nThe harvest was poor that year."

    assert clean_text(body).text == body


def test_answers_between_gmail_quotes_stay():
    """Gmail wraps the whole conversation in one block, with the answers inside."""
    html = (
        '<div dir="ltr">Hi.<div class="gmail_quote"><div class="gmail_attr">On Mon, '
        "Anna wrote:</div><blockquote class='gmail_quote'>Can you come?</blockquote>"
        "<div>Yes, gladly.</div><blockquote class='gmail_quote'>And Bo?</blockquote>"
        "<div>No, he is ill.</div></div></div>"
    )
    raw = b"From: a@example.org\nContent-Type: text/html; charset=utf-8\n\n"

    text = clean_mail(parse(raw + html.encode())).text

    assert "Yes, gladly." in text
    assert "No, he is ill." in text
    assert "come?" not in text


def test_html_marks_a_quote_that_the_plain_part_hides():
    """A language without rules: the plain part is checked against the HTML."""
    quoted = "Zure txostena noiz bidaliko didazu galdetu nahi nuen"
    raw = (
        "From: a@example.org\nContent-Type: multipart/alternative; boundary=b\n\n"
        f"--b\nContent-Type: text/plain; charset=utf-8\n\nBihar goizean.\n\n{quoted}\n"
        "--b\nContent-Type: text/html; charset=utf-8\n\n<div>Bihar goizean.</div>"
        f'<blockquote type="cite">{quoted}</blockquote>\n--b--\n'
    )

    cleaned = clean_mail(parse(raw.encode()))

    assert (cleaned.text, cleaned.trimmed) == ("Bihar goizean.", True)


@pytest.mark.parametrize(
    "body",
    [
        "> " * 400_000,
        "wrote: 1@" * 200_000,
        "<div>" * 200_000,
        "a@" * 500_000 + ":",
        "1" * 2_000_000,
        "-- \nx\n" * 100_000,
        "Sent from my iPhone\n\n" * 50_000,
        "Best,\n" * 100_000,
        "> x\n" * 200_000,
        "<blockquote>" * 100_000,
        '<blockquote type="cite">' * 9_000,
        '<div class="gmail_quote">x</div>y' * 20_000,
        "-----\nTel: +49 30 555 1234\n" * 20_000,
        "Sam\nTel: +49 30 555 1234\n\n" * 20_000,
        "on 1 a@b.org " * 100_000 + ":",
        '<a title="' * 100_000,
    ],
    ids=lambda body: body[:10].strip(),
)
@pytest.mark.parametrize("kind", ["plain", "html"])
def test_hostile_bodies_take_no_long_time(kind, body):
    """No line or nesting makes a rule crawl."""
    raw = f"From: a@example.org\nContent-Type: text/{kind}\n\n{body}".encode()

    mail = parse(raw)
    with no_hang():
        clean_mail(mail)
