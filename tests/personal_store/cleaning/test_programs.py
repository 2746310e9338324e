"""What mail programs put around a message, program by program and word by word."""

import re
import tomllib
from pathlib import Path

from benchmarks.store.bench_cleaning import WRITTEN, Case, read_cases, score, words
from personal_store.cleaning import phrases
from personal_store.cleaning.cleaning import clean_mail
from personal_store.mail.mail import Mail
from tests.mails import generated
from tests.mails.shapes import SHAPES
from tests.mails.texts import LANGUAGES, drafts
from tests.personal_store.cleaning.misread import misread

DRAFTS = list(drafts(3 * len(LANGUAGES), seed=11))[::7]
VERBS = tomllib.loads(Path(__file__).with_name("verbs.toml").read_text("utf-8"))


def test_of_each_program_the_own_words_come_out():
    """In several languages, as plain text, as HTML or as both, in turn; every word, and
    no other."""
    wrong = []
    for number, (program, (_, shape)) in enumerate(SHAPES.items()):
        for turn, (draft, _) in enumerate(DRAFTS, number):
            plain, html = shape(draft, draft.own)
            bodies = ((plain, ""), ("", html), (plain, html))[turn % 3]
            text = clean_mail(Mail({}, *bodies)).text
            if words(text) != words(draft.own):
                wrong.append((program, draft.language, text))
    assert wrong == []


def test_a_verb_introduces_a_quote():
    """Nothing else says so here: no date, no address. Every verb of the rules is tried:
    one that is added wants its place in verbs.toml."""
    verbs = [verb for verbs in VERBS.values() for verb in verbs]
    quoted = "Yes.\n\nAnn {}:\n\n> Will you?"
    assert misread((quoted.format(verb), "Yes.") for verb in verbs) == []
    others = [(quoted.format(f"xyzzy {language}"), "Yes.") for language in VERBS]
    assert len(misread(others)) == len(others)
    for alternative in _alternatives(phrases.WROTE):
        assert any(re.fullmatch(alternative, verb) for verb in verbs), alternative


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


def test_a_written_mail_gives_exactly_its_own_words():
    """Each has one right answer."""
    scores = map(score, read_cases(WRITTEN))
    wrong = [one for one in scores if words(one.text) != words(one.case.own)]
    assert wrong == []


def test_the_generated_set_meets_the_aim():
    """95 % exact, 1 % of own words lost, 1 % of others' words left."""
    scores = [score(case) for case in generated(390, seed=5)]

    assert sum(one.exact for one in scores) >= 0.95 * len(scores)
    assert sum(one.lost for one in scores) <= 0.01 * sum(one.own for one in scores)
    assert sum(one.left for one in scores) <= 0.01 * sum(one.others for one in scores)


def test_lost_and_left_are_counted_in_words():
    counted = {"one two three": (0, 0), "one two three four": (1, 0), "one two": (0, 1)}
    counted["one deux three"] = (1, 1)
    found = {own: score(Case("x", "one two three", "", own)) for own in counted}
    assert {own: (one.lost, one.left) for own, one in found.items()} == counted
    assert [own for own, one in found.items() if one.exact] == ["one two three"]
    assert words("报告 ok 好") == ["报", "告", "ok", "好"]
