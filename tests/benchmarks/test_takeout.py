"""The made-up mailbox is the same each time and suffers as often as real ones do."""

import io
from collections import Counter

import pytest

from benchmarks.store.takeout import FOUND, RATES, messages, write_mailbox
from personal_store.mail.mailbox import split

COUNT = 3_000


@pytest.fixture(scope="module")
def counted():
    counted = Counter()
    for raw in messages(COUNT):
        counted.update(name for name, found in FOUND.items() if found(raw))
    return counted


def test_a_seed_gives_the_same_bytes():
    first, second, other = (list(messages(40, seed)) for seed in (1, 1, 2))

    assert first == second != other


@pytest.mark.parametrize("name", FOUND)
def test_everything_comes_up_as_often_as_it_should(counted, name):
    """Within five standard deviations; chance alone leaves them once in a million."""
    rate = RATES[name]
    expected = COUNT * rate
    spread = (COUNT * rate * (1 - rate)) ** 0.5

    assert abs(counted[name] - expected) <= 5 * spread + 1


def test_the_mailbox_splits_into_its_messages():
    """Lines that begin with From are escaped, and come back."""
    file = io.BytesIO()
    write_mailbox(file, 200)

    contents = [message.content.rstrip() for message in split(file)]

    assert contents == [raw.rstrip() for raw in messages(200)]
