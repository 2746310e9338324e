"""Single messages, Google's reviews, tables: fields found, nothing twice, no crash."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store import SourceError, import_source, importers
from personal_store.importers.tables import Columns
from personal_store.text.dates import parse_date
from tests.mailboxes import message
from tests.personal_store.stores import counts

CSV = "Id,Created,Subject,Body,Stars\n1,2024-03-12,Chair,It creaks a lot.,2\n"


def test_importers_are_found_by_their_names():
    assert {"csv", "eml", "imap", "x_archive"} < set(importers.available())
    for name in importers.available():
        assert isinstance(importers.load(name), importers.Importer)


def test_a_folder_of_messages(store, tmp_path):
    folder = tmp_path / "sent"
    (folder / "2024").mkdir(parents=True)
    (folder / "a.eml").write_bytes(message(number=1))
    (folder / "2024" / "b.eml").write_bytes(message("A second letter.", number=2))
    (folder / "c.eml").write_bytes(b"\x00\xff garbage")
    (folder / "notes.txt").write_text("no mail")

    first = import_source(store, "eml", folder)
    second = import_source(store, "eml", folder)
    single = import_source(store, "eml", folder / "a.eml")

    assert counts(first) == (2, 0, 0, 1)
    assert "c.eml" in str(first.failures[0])
    assert counts(second) == (0, 0, 2, 1)
    assert counts(single) == (0, 0, 1, 0)


def test_a_mailbox_given_as_message_is_one_sentence(store, tmp_path):
    (tmp_path / "a.eml").write_bytes(b"From a@b Tue Mar 12 10:02:03 2024\n" + message())

    with pytest.raises(SourceError, match="import mbox"):
        import_source(store, "eml", tmp_path / "a.eml")


def review(text="Lovely soup, slow service.", **fields):
    properties = {
        "date": "2024-03-12T10:15:00Z",
        "five_star_rating_published": 4,
        "google_maps_url": "https://maps.example.org/?cid=1",
        "location": {"name": "Soup Kitchen", "address": "High Street 1"},
        "review_text_published": text,
    }
    geometry = {"coordinates": [1.5, 2.5], "type": "Point"}
    return {"geometry": geometry, "properties": properties | fields, "type": "Feature"}


def write_reviews(path, *features):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_google_reviews(store, tmp_path):
    """Place, stars, date and text; ratings alone are skipped, bad ones listed."""
    bare = review(google_maps_url="https://maps.example.org/?cid=2")
    del bare["properties"]["review_text_published"]
    path = write_reviews(tmp_path / "Reviews.json", review(), bare, "nonsense")

    report = import_source(store, "google_reviews", path)

    assert counts(report) == (1, 0, 1, 1)
    (record,) = store.records()
    assert (record.kind, record.recipient, record.rating, record.text) == (
        "review",
        "Soup Kitchen",
        4.0,
        "Lovely soup, slow service.",
    )
    assert store.passage(record.id).date.isoformat() == "2024-03-12T10:15:00+00:00"


def test_older_spellings_of_reviews(store, tmp_path):
    feature = {
        "geometry": {"coordinates": [3.5, 4.5]},
        "properties": {
            "Published": "2019-05-01T08:00:00Z",
            "Star Rating": "5",
            "Review Text": "Best bread in town.",
            "Location": {"Business Name": "Bakery"},
        },
    }
    path = write_reviews(tmp_path / "Reviews.json", feature)

    assert import_source(store, "google_reviews", path).added == 1
    (record,) = store.records()
    assert (record.recipient, record.rating) == ("Bakery", 5.0)
    assert record.sent_at == parse_date("2019-05-01T08:00:00Z")


def test_an_edited_review_replaces_the_old_one(store, tmp_path):
    """In a German Takeout folder; the same again changes nothing."""
    path = tmp_path / "Takeout" / "Maps (Meine Orte)" / "Bewertungen.json"
    write_reviews(path, review())
    import_source(store, "google_reviews", tmp_path / "Takeout")
    write_reviews(path, review(), review("Lovely soup, and quick by now."))

    edited = import_source(store, "google_reviews", tmp_path / "Takeout")
    again = import_source(store, "google_reviews", tmp_path / "Takeout")

    assert counts(edited) == (0, 1, 1, 0)
    assert counts(again) == (0, 0, 2, 0)
    assert [p.text for p in store.recent()] == ["Lovely soup, and quick by now."]


@pytest.mark.parametrize("content", ["no json", '{"a": 1}', "3", "[" * 100_000])
def test_other_files_given_as_reviews_are_one_sentence(store, tmp_path, content):
    (tmp_path / "Reviews.json").write_text(content)

    with pytest.raises(SourceError):
        import_source(store, "google_reviews", tmp_path / "Reviews.json")


def test_columns_are_guessed_by_name(store, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)

    import_source(store, "csv", tmp_path / "a.csv")

    (record,) = store.records()
    assert (record.kind, record.title, record.text, record.rating) == (
        "review",
        "Chair",
        "It creaks a lot.",
        2.0,
    )


def test_columns_are_mapped_by_hand(store, tmp_path):
    """Semicolons, quoted line breaks, a German date, markup, another charset."""
    content = 'Datum;An;Was\r\n12.03.2024;Jürgen;"Schöne<br>Grüße &amp; Küsse"\r\n'
    (tmp_path / "a.csv").write_bytes(content.encode("cp1252"))
    mapping = {"text": "was", "date": "Datum", "to": "An", "kind": "post"}

    import_source(store, "csv", tmp_path / "a.csv", mapping=mapping)

    (record,) = store.records()
    assert (record.kind, record.recipient, record.text) == (
        "post",
        "Jürgen",
        "Schöne\nGrüße & Küsse",
    )
    assert record.sent_at == parse_date("2024-03-12")


@pytest.mark.parametrize("kind", ["email", "review", "post", "message", "note"])
def test_every_kind_can_be_told(store, tmp_path, kind):
    """For all rows with --map, and by a column of that name."""
    (tmp_path / "a.csv").write_text("a,b\n1,It rained the whole day long.\n")
    (tmp_path / "b.csv").write_text(f"text,kind\nIt snowed the whole day.,{kind}\n")

    mapping = {"text": "b", "kind": kind}
    import_source(store, "csv", tmp_path / "a.csv", mapping=mapping)
    import_source(store, "csv", tmp_path / "b.csv")

    assert [record.kind for record in store.records()] == [kind, kind]


def test_the_longest_column_is_the_text(store, tmp_path):
    (tmp_path / "a.csv").write_text(
        "x,y\nshort one,This is by far the longest of all the columns.\n"
    )

    import_source(store, "csv", tmp_path / "a.csv")

    assert next(store.records()).text.startswith("This is by far")


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ({}, "which column holds the text.*a, b"),
        ({"text": "Body"}, "no column 'Body'.*a, b"),
        ({"colour": "a"}, "not 'colour'"),
    ],
)
def test_unclear_columns_are_listed(store, tmp_path, mapping, sentence):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")

    with pytest.raises(SourceError, match=sentence):
        import_source(store, "csv", tmp_path / "a.csv", mapping=mapping)


def test_bad_rows_are_listed_and_the_rest_is_read(store, tmp_path):
    (tmp_path / "a.csv").write_text(
        "id,text\n1,The first of them.\n2,too,many\n3,\n4,The last of them.\n"
    )

    report = import_source(store, "csv", tmp_path / "a.csv")

    assert counts(report) == (2, 0, 1, 1)
    assert str(report.failures[0]) == (
        "a.csv, line 3: it has 3 fields, the first line has 2"
    )


def test_json_lines_and_lists(store, tmp_path):
    """Nested fields have dotted names; the same text as CSV is known already."""
    rows = [{"id": 7, "data": {"body": "A text in the depths."}, "created_utc": 1.7e9}]
    (tmp_path / "a.jsonl").write_text(json.dumps(rows[0]) + "\n{broken\n[]\n")
    (tmp_path / "a.json").write_text(json.dumps(rows))
    mapping = {"text": "data.body"}

    lines = import_source(store, "jsonl", tmp_path / "a.jsonl", mapping=mapping)
    again = import_source(store, "jsonl", tmp_path / "a.json", mapping=mapping)

    assert counts(lines) == (1, 0, 0, 2)
    assert counts(again) == (0, 0, 1, 0)
    assert next(store.records()).sent_at == 1_700_000_000


def test_an_edited_row_replaces_the_old_one(store, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,date,text\n1,2024-03-12,The old text.\n")
    import_source(store, "csv", path)
    path.write_text(
        "id,date,text\n2,2024-03-13,Another text.\n1,2024-03-12,The new text.\n"
    )

    assert counts(import_source(store, "csv", path)) == (1, 1, 0, 0)
    assert sorted(r.text for r in store.records()) == ["Another text.", "The new text."]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("content", [b"\x00\x01\x02" * 50, b"\n\n", b"\xff\xfe"])
def test_other_files_given_as_tables_are_one_sentence(store, tmp_path, kind, content):
    (tmp_path / "a.bin").write_bytes(content)

    with pytest.raises(SourceError):
        import_source(store, kind, tmp_path / "a.bin")


def test_half_characters_can_be_stored(store, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "A half \\ud83d face\\u0000 here."}\n')

    import_source(store, "jsonl", tmp_path / "a.jsonl")

    assert next(store.records()).text == "A half ? face here."


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["text", "date", "to", "rating", "id"]), JSON))
def test_no_row_stops_the_columns(row):
    columns = Columns("text", date="date", to="to", rating="rating", id="id")

    columns.document(row, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-12", "1710201600"),
        ("2024-03-12T00:00:00Z", "1710201600"),
        ("2024-03-12T01:00:00+01:00", "1710201600"),
        ("2024-03-12 00:00:00 UTC", "1710201600"),
        ("2024/03/12", "1710201600"),
        ("12.03.2024", "1710201600"),
        ("Mar 12, 2024", "1710201600"),
        ("1710201600", "1710201600"),
        ("1710201600000", "1710201600"),
        ("yesterday", "None"),
        ("", "None"),
    ],
)
def test_dates(text, expected):
    assert str(parse_date(text)) == expected


@settings(deadline=None)
@given(JSON)
def test_no_value_stops_the_dates(value):
    parse_date(value)
