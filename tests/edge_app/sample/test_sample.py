"""The sample history is well formed, and its writer keeps her habits."""

import email
import json
import mailbox
import re
from collections.abc import Iterator
from contextlib import ExitStack
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses
from typing import Any

import pytest

from edge_app import sample
from edge_app.sample import make_ready
from personal_store import Store, import_source
from personal_store.errors import StoreBusyError
from personal_store.import_runs import importing_alone
from personal_store.records import OWN
from tests.waiting import at_once

GREETING = re.compile(r"Hullo [^,\n]+,\n\n")
SIGN_OFF = re.compile(
    r"\n\n(?:Yours in a hurry|Love from the hill|Yours, and not in any hurry),"
    r"\nTess(?: Marlow)?(?:\n\nP\.S\. .+)?$"
)


def read_letters() -> Iterator[EmailMessage]:
    box = mailbox.mbox(sample.LETTERS, create=False)
    try:
        for key in box.iterkeys():
            raw = re.sub(rb"(?m)^>(>*From )", rb"\1", box.get_bytes(key))
            yield email.message_from_bytes(raw, policy=default)
    finally:
        box.close()


def plain_text(letter: EmailMessage) -> str:
    part = letter.get_body(("plain",))
    assert part is not None
    text = part.get_content().strip()
    if part.get_param("format") == "flowed":
        text = text.replace(" \n", " ")
    return text


def without_quote(text: str) -> str:
    return re.split(r"\n\nOn .+ wrote:\n", text)[0].strip()


def sender(letter: EmailMessage) -> str:
    return letter["From"].addresses[0].addr_spec


@pytest.fixture(scope="module")
def letters() -> list[EmailMessage]:
    return list(read_letters())


@pytest.fixture(scope="module")
def own_letters(letters: list[EmailMessage]) -> list[str]:
    return [
        without_quote(plain_text(letter))
        for letter in letters
        if sender(letter) == sample.ADDRESS
    ]


@pytest.fixture(scope="module")
def places() -> list[dict[str, Any]]:
    collection = json.loads(sample.REVIEWS.read_text(encoding="utf-8"))
    assert collection["type"] == "FeatureCollection"
    return collection["features"]


@pytest.fixture(scope="module")
def reviews(places: list[dict[str, Any]]) -> list[str]:
    return [place["properties"]["review_text_published"] for place in places]


def test_there_is_enough_to_learn_from(letters, own_letters, reviews):
    assert len(own_letters) >= 75
    assert len(letters) - len(own_letters) >= 12
    assert len(reviews) >= 38


def test_every_letter_is_whole(letters):
    for letter in letters:
        assert not letter.defects, letter["Subject"]
        assert letter["MIME-Version"] == "1.0"
        assert letter["Subject"]
        assert plain_text(letter)
        for part in letter.walk():
            assert not part.defects, letter["Subject"]


def test_every_address_is_an_example(letters):
    for letter in letters:
        headers = letter.get_all("From") + letter.get_all("To")
        for _, address in getaddresses([str(header) for header in headers]):
            assert address.endswith("example.org"), address
    everything = sample.LETTERS.read_text(encoding="utf-8").replace("=\n", "")
    for domain in re.findall(r"[\w.+-]+@([\w.-]+)", everything):
        assert domain.endswith("example.org"), domain


def test_nobody_has_answered_the_request_yet(letters):
    last = letters[-1]

    assert last["From"].addresses[0].display_name.startswith(sample.RECIPIENT)
    assert "weekend of the 14th" in plain_text(last)
    assert "photos" in plain_text(last).lower()


def test_she_greets_and_signs_in_her_own_way(own_letters):
    greeted = sum(bool(GREETING.match(text)) for text in own_letters)
    signed = sum(bool(SIGN_OFF.search(text)) for text in own_letters)

    assert greeted >= 0.9 * len(own_letters)
    assert signed >= 0.8 * len(own_letters)


FILL = """
import sys
from pathlib import Path
from edge_app.sample import make_ready
from personal_store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store.open(Path(sys.argv[1])) as store:
    print(make_ready(store), len(list(store.records())))
"""


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


def test_programs_that_start_together_fill_one_store(tmp_path, whole):
    """Each finds it whole."""
    said = at_once(FILL, *[[tmp_path / "sample.db"]] * 2)
    assert len(set(said)) == 1
    assert said[0].split()[-1] == str(len(whole))
    with Store.open(tmp_path / "sample.db") as store:
        assert kept(store) == whole


def test_the_stored_letters_keep_her_name(tmp_path):
    """Also those that rules of an older version had cut, once the store is used."""
    with Store.open(tmp_path / "sample.db") as store:
        for _ in range(2):
            make_ready(store)
            own = [r for r in store.records() if r.author in OWN and r.kind == "email"]
            assert len(own) > 80
            assert all("\nTess" in record.text[-150:] for record in own)
            store.db.execute("UPDATE record SET cleaning = 1, body = 'Hullo Ana,'")
