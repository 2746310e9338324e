"""What mail programs put around a message, program by program and word by word."""

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.store.bench_cleaning import WRITTEN, Case, read_cases, score, words
from personal_store.cleaning import phrases
from personal_store.cleaning.cleaning import clean_text
from tests.mails import generated
from tests.mails.shapes import SHAPES
from tests.mails.texts import drafts, languages

DRAFTS = list(drafts(3 * len(languages()), seed=11))[::7]

VERBS = tomllib.loads(Path(__file__).with_name("verbs.toml").read_text("utf-8"))
EACH_VERB = [(name, verb) for name, verbs in VERBS.items() for verb in verbs]


@pytest.mark.parametrize("program", SHAPES)
def test_of_each_program_the_own_words_come_out(program):
    """In several languages, as plain text and as HTML; every word, and no other."""
    _, shape = SHAPES[program]
    for draft, _ in DRAFTS:
        plain, html = shape(draft, draft.own)
        for bodies in ((plain, ""), ("", html), (plain, html)):
            found = score(Case(program, *bodies, draft.own))
            assert words(found.text) == words(draft.own), draft.language


@pytest.mark.parametrize(("language", "verb"), EACH_VERB)
def test_a_verb_introduces_a_quote(language, verb):
    """Nothing else says so here: no date, no address."""
    assert clean_text(f"Yes.\n\nAnn {verb}:\n\n> Will you?").text == "Yes."
    assert clean_text(f"Yes.\n\nAnn xyzzy {language}:\n\n> Will you?").text != "Yes."


def test_every_verb_of_the_rules_is_tried():
    """One that is added wants its place in verbs.toml."""
    tried = [verb for _, verb in EACH_VERB]
    for alternative in _alternatives(phrases.WROTE):
        assert any(re.fullmatch(alternative, verb) for verb in tried), alternative


def _alternatives(pattern):
    """A pattern cut at the bars that stand in no bracket."""
    depth, start = 0, 0
    for at, sign in enumerate(pattern):
        depth += (sign == "(") - (sign == ")") if pattern[at - 1] != "\\" else 0
        if sign == "|" and not depth:
            yield pattern[start:at]
            start = at + 1
    yield pattern[start:]


# The measure of cleaning: what it asks for, and that it can fail.

HANDMADE = {case.name: case for case in read_cases(WRITTEN)}


@pytest.mark.parametrize("name", HANDMADE)
def test_a_written_mail_gives_exactly_its_own_words(name):
    """Each has one right answer."""
    found = score(HANDMADE[name])

    assert words(found.text) == words(found.case.own)


def test_the_generated_set_meets_the_aim():
    """95 % exact, 1 % of own words lost, 1 % of others' words left."""
    scores = [score(case) for case in generated(390, seed=5)]

    exact = sum(one.exact for one in scores) / len(scores)
    lost = sum(one.lost for one in scores) / sum(one.own for one in scores)
    left = sum(one.left for one in scores) / sum(one.others for one in scores)

    assert exact >= 0.95
    assert lost <= 0.01
    assert left <= 0.01


def test_lost_and_left_are_counted_in_words():
    for own, lost, left in (
        ("one two three", 0, 0),
        ("one two three four", 1, 0),
        ("one two", 0, 1),
        ("one deux three", 1, 1),
    ):
        found = score(Case("x", "one two three", "", own))
        assert (found.lost, found.left) == (lost, left)
        assert found.exact == (not lost and not left)
    assert words("报告 ok 好") == ["报", "告", "ok", "好"]
