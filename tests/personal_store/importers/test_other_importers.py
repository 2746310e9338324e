"""Single messages, Google's reviews, tables: fields found, nothing twice, no crash."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personal_store import SourceError, import_source
from personal_store.importers.tables import Columns
from personal_store.text.dates import parse_date
from tests.mailboxes import message
from tests.personal_store.stores import counts, json_values, lay


def test_a_folder_of_messages(store, take, tmp_path):
    """A mailbox given as a message is one sentence."""
    files = {
        "a.eml": message(number=1),
        "2024/b.eml": message("A second letter.", number=2),
        "c.eml": b"\x00\xff garbage",
        "notes.txt": "no mail",
    }
    folder = lay(tmp_path / "sent", files)

    first = import_source(store, "eml", folder)

    assert counts(first) == (2, 0, 0, 1)
    assert "c.eml" in str(first.failures[0])
    assert counts(import_source(store, "eml", folder)) == (0, 0, 2, 1)
    assert counts(import_source(store, "eml", folder / "a.eml")) == (0, 0, 1, 0)
    with pytest.raises(SourceError, match="import mbox"):
        take("eml", "a.eml", b"From a@b Tue Mar 12 10:02:03 2024\n" + message())


def review(text="Lovely soup, slow service.", place=1):
    properties = {
        "date": "2024-03-12T10:15:00Z",
        "five_star_rating_published": 4,
        "google_maps_url": f"https://maps.example.org/?cid={place}",
        "location": {"name": "Soup Kitchen", "address": "High Street 1"},
        "review_text_published": text,
    }
    return {"geometry": {"coordinates": [1.5, 2.5]}, "properties": properties}


OLDER = {
    "geometry": {"coordinates": [3.5, 4.5]},
    "properties": {
        "Published": "2019-05-01T08:00:00Z",
        "Star Rating": "5",
        "Review Text": "Best bread in town.",
        "Location": {"Business Name": "Bakery"},
    },
}


def features(*reviews):
    return json.dumps({"type": "FeatureCollection", "features": reviews})


def test_google_reviews(store, take):
    """Place, stars, date and text, in older spellings, too; ratings alone are skipped,
    bad ones listed. One that was edited replaces the old one."""
    content = features(review(), review("", place=2), "nonsense", OLDER)
    edits = features(review(), review("Lovely soup, and quick by now."))

    report = take("google_reviews", "Reviews.json", content)

    assert counts(report) == (2, 0, 1, 1)
    soup, bread = store.records()
    assert (soup.kind, soup.recipient, soup.rating) == ("review", "Soup Kitchen", 4.0)
    assert soup.text == "Lovely soup, slow service."
    assert soup.sent_at == parse_date("2024-03-12T10:15:00Z")
    assert (bread.kind, bread.recipient, bread.rating) == ("review", "Bakery", 5.0)
    assert bread.text == "Best bread in town."
    assert bread.sent_at == parse_date("2019-05-01T08:00:00Z")

    assert counts(take("google_reviews", "Reviews.json", edits)) == (0, 1, 1, 0)
    assert counts(take("google_reviews", "Reviews.json", edits)) == (0, 0, 2, 0)
    edited = {"Lovely soup, and quick by now.", "Best bread in town."}
    assert {record.text for record in store.records()} == edited


GERMAN = 'Datum;An;Was\r\n12.03.2024;Jürgen;"Schöne<br>Grüße &amp; Küsse"\r\n'
LONGEST = "x,y\nshort one,This is by far the longest of all the columns.\n"


@pytest.mark.parametrize(
    ("content", "mapping", "found"),
    [
        ("Id,Created,Subject,Body,Stars\n1,2024-03-12,Chair,It creaks a lot.,2\n",
         {}, ("review", "Chair", "", "It creaks a lot.", 2.0)),
        # semicolons, quoted line breaks, a German date, markup, another charset
        (GERMAN.encode("cp1252"),
         {"text": "was", "date": "Datum", "to": "An", "kind": "post"},
         ("post", "", "Jürgen", "Schöne\nGrüße & Küsse", None)),
        (LONGEST, {}, ("note", "", "", LONGEST.split(",")[-1].strip(), None)),
    ],
    ids=["guessed", "given", "the longest"],
)  # fmt: skip
def test_columns_of_a_table(store, take, content, mapping, found):
    take("csv", "a.csv", content, mapping=mapping)

    (record,) = store.records()
    names = ("kind", "title", "recipient", "text", "rating")
    assert tuple(getattr(record, name) for name in names) == found
    assert record.sent_at in (None, parse_date("2024-03-12"))


@pytest.mark.parametrize("kind", ["email", "review", "post", "message", "note"])
def test_every_kind_can_be_told(store, take, kind):
    """For all rows with --map, and by a column of that name."""
    mapping = {"text": "b", "kind": kind}
    take("csv", "a.csv", "a,b\n1,It rained the whole day long.\n", mapping=mapping)
    take("csv", "b.csv", f"text,kind\nIt snowed the whole day.,{kind}\n")

    assert [record.kind for record in store.records()] == [kind, kind]


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ({}, "which column holds the text.*a, b"),
        ({"text": "Body"}, "no column 'Body'.*a, b"),
        ({"colour": "a"}, "not 'colour'"),
    ],
)
def test_unclear_columns_are_listed(take, mapping, sentence):
    with pytest.raises(SourceError, match=sentence):
        take("csv", "a.csv", "a,b\n1,2\n", mapping=mapping)


def test_rows_of_a_table(store, take):
    """Bad ones are listed and the rest is read; an edited one replaces the old one."""
    rows = "id,date,text\n1,2024-03-12,The first.\n2,too,many,x\n3,,\n4,,The last.\n"
    later = "id,date,text\n5,,Another one.\n1,2024-03-12,The first was edited.\n"

    report = take("csv", "a.csv", rows)

    assert counts(report) == (2, 0, 1, 1)
    assert str(report.failures[0]) == (
        "a.csv, line 3: it has 4 fields, the first line has 3"
    )
    assert counts(take("csv", "a.csv", later)) == (1, 1, 0, 0)
    found = [record.text for record in store.records()]
    assert sorted(found) == ["Another one.", "The first was edited.", "The last."]


def test_json_lines_and_lists(store, take):
    """Nested fields have dotted names; half characters go; the same text in another
    form is known already."""
    body = {"body": "A half \ud83d face\0 here."}
    row = {"id": 7, "data": body, "created_utc": 1.7e9}
    lines = json.dumps(row) + "\n{broken\n[]\n"
    mapping = {"text": "data.body"}

    first = take("jsonl", "a.jsonl", lines, mapping=mapping)
    again = take("jsonl", "a.json", json.dumps([row]), mapping=mapping)

    assert counts(first) == (1, 0, 0, 2)
    assert counts(again) == (0, 0, 1, 0)
    (record,) = store.records()
    assert (record.sent_at, record.text) == (1_700_000_000, "A half ? face here.")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "google_reviews"])
@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02" * 50, b"\n\n", b"\xff\xfe", b"3", b"[" * 100_000]
)
def test_other_files_given_as_tables_are_one_sentence(take, kind, content):
    with pytest.raises(SourceError):
        take(kind, "a.bin", content)


FIELDS = st.sampled_from(["text", "date", "to", "rating", "id"])


@given(st.dictionaries(FIELDS, json_values("text", "name", "")))
def test_no_row_stops_the_columns(row):
    Columns("text", date="date", to="to", rating="rating", id="id").document(row, 1)


DATES = ("2024-03-12", "2024-03-12T00:00:00Z", "2024-03-12T01:00:00+01:00",
         "2024-03-12 00:00:00 UTC", "2024/03/12", "12.03.2024", "Mar 12, 2024",
         "1710201600", "1710201600000")  # fmt: skip
ENDLESS = ("9" * 400, 10**400, float("inf"), "1" * 41, "nan")


def test_dates():
    assert [parse_date(date) for date in DATES] == [1_710_201_600] * len(DATES)
    for value in ("yesterday", "", *ENDLESS):
        assert parse_date(value) is None, value
