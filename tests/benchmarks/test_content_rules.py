"""Rules that look for facts in a text: values in all their forms, answers, denials."""

import json
import re

import pytest

from benchmarks.content.judging import Judged, judge
from benchmarks.content.plain import PLAIN
from benchmarks.content.requests import (
    EIGHTY,
    EVERYDAY,
    SIXTY,
    RequestsError,
    read_requests,
)
from benchmarks.content.rules import RuleError, rule_of, value_of

FILES = EVERYDAY, SIXTY, EIGHTY, PLAIN


def verdict(says, text, against=(), asked="Tell her of supper, and that I am away."):
    denied = [rule_of(line) for line in against]
    return judge([rule_of(says)], denied, Judged(text), Judged(asked)).verdict


VALUES = {
    "date": {
        **dict.fromkeys(("14", "fourteenth"), (14, 0)),
        **dict.fromkeys(("14 November", "November 14", "14/11"), (14, 11)),
        "twenty-first": (21, 0),
    },
    "day": {"Friday": 4, "Weds": 2},
    "month": {"May": 5},
    "time": {
        **dict.fromkeys(("6.30", "half past six", "half six"), (390, "")),
        "six o'clock": (360, ""),
        "twenty to seven": (400, ""),
        "18:30": (390, "pm"),
        "noon": (0, "pm"),
    },
    "number": {"twenty-four": 24.0, "half a dozen": 6.0, "1,200": 1200.0},
    "money": {
        "£12.50": 12.5,
        "£ 20": 20.0,
        "20€": 20.0,
        "twelve pounds fifty": 12.5,
        "40p": 0.4,
    },
}


def test_a_value_is_read_in_every_form():
    """Digits and words, long and short."""
    for kind, said in VALUES.items():
        assert {one: value_of(kind, one) for one in said} == said, kind


def test_a_rule_tells_what_a_text_says():
    """Said, contradicted by another value in its place, or left out."""
    expected = [
        ("{date 14}", "Yes to the weekend of the fourteenth.", "said"),
        ("{date 14 November}", "See you on the 14th.", "said"),
        ("{date 14 November}", "See you on 14 December.", "contradicted"),
        ("{date 14}", "It has moved to the 24th.", "contradicted"),
        ("{date 14}", "The 14th, then. See you on the 24th.", "contradicted"),
        ("{date 14}", "It is her 40th birthday.", "omitted"),
        ("{time 6.30}", "I will be there at half six.", "said"),
        ("{time 6}", "Supper is at seven.", "contradicted"),
        ("{time 6pm}", "Supper is at 6am.", "contradicted"),
        ("{time 6}", "I have seven buns.", "omitted"),
        ("{number 3} chairs", "Bring five chairs.", "contradicted"),
        ("{number 3}", "Bring five chairs.", "omitted"),
        ("{money 12.50}", "It was twelve pounds fifty.", "said"),
        ("{money 12.50}", "It was £15.", "contradicted"),
        ("{day Friday}", "I am away on Thursday.", "contradicted"),
        ("{day Friday}", "The committee meets on Thursday.", "omitted"),
        ("{name Priya}", "Hello Priya, it is me.", "said"),
        ("{name Priya}", "Hello Prya, it is me.", "contradicted"),
        ("{yes}", "I'd love to come.", "said"),
        ("{yes}", "I am afraid I can't make it.", "contradicted"),
        ("{yes}", "Yes. No, I must say no.", "contradicted"),
        ("{no}", "I would love to come, but I must say no.", "said"),
        ("{no}", "Yes, and gladly.", "contradicted"),
        ("{no}", "No harm done.", "omitted"),
        ("{no} + quiz", "Yes to supper; I cannot come to the quiz.", "said"),
        ("{no} + quiz", "Yes to the quiz. I cannot come to supper.", "contradicted"),
        ("plum|damson jam", "I bring DAMSON jam.", "said"),
        ("bring .. jam", "I bring the last of the plum jam.", "said"),
        ("bring .. jam", "I bring bread. The jam is gone.", "omitted"),
        ("can not .. eat", "You can't let him eat it.", "said"),
        ("knee* & bad", "Not with knees. They are bad.", "said"),
    ]
    found = [(says, text, verdict(says, text)) for says, text, _ in expected]
    assert found == expected


def test_what_else_was_asked_contradicts_nothing():
    """A second date of the request stands for something else."""
    asked = "Yes to the 14th, no to the 21st."
    assert verdict("{date 14}", "I cannot come on the 21st.", asked=asked) == "omitted"


