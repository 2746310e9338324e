"""The search field of the app asks as `specsteer search` does."""

import json

from edge_app.service.requests import ServiceConfig
from edge_app.service.service import WritingService
from personal_store import Store, import_source


def test_phrases_exclusions_and_common_words(tmp_path):
    """One function finds for both."""
    piers = ["pier", "old pier"] * 15
    texts = [f"Dear friend, number{n} at the {pier}" for n, pier in enumerate(piers)]
    lines = tmp_path / "notes.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "jsonl", lines)
    nowhere = tmp_path / "none.gguf"
    service = WritingService(
        ServiceConfig(nowhere, nowhere, tmp_path / "store.db", nowhere)
    )

    (first, *_) = found = service.search("dear friend")
    gone = max(one.record_id for one in found) + 100
    assert [one.excerpt for one in service.texts([first.record_id, gone])] == [
        first.excerpt
    ]
    assert all("old pier" in one.excerpt for one in service.search('"old pier"'))
    assert not [one for one in service.search("pier -old") if "old" in one.excerpt]
