"""Each service's export, in its real shape: what is own is found, nothing twice."""

import shutil
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


def by_text(store, beginning):
    (found,) = [r for r in store.records() if r.text.startswith(beginning)]
    return found


def day(record):
    return datetime.fromtimestamp(record.sent_at, UTC).strftime("%Y-%m-%d %H:%M")


EXPECTED = {
    "google_play": {
        ("review", "Tide Table", 4.0, "2023-04-02 09:15"): (
            "Right about the tides, wrong about the wind & rain.\n"
            "I check it each morning."
        ),
    },
    "youtube_comments": {
        ("post", "", None, "2024-07-03 10:00"): (
            "Sharpen it on the back first,\nthen the bevel. 1:30 shows why."
        ),
        ("post", "@ben-saws", None, "2024-07-04 11:30"): (
            "I use a plain oil stone for that."
        ),
        ("post", "", None, "2021-05-01 08:00"): "Lovely dovetails!",
    },
    "keep": {
        ("note", "", None, "2024-04-12 05:33"): (
            "Tomatoes go out after the ice saints.\nHarden them off for a week."
        ),
        ("note", "", None, "2021-03-05 10:00"): (
            "- Oil for the lathe\n- Two brass hinges"
        ),
    },
    "amazon_reviews": {
        ("review", "Bench vise, 100 mm", 2.0, "2022-03-01 10:00"): (
            "It held for a year.\nThen the screw stripped & that was that."
        ),
        ("review", "Marking gauge", 4.0, "2021-06-05 10:00"): "Plain and true.",
    },
    "goodreads": {
        ("review", "The Salt Road", 4.0, "2024-05-23 00:00"): (
            "Slow for a hundred pages, then not at all.\n\n"
            "The ferry scene is the best thing in it."
        ),
        ("note", "The Salt Road", None, "2024-05-23 00:00"): "Lend this one to Ben.",
        ("review", "Hinges", None, "2023-02-12 00:00"): "Dry & useful.",
    },
    "storygraph": {
        ("review", "The Salt Road", 4.25, "2024-05-23 00:00"): (
            "The marsh is the only person in it I would miss."
        ),
    },
    "letterboxd": {
        ("review", "The Ferry", 3.5, "2024-01-07 00:00"): (
            "Nobody gets off the boat.\n\n"
            "I would have stayed too & watched the gulls."
        ),
        ("review", "Hinges", None, "2024-01-09 00:00"): (
            "It still creaks where it should."
        ),
    },
    "reddit": {
        ("post", "r/woodworking", None, "2023-01-15 12:34"): (
            "Not for mortises & not for long. Get one with a wide jaw."
        ),
        ("post", "r/gardening", None, "2023-05-01 07:00"): (
            "Who still waits for them? I lost a whole tray in 2019 and have waited "
            "since."
        ),
    },
    "x_archive": {
        ("post", "@bensaws", None, "2023-05-06 18:20"): (
            "Low water & no wind, says https://tides.example.org/may so bring the net"
        ),
        ("post", "", None, "2023-05-08 08:00"): (
            "Nobody tells you that the hard part of building a boat is the waiting: "
            "for the glue, for the paint, for the tide, for the one friend with a "
            "trailer, and then for the courage to put it in the water.\n\n"
            "We put it in on Monday."
        ),
        ("post", "", None, "2023-05-09 08:00"): "So it is.",
        ("post", "", None, "2022-02-08 08:00"): (
            "A long one whose short one is not in this archive."
        ),
        ("message", "@bensaws", None, "2023-06-01 18:00"): (
            "The table says six in the morning: https://tides.example.org/june so set "
            "two alarms"
        ),
        ("message", "Boat shed", None, "2023-06-02 08:01"): (
            "I can bring the long ladder & the short one"
        ),
    },
    "mastodon": {
        ("post", "", None, "2023-03-01 09:00"): (
            "The keel is on.\nIt is even straight & level.\n\nMore on Sunday. #boat"
        ),
        ("message", "@ben", None, "2023-03-03 09:00"): (
            "Come on Sunday, bring the big clamps."
        ),
    },
    "linkedin": {
        ("post", "", None, "2026-05-07 16:41"): (
            'We are looking for a second joiner.\n\nThe "good" kind: slow.'
        ),
        ("post", "", None, "2026-06-10 18:53"): (
            'Back when I built the "small" boat, it leaked too.'
        ),
        ("message", "Ben Quill", None, "2026-01-01 10:05"): (
            "Yes, and badly.\n\nCan you start in March?"
        ),
    },
    "whatsapp": {
        ("message", "Ben Quill", None, "2024-03-04 18:05"): (
            "Are you coming on Sunday?\nWe start early: the tide will not wait."
        ),
        ("message", "Ben Quill", None, "2024-03-04 18:08"): (
            "That is the new keel, before the paint"
        ),
        ("message", "Ben Quill", None, "2024-03-14 09:15"): (
            "It floats and it is dry inside"
        ),
        ("message", "", None, "2023-02-13 08:01"): (
            "Wer bringt morgen den Leim mit?"
        ),
    },
    "facebook": {
        ("post", "", None, "2020-01-26 00:53"): (
            "Das Café am Kai hat wieder auf – endlich! ☕"
        ),
        ("post", "", None, "2020-01-26 00:56"): "Der Kiel, frisch gestrichen.",
        ("post", "", None, "2020-01-26 00:58"): "Does anyone here lend out a trailer?",
        ("post", "Boat builders", None, "2020-01-26 01:00"): (
            "Größer als ich dachte, und schöner."
        ),
        ("message", "Ben Quill", None, "2020-01-26 01:03"): (
            "Ja, gern – aber später als sonst."
        ),
    },
    "instagram": {
        ("post", "", None, "2020-09-13 12:26"): "First coat on. Three to go 🎨",
        ("post", "", None, "2020-09-13 12:28"): "Before and after, café included",
        ("post", "bensaws", None, "2020-09-13 12:31"): (
            "So schön! Wie lange trocknet das?"
        ),
        ("post", "carljoins", None, "2020-09-13 12:33"): "That joint is a work of art",
        ("post", "adamarsh", None, "2020-09-13 12:35"): "Which glue is this one?",
        ("message", "Ben Quill", None, "2020-09-13 12:36"): (
            "Hab dir die Maße geschickt"
        ),
    },
}  # fmt: skip


