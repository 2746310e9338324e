"""Rows hold whole conversations, and history only where there is some."""

from itertools import islice
from random import Random

import pytest

from models.training import corpus
from models.training.corpus import Text
from models.training.data import pack, real_examples, synthetic_examples

PAD = 3


def text(author="", genre="post", body="One two three four five six seven. " * 5):
    return Text(genre, "A title", body, author, "")


def test_rows_are_full_and_begin_with_an_example():
    """The largest example that fits comes next; only the last may be cut."""
    examples = [[9] * 5, [8] * 3, [7] * 4, [6] * 2]
    rows = list(pack(iter(examples), 8))
    assert [row.tolist() for row in rows] == [
        [9] * 5 + [8] * 3,
        [7] * 4 + [6] * 2 + [PAD] * 2,
    ]


def test_an_example_longer_than_a_row_is_cut():
    """Nothing runs over into the next row."""
    (row,) = pack(iter([[5] * 20]), 8)
    assert row.tolist() == [5] * 8


def test_history_comes_from_the_same_author():
    """An author's later text is asked for with the earlier ones in sight."""
    texts = [text("ann", body=f"Text number {n}. " * 9) for n in range(3)]
    texts.insert(1, text("bob", body="Bob writes this. " * 9))
    made = list(real_examples(texts, Random(0), private=1.0))
    assert [len(past) > 0 for _, past, _ in made] == [False, False, True, True]
    assert all(e.text.startswith("Text number") for e in made[-1][1])


def test_texts_without_an_author_have_no_history():
    """Nobody's texts are never mixed into a private prompt."""
    made = real_examples([text(), text()], Random(0), private=1.0)
    assert [past for _, past, _ in made] == [[], []]


@pytest.mark.parametrize("private", [0.0, 1.0])
def test_share_of_synthetic_history(private):
    """All or none of the synthetic examples come with other texts."""
    made = islice(synthetic_examples(Random(1), private), 20)
    assert all((len(past) > 0) == bool(private) for _, past, _ in made)


def test_a_cut_keeps_whole_paragraphs():
    """A long text is cut between paragraphs where that is possible."""
    long = "\n\n".join(f"Paragraph {n} is here." for n in range(30))
    kept = corpus.cut(long, 100, Random(0))
    assert len(kept) <= 100
    assert kept.endswith(" is here.")
