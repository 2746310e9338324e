"""Quotes, introductions, header blocks, bars: what is cut, and what looks like it."""

import pytest

from personal_store.cleaning.cleaning import clean_text

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
        "\tLumen & Oak\n\n\tFrom:  Ann Ever              03/12/2024 10:15 AM\n\n\n"
        "To: Uma Long/HQ\ncc:\nSubject: x\n\nWill you?",
        "Ann Ever\n03/12/2024 10:15 AM\nTo: Uma/HQ\ncc:\nSubject: x\n\nWill you?",
        "---------- Forwarded by Ann Ever/HQ on 03/12/2024 \n10:15 AM ----------\n\n"
        "Will you?",
        "   ----- Xu gropravs ----- Xa: Ann <a@b.org>Xe: Uma <u@b.org>Xi: x\n Will?",
        "On Tue, 12 Mar 2024 at 10:15, Ann<a@b.org> wrote:   Will you?\n\nAnn",
        "On Tue, Mar 12, 2024 at 10:15 AM Ann\n\n<\nmailto:Ann <a@b.org>\n> wrote:\n"
        "Will you?",
        "Xu gropravs:\n\n> From: Ann <a@b.org>\n> Subject: x\n>\n> Will\nyou\n> come?",
        ">>> Ann Ever 03/12/24 10:15 AM >>>\nWill you?",
        "‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐\nOn Tuesday, March 12, 2024 10:15 AM, Ann "
        "<a@b.org> wrote:\n\n> Will you?",
        "  Original Message  \nFrom: Ann\nSent: Tue\nTo: Uma\nSubject: x\n\nWill?",
        "Am Di., 12. März 2024 um 10:15\nUhr schrieb Ann Ever So Long <\n"
        "ann.ever.so.long@example.org>:\n\n> Will you?",
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
        "I wrote to Ann <a@example.org> on 12.03.2024 at 10:15:\n\nthe river is high.",
        "Send it to anna@example.org:\n\nthe form and the photo.",
        "Here is it.\n\nOn 3 May 1923 my grandmother wrote:\n\nthe river is high.",
        "The reply of 12.03.2024 10:15 said no.\n\nI wonder why.",
    ],
)
def test_prose_that_looks_like_a_quote_stays(body):
    assert clean_text(body).text == body


def test_what_stands_below_a_forward_with_marks_stays():
    body = (
        "FYI\n\nXu gropravs:\n\n> From: Ann <a@b.org>\n> To: x\n>\n> Will?\n\nI will."
    )

    assert clean_text(body).text == "FYI\n\nI will."


def test_a_line_above_an_introduction_stays():
    """Only what was broken belongs to it: what would have fit does not."""
    intro = "Am 12.03.2024 um 10:15 schrieb Ann Ever:\n> Will you?"

    assert clean_text(f"Ja\n{intro}").text == "Ja"
    assert clean_text(f"Ja.\n\nUma\n{intro}").text == "Ja.\n\nUma"


def test_a_piece_of_a_link_above_all_quotes_stays():
    assert clean_text("see a/b\n> One?\n> Two?").text == "see a/b"


def test_answers_between_quotes_stay():
    body = "On 12.03.24 10:15, Ann wrote:\n> One?\n\nYes.\n\n> Two?\n\nNo.\n\nUma"

    assert clean_text(body).text == "Yes.\n\nNo.\n\nUma"


def test_it_says_whether_others_were_cut():
    assert clean_text("Yes.\n\n> Will you?").trimmed
    assert not clean_text("Yes.\n\n-- \nUma").trimmed
