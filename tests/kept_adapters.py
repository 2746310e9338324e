"""Adapters as a training would have kept them."""

from edge_app.adapters import kept
from edge_app.adapters.kept import AdapterRecord, Score

KEY = "00" * 16


def about(texts, **others):
    """What is kept of an adapter that was trained on these texts, by number."""
    hashes = {number: kept.text_hash(KEY, text) for number, text in texts.items()}
    said = {
        "created": "2026-11-22T16:00:00+00:00",
        "specialist": "specialist.gguf",
        "store": "store.db",
        "reads": "both",
        "recipe": {"rank": 8, "passes": 5},
        "key": KEY,
        "texts": hashes,
        "held_out": 6,
        "scores": {"passages": Score(2.0, 1.8, -0.13, -0.07)},
        "finished": True,
    }
    return AdapterRecord(**(said | others))
