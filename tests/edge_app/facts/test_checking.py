"""What a draft invents, and what of the request it leaves out."""

import tomllib
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_app.facts.checking import Checker, Report

TABLE = tomllib.loads(Path(__file__).with_name("checking.toml").read_text("utf-8"))
REQUEST, SOUND = TABLE["request"], TABLE["sound"]


def report(draft: str, request: str = REQUEST, **more: str | None) -> Report:
    return Checker(request, "Nan", letters=[TABLE["letter_read"]], **more).check(draft)


def found(draft: str, request: str = REQUEST) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in report(draft, request).invented]


def test_a_sound_draft_has_no_mark():
    """Whatever form its values have, and wherever they were read."""
    assert report(SOUND).in_words() == []
    assert report("We saw 7 geese in Whitby.", "Tell her of the geese").in_words() == []


@pytest.mark.parametrize(("right", "wrong", "kind", "text"), TABLE["wrong"])
def test_what_stands_in_no_source_is_marked(right, wrong, kind, text):
    """In its place, in the words of the draft."""
    draft = SOUND.replace("Kind Regards", "Yours").replace(right, wrong, 1)
    facts = report(draft).invented
    assert (kind, text) in [(one.kind, one.text) for one in facts]
    assert all(draft[slice(*one.span)] in one.text for one in facts)


def test_what_the_request_asks_for_and_the_draft_lacks_is_listed():
    """Values, names, addresses and answers, once; not what is to be left out."""
    assert report("Hullo Nan,\n\nThank you.\n\nTess").in_words() == [
        "missing: 07700 900123, ana@hill.example, £20, the 14th of March, 9.40, Sat, "
        "two, Ben, yes to the 14th of March"
    ]
    asked = "It is Friday, not Thursday, at 6 and not 7, in two sentences"
    assert report("It is on Friday at six.", asked).in_words() == []
    assert report("Fine.", "no to the quiz").in_words() == ["missing: no to the quiz"]


def test_courtesies_lists_and_turns_of_phrase_are_no_facts():
    """Capitals of a greeting, numbers of a list, "a word or two"."""
    draft = (
        "Dear Nan,\n\nOne of these days, a word or two. Ugh! Merry Christmas? (Lovely) "
        "I'd give it four stars out of five.\n1. Eggs\n2. Milk\n\nBest Wishes"
    )
    assert found(draft, "Say four stars") == [("name", "Christmas")]


@pytest.mark.parametrize(("draft", "answered"), TABLE["answers"])
def test_questions_of_the_answered_text_are_answered_or_not(draft, answered):
    """By their words, a value, a yes or a no; quotes and "How are you?" are none."""
    checker = Checker("answer her", answered=TABLE["answered_letter"])
    questions = checker.check(draft).questions
    assert len(questions) == 4
    assert [one.text for one in questions if one.answered] == answered


@settings(max_examples=30)
@given(st.text(max_size=40), st.text("Ana 149.th£no'?!\n", max_size=40))
def test_any_text_can_be_checked(request_text, draft):
    """The marks stand in the draft, in order, and none over another."""
    for text, spoken in product((draft, request_text), (None, "de", "fr")):
        found = report(text, request_text, spoken=spoken).invented
        spans = [one.span for one in found]
        ends = [place for span in spans for place in span]
        assert ends == sorted(ends)
        assert all(0 <= first < last <= len(text) for first, last in spans)


def test_who_is_answered_by_a_name_of_the_request():
    """Neither the name of who is greeted nor of who signs is one."""
    checker = Checker("say it was Lorna", "Ken", answered="Who won the pies? Ken")
    for draft, answered in (
        ("Dear Ken,\n\nIt was Lorna.\n\nYours,\nTess", True),
        ("Dear Ken,\n\nI forget.\n\nYours,\nTess", False),
    ):
        assert [one.answered for one in checker.check(draft).questions] == [answered]


@pytest.mark.parametrize(("request_text", "draft", "said"), TABLE["unasked"])
def test_a_yes_a_no_or_another_doer_that_nobody_asked_for_is_marked(
    request_text, draft, said
):
    """Also of another thing than the request is about; a reason for a no is one, and so
    is the same answer in other words. A question that is lost is listed."""
    assert report(draft, request_text).in_words() == said


@pytest.mark.parametrize(("spoken", "asked", "draft", "said"), TABLE["foreign"])
def test_answers_in_other_languages_turn_a_request_round(spoken, asked, draft, said):
    """In words of their own, too; no refusal whose reason may have been given."""
    assert report(draft, asked, spoken=spoken).in_words() == said


def test_what_most_letters_say_is_no_answer():
    """It is the writer's way, not a yes."""
    for letters, lines in (["Yes, still me."] * 3, 0), (["Yes, still me.", "", ""], 1):
        checker = Checker("say the tap drips", letters=letters)
        assert len(checker.check("Yes, still me. The tap drips.").in_words()) == lines