def test_every_export_has_an_expectation():
    assert sorted(EXPECTED) == SERVICES


@pytest.mark.parametrize("service", SERVICES)
def test_own_texts_are_found(store, service):
    """Kind, recipient, rating, time and text of each; nothing of anybody else."""
    imported(store, service)

    found = {(r.kind, r.recipient, r.rating, day(r)): r.text for r in own(store)}

    assert found == EXPECTED[service]
    assert len(own(store)) == len(EXPECTED[service])


@pytest.mark.parametrize("service", SERVICES)
def test_nothing_is_added_twice(store, service):
    first = imported(store, service)
    second = imported(store, service)

    assert first.added == len(EXPECTED[service])
    assert (second.added, second.updated, second.received) == (0, 0, 0)
    assert second.failed == first.failed


@pytest.mark.parametrize("service", SERVICES)
def test_a_zip_is_read_like_its_folder(store, tmp_path, service):
    packed = shutil.make_archive(str(tmp_path / service), "zip", EXPORTS / service)

    imported(store, service)
    again = imported(store, service, Path(packed))

    assert (again.added, again.updated, again.received) == (0, 0, 0)
    own = again.reasons["already stored"] - again.met
    assert own == len(EXPECTED[service])


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


@pytest.mark.parametrize("service", SERVICES)
def test_exports_of_others_are_left_alone(store, tmp_path, service):
    """Among the files of all services each takes its own and no more; the folders
    tell Facebook from Instagram."""
    imported(store, service)

    everywhere = imported(store, service, EXPORTS)

    assert (everywhere.added, everywhere.updated, everywhere.received) == (0, 0, 0)


def test_each_kind_is_found_by_itself():
    """And a review that was taken back is left to nobody."""
    discovery = discover(EXPORTS)

    assert [found.kind for found in discovery.found] == SERVICES
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
    assert by_text(store, "Nobody tells you").text.endswith("on Monday.")


@pytest.mark.parametrize("service", ["linkedin", "facebook", "instagram"])
def test_the_export_says_who_its_owner_is(store, service):
    report = imported(store, service)

    assert "taking Tess Field for you, because the export says so" in report.notes
    assert store.identities() == [f"{service}:tess field"]


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


def test_a_name_told_once_is_known(store):
    """For other chats of the same service, never for another service."""
    imported(store, "whatsapp", EXPORTS / "whatsapp" / "_chat.txt")

    again = imported(store, "whatsapp", me=[])

    assert again.added == 3
    with pytest.raises(SourceError, match="--me NAME"):
        (path,) = (EXPORTS / "facebook").rglob("message_1.json")
        imported(store, "facebook", path, me=[])


def test_a_name_can_be_added_later(store):
    """Then the texts stored as another's become own, without reading the chat."""
    imported(store, "whatsapp")

    assert store.add_identities(["whatsapp:ben quill"]) == 1
    assert by_text(store, "Only if there is coffee").author in OWN


def test_a_name_is_no_address_for_mail(store, tmp_path):
    """The owner of a mailbox is still looked for when only a name is known."""
    imported(store, "whatsapp")
    mail = "From: tess@example.org\nTo: ben@example.org\n\nThe glue has set by now.\n"
    (tmp_path / "a.eml").write_text(mail)

    report = import_source(store, "eml", tmp_path / "a.eml")

    assert report.notes[0].startswith("taking tess@example.org for you")
    assert report.added == 1


def test_chats_without_the_owner_are_said(store, tmp_path):
    imported(store, "whatsapp", EXPORTS / "whatsapp" / "_chat.txt")
    (tmp_path / "_chat.txt").write_text(
        "[01.02.2023, 08:03:00] Ada: Who is there now?\n"
    )

    report = imported(store, "whatsapp", tmp_path / "_chat.txt", me=[])

    assert (report.added, report.received) == (0, 1)
    assert "nothing here was written by tess field" in report.notes[-1]
