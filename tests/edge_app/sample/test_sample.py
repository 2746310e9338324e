"""The sample history is of nobody, and a store of it is filled once."""

import re
from contextlib import ExitStack

import pytest

from edge_app import sample
from edge_app.sample import make_ready
from personal_store import Store, import_source
from personal_store.errors import StoreBusyError
from personal_store.import_runs import importing_alone
from personal_store.records import OWN

GREETING = re.compile(r"Hullo [^,\n]+,\n\n")


def test_every_address_is_an_example():
    everything = sample.LETTERS.read_text(encoding="utf-8").replace("=\n", "")
    for domain in re.findall(r"[\w.+-]+@([\w.-]+)", everything):
        assert domain.endswith("example.org"), domain


def test_there_is_enough_to_learn_from_in_one_voice(tmp_path):
    """And the last letter waits for an answer."""
    with Store.open(tmp_path / "sample.db") as store:
        assert make_ready(store).endswith(f"by {sample.WRITER}")
        records = list(store.records())
    own = [r.text for r in records if r.author in OWN and r.kind == "email"]
    assert len(own) >= 75
    assert sum(r.kind == "review" for r in records) >= 38
    assert sum(bool(GREETING.match(text)) for text in own) >= 0.9 * len(own)
    last = max((r for r in records if r.sent_at), key=lambda r: r.sent_at)
    assert last.author not in OWN
    assert "weekend of the 14th" in last.text


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a store holds that one program filled, alone."""
    with Store.open(tmp_path_factory.mktemp("whole") / "sample.db") as store:
        make_ready(store)
        return kept(store)


def kept(store):
    return sorted((r.key, r.kind, r.title, r.text) for r in store.records())


def test_a_half_filled_store_is_filled(tmp_path, whole):
    """As one leaves it that is killed, or is still busy when another looks."""
    with Store.open(tmp_path / "sample.db") as store:
        import_source(store, "mbox", sample.LETTERS, me=[sample.ADDRESS])
        assert len(kept(store)) < len(whole)
        make_ready(store)
        assert kept(store) == whole


def test_who_finds_the_store_being_filled_waits(tmp_path, monkeypatch, whole):
    """And fills it in turn if the other did not."""
    waits = []
    with Store.open(tmp_path / "sample.db") as store, ExitStack() as other:
        other.enter_context(importing_alone(store.path))

        def wait(_):
            waits.append(len(kept(store)))
            if len(waits) == 3:
                other.close()

        monkeypatch.setattr(sample.time, "sleep", wait)
        make_ready(store)
        assert waits == [0, 0, 0]
        assert kept(store) == whole


def test_waiting_for_a_store_has_an_end(tmp_path, monkeypatch):
    """It is said what is in the way."""
    monkeypatch.setattr(sample, "_PATIENCE", 0.0)
    busy = pytest.raises(StoreBusyError, match="is running since")
    with Store.open(tmp_path / "sample.db") as store, importing_alone(store.path), busy:
        make_ready(store)


def test_the_stored_letters_keep_her_name(tmp_path):
    """Also those that rules of an older version had cut, once the store is used."""
    with Store.open(tmp_path / "sample.db") as store:
        for _ in range(2):
            make_ready(store)
            own = [r for r in store.records() if r.author in OWN and r.kind == "email"]
            assert len(own) > 80
            assert all("\nTess" in record.text[-150:] for record in own)
            store.db.execute("UPDATE record SET cleaning = 1, body = 'Hullo Ana,'")
