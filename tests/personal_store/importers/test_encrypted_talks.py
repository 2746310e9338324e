"""Encrypted talks of Messenger, which come in an export of their own.

Each is a file called after the other person and a number, flat in the archive or in a
folder `messages`, with other names of fields and whole letters.
"""

import json

import pytest

from personal_store import SourceError, import_source
from personal_store.discovery import discover
from personal_store.records import OWN
from tests.personal_store.stores import lay

TESS, BEN, ADA = "Tess Field", "Ben Quill", "Ada Märsch"


def said(name, text, at, kind="text", **fields):
    fields = {"isUnsent": False, "media": [], "reactions": [], **fields}
    return {**fields, "senderName": name, "text": text, "timestamp": at, "type": kind}


def talk(name, people, *messages):
    talk = {"participants": people, "threadName": name, "messages": messages}
    return {f"{name}.json": talk}


ABOUT_THE_MAST = [
    said(TESS, "Größer als ich dachte, und schöner.", 1_709_500_000_000),
    said(BEN, "Wait until you see the mast.", 1_709_500_100_000),
    said(TESS, "", 1_709_500_200_000, "media", media=[{"uri": "./m/1.jpeg"}]),
    said(TESS, "This one is gone from here.", 1_709_500_300_000, "placeholder"),
    said(TESS, "This one was taken back.", 1_709_500_400_000, isUnsent=True),
    said(TESS, "I read it here https://x.example", 1_709_500_500_000, "link"),
]
LADDER = said(TESS, "I can bring the ladder.", 1_709_600_000_000)
TALKS = {
    **talk(f"{BEN}_3", [BEN, TESS], *ABOUT_THE_MAST),
    **talk("Boat shed_12", [TESS, BEN, ADA], LADDER),
    **talk(f"{ADA}_7", [ADA, TESS]),
    "autofill_information.json": {"autofill": {"name": [TESS], "text": "of no talk"}},
}
OWN_TEXTS = {
    (BEN, "Größer als ich dachte, und schöner."),
    (BEN, "I read it here https://x.example"),
    ("Boat shed", "I can bring the ladder."),
}


def export(root, talks=TALKS):
    write = json.JSONEncoder(ensure_ascii=False, indent=2).encode
    return lay(root, {name: write(content) for name, content in talks.items()})


def own(store):
    return {(r.recipient, r.text) for r in store.records() if r.author in OWN}


@pytest.mark.parametrize("place", ["", "messages"])
@pytest.mark.parametrize("packed", ["folder", "zip", "zip in a zip"])
def test_talks_are_found_wherever_they_lie(store, tmp_path, pack, place, packed):
    export(tmp_path / "export" / place)
    path = pack(tmp_path / "export", packed, tmp_path / "lies")

    (found,) = discover(path).found
    report = import_source(store, found.kind, found.sources)

    assert (found.kind, found.files) == ("facebook", 3)
    assert own(store) == OWN_TEXTS
    assert report.received == 1
    assert store.identities() == ["facebook:tess field"]
    again = import_source(store, "facebook", path)
    assert (again.added, again.received) == (0, 0)


def test_who_is_in_all_talks_must_be_alone_in_it(store, tmp_path):
    """Of one talk, or of two with the same two people, nobody can tell whose it is."""
    some = {name: TALKS[name] for name in (f"{BEN}_3.json", "Boat shed_12.json")}

    with pytest.raises(SourceError, match="--me NAME"):
        import_source(store, "facebook", export(tmp_path / "export", some))
    assert list(store.records()) == []

    import_source(store, "facebook", tmp_path / "export", me=[TESS])
    assert own(store) == OWN_TEXTS


def test_other_json_is_no_talk(tmp_path):
    files = {"a_1.json": {"threadName": "a", "messages": []}, "b.json": [1]}

    assert discover(export(tmp_path / "export", files)).found == ()
