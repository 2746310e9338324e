import json

import pytest

from tests.command import specsteer


@pytest.fixture(autouse=True)
def no_probe(monkeypatch):
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")


@pytest.fixture
def run():
    return specsteer


@pytest.fixture
def imported(tmp_path):
    """Imports rows as JSON lines."""

    def add(rows):
        path = tmp_path / "rows.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        assert specsteer("import", "jsonl", path).exit_code == 0

    return add


@pytest.fixture
def letters(imported):
    """Own texts, which are in the store."""
    texts = (
        "Hullo Ana, the pier photos came out well. Best, Tess",
        "The train was late again, and the tea was cold.",
    )
    imported({"text": text} for text in texts)
    return texts
