"""Cleaning never fails, invents no line and is done after one pass; its work grows with
the text, and no faster.

Work is counted, not timed: how often a pattern is asked, and how much it is shown.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from personal_store.cleaning import cleaning, phrases, quotes, signatures
from personal_store.cleaning.cleaning import clean_mail, clean_text
from personal_store.mail.mail import Mail, parse
from personal_store.reading.letters import Letter, read_now
from tests.waiting import no_hang

MOST_SHOWN = 2_000
"""Characters that a pattern looks at, but for those of `CHEAP`."""
PATTERN = type(phrases.pattern(""))
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
    *("Harbour Office", "Begin forwarded message:", "\ufdd0\ufdd1", "Ann Lee@HQ"),
    *("   ----- Forwarded Message ----- From: Ann <a@b.org>To: Sam", "Subject", "To"),
    *("---- Forwarded by Ann Lee/HQ on 03/12/2024", "10:15 AM -------------------"),
    *("From:  Ann Lee                  03/12/2024 10:15 AM", "  Original Message  "),
    *("On Tue, 12 Mar 2024 at 10:15, Ann<a@b.org> wrote:   Will you?", "> Subject: x"),
    *("##- Please type your reply above this line -##", "mailto:Ann <a@b.org>"),
    *("|---------+---------------------------->", "Get BlueMail for Android"),
    *("You reach him here:", "cc:"),
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
            text, *span = args[1:2] if name == "sub" else args
            begin, end = (*span, *(0, len(text))[len(span) :])
            self.asked.append(min(end, len(text)) - min(begin, len(text)))
            return method(*args)

        return count


@pytest.fixture
def asked(monkeypatch):
    """The lengths that patterns are shown while a text is cleaned."""
    lengths: list[int] = []
    for module in (quotes, signatures):
        for name, value in vars(module).items():
            if isinstance(value, PATTERN) and name not in CHEAP:
                monkeypatch.setattr(module, name, Counted(value, lengths))
    signatures._sign_off_end.cache_clear()
    return lengths


def test_no_pattern_sees_a_whole_line_of_a_megabyte(asked):
    """However it is built; so a pattern that goes back over it stays cheap."""
    for unit in UNITS:
        asked.clear()
        clean_text(f"Yes.\n\n{unit * (1_000_000 // len(unit))}\n\nBest,\nUma")

        assert max(asked, default=0) <= MOST_SHOWN, unit
        assert len(asked) < 500, unit


def test_the_work_grows_with_the_lines(asked):
    """Four times the lines ask for about four times the work."""

    def work(pair, count):
        asked.clear()
        clean_text(pair * count)
        return sum(asked) + 100 * len(asked)

    pairs = [f"{line}\n{other}\n" for line in LINES for other in ("", "> x", "a: b")]
    assert [one for one in pairs if work(one, 80) > 5 * work(one, 20) + 20_000] == []


@given(BODIES)
@example("\x85\u2028a")
@example("x\n" * 2 * cleaning.MAX_LINES)
def test_cleaning_again_changes_nothing_and_no_line_is_added(body):
    """What is kept is a subsequence of the lines that were there; those beyond a limit
    are not read, as docs/cleaning.md says."""
    once = clean_text(body).text
    assert clean_text(once).text == once
    assert once.count("\n") < cleaning.MAX_LINES

    # Control characters are dropped and exotic breaks split lines: leave those out.
    lines = [line.rstrip() for line in body.replace("\x0c", "\n").split("\n")]
    if all(line.isprintable() for line in lines):
        remaining = iter(lines)
        assert all(line in remaining for line in once.split("\n") if line)


@given(st.binary(max_size=400), st.binary(max_size=400), st.text(max_size=300))
def test_no_bytes_stop_the_parser(head, body, html):
    """Any bytes give a letter, a reason or a failure, without NUL; any HTML a text."""
    clean_mail(Mail({}, html=html))
    raw = b"From: a@example.org\nContent-Type: multipart/mixed; boundary=" + head
    for data in (body, head + b"\n\n" + body, raw + b"\n\n" + body):
        assert "\0" not in clean_mail(parse(data)).text
        read_now(Letter(data, 1, "here"))


HOSTILE = (
    *("> " * 200_000, "wrote: 1@" * 100_000, "<div>" * 100_000, "a@" * 250_000 + ":"),
    *("1" * 1_000_000, "-- \nx\n" * 50_000, "Sent from my iPhone\n\n" * 25_000),
    *("Best,\n" * 50_000, "> x\n" * 100_000, "<blockquote>" * 50_000),
    '<blockquote type="cite">' * 4_000,
    '<div class="gmail_quote">x</div>y' * 10_000,
    "-----\nTel: +49 30 555 1234\n" * 10_000,
    "Sam\nTel: +49 30 555 1234\n\n" * 10_000,
    "on 1 a@b.org " * 50_000 + ":",
    '<a title="' * 50_000,
)


@pytest.mark.parametrize("kind", ["plain", "html"])
def test_hostile_bodies_take_no_long_time(kind):
    """No line or nesting makes a rule crawl."""
    for body in HOSTILE:
        raw = f"From: a@example.org\nContent-Type: text/{kind}\n\n{body}".encode()
        mail = parse(raw)
        with no_hang():
            clean_mail(mail)
