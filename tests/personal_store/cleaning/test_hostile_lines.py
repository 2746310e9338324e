"""Cleaning never fails, invents no line and is done after one pass; its work grows with
the text, and no faster.

Work is counted, not timed: how often a pattern is asked, and how much it is shown.
"""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from personal_store.cleaning import cleaning, quotes, signatures
from personal_store.cleaning.cleaning import clean_mail, clean_text
from personal_store.mail.mail import parse
from personal_store.reading.letters import Letter, read_now
from tests.waiting import no_hang

MEGABYTE = 1_000_000
MOST_SHOWN = 2_000
"""Characters that a pattern looks at, but for those of `CHEAP`."""
CHEAP = frozenset({"QUOTED", "_ARROW", "_VERB"})
"""They look at the first signs of a line, or for one word."""
UNITS = (
    *"a1 >-_=*|\t:@ü的。‐",
    *("a@", "a: ", "1:1 ", "1/1/1 ", "from: a ", "to: a@b.c ", "sent from my iphone "),
    *("on 1 a@b.c wrote: ", "--- ", "forwarded by ", "best ", "+49 30 ", "a. ", "x, "),
)
LINES = (
    *("> x", "-- ", "Best,", "Sam", "From: Ann", "To: a@b.c", "Subject: x", "a:", "x"),
    *("Sent from my iPhone", "https://example.org", "---- Forwarded by Ann", "Wrote:"),
    *("On 12.03.24 10:15, Ann", "Ann <a@b.c> wrote:", ">>> Ann 03/12/24 10:15 AM >>>"),
    *("03/12/2024 10:15 AM", "Forwarded message:", "> From: Ann", "> To: a@b.c", "<"),
    *("> wrote:", "\tLumen", "Tel: +49 30 5550 1234", "P.S. x", "_" * 20, "", "x" * 80),
)
MORE_LINES = (
    *("Hello Anna,", "the plan is ready.", ">50 mm", "--- Option A ---", "--", "   "),
    *("On Tue, Mar 12, 2024 at 10:15 AM Anna <anna@example.org> wrote:", "wrote:"),
    *("-----Original Message-----", "Sent: Tuesday", "Sam Lee | +1 555 010 0199"),
    *("users mailing list", "CONFIDENTIALITY NOTICE: this is secret.", "\x0c"),
    *("-----BEGIN PGP SIGNATURE-----", "-----END PGP SIGNATURE-----", "Hash: SHA256"),
    *("-----BEGIN PGP SIGNED MESSAGE-----", "Ann <ann@example.org> schrieb:"),
    *(
        "Harbour Office",
        "Begin forwarded message:",
        "\ufdd0\ufdd1",
        "Ann Lee@HQ",
        "cc:",
    ),
    *("   ----- Forwarded Message ----- From: Ann <a@b.org>To: Sam", "Subject", "To"),
    *("---- Forwarded by Ann Lee/HQ on 03/12/2024", "10:15 AM -------------------"),
    *("From:  Ann Lee                  03/12/2024 10:15 AM", "  Original Message  "),
    *("On Tue, 12 Mar 2024 at 10:15, Ann<a@b.org> wrote:   Will you?", "> Subject: x"),
    *("##- Please type your reply above this line -##", "mailto:Ann <a@b.org>"),
    *("|---------+---------------------------->", "Get BlueMail for Android"),
    "You reach him here:",
)
BODIES = st.lists(
    st.sampled_from(LINES + MORE_LINES) | st.text(max_size=20), max_size=25
).map("\n".join)


class Counted:
    """A compiled pattern that says how often it is asked, and how much it is shown."""

    def __init__(self, pattern, asked):
        self.compiled = pattern
        self.pattern = pattern.pattern
        self.asked = asked

    def __getattr__(self, name):
        method = getattr(self.compiled, name)

        def count(*args):
            text = args[0] if name != "sub" else args[1]
            begin = args[1] if name != "sub" and len(args) > 1 else 0
            end = args[2] if name != "sub" and len(args) > 2 else len(text)
            self.asked.append(min(end, len(text)) - min(begin, len(text)))
            return method(*args)

        return count


@pytest.fixture
def asked(monkeypatch):
    """The lengths that patterns are shown while a text is cleaned."""
    lengths: list[int] = []
    for module in (quotes, signatures):
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and name not in CHEAP:
                monkeypatch.setattr(module, name, Counted(value, lengths))
    signatures._sign_off_end.cache_clear()
    return lengths


@pytest.mark.parametrize("unit", UNITS)
def test_no_pattern_sees_a_whole_line_of_a_megabyte(asked, unit):
    """However it is built; so a pattern that goes back over it stays cheap."""
    clean_text(f"Yes.\n\n{unit * (MEGABYTE // len(unit))}\n\nBest,\nUma")

    assert max(asked, default=0) <= MOST_SHOWN
    assert len(asked) < 500


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("other", ["", "> x", "a: b"])
def test_the_work_grows_with_the_lines(asked, line, other):
    """Four times the lines ask for about four times the work."""

    def work(pairs):
        asked.clear()
        clean_text(f"{line}\n{other}\n" * pairs)
        return sum(asked) + 100 * len(asked)

    few = work(20)
    assert work(80) <= 5 * few + 20_000


def test_lines_beyond_the_limit_are_not_read():
    """A text of more lines is cut, as docs/cleaning.md says."""
    text = clean_text("x\n" * 2 * cleaning.MAX_LINES).text

    assert text.count("\n") < cleaning.MAX_LINES


@settings(max_examples=40)
@given(BODIES)
@example("\x85\u2028a")
def test_cleaning_again_changes_nothing(body):
    """strip(strip(x)) == strip(x)."""
    once = clean_text(body).text

    assert clean_text(once).text == once


@given(BODIES.filter(lambda text: text.isprintable() or "\n" in text))
def test_own_lines_are_lines_of_the_message(body):
    """What is kept is a subsequence of the lines that were there."""
    lines = [line.rstrip() for line in body.replace("\x0c", "\n").split("\n")]
    kept = [line for line in clean_text(body).text.split("\n") if line]

    # Control characters are dropped and exotic breaks split lines: leave those out.
    if all(line.isprintable() for line in lines):
        remaining = iter(lines)
        assert all(line in remaining for line in kept)


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_no_bytes_stop_the_parser(head, body):
    """Any bytes give a letter, a reason or a failure, without NUL."""
    raw = b"From: a@example.org\nContent-Type: multipart/mixed; boundary=" + head
    for data in (body, head + b"\n\n" + body, raw + b"\n\n" + body):
        assert "\0" not in clean_mail(parse(data)).text
        read_now(Letter(data, 1, "here"))


@given(st.text(max_size=300))
def test_no_markup_stops_the_parser(html):
    """Any HTML gives text."""
    raw = b"From: a@example.org\nContent-Type: text/html; charset=utf-8\n\n"

    clean_mail(parse(raw + html.encode("utf-8", "replace")))


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
