"""Quotes, introductions, header blocks, bars: what is cut, and what looks like it."""

import pytest

from personal_store.cleaning import clean_text

OWN = "Yes, gladly.\n\nUma"


@pytest.mark.parametrize(
    "below",
    [
        "On Tue, Mar 12, 2024 at 10:15 AM Ann <ann@example.org> wrote:\n\n> Will you?",
        "On Tue, Mar 12, 2024 at 10:15 AM Ann Ever So Long <\nann@example.org> wrote:"
        "\n\n> Will you?",
        "Ann <ann@example.org> gropravs 2024-03-12 10:15:\n\n> Will you?",
        "2024年3月12日(火) 10:15 Ann Ever So Long\n<ann@example.org>:\n\n> Will you?",
        "Ann wrote:\n> Will you?",
        "Ann 写道：\n\n> Will you?",
        "On Tuesday 12 March 2024\nat 10:15 Ann <a@b.org> wrote:\n\n> Will you?",
        "On 12/03/24 10:15, Ann wrote:\nWill you?",
        "Wiadomość przez Chloé Ever So Long-Lefèvre\n<chloe.lefevre@example.net> "
        "w dniu 28.03.2024, o\ngodz. 11:51:\n\n> Will you?",
        "From: Ann <ann@example.org>\nSent: Tuesday 10:15\n> Will you?",
        "On 12.03.24 10:15, Ann wrote:\n\nWill you?",
        "On 11-Apr-2011, at 6:54 PM, Ann <ann@example.org> sent:\n\nWill you?",
        "2012/4/5 Ann <ann@example.org>\n\n> Will you?",
        "-----Original Message-----\nFrom: Ann\n\nWill you?",
        "-------- Jatorrizko mezua --------\nNork: Ann <a@example.org>\n"
        "Bidalia: 2024-03-12 10:15\nNori: Uma\n\nWill you?",
        "---- On Tue, 12 Mar 2024 10:15:00 +0100 Ann <a@b.org> wrote ----\n\nWill you?",
        f"{'_' * 32}\nFrom: Ann\nSent: Tuesday\nTo: Uma\nSubject: x\n\nWill you?",
        "From: Ann\nSent: Tuesday\nTo: Uma\nSubject: x\n\nWill you?",
        f"{'_' * 32}\nFrom: Ann\nSent: Tuesday\nTo: Uma\n\nWill you?",
        "Date: 12 Mar 2024 10:15\nFrom: Ann <a@b.org>\nTo: Uma\n\nWill you?",
        "From: Ann <a@b.org> Sent: Tuesday 10:15 To: Uma Subject: x\n\nWill you?",
        "Ann Ever---03/12/2024 10:15:20 AM---Dear Uma, will you?\n\nWill you?",
        "Begin forwarded message:\n\nFrom: Ann <a@b.org>\nDate: x\nTo: y\n\nWill you?",
        "\u202bבתאריך 12 במרץ 2024 ב-10:15 \u202aAnn\u202c <\u202aa@b.org\u202c>:\u202c"
        "\n\n> Will",
        "|> Will you?",
        "> View it at (http://example.com/\n_nonce=3dd518)\n> or not",
    ],
)
def test_words_of_others_go(below):
    """In known languages and in others, marked or not."""
    assert clean_text(f"{OWN}\n\n{below}\n").text == OWN


@pytest.mark.parametrize(
    "body",
    [
        "From: Utrecht\nTo: Bremen\nDate: 12 June 2024, 10:15\nSeat: 41",
        "From: ann@example.org came the best idea.\n\nShe is clever.",
        "When: 14 March 2024, 10:30\nWhere: the mill\nWrite to: ann@example.org",
        "--- Option A ---\nWe drive.\n\n--- Option B ---\nWe walk.",
        "The gap is\n>50 mm\nor more.",
        "I found it. On 3 May 1923 at 10:15 he wrote:\n\nthe river is high.",
        "Send it to anna@example.org:\n\nthe form and the photo.",
        "Here is it.\n\nOn 3 May 1923 my grandmother wrote:\n\nthe river is high.",
        "The reply of 12.03.2024 10:15 said no.\n\nI wonder why.",
    ],
)
def test_prose_that_looks_like_a_quote_stays(body):
    assert clean_text(body).text == body


def test_a_piece_of_a_link_above_all_quotes_stays():
    assert clean_text("see a/b\n> One?\n> Two?").text == "see a/b"


def test_answers_between_quotes_stay():
    body = "On 12.03.24 10:15, Ann wrote:\n> One?\n\nYes.\n\n> Two?\n\nNo.\n\nUma"

    assert clean_text(body).text == "Yes.\n\nNo.\n\nUma"


def test_it_says_whether_others_were_cut():
    assert clean_text("Yes.\n\n> Will you?").trimmed
    assert not clean_text("Yes.\n\n-- \nUma").trimmed
