"""What bench facts plants, and whether the check finds it."""

from random import Random

import pytest
from click.testing import CliRunner

from benchmarks.command import command
from benchmarks.content.bench_facts import is_found, letters_of, report_on
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
    sorts = {(one.how, one.kind) for one in made}
    values = ("day", "date", "time", "amount", "number", "name")
    assert sorts >= {(how, kind) for how in ("swapped", "inserted") for kind in values}
    assert sorts >= {("removed", "day"), ("inserted", "address"), ("turned", "answer")}
    for one in made:
        assert one.text != SOUND.text
        assert one.span is None or one.text[slice(*one.span)] not in SOUND.text
        assert is_found(one), one


@pytest.mark.parametrize("code", ["de", "fr", "es", "it", "nl", "pt"])
def test_letters_in_other_languages_are_checked(code):
    """A sound one has no mark, and each of its faults is found."""
    for sound, faults in letters_of(code):
        assert report_on(sound, sound.text, code).in_words() == []
        assert all(is_found(one, code) for one in faults)


@pytest.mark.slow
def test_the_table_is_printed(tmp_path):
    """Over drafts that are in the cache by now."""
    words = ["facts", "--writers", "20", "--seeds", "1", "--max-tokens", "2"]
    shown = CliRunner().invoke(command, [*words, "--cache", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "all faults" in shown.stdout
