"""What bench coverage makes of texts, and of requests by rules."""

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.command import command
from benchmarks.content.bench_coverage import as_table, best_of, checked, row_of, shown
from benchmarks.content.judging import repeats, shows
from benchmarks.content.requests import SAMPLE_HABITS, Asked, Fact, Task, Text, facts_of
from benchmarks.content.rules import rule_of
from edge_app.evaluation.cases import History
from models.prompts import Request
from models.synthetic_writers.examples import texts_of_unseen_writer


def fact(what, told="request"):
    return Fact(what, "thing", (rule_of(what),), (), told)


ASKED = Asked(
    "one",
    Request("Say yes to jam and the quiz.", "email", "Ana"),
    (fact("{yes}"), fact("jam"), fact("quiz", told="notes")),
    "The quiz is on Friday.",
)
TASK = Task(ASKED, History.of([]), SAMPLE_HABITS["email"])


def of(text, method="steering"):
    return checked(TASK, Text(text, 10, 8, 4, "end"), method)


def test_a_row_says_what_its_texts_hold():
    """Facts, whole texts, habits and drafts, each over all texts."""
    texts = [
        of("Hullo Ana,\n\nYes, and jam for the quiz.\n\nYours in a hurry,\nTess"),
        of("Dear Ana,\n\nI must say no. The jam jam jam jam jam is gone."),
    ]
    row = row_of("steering", 0.5, texts)
    assert (row.texts, row.facts, row.kept) == (2, 6, 0.5)
    assert row.said.value == pytest.approx(4 / 6)
    assert row.contradicted.value == pytest.approx(1 / 6)
    assert (row.whole.value, row.habits.value, row.looped) == (0.5, 0.5, 0.5)
    assert "66.7" in as_table([row])


def test_the_generalist_is_not_asked_for_what_notes_alone_hold():
    """It never sees them."""
    text = "Yes to the jam."
    assert row_of("generalist", 0.5, [of(text, "generalist")]).whole.value == 1.0
    assert row_of("steering", 0.5, [of(text)]).whole.value == 0.0


def test_the_best_of_some_tries_is_what_write_would_show():
    """Facts that lack or are invented come first, then the words of the request."""
    silent, invents, lacks, says = [
        Text(text, 10, 8, 4, "end")
        for text in (
            "",
            "Yes to jam and the quiz, and bring Zoltan at 16:45.",
            "No to jam.",
            "Yes to jam and the quiz.",
        )
    ]
    idle = Text(f"{says.text} The weather is lovely.", 10, 8, 8, "end")
    assert best_of(TASK, [silent, invents, lacks, idle, says]) is says
    assert best_of(TASK, [silent, invents]) is invents
    assert best_of(TASK, [silent, silent]) is silent


def test_a_shown_text_has_its_facts_marked():
    """Where they were found, and what became of each."""
    lines = shown(of("I must say no to jam.")).splitlines()
    assert "    I must say no[1] to jam[2]." in lines
    assert lines[-3:] == [
        "  ! 1 {yes} (thing)",
        "  + 2 jam (thing)",
        "  - 3 quiz (thing)",
    ]


def test_the_facts_of_invented_writers_stand_in_their_own_texts():
    """The rules made of what a generator names find it in what the generator wrote."""
    verdicts = []
    for piece in texts_of_unseen_writer(150):
        asked = Asked("one", piece.request, facts_of(piece))
        verdicts += [judged.verdict for judged in asked.judged(piece.text)]
    assert len(verdicts) > 200
    assert verdicts.count("said") / len(verdicts) > 0.98


@pytest.mark.slow
def test_texts_are_written_once(tmp_path):
    """With the embedded pair; what was written once is not written again."""
    words = ["--each", "1", "--threads", "1", "--temperature", "0.7"]
    more = ["--seeds", "1", "--max-tokens", "30", "--cache", str(tmp_path / "texts")]
    first = CliRunner().invoke(command, ["coverage", *words, *more])
    assert first.exit_code == 0, first.output
    assert [line.split()[0] for line in first.stdout.splitlines()[1:]] == [
        *("generalist", "specialist", "steering")
    ]
    (kept,) = (tmp_path / "texts").iterdir()
    before = kept.read_bytes()
    again = CliRunner().invoke(command, ["coverage", *words, *more])
    assert (again.stdout, kept.read_bytes()) == (first.stdout, before)
    best = ["--tries", "2", "--method", "specialist"]
    two = CliRunner().invoke(command, ["coverage", *words, *more, *best])
    assert "specialist, best of 2 " in two.stdout
    assert kept.read_bytes().startswith(before)


@given(st.lists(st.integers(0, 2), max_size=24))
def test_loops_are_found_wherever_they_are(items):
    """As by trying every span."""
    most = min(1, len(items))
    for length in range(1, len(items) + 1):
        for start in range(len(items)):
            span, times = items[start : start + length], 1
            while items[start + times * length :][:length] == span:
                times += 1
            if len(span) == length:
                most = max(most, times)
    assert repeats(items) == most


def test_a_greeting_begins_a_text():
    """Case and spaces do not matter; the place does."""
    assert shows("HULLO  Ana\n\nYes.", "greeting", "Hullo Ana")
    assert not shows("Well. Hullo Ana", "greeting", "Hullo Ana")
    assert shows("Yes.\n\nTruly  yours,", "sign-off", "truly yours,")