def test_what_is_against_a_fact_may_be_denied():
    """A correction names what no longer holds."""
    against = ["{day Tuesday}"]
    moved = "It is on Thursday now, not Tuesday."
    assert verdict("{day Thursday}", moved, against, "Tuesday") == "said"
    wrong = "See you on Tuesday, or on Thursday."
    assert verdict("{day Thursday}", wrong, against, "Tuesday") == "contradicted"


def test_a_rule_that_says_nothing_is_refused():
    """With the line in the sentence."""
    for line in ("{date soon}", "{moon 3}", "can't", "a &", "+", "a ..", "a .. .. b"):
        with pytest.raises(RuleError, match="rule"):
            rule_of(line)


FACT = {"what": "yes", "says": ["{yes}"]}
GOOD = {"name": "a", "task": "email", "text": "Say yes.", "facts": [FACT]}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"task": "poem"}, "request 1 task: Input should be 'email'"),
        ({"facts": []}, "request 1 facts: List should have at least 1"),
        ({"facts": [{"what": "yes", "says": []}]}, "facts 1 says: List should"),
        ({"facts": [{"what": "yes", "says": ["{x}"]}]}, "a, yes: .*unknown"),
        ({"facts": [{"what": "yes", "says": [3]}]}, "says 1: .*valid string"),
        ({"too": "Ana"}, "request 1 too: Extra inputs"),
    ],
)
def test_a_file_that_says_nothing_known_is_refused(change, complaint, tmp_path):
    """In one sentence that says where."""
    path = tmp_path / "requests.json"
    path.write_text(json.dumps({"request": [GOOD | change]}))
    with pytest.raises(RequestsError, match=complaint):
        read_requests(path)


def test_the_hundred_requests_are_a_quarter_of_each_kind():
    """Each names itself; what repeats a request says nearly all of it."""
    every = read_requests(EVERYDAY)
    tasks = [asked.request.task for asked in every]
    assert {task: tasks.count(task) for task in tasks} == dict.fromkeys(
        ("email", "review", "post", "note"), 25
    )
    verdicts = []
    for asked in every:
        repeated = f"Hello {asked.request.recipient},\n{asked.request.text}"
        verdicts += [judged.verdict for judged in asked.judged(repeated)]
    assert verdicts.count("said") / len(verdicts) > 0.98
    assert "contradicted" not in verdicts


def test_the_file_of_the_documentation_is_one(tmp_path):
    """As a reader would copy it, and what it says of a text."""
    page = (EVERYDAY.parents[2] / "docs" / "bench.md").read_text("utf-8")
    (block,) = re.findall(r"```toml\n(\[\[request\]\].*?)```", page, re.DOTALL)
    path = tmp_path / "requests.toml"
    path.write_text(block, "utf-8")
    (asked,) = read_requests(path)
    text = "Yes, gladly, on the fourteenth. There are three of us; no fish for me."
    assert [judged.verdict for judged in asked.judged(text)] == ["said"] * 3


def test_no_training_generator_holds_six_words_of_a_request():
    """What is measured must not be learnt."""
    from random import Random

    from training.everyday import Everyday
    from training.invented import synthetic_examples

    def runs(text):
        words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
        return {tuple(words[i : i + 6]) for i in range(len(words) - 5)}

    root = EVERYDAY.parents[2]
    assert (root / "training").is_dir()
    sources = [
        path.read_text("utf-8")
        for room in ("models/synthetic_writers", "training")
        for path in (root / room).rglob("*")
        if path.suffix in (".py", ".toml", ".txt", ".json", ".jsonl", ".md")
    ]
    made = synthetic_examples(Random(0), 0.0, Everyday(), 0.8)
    sources += [next(made).request.text for _ in range(250)]
    learnt = set().union(*map(runs, sources))
    for file in FILES:
        for asked in read_requests(file):
            assert not runs(asked.request.text) & learnt, asked.name
        named = f"{file.parent.name}/{file.name}"
        assert not any(named in source for source in sources)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_request_read_out_says_its_own_facts(file):
    """But for those that only notes hold, and shorthand that no text would keep."""
    verdicts = [
        judged.verdict
        for asked in read_requests(file)
        for judged in asked.judged(asked.request.text)
    ]
    assert verdicts.count("said") > 0.9 * len(verdicts)
