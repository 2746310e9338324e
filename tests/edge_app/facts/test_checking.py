"""What a draft invents, and what of the request it leaves out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_app.facts.checking import Checker, Report

REQUEST = (
    "yes to the 14th of March, no fish, I can bring two loaves. Ben is coming too, the "
    "9.40 train on Sat, tickets £20, ring 07700 900123 or write to ana@hill.example"
)
LETTERS = ("Hullo Nan,\n\nWe had 7 geese in Whitby.\n\nYours in a hurry,\nTess",)
SOUND = (
    "Hullo Nan,\n\nYes, gladly, on 14 March. I can bring a couple of loaves, but "
    "please no fish! Ben is coming too. We take the twenty to ten train on Saturday, "
    "and the tickets are 20 pounds. Ring me on 07700900123, or write to "
    "ana@hill.example.\n\nKind Regards,\nTess"
)


def report(draft: str, request: str = REQUEST, **more: str) -> Report:
    return Checker(request, "Nan", letters=LETTERS, **more).check(draft)


def found(draft: str, request: str = REQUEST) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in report(draft, request).invented]


def test_a_sound_draft_has_no_mark():
    """Whatever form its values have: the request, the letters and the letter's own
    courtesies are its sources."""
    assert report(SOUND).in_words() == []
    assert report("We saw 7 geese in Whitby.", "Tell her of the geese").in_words() == []


@pytest.mark.parametrize(
    ("right", "wrong", "marked"),
    [
        ("14 March", "24 March", ("date", "24 March")),
        ("14 March", "14 April", ("date", "14 April")),
        ("on 14 March", "on the 15th", ("date", "the 15th")),
        ("a couple of loaves", "three loaves", ("number", "three")),
        ("Ben is", "Gordon is", ("name", "Gordon")),
        ("Yours", "Yours and Jim Bell's", ("name", "Jim Bell")),
        ("twenty to ten", "twenty to eleven", ("time", "twenty to eleven")),
        ("Saturday", "Sunday", ("day", "Sunday")),
        ("20 pounds", "€25", ("money", "€25")),
        ("07700900123", "07700900124", ("address", "07700900124")),
        ("ana@hill", "ana@hall", ("address", "ana@hall.example")),
        ("Yes, gladly", "No, sorry", ("answer", "No,")),
        ("I can bring", "I can't bring", ("answer", "can't bring")),
        ("please no fish", "please bring fish", ("answer", "bring fish")),
        ("Ben is coming", "Ben is not coming", ("answer", "not coming")),
    ],
)
def test_what_stands_in_no_source_is_marked(right, wrong, marked):
    """In its place, in the words of the draft."""
    draft = SOUND.replace("Kind Regards", "Yours").replace(right, wrong, 1)
    facts = report(draft).invented
    assert marked in [(one.kind, one.text) for one in facts]
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
    """Capital letters of a greeting, numbers of a list, "one of those", "a word or
    two", what begins a sentence."""
    draft = (
        "Dear Nan,\n\nOne of these days, a word or two. Yup! Merry Christmas? (Lovely) "
        "I'd give it four stars out of five.\n1. Eggs\n2. Milk\n\nBest Wishes"
    )
    kinds = found(draft, "Say four stars")
    assert kinds == [("name", "Christmas")]


def test_a_draft_in_another_language_is_read_in_it():
    """German nouns are no names; a date and a denial are found."""
    check = Checker("ja zum 14., wir sind drei", "Jana", spoken="de")
    said = check.check("Liebe Jana, ja, am 14. gern. Wir sind drei Freunde. Dein Tom")
    assert said.in_words() == []
    wrong = check.check("Liebe Jana, am 24. geht es nicht. Wir sind drei.")
    assert [one.text for one in wrong.invented][:1] == ["24."]


@settings(max_examples=30)
@given(st.text(max_size=40), st.text("Ana 149.th£no'?!\n", max_size=40))
def test_any_text_can_be_checked(request_text, draft):
    """The marks stand in the draft, in order, and none over another."""
    for text in (draft, request_text):
        spans = [one.span for one in report(text, request_text).invented]
        ends = [place for span in spans for place in span]
        assert ends == sorted(ends)
        assert all(0 <= first < last <= len(text) for first, last in spans)
