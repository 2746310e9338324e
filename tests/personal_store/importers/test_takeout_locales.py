"""Google Takeout in many languages: files are told by what is in them.

Folders, files and, in tables, the names of columns are in the person's language. Those
here are ours, not Google's: whatever they are, they must not matter.
"""

import csv
import io
import json
import tomllib
from pathlib import Path

import pytest

from personal_store import Store, import_source
from personal_store.discovery import discover

CHANNEL = "UC" + "tEsS_field-0123456789x"[:22]
COMMENT = "Ugxk1Jr5y{}pWnE0nFQR4AaABAg"

LANGUAGES = tomllib.loads(Path(__file__).with_name("takeout.toml").read_text("utf-8"))


VIDEO = "dQw4w9WgXcQ"


def table(header, keep, rows):
    """Some of the nine columns."""
    out = io.StringIO()
    cells = [header.split(","), *rows]
    csv.writer(out).writerows([[row[at] for at in keep] for row in cells])
    return out.getvalue()


def comments(header, keep=range(9)):
    """A table with a reply in it, a text of several runs, and one of several lines."""
    rows = []
    for number in range(7):
        runs = [{"text": f"Comment {number} says,\n“so”: "}, {"text": "it is."}]
        said = ",".join(json.dumps(run, ensure_ascii=False) for run in runs)
        parent = COMMENT.format(0) if number == 3 else ""
        if parent:
            said = json.dumps({"text": "@ben-saws so it is indeed"})
        own_id, date = COMMENT.format(number), f"2024-07-0{number + 1}T10:00:00.1+00:00"
        rows.append([own_id, CHANNEL, date, "0", parent, "", VIDEO, said, parent])
    return table(header, keep, rows)


def chats(header):
    """Live chats, which answer nothing."""
    rows = []
    for number in range(3):
        said = json.dumps({"text": f"@ben live chat {number}"})
        date = f"2024-08-0{number + 1}T10:00:00Z"
        rows.append([f"ChwKG{number}", CHANNEL, date, "0", "", "", VIDEO, said])
    return table(header, (0, 1, 2, 3, 6, 7), rows)


def reviews():
    """Two places, of which one has a text."""
    places = [
        {
            "date": "2024-03-12T10:15:00Z",
            "five_star_rating_published": 4,
            "google_maps_url": f"https://maps.example.org/?cid={number}",
            "location": {"name": f"Place {number}"},
        }
        for number in range(2)
    ]
    places[1]["review_text_published"] = "Lovely soup."
    return json.dumps({"features": [{"properties": place} for place in places]})


SAVED = {"properties": {"location": {"name": "Pier"}, "Comment": "Ben's words"}}
"""Of what was only saved, in a file of the same shape."""
BY_CUSTOMER = {
    "reviewer": {"displayName": "Ben Quill"},
    "starRating": "FIVE",
    "comment": "The best joiner of the coast.",
    "createTime": "2024-03-12T10:15:00Z",
    "location": {"name": "accounts/1/locations/2"},
}
"""Of Google Business Profile, whose file is called reviews.json in English, too."""


def export(root, language):
    """A Takeout in a language; the whole of it."""
    places, review_file, folder, file, header = LANGUAGES[language]
    takeout = root / "Takeout"
    files = {
        f"{places}/{review_file}.json": reviews(),
        f"{places}/{review_file} 2.json": json.dumps({"features": [SAVED]}),
        f"Google Business Profile/1/2/{review_file}.json": (
            json.dumps({"reviews": [BY_CUSTOMER]})
        ),
        f"YouTube/{folder}/{file}.csv": comments(header),
        f"YouTube/{folder}/{file}(1).csv": comments(header, (0, 1, 2, 3, 4, 6, 7)),
        f"YouTube/chats/{file}.csv": chats(header),
        "YouTube/subscriptions.csv": f"a,b,c\n{CHANNEL},http://x.example,Ben's boats\n",
    }
    for name, content in files.items():
        path = takeout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return takeout


def own(tmp_path, path):
    """(kind, text, whether it has a recipient) of all that auto takes as own."""
    with Store.open(tmp_path / "store.db") as store:
        for found in discover(path).found:
            assert not import_source(store, found.kind, found.sources).failures
        return sorted((r.kind, r.text, bool(r.sent_at)) for r in store.records())


EXPECTED = sorted(
    [("review", "Lovely soup.", True)]
    + [("post", f"Comment {n} says,\n“so”: it is.", True) for n in (0, 1, 2, 4, 5, 6)]
    + [("post", "so it is indeed", True)]
    + [("post", f"@ben live chat {n}", True) for n in range(3)]
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_takeout_of_every_language_is_read(tmp_path, language):
    """The same comments in both layouts are the same comments."""
    assert own(tmp_path, export(tmp_path, language).parent) == EXPECTED


def test_a_reply_says_whom_it_answers(tmp_path):
    takeout = export(tmp_path, "de")
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "youtube_comments", takeout)
        assert {r.thread for r in store.records()} == {"youtube:dQw4w9WgXcQ"}
        (reply,) = [r for r in store.records() if r.text == "so it is indeed"]

    assert reply.recipient == "@ben-saws"
    assert reply.key == f"youtube:{COMMENT.format(3)}"


def test_what_customers_wrote_is_not_own_if_it_is_given_by_itself(tmp_path):
    path = tmp_path / "reviews.json"
    path.write_text(json.dumps([BY_CUSTOMER]))
    with Store.open(tmp_path / "store.db") as store:
        report = import_source(store, "google_reviews", path)

    assert (report.added, report.reasons["reviews by others"]) == (0, 1)


@pytest.mark.parametrize(
    "row",
    [
        f"c1,{CHANNEL},2024-07-01T10:00:00Z,0,,v,plain text,",
        'c1,Ben,2024-07-01T10:00:00Z,0,,v,"{""text"":""what Ben wrote""}",',
        f'c1,{CHANNEL},yesterday,0,,v,"{{""text"":""what Ben wrote""}}",',
        f'"{{""text"":""too early""}}",{CHANNEL},2024-07-01T10:00:00Z,0,,v,x,',
        f'c1,{CHANNEL},2024-07-01T10:00:00Z,0,"{{""text"":""too early""}}",v,x,',
    ],
)
def test_other_tables_are_no_comments(tmp_path, row):
    path = tmp_path / "Takeout" / "table.csv"
    path.parent.mkdir()
    path.write_text(f"a,b,c,d,e,f,g,h\n{row}\n")

    assert [f.kind for f in discover(path.parent).found if f.kind != "csv"] == []
