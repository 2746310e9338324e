"""Rows hold whole conversations, and history only where there is some."""

from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np
import pytest

from models.chat import prompt_ids
from models.prompts import Excerpt, Request
from models.synthetic_writers.examples import Example
from training import rows
from training.config import Mixture
from training.loops import SILENT
from training.rows import balanced, pack, span_rows
from training.texts import RealTexts, Text
from training.tokenizer import CHAT_TEMPLATE, END, PAD, example_ids, fitted

MIXTURE = Mixture(6, 200, 2, 2, 1, 0.5, 0.5, 0.25, seed=1, loops=3, plain_rows=2)


class Words:
    """A vocabulary of words: as many ids as there are words."""

    def __len__(self):
        return 60

    def ids(self, text, control=False):
        return [4 + len(word) % 50 for word in text.split()]

    def text(self, ids):
        return "x" * len(ids)

    def example(self, messages, answer):
        return [*prompt_ids(self.ids, CHAT_TEMPLATE, messages), *self.ids(answer), END]


def text(author="", genre="post", body="One two three four five six seven. " * 5):
    return Text(genre, "A long enough title", body, author)


def by(author, count, genre="post"):
    """Texts that hardly share a word, each with its number."""
    bodies = [" ".join(f"w{n}x{i}" for i in range(30)) for n in range(count)]
    return [text(author, genre, f"Number{n} {b}.") for n, b in enumerate(bodies)]


def test_rows_are_full_and_begin_with_an_example():
    """The largest example that fits comes next; none is cut."""
    examples = [[9] * 5, [8] * 3, [7] * 4, [6] * 6]
    rows = list(pack(iter(examples), 8))
    assert [row.tolist() for row in rows] == [
        [9] * 5 + [8] * 3,
        [7] * 4 + [PAD] * 4,
        [6] * 6 + [PAD] * 2,
    ]


def test_history_comes_from_the_same_author():
    """And never holds the text that is asked for."""
    texts = RealTexts([*by("ann", 5), *by("bob", 5, "letter")], Random(0))
    for example in islice(texts.examples(1.0, 1000), 30):
        assert example.excerpts
        assert all(e.text != example.text for e in example.excerpts)
        letters = {e.task in ("email", "letter") for e in example.excerpts}
        assert letters == {example.request.task in ("email", "letter")}


def test_the_best_excerpt_stands_last_and_the_worst_is_left_out():
    """Next to the request, as on a device. Only a whole text has an end."""
    past = [
        Excerpt("post", "", "", f"{name} " * 30) for name in ("worst", "good", "best")
    ]
    kept = fitted(Example(Request("Write"), past, "done " * 20), Words(), 120)
    assert [e.text.split()[0] for e in kept.excerpts] == ["good", "best"]
    ids = example_ids(Words(), kept)
    assert len(ids) <= 120
    assert ids[-1] == END
    assert example_ids(Words(), replace(kept, whole=False))[-1] == PAD


def test_the_share_of_invented_tokens_is_kept():
    """Whatever the lengths of the examples."""

    def endless(words):
        while True:
            yield Example(Request("Write"), [], "word " * words)

    mixed = balanced(endless(100), endless(10), 0.3, Words(), 500)
    made = list(islice(mixed, 400))
    long = sum(len(ids) for ids in made if len(ids) > 60)
    assert long / sum(map(len, made)) == pytest.approx(0.7, abs=0.02)


@pytest.mark.slow
def test_rows_and_held_out_rows_share_no_author(monkeypatch):
    """One author in fifty is never learnt from."""
    texts = [t for n in range(120) for t in by(f"author {n}", 3)]
    monkeypatch.setattr("training.texts.read", lambda *_: iter(texts))
    strangers = {t.author for t in texts if t.held_out}
    assert 0 < len(strangers) < 12
    met = []

    def noted(texts, rng):
        met.append(list(texts))
        return RealTexts(met[-1], rng)

    monkeypatch.setattr(rows, "RealTexts", noted)
    made = rows.build(None, Words(), MIXTURE)
    assert {t.author for t in met[1]} == strangers
    assert not strangers & {t.author for t in met[0]}
    shapes = {name: rows.shape for name, rows in made.items()}
    assert shapes == {
        "rows": (6, 201),
        "plain": (2, 201),
        "long": (2, 401),
        "loops": (3, 201),
        "held_out": (4, 201),
    }
    assert [name for name, rows in made.items() if rows.max() >= SILENT] == ["loops"]
    assert all(np.count_nonzero(rows == PAD) < rows.size / 3 for rows in made.values())


def test_spans_come_back():
    """Three tokens tell which follows, nearly always; none is a control token."""
    for row in islice(span_rows(Random(2), 8192, 1025), 5):
        assert row.shape == (1025,)
        assert row.min() >= 300
        known, right = {}, 0
        for place in range(3, len(row)):
            start = tuple(row[place - 3 : place])
            right += known.get(start) == row[place]
            known[start] = row[place]
        assert right / len(row) > 0.5


@pytest.mark.slow
def test_a_share_of_the_plain_rows_is_drafted(monkeypatch):
    """Of requests that mostly have a history; what does not fit into a row is left."""
    texts = [text(f"author {n}", body=f"{n} and more " * 9) for n in range(40)]
    monkeypatch.setattr("training.texts.read", lambda *_: iter(texts))
    histories = []

    class Drafter:
        def answers(self, examples):
            for number, example in enumerate(examples):
                histories.append(bool(example.excerpts or example.background))
                words = 300 if number % 2 else 20
                yield Example(Request("draft"), [], " ".join(["x" * 49] * words))

    drafted = replace(MIXTURE, plain_rows=60, drafted=0.5)
    made = rows.build(None, Words(), drafted, Drafter())
    of_drafts = (made["plain"] == Words().ids("x" * 49)[0]).sum(axis=1) > 20
    assert of_drafts.mean() == pytest.approx(0.5, abs=0.15)
    assert sum(histories) / len(histories) == pytest.approx(0.85, abs=0.1)
    assert made["plain"].shape == (60, 201)
