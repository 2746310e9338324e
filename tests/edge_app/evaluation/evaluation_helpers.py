"""Lines of files to measure, and texts that share no words."""

from edge_app.evaluation.cases import Case, History
from edge_app.evaluation.pair import Measured
from models.prompts import Request

WORDS = "the pier was quiet and the tea was cold so we walked home past the mill"

SAYINGS = [
    "the otter slept under our boat while the tide went quietly out past midnight",
    "grandmother planted seven rows of beans although nobody there ever liked them",
    "a kettle whistled twice before anyone remembered why they had come downstairs",
    "every ticket to the coast was sold so they cycled through rain for two days",
    "my neighbour paints gates in colours that frighten the horses each spring",
    "there is a drawer full of keys whose doors were all pulled down years ago",
]


def row(number, **fields):
    """A note to import; each is of another day."""
    date = f"2024-01-{number + 1:02}"
    return {"text": f"{SAYINGS[number]}.", "kind": "note", "date": date, **fields}


def user(name="u1", **changes):
    """A line of a file: three past texts, two to measure."""
    past = [
        {"prompt": f"Day {n}", "text": f"Hullo all, {WORDS} {n}.", "date": "2020"}
        for n in range(3)
    ]
    queries = [
        {"prompt": "A walk", "target": f"Hullo all, {WORDS}, {name}.", "date": "2021"},
        {"prompt": "The train", "target": "Hullo all, the train was late again."},
    ]
    row = {"user": name, "genre": "post", "history": past, "queries": queries}
    return {**row, **changes}


def case(**changes):
    usual = {"group": "set", "genre": "email", "user": "u", "name": "1"}
    usual |= {"request": Request("Thank her for the photos", "email", "Ana")}
    usual |= {"history": lambda: History.of([]), "text": "Hullo Ana."}
    return Case(**usual | changes)


def measured(one, tokens=10, size=100, **nats):
    """What a text cost, in nats of it all."""
    usual = {"base": 200.0, "specialist": 180.0, "generalist": 190.0, "steered": ()}
    return Measured(*(one, tokens, size, True, 3), **usual | {"kept": (7.0,)} | nats)
