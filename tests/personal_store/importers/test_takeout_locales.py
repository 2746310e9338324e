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

from personal_store import import_source
from personal_store.discovery import discover
from tests.personal_store.stores import lay

CHANNEL = "UC" + "tEsS_field-0123456789x"[:22]
COMMENT = "Ugxk1Jr5y{}pWnE0nFQR4AaABAg"
LANGUAGES = tomllib.loads(Path(__file__).with_name("takeout.toml").read_text("utf-8"))
COMMENTS = [
    (COMMENT.format(n), f"2024-07-0{n + 1}T10:00:00.1+00:00", "",
     f"Comment {n} says,\n“so”: ", "it is.")
    for n in range(6)
]  # fmt: skip
REPLY = (
    *(COMMENT.format(6), "2024-07-07T10:00:00.1+00:00", COMMENT.format(0)),
    "@ben-saws so it is indeed",
)
CHATS = [
    (f"ChwKG{n}", f"2024-08-0{n + 1}T10:00:00Z", "", f"@ben live chat {n}")
    for n in range(3)
]
"""Live chats, which answer nothing."""


def table(header, comments, keep=range(9)):
    """Some of the nine columns; a text may consist of several runs."""
    out = io.StringIO()
    cells = [header.split(",")]
    for own_id, date, parent, *runs in comments:
        said = ",".join(json.dumps({"text": run}, ensure_ascii=False) for run in runs)
        row = [own_id, CHANNEL, date, "0", parent, "", "dQw4w9WgXcQ", said, parent]
        cells.append(row)
    csv.writer(out).writerows([[row[at] for at in keep] for row in cells])
    return out.getvalue()


STARS = {
    "date": "2024-03-12T10:15:00Z",
    "five_star_rating_published": 4,
    "google_maps_url": "https://maps.example.org/?cid=1",
    "location": {"name": "Place"},
}
REVIEW = STARS | {
    "google_maps_url": "https://maps.example.org/?cid=2",
    "review_text_published": "Lovely soup.",
}


SAVED = {"location": {"name": "Pier"}, "Comment": "Ben's words"}
"""Of what was only saved, in a file of the same shape."""
BY_CUSTOMER = {
    "reviewer": {"displayName": "Ben Quill"},
    "starRating": "FIVE",
    "comment": "The best joiner of the coast.",
    "createTime": "2024-03-12T10:15:00Z",
    "location": {"name": "accounts/1/locations/2"},
}
"""Of Google Business Profile, whose file is called reviews.json in English, too."""


def features(*properties):
    return json.dumps({"features": [{"properties": one} for one in properties]})


def export(root, language):
    """The whole of a Takeout in a language."""
    places, review_file, folder, file, header = LANGUAGES[language]
    said = [*COMMENTS, REPLY]
    files = {
        f"{places}/{review_file}.json": features(STARS, REVIEW),
        f"{places}/{review_file} 2.json": features(SAVED),
        f"Google Business Profile/1/2/{review_file}.json": (
            json.dumps({"reviews": [BY_CUSTOMER]})
        ),
        f"YouTube/{folder}/{file}.csv": table(header, said),
        f"YouTube/{folder}/{file}(1).csv": table(header, said, (*range(5), 6, 7)),
        f"YouTube/chats/{file}.csv": table(header, CHATS, (*range(4), 6, 7)),
        "YouTube/subscriptions.csv": f"a,b,c\n{CHANNEL},http://x.example,Ben's boats\n",
    }
    return lay(root / "Takeout", files)


EXPECTED = sorted(
    [("review", "Lovely soup.")]
    + [("post", f"Comment {n} says,\n“so”: it is.") for n in range(6)]
    + [("post", "so it is indeed")]
    + [("post", f"@ben live chat {n}") for n in range(3)]
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_takeout_of_every_language_is_read(store, tmp_path, language):
    """The same comments in both layouts are the same comments; a reply says whom it
    answers."""
    for found in discover(export(tmp_path / "all", language)).found:
        assert not import_source(store, found.kind, found.sources).failures

    records = list(store.records())
    assert sorted((r.kind, r.text) for r in records) == EXPECTED
    assert all(r.sent_at for r in records)
    assert {r.thread for r in records if r.kind == "post"} == {"youtube:dQw4w9WgXcQ"}
    (reply,) = [r for r in records if r.text == "so it is indeed"]
    assert (reply.recipient, reply.key) == ("@ben-saws", f"youtube:{REPLY[0]}")


def test_what_customers_wrote_is_not_own_if_it_is_given_by_itself(take):
    report = take("google_reviews", "reviews.json", json.dumps([BY_CUSTOMER]))

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
    path = lay(tmp_path / "Takeout", {"table.csv": f"a,b,c,d,e,f,g,h\n{row}\n"})

    assert {found.kind for found in discover(path).found} <= {"csv"}
