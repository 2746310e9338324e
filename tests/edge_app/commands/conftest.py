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
def letters(run, tmp_path):
    """Own texts in the store."""
    path = tmp_path / "letters.jsonl"
    texts = [
        "Hullo Ana, the pier photos came out well. Best, Tess",
        "The train was late again, and the tea was cold.",
    ]
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    run("import", "jsonl", path)
    return path
