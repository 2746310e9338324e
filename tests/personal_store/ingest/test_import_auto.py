"""What is behind a path: every importer finds its own, and no file is read twice."""

import json
import os
from pathlib import Path

import pytest

from personal_store import SourceError, import_source, importers
from personal_store.discovery import discover
from personal_store.transfer import as_lines
from tests.mailboxes import mailbox, message
from tests.personal_store.stores import lay, zipped

REVIEW = {
    "google_maps_url": "https://maps.example.org/?cid=1",
    "review_text_published": "Lovely soup, slow service.",
}
FILES = {
    "Takeout/Mail/All mail.mbox": mailbox([message(number=1)]),
    "Takeout/Maps/Reviews.json": json.dumps({"features": [{"properties": REVIEW}]}),
    "Takeout/archive_browser.html": "<html>",
    "Takeout/Photos/a.jpg": b"\xff\xd8",
    "Maildir/cur/1:2,S": message("A letter of its own.", number=2),
    "Maildir/cur/2:2,S": b"From x@example.org Tue Mar 12 10:02:03 2024\n"
    + message("One that begins like a mailbox.", number=3),
    "one.eml": message("By itself it lies here.", number=4),
    "notes.csv": "id,date,body\n1,2024-03-12,It rained all day long.\n",
    "numbers.csv": "a,b\n1,2\n",
    "lines.jsonl": '{"body": "A line of its own."}\n',
    "diary.md": "It rained in the morning.",
    "letter.txt": "Dear Anna, thank you.",
    "README.txt": "How to use this program.",
}


@pytest.fixture
def folder(tmp_path):
    return lay(tmp_path / "mine", FILES)


def plan(path, *, mine=False):
    return {found.kind: found.files for found in discover(path, mine=mine).found}


SIGNED = {"maildir": 2, "mbox": 1, "eml": 1, "google_reviews": 1}
UNSIGNED = {"csv": 1, "jsonl": 1, "markdown": 1, "text": 1}
LEFT = {"archive_browser.html", "a.jpg", "numbers.csv", "README.txt"}


@pytest.mark.parametrize("mine", [False, True])
def test_every_file_finds_its_importer(folder, tmp_path, mine):
    """The more specific one; what does not say who wrote it is read if it is all mine,
    and what nobody knows is named. In an archive such texts are likely a program's."""
    discovery = discover(folder, mine=mine)

    assert plan(folder, mine=mine) == SIGNED | (UNSIGNED if mine else {})
    unsigned = {found.kind: found.files for found in discovery.unsigned}
    assert unsigned == ({} if mine else UNSIGNED)
    assert {file.name for file in discovery.left} == LEFT
    (tmp_path / "takeout.zip").write_bytes(zipped(FILES))
    assert plan(tmp_path / "takeout.zip", mine=mine) == SIGNED


def test_what_is_found_is_imported_once(store, folder, tmp_path):
    """And a second time adds nothing. The store's own export is found too: its lines
    name the writer of each, as a table of the same format does not."""
    me = ["sam@example.com"]
    found = discover(folder, mine=True).found
    reports = [import_source(store, one.kind, one.sources, me=me) for one in found]
    again = [import_source(store, one.kind, one.sources) for one in found]

    assert sum(report.added for report in reports) == sum((SIGNED | UNSIGNED).values())
    assert not any(report.failed for report in reports)
    assert sum(report.added for report in again) == 0

    (tmp_path / "exported.jsonl").write_bytes(b"".join(as_lines(store.db)))
    assert plan(tmp_path / "exported.jsonl") == {"jsonl": 1}


def test_a_single_file_is_recognised_by_what_it_is(folder):
    """As in a folder."""
    kinds = {
        file.path: found.kind
        for found in discover(folder, mine=True).found
        for source in found.sources
        for file in getattr(source, "files", (source,))
    }
    assert len(kinds) == sum((SIGNED | UNSIGNED).values())
    for path in (folder / name for name in FILES):
        assert set(plan(path, mine=True)) == {kinds.get(path)} - {None}, path


