"""Lines made to keep the rules busy: the work grows with the text, and no faster.

Work is counted, not timed: how often a pattern is asked, and how much it is shown.
"""

import re

import pytest

from personal_store.cleaning import cleaning, quotes, signatures
from personal_store.cleaning.cleaning import clean_text

MEGABYTE = 1_000_000
MOST_SHOWN = 2_000
"""Characters that a pattern looks at, but for those of `CHEAP`."""
CHEAP = frozenset({"QUOTED", "_ARROW", "_VERB"})
"""They look at the first signs of a line, or for one word."""
UNITS = (
    *(
        "a",
        "1",
        " ",
        ">",
        "-",
        "_",
        "=",
        "*",
        "|",
        "\t",
        ":",
        "@",
        "ü",
        "的",
        "。",
        "‐",
    ),
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
    for kept in (signatures._names_device, signatures._sign_off_end):
        kept.cache_clear()
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
