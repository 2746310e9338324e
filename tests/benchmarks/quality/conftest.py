from pathlib import Path

import pytest

from benchmarks.quality.sets import Room
from edge_app.retrieval.context import Retrieved, find_passages
from models.chat import ChatTemplate

DATA = Path(__file__).parent / "data"
TEMPLATE = ChatTemplate(
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>", {}
)


@pytest.fixture
def data():
    """The folder of files in the shapes in which the sets are published."""
    return DATA


@pytest.fixture
def room():
    """A model whose tokens are characters, so that prompts can be read."""

    def make(limit=100_000, passages=5):
        return Room(
            lambda text, control: [ord(letter) for letter in text],
            lambda ids: "".join(map(chr, ids)),
            TEMPLATE,
            context_length=limit + 16,
            max_tokens=0,
            passages=passages,
            find=lambda texts, query: Retrieved(
                find_passages(
                    texts, query.request, limit=query.limit, excluded=query.excluded
                )
            ),
        )

    return make


@pytest.fixture
def read():
    """Both prompts of a query, as a person reads them."""

    def both(query, room):
        prompts = query.prompts(room)
        ids = prompts.public_ids, prompts.private_ids
        return tuple("".join(map(chr, one)) for one in ids)

    return both


@pytest.fixture(autouse=True)
def no_probe(monkeypatch):
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