@pytest.fixture
def shut(folder, monkeypatch):
    """A file and a folder that may not be opened, even by the administrator."""
    lay(folder, {"locked/more.md": "Nobody reads this."})
    closed = (folder / "diary.md", folder / "locked")

    def refuse(where, name):
        call = getattr(where, name)

        def refused(path, *args, **options):
            if Path(path) in closed:
                raise PermissionError(13, "Permission denied", str(path))
            return call(path, *args, **options)

        monkeypatch.setattr(where, name, refused)

    refuse(os, "scandir")
    refuse(Path, "open")
    return folder


def test_what_cannot_be_opened_is_told_and_the_rest_is_found(shut):
    """Files and folders that are shut, and broken archives."""
    lay(shut, {"half.zip": b"PK\x03\x04 and no more"})

    discovery = discover(shut, mine=True)

    kinds = {found.kind for found in discovery.found}
    assert kinds == set(SIGNED | UNSIGNED) - {"markdown"}
    *faults, broken = sorted(discovery.faults, key=lambda fault: "half.zip" in fault)
    assert faults == [
        f"{shut / name} cannot be read: permission denied."
        for name in ("diary.md", "locked")
    ]
    assert "half.zip cannot be read" in broken


def test_what_may_not_be_opened_is_a_failure_or_one_sentence(store, shut):
    """Inside a folder it is not passed over in silence; alone it is refused."""
    lay(shut, {"more.md": "It rained in the evening."})
    report = import_source(store, "markdown", shut)
    assert report.added == 1
    assert sorted(map(str, report.failures)) == [
        f"{shut / 'diary.md'}: it cannot be read: permission denied",
        f"{shut / 'locked'}: cannot be read: permission denied",
    ]
    for name in ("diary.md", "locked"):
        for kind in ("markdown", "mbox", "keep", "pst"):
            with pytest.raises(SourceError, match=f"{name} cannot be read"):
                import_source(store, kind, shut / name)


def test_every_importer_refuses_an_empty_folder(store, tmp_path):
    """With a sentence, and without a trace; so do all together if nothing is there."""
    (tmp_path / "empty").mkdir()
    for kind in importers.available():
        with pytest.raises(SourceError, match=r"\.$"):
            import_source(store, kind, tmp_path / "empty")
    with pytest.raises(SourceError, match="There is no file or folder"):
        discover(tmp_path / "nowhere")


def test_columns_are_remembered_for_the_same_shape(store, tmp_path):
    """Whatever the order and the name of the file; told ones beat them."""
    tables = {
        "a.csv": "Was,Wann\nEs regnete den ganzen Tag.,2024-03-12\n",
        "b.csv": "wann,was\n2024-03-13,Und am Morgen noch immer.\n",
        "c.csv": "Andere,Wann\nSpalten ganz anderer Art hier.,x\n",
    }
    lay(tmp_path, tables)
    notes = []
    for name in tables:
        mapping = {"date": "Wann"} if name == "a.csv" else None
        notes += import_source(store, "csv", tmp_path / name, mapping=mapping).notes
    assert notes == [
        "a.csv: text=Was, date=Wann; remembered for files with these columns",
        "b.csv: text=was, date=wann (as the last time; --map FIELD=COLUMN changes it)",
        "c.csv: text=Andere (guessed; --map FIELD=COLUMN changes it)",
    ]
    assert [r.sent_at is not None for r in store.records()] == [True, True, False]


def test_one_bad_table_does_not_keep_the_others_out(store, tmp_path):
    """A column can be left out."""
    tables = {"a.csv": "a,b\n1,2\n", "b.csv": "text,score\nIt rained all day.,3\n"}
    folder = lay(tmp_path / "t", tables)
    report = import_source(store, "csv", folder, mapping={"rating": ""})

    assert (report.added, report.failed) == (1, 1)
    assert "which column holds the text" in str(report.failures[0])
    assert [r.rating for r in store.records()] == [None]
