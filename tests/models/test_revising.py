"""What an instruction makes of a request and its draft; no model takes part."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_core.errors import InvalidSettingsError
from models.prompts import Request
from models.revising import body_of, revised

ASKED = (
    "Thank her for the photos of the pier. Say the ferret is well and bit the postman "
    "on Monday. Ask whether she comes on 5 May."
)
THANKS, GLAD = "Thank you for the photos of the pier!", "I am glad to have them."
FERRET, MAY = "The ferret is well, and bit the postman on Monday.", "Is it on 5 May?"
GREETING, SIGNED = "Hullo Ana,\n\n", "\n\nYours in a hurry,\nTess"
BRIEF = Request(ASKED, "email", "Ana")


def draft(*sentences):
    return GREETING + " ".join(sentences) + SIGNED


DRAFT = draft(THANKS, GLAD, FERRET, MAY)


@pytest.mark.parametrize(
    ("instruction", "sentences", "asked"),
    [
        ("shorter", [THANKS, FERRET, MAY], ASKED),
        ("could you make it a bit less? Thanks!", [THANKS, FERRET, MAY], ASKED),
        (
            "drop the ferret",
            [THANKS, GLAD, MAY],
            "Thank her for the photos of the pier. Ask whether she comes on 5 May.",
        ),
        (
            "Please leave the postman out",
            [THANKS, GLAD, "The ferret is well.", MAY],
            ASKED.replace(" and bit the postman on Monday", ""),
        ),
        (
            "don't mention the photos",  # nor what points back at them
            [FERRET, MAY],
            ASKED.removeprefix("Thank her for the photos of the pier. "),
        ),
        *(
            (words, [THANKS, GLAD, FERRET, "Is it on 6 May?"], ASKED.replace("5", "6"))
            for words in (
                "say 6 May instead of 5 May",
                "change 5 May to 6 May",
                "not 5 May but 6 May",
                "5 May should be 6 May",
            )
        ),
        (
            "shorter, and drop the ferret.",
            [THANKS, MAY],
            "Thank her for the photos of the pier. Ask whether she comes on 5 May.",
        ),
    ],
)
def test_what_needs_no_model_is_done_without(instruction, sentences, asked):
    """Whole sentences and clauses go, words are put in the place of others, and all
    else stays letter by letter; the request asks for what is left."""
    found = revised(BRIEF, DRAFT + "\n", instruction)
    assert found.joined("") == draft(*sentences)
    assert (found.stood, found.brief.text) == ("", asked)


@pytest.mark.parametrize(
    ("instruction", "asked"),
    [
        ("mention the tape", "Mention the tape."),
        ("add that the tape is here", "Say that the tape is here."),
        ("please also include the tape", "Mention the tape."),
        ("Tell her about the tape!", "Tell her about the tape."),
    ],
)
def test_one_more_thing_is_one_more_sentence_before_the_sign_off(instruction, asked):
    found = revised(BRIEF, DRAFT, instruction)
    assert found.brief == Request(f"{ASKED} {asked}", "email", "Ana")
    assert (found.before, found.after) == (DRAFT.removesuffix(SIGNED), SIGNED)
    assert found.stood == asked
    said = found.fit(" The tape is here.")
    assert said > found.fit(" Sorry.")
    assert said > found.fit(f" {FERRET}")  # it stands there already
    assert found.joined(" It is here.\n") == draft(
        THANKS, GLAD, FERRET, MAY, "It is here."
    )


def test_two_parts_of_an_instruction_are_one_stretch():
    found = revised(BRIEF, DRAFT, "drop the ferret and mention the tape")
    assert "ferret" not in found.before + found.brief.text
    assert found.fit(" The tape is here.") > found.fit(" The tape is a ferret's.")


def test_the_opposite_answer_takes_the_place_of_the_one_before():
    brief = Request("Thank her. Say yes to the weekend of the 14th, and ask for cake.")
    text = draft(THANKS, "Yes to the weekend! Is there cake?")
    found = revised(brief, text, "say no to the weekend")
    assert found.brief.text == "Thank her. Ask for cake. Say no to the weekend."
    assert found.before == GREETING + THANKS + " Is there cake?"
    assert revised(
        brief, text, "say yes to the cake"
    ).before == GREETING + text.removeprefix(GREETING).removesuffix(SIGNED)


def test_a_tone_is_for_the_whole_body():
    """So is a shorter form of one in which all is asked for: with a sentence less."""
    found = revised(BRIEF, DRAFT, "less formal")
    assert (found.brief.tone, found.before) == ("plain", GREETING)
    assert found.stood == " ".join([THANKS, GLAD, FERRET, MAY])
    found = revised(BRIEF, draft(THANKS, FERRET, MAY), "shorter")
    assert (found.brief.tone, found.stood) == ("brief", f"{THANKS} {FERRET}")
    notes = "I had so hoped you are glad to have them."
    assert GLAD in revised(BRIEF, DRAFT, "drop the ferret", notes).joined("")
    assert revised(BRIEF, DRAFT, "shorter", notes).stood  # notes are asked for, too


TWO = "the ferret is ill, and the vet comes on monday."
TOLD = "Tell her the ferret is ill, the vet comes on Monday, and ask for the lamp"


@pytest.mark.parametrize(
    ("request_", "body", "named", "left", "asked"),
    [
        (TOLD, TWO, "the ferret", "the vet comes on monday.",
         "Tell her the vet comes on Monday, and ask for the lamp"),
        ("Thank her for the tape, the pie and the lamp", "Thanks for the tape, the pie "
         "and the lamp.", "the tape", "Thanks for the pie and the lamp.",
         "Thank her for the pie and the lamp"),
        (TOLD, f"{TWO} The lamp?", "the last sentence", TWO, TOLD),
        (TOLD, f"Hi. {TWO}", "the first line.", TWO, TOLD),
    ],
)  # fmt: skip
def test_what_stands_beside_what_is_dropped_stays(request_, body, named, left, asked):
    """A clause of its own, further things in a row, and the other sentences."""
    found = revised(Request(request_), draft(body), f"drop {named}")
    assert found.joined("") == draft(left)
    assert (found.stood, found.brief.text) == ("", asked)


def test_what_goes_with_what_is_dropped_is_written_anew_if_it_is_asked_for():
    text = draft("The ferret is ill and the vet comes on Monday.", "A lamp?")
    found = revised(Request(TOLD), text, "drop the ferret")
    assert found.before == GREETING + "A lamp?"
    assert found.stood == "Tell her the vet comes on Monday."


@pytest.mark.parametrize(
    ("instruction", "says"),
    [
        ("drop the zeppelin", "name words that stand there"),
        ("drop photos, glad, ferret and May", "leaves nothing of it"),
        ("translate it to German", "nothing that a draft can be asked: say shorter"),
        ("make it a bit funkier", "nothing that a draft can be asked"),
        (" ", "the instruction is empty"),
        ("Thanks!", "name words that stand there"),
    ],
)
def test_what_cannot_be_done_is_said(instruction, says):
    with pytest.raises(InvalidSettingsError, match=says):
        revised(replace(BRIEF, text="Thank her for the photos."), DRAFT, instruction)


LINES = st.text(st.sampled_from("ab \n.,!?’é"), max_size=40)


@settings(deadline=None, max_examples=40)
@given(
    LINES,
    LINES,
    st.sampled_from(["shorter", "drop a", "a instead of b", "mention b", "warmer"]),
)
def test_any_text_can_be_changed(text, asked, instruction):
    """Nothing is made up, but what a model writes."""
    try:
        found = revised(Request(asked), text, instruction)
    except InvalidSettingsError:
        return
    start, end = body_of(text)
    assert 0 <= start <= end <= len(text)
    whole = found.joined("x")
    assert whole.startswith(found.before)
    assert set(whole) <= set(text) | {"a", "x", " ", "."}
