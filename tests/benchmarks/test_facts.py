"""What bench facts plants, and whether the check finds it."""

from random import Random

import pytest

from benchmarks.content.bench_facts import OTHERS, is_found, letters_of
from benchmarks.content.planting import Sound, plants
from models.prompts import Request

SOUND = Sound(
    "one-2",
    Request(
        "yes to Friday the 14th at 6.30, Ben brings two loaves, £20", "email", "Al"
    ),
    "",
    ("Dear Al, see you soon. Tess",),
    "Dear Al,\n\nYes to Friday the 14th at 6.30. My Ben brings two loaves. I will be "
    "there on Friday with £20.\n\nTess",
)


def test_each_fault_changes_one_thing_and_is_found():
    """Of every sort one; what is swapped stands where the plant says."""
    made = [one for seed in range(5) for one in plants(SOUND, Random(seed))]
    assert {one.how for one in made} == {"swapped", "inserted", "removed", "turned"}
    assert len({(one.how, one.kind) for one in made}) == 21
    for one in made:
        assert one.text != SOUND.text
        assert one.span is None or one.text[slice(*one.span)] not in SOUND.text
        assert is_found(one), one


@pytest.mark.parametrize("code", OTHERS)
def test_letters_in_other_languages_are_checked(code):
    """A sound one has no mark, and each fault of the first two is found."""
    first = [
        one for one in letters_of(code) if one.sound.name in (f"{code} 1", f"{code} 2")
    ]
    for one in first:
        assert is_found(one) == (one.how == "wrong"), one


@pytest.mark.slow
def test_nearly_every_fault_is_found_in_all_letters_of_other_languages():
    """No sound one is marked; what is missed stands in the letter by another name."""
    letters = [one for code in OTHERS for one in letters_of(code)]
    assert not [one for one in letters if one.how == "sound" and is_found(one)]
    wrong = [one for one in letters if one.how == "wrong"]
    assert sum(map(is_found, wrong)) >= 0.95 * len(wrong)
