"""The sample history is well formed, and its writer keeps her habits."""

import email
import itertools
import json
import mailbox
import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any

import pytest

from edge_app import sample
from edge_app.sample import make_ready
from personal_store import Store, import_source
from personal_store.errors import StoreBusyError
from personal_store.ingest.guards import importing_alone
from personal_store.records import OWN
from tests.waiting import at_once

CONTRACTION = re.compile(
    r"\b\w+(?:n't|'(?:ll|ve|re|m|d))\b"
    r"|\b(?:it|that|there|what|who|he|she|let|here|where|how)'s\b",
    re.IGNORECASE,
)
EXCLAMATION_OR_DASH = re.compile("[!–—]| - ")
GREETING = re.compile(r"Hullo [^,\n]+,\n\n")
SIGN_OFF = re.compile(
    r"\n\n(?:Yours in a hurry|Love from the hill|Yours, and not in any hurry),"
    r"\nTess(?: Marlow)?(?:\n\nP\.S\. .+)?$"
)
PET_PHRASES = ("as sure as toast", "no harm done", "so there we are")


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


def shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[\w']+", text.lower())
    return set(itertools.pairwise(itertools.pairwise(words)))


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


def test_the_letters_come_in_the_shapes_that_mail_programs_write(letters):
    leaves = [part for letter in letters for part in letter.walk()]
    encodings = {part["Content-Transfer-Encoding"] for part in leaves}

    assert {"quoted-printable", "8bit"} <= encodings
    assert any(part.get_param("format") == "flowed" for part in leaves)
    assert any(part.get_content_type() == "text/html" for part in leaves)
    assert b"\n>From " in sample.LETTERS.read_bytes()


def test_separator_lines_carry_the_sender_and_the_date(letters):
    separators = re.findall(rb"(?m)^From (\S+) (.+)$", sample.LETTERS.read_bytes())

    assert len(separators) == len(letters)
    for (address, date), letter in zip(separators, letters, strict=True):
        assert address.decode() == sender(letter)
        arrived = datetime.strptime(date.decode(), "%a %b %d %H:%M:%S %Y")
        assert arrived.replace(tzinfo=UTC) == parsedate_to_datetime(letter["Date"])


def test_every_address_is_an_example(letters):
    for letter in letters:
        headers = letter.get_all("From") + letter.get_all("To")
        for _, address in getaddresses([str(header) for header in headers]):
            assert address.endswith("example.org"), address
    everything = sample.LETTERS.read_text(encoding="utf-8").replace("=\n", "")
    for domain in re.findall(r"[\w.+-]+@([\w.-]+)", everything):
        assert domain.endswith("example.org"), domain


def test_every_letter_has_its_own_id_and_answers_an_earlier_one(letters):
    seen = set()
    for letter in letters:
        assert letter["Message-ID"] not in seen
        assert letter["In-Reply-To"] is None or letter["In-Reply-To"] in seen
        seen.add(letter["Message-ID"])


def test_the_letters_run_from_2023_to_the_autumn_of_2026(letters):
    dates = [parsedate_to_datetime(letter["Date"]) for letter in letters]

    assert dates == sorted(dates)
    assert dates[0].year == 2023
    assert (dates[-1].year, dates[-1].month) == (2026, 10)


def test_replies_quote_what_they_answer(letters):
    by_id = {letter["Message-ID"]: letter for letter in letters}
    replies = [letter for letter in letters if letter["In-Reply-To"]]

    assert len(replies) >= 10
    for reply in replies:
        answered = without_quote(plain_text(by_id[reply["In-Reply-To"]]))
        _, _, quote = plain_text(reply).partition(" wrote:\n\n")
        assert re.sub("(?m)^> ?", "", quote).startswith(answered)


def test_nobody_has_answered_the_request_yet(letters):
    last = letters[-1]

    assert last["From"].addresses[0].display_name.startswith(sample.RECIPIENT)
    assert "weekend of the 14th" in plain_text(last)
    assert "photos" in plain_text(last).lower()


def test_earlier_letters_suit_the_request(letters, own_letters):
    to_recipient = [
        text for text in own_letters if f"Hullo {sample.RECIPIENT}," in text
    ]

    assert sum("for the photo" in text for text in to_recipient) >= 6
    assert sum("weekend of the" in text for text in to_recipient) >= 6
    assert sum("Yes, and gladly" in text for text in to_recipient) >= 4
    assert not any("the weekend of the 14th" in text for text in own_letters)


def test_she_greets_and_signs_in_her_own_way(own_letters):
    greeted = sum(bool(GREETING.match(text)) for text in own_letters)
    signed = sum(bool(SIGN_OFF.search(text)) for text in own_letters)

    assert greeted >= 0.9 * len(own_letters)
    assert signed >= 0.8 * len(own_letters)


def test_reviews_open_and_end_in_her_own_way(reviews):
    for text in reviews:
        assert text.startswith("Came for "), text
        assert re.search(r" Would go again: (?:yes|no)\b[^.:]*\.$", text), text


def test_she_never_contracts_exclaims_or_dashes(own_letters, reviews):
    for text in own_letters + reviews:
        assert not CONTRACTION.search(text), text
        assert not EXCLAMATION_OR_DASH.search(text), text


def test_her_friends_write_otherwise(letters):
    theirs = [
        without_quote(plain_text(letter))
        for letter in letters
        if sender(letter) != sample.ADDRESS
    ]

    assert not any(GREETING.match(text) for text in theirs)
    assert sum("!" in text for text in theirs) >= len(theirs) / 2


def test_a_third_of_her_texts_have_a_pet_phrase(own_letters, reviews):
    for texts in (own_letters, reviews):
        used = sum(any(p in text.lower() for p in PET_PHRASES) for text in texts)
        assert used >= len(texts) / 3


def test_the_texts_have_the_length_of_letters_and_reviews(own_letters, reviews):
    lengths = [len(text.split()) for text in own_letters]

    assert sum(40 <= length <= 170 for length in lengths) >= 0.9 * len(lengths)
    assert all(25 <= len(text.split()) <= 110 for text in reviews)


def test_no_two_texts_are_alike(own_letters, reviews):
    for one, other in itertools.combinations(map(shingles, own_letters + reviews), 2):
        assert len(one & other) < 0.5 * len(one | other)


def test_reviews_have_the_shape_of_a_takeout(places):
    for place in places:
        longitude, latitude = place["geometry"]["coordinates"]
        properties = place["properties"]
        assert place["type"] == "Feature"
        assert -2.5 < longitude < 0.5, properties
        assert 53 < latitude < 56, properties
        assert 2023 <= datetime.fromisoformat(properties["date"]).year <= 2026
        assert properties["five_star_rating_published"] in range(1, 6)
        assert properties["location"].keys() == {"address", "country_code", "name"}
    urls = {place["properties"]["google_maps_url"] for place in places}
    names = {place["properties"]["location"]["name"] for place in places}
    assert len(urls) == len(names) == len(places)


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
