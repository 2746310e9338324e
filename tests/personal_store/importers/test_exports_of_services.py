"""Each service's export, in its real shape: what is own is found, nothing twice."""

import shutil
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from personal_store import SourceError, import_source, importers
from personal_store.discovery import discover
from personal_store.files import parts
from personal_store.records import OWN, ReadOptions

EXPORTS = Path(__file__).parent / "exports"
SERVICES = sorted(folder.name for folder in EXPORTS.iterdir())
NAMED = {"whatsapp": ["Tess Field"]}


def imported(store, service, path=None, me=None):
    told = NAMED.get(service, []) if me is None else me
    return import_source(store, service, path or EXPORTS / service, me=told)


def own(store):
    return [record for record in store.records() if record.author in OWN]


def day(record):
    return datetime.fromtimestamp(record.sent_at, UTC).strftime("%Y-%m-%d %H:%M")


EXPECTED = tomllib.loads(EXPORTS.with_suffix(".toml").read_text("utf-8"))


@pytest.mark.parametrize("service", SERVICES)
def test_own_texts_are_found_once(store, tmp_path, service):
    """Kind, recipient, rating, time and text of each; nothing of anybody else. A zip is
    read like its folder; among the exports of all services each takes its own."""
    packed = shutil.make_archive(str(tmp_path / service), "zip", EXPORTS / service)

    first = imported(store, service)
    again = imported(store, service, Path(packed))
    everywhere = imported(store, service, EXPORTS)

    found = [[r.kind, r.recipient, r.rating or 0, day(r), r.text] for r in own(store)]
    assert sorted(found) == sorted(EXPECTED[service])
    assert first.added == len(found)
    if service in ("linkedin", "facebook", "instagram"):
        assert "taking Tess Field for you, because the export says so" in first.notes
        assert store.identities() == [f"{service}:tess field"]
    assert again.reasons["already stored"] - again.met == len(found)
    assert again.failed == first.failed
    for report in (again, everywhere):
        assert (report.added, report.updated, report.received) == (0, 0, 0)


@pytest.mark.parametrize("service", SERVICES)
def test_an_import_goes_on_from_every_position(service):
    """What an interrupted run has not committed is read, the rest is not repeated."""
    importer = importers.load(service)
    (source,) = importer.sources(EXPORTS / service)
    everything = list(importer.read(source, ReadOptions()))
    positions = [item.position for item in everything]

    assert positions == sorted(positions)
    for index, position in enumerate(positions):
        rest = list(importer.read(source, ReadOptions(start=position)))
        assert rest == [i for i in everything[index:] if i.position > position]
    assert len(set(positions)) == len(positions)


@pytest.mark.parametrize("service", SERVICES)
def test_another_file_is_refused_with_a_sentence(store, tmp_path, service):
    (tmp_path / "notes.csv").write_text("colour,shape\nred,round\n")

    with pytest.raises(SourceError, match="is not a"):
        imported(store, service, tmp_path / "notes.csv")
    with pytest.raises(SourceError, match="There is no"):
        imported(store, service, tmp_path)


def test_each_kind_is_found_by_itself():
    """And a review that was taken back is left to nobody."""
    discovery = discover(EXPORTS)

    assert [found.kind for found in discovery.found] == SERVICES == sorted(EXPECTED)
    read = {s.name for f in discovery.found for e in f.sources for s in parts(e)}
    assert "message_1.json" in read
    assert {"Labels.json"} <= {source.name for source in discovery.left}
    kept_out = {source.name for source, _ in discovery.kept_out}
    assert {"deleted-tweets.js", "post_votes.csv"} <= kept_out
    (letterboxd,) = [f for f in discovery.found if f.kind == "letterboxd"]
    assert not any("deleted" in s.place for e in letterboxd.sources for s in parts(e))


def test_the_address_of_the_computer_is_nowhere(store):
    """Reddit writes it into each row."""
    imported(store, "reddit")
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    assert b"203.0.113.9" not in store.path.read_bytes()
    assert b"mortises" in store.path.read_bytes()


def test_a_long_post_completes_the_short_one(store, tmp_path):
    """tweets.js alone has its beginning; the whole archive later has all of it.

    Two messages come along, which tweets.js does not hold.
    """
    path = tmp_path / "tweets.js"
    shutil.copy(EXPORTS / "x_archive" / "twitter-2026" / "data" / "tweets.js", path)
    imported(store, "x_archive", path)

    whole = imported(store, "x_archive")

    assert (whole.added, whole.updated) == (1 + 2, 1)
    (text,) = [r.text for r in store.records() if r.text.startswith("Nobody tells")]
    assert text.endswith("on Monday.")


@pytest.mark.parametrize(
    ("service", "file"),
    [
        ("linkedin", "messages.csv"),
        ("facebook", "message_1.json"),
        ("instagram", "message_1.json"),
        ("whatsapp", "WhatsApp Chat with Ben Quill.txt"),
    ],
)
def test_without_a_name_it_asks_and_lists_the_names(store, service, file):
    """Nothing is stored before it is clear; then only that name's texts are own."""
    (path,) = (EXPORTS / service).rglob(file)

    with pytest.raises(SourceError, match=r"--me NAME.*Ben Quill \(\d"):
        imported(store, service, path, me=[])
    with pytest.raises(SourceError, match="Nobody is called 'Tes' here"):
        imported(store, service, path, me=["Tes"])
    assert list(store.records()) == []

    imported(store, service, path, me=["tess field", "tess@example.org"])

    assert {r.sender for r in own(store)} == {f"{service}:tess field"}
    others = [r for r in store.records() if r.author not in OWN]
    assert {r.sender for r in others} == {f"{service}:ben quill"}


def test_a_name_told_once_is_known(store, take):
    """For other chats of the same service, never for another service; that it is in
    none of them is said."""
    imported(store, "whatsapp", EXPORTS / "whatsapp" / "_chat.txt")

    assert imported(store, "whatsapp", me=[]).added == 3
    report = take("whatsapp", "_chat.txt", "[01.02.2023, 08:03:00] Ada: Who is it?\n")
    assert (report.added, report.received) == (0, 1)
    assert "nothing here was written by tess field" in report.notes[-1]
    (path,) = (EXPORTS / "facebook").rglob("message_1.json")
    with pytest.raises(SourceError, match="--me NAME"):
        imported(store, "facebook", path, me=[])


def test_a_name_can_be_added_later(store, take):
    """Then the texts stored as another's become own, without reading the chat. The
    owner of a mailbox is still looked for if only names are known."""
    imported(store, "whatsapp")

    assert store.add_identities(["whatsapp:ben quill"]) == 1
    assert [r for r in own(store) if r.text.startswith("Only if there is coffee")]
    mail = "From: tess@example.org\nTo: ben@example.org\n\nThe glue has set by now.\n"
    report = take("eml", "a.eml", mail)

    assert report.notes[0].startswith("taking tess@example.org for you")
    assert report.added == 1
