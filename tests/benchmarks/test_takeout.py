"""The made-up mailbox is the same each time and splits into its messages."""

import io

from benchmarks.store.takeout import messages, write_mailbox
from personal_store.mail.mailbox import split


def test_a_seed_gives_the_same_bytes():
    first, second, other = (list(messages(40, seed)) for seed in (1, 1, 2))

    assert first == second != other


def test_the_mailbox_splits_into_its_messages():
    """Lines that begin with From are escaped, and come back."""
    file = io.BytesIO()
    write_mailbox(file, 200)

    contents = [message.content.rstrip() for message in split(file)]

    assert contents == [raw.rstrip() for raw in messages(200)]
