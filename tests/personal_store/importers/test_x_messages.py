"""Direct messages of an X archive: the owner's alone, whatever else is in it."""

import json
import shutil
from pathlib import Path

import pytest

from personal_store.importers.x_archive import x_archive
from personal_store.records import Document, ReadOptions

ARCHIVE = Path(__file__).parent / "exports" / "x_archive" / "twitter-2026"


def items(path):
    (source,) = x_archive.sources(path)
    return list(x_archive.read(source, ReadOptions()))


def messages(path):
    return [i for i in items(path) if isinstance(i, Document) and i.kind == "message"]


@pytest.fixture
def archive(tmp_path):
    return Path(shutil.copytree(ARCHIVE, tmp_path / "twitter")) / "data"


def test_the_manifest_says_whose_it_is_as_well(archive):
    (archive / "account.js").unlink()
    told = 'window.__THAR_CONFIG = {"userInfo": {"accountId": "22"}}'
    (archive / "manifest.js").write_text(told)

    (message,) = messages(archive)

    assert message.text == "Two alarms and one neighbour who hates me"


@pytest.mark.parametrize(
    "content", ["", "window.YTD.account.part0 = []", "x = {", "\xff= " + "[" * 99_999]
)
def test_without_an_owner_no_message_is_taken(archive, content):
    """And the posts are, as before."""
    (archive / "account.js").write_bytes(content.encode("latin-1"))

    found = items(archive)

    assert not [i for i in found if getattr(i, "kind", "") == "message"]
    assert sum(isinstance(i, Document) for i in found) == 4
    assert sum("account.js" in getattr(i, "reason", "") for i in found) == 4
    assert x_archive.owners(*x_archive.sources(archive)) == ()


def test_the_files_of_older_archives(archive, tmp_path):
    """direct-message.js, without the s; the headers beside it hold no texts."""
    (archive / "direct-messages.js").rename(archive / "direct-message.js")

    assert len(messages(archive)) == 2
    (source,) = x_archive.sources(archive)
    assert "direct-message-headers.js" not in {file.name for file in source.files}


def put(path, talks):
    name = path.stem.replace("-", "_")
    listed = json.dumps([{"dmConversation": talk} for talk in talks])
    path.write_text(f"window.YTD.{name}.part0 = {listed}")


def test_the_last_name_of_a_group_counts(archive):
    named = [
        {"conversationNameUpdate": {"name": name, "createdAt": f"2023-06-0{day}"}}
        for name, day in [("Old", 1), ("New", 3), ("Middle", 2)]
    ]
    text = {"messageCreate": {"senderId": "11", "text": "Who has the key today?"}}
    talk = {"conversationId": "5", "messages": [*named, text]}
    put(archive / "direct-messages-group.js", [talk])

    assert "New" in {message.recipient for message in messages(archive)}


def test_many_short_messages_have_places_of_their_own(archive):
    """Up to the end of the file, so that an import can go on at each."""
    talk = {"messages": [{"messageCreate": {"senderId": "11"}}] * 200}
    path = archive / "direct-messages.js"
    put(path, [talk, talk, {"messages": []}, [3]])

    positions = [item.position for item in items(path)]

    assert positions == sorted(set(positions))
    assert len(positions) == 402  # with one for each of the two talks below
    assert positions[-1] <= path.stat().st_size
