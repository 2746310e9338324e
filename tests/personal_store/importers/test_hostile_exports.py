"""Whatever the bytes are, an importer answers with items or with one sentence."""

import json
import shutil
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store import importers
from personal_store.errors import StoreError
from personal_store.importers import TalkImporter
from personal_store.records import Document, ReadOptions
from tests.personal_store.stores import damaged, json_values

EXPORTS = Path(__file__).parent / "exports"
FILES = sorted(p.relative_to(EXPORTS) for p in EXPORTS.rglob("*") if p.is_file())
SERVICES = sorted({file.parts[0] for file in FILES})


def taken(service, path):
    """All items, or none where the file is refused; documents hold what they say."""
    importer = importers.load(service)
    try:
        (source,) = importer.sources(path)
        if isinstance(importer, TalkImporter):
            importer.people(source).mine(["Tess Field"], [])
        items = list(importer.read(source, ReadOptions()))
    except StoreError:
        return []
    assert [i.position for i in items] == sorted(i.position for i in items)
    for item in items:
        assert isinstance(item.position, int)
        if not isinstance(item, Document):
            continue
        assert item.text.strip()
        assert item.key.partition(":")[2]
        for field in fields(Document):
            if field.type is str:
                assert isinstance(getattr(item, field.name), str), field.name
        assert item.sent_at is None or isinstance(item.sent_at, int)
        assert item.rating is None or isinstance(item.rating, float)
    return items


def files_of(service, *suffixes):
    found = [file for file in FILES if file.parts[0] == service]
    return [file for file in found if not suffixes or file.suffix in suffixes]


@pytest.mark.parametrize("service", importers.available())
@settings(max_examples=10)
@given(data=st.binary(max_size=400))
def test_any_bytes(tmp_path, service, data):
    path = tmp_path / "export"
    path.write_bytes(data)
    with suppress(StoreError):
        for source in importers.load(service).sources(path):
            list(importers.load(service).read(source, ReadOptions()))


@pytest.mark.parametrize("service", SERVICES)
@settings(max_examples=10)
@given(data=st.data())
def test_damaged_files(tmp_path, service, data):
    file = data.draw(st.sampled_from(files_of(service)))
    path = tmp_path / file.name
    path.write_bytes(damaged(data, (EXPORTS / file).read_bytes()))

    taken(service, path)


def places(value, path=()):
    """The paths to everything inside a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else inner:
        yield from places(part, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    value = value.copy()
    value[path[0]] = replaced(value[path[0]], path[1:], new)
    return value


@pytest.mark.parametrize(
    "service", [s for s in SERVICES if files_of(s, ".json", ".js")]
)
@given(data=st.data())
def test_fields_of_another_type(tmp_path, service, data):
    """A list where a text should be, and the other way round, at any place."""
    file = data.draw(st.sampled_from(files_of(service, ".json", ".js")))
    content = (EXPORTS / file).read_text("utf-8")
    before, mark, script = content.partition(" = ")
    start = before + mark if file.suffix == ".js" else ""
    value = json.loads(script if start else content)
    place = data.draw(st.sampled_from(list(places(value))))
    value = replaced(value, place, data.draw(json_values("name", "text", "value")))
    path = tmp_path / file.name
    path.write_text(start + json.dumps(value), "utf-8")

    taken(file.parts[0], path)


def test_the_checks_see_something():
    """The files as they are give documents: the tests above do not run empty."""
    for service in SERVICES:
        read = {type(i) for f in files_of(service) for i in taken(service, EXPORTS / f)}
        assert Document in read, service


@pytest.mark.parametrize(
    ("service", "name", "content"),
    [
        ("x_archive", "tweets.js",
         b'window.YTD.tweets.part0 = [{"tweet":{}},' + b"[" * 9**5),
        ("mastodon", "outbox.json", b'{"orderedItems":[' + b'{"a":' * 9**5),
        ("google_play", "Reviews.json", b'[{"review":{"comment":"\x00","title":"a"}}]'),
        ("reddit", "posts.csv", b'id,permalink,subreddit,body,title\n"' + b"a" * 10**6),
        ("whatsapp", "_chat.txt", b"[1.1.23, 10:00:00] Ana: " + b"a " * 10**6),
        ("whatsapp", "_chat.txt", b"[1.1.23, 10:00:00] Ana: x\n" * 20 + b"\x00" * 99),
    ],
    ids=["brackets", "objects", "NUL", "cell", "words", "NULs"],
)  # fmt: skip
def test_extreme_files(tmp_path, service, name, content):
    """Deep nesting, an endless cell, a message of a million words, NULs."""
    path = tmp_path / name
    path.write_bytes(content)

    taken(service, path)


def test_one_broken_file_does_not_spoil_the_others(tmp_path):
    shutil.copytree(EXPORTS / "keep", tmp_path / "keep")
    whole = taken("keep", tmp_path / "keep")
    (note,) = (tmp_path / "keep").rglob("Seedlings.json")
    note.write_bytes(note.read_bytes()[:-5])

    damaged = taken("keep", tmp_path / "keep")

    assert len(damaged) == len(whole)
    (failure,) = [i for i in damaged if i not in whole and hasattr(i, "where")]
    assert failure.where == "Seedlings.json"


def test_the_rest_of_a_broken_list_is_said_to_be_lost(tmp_path):
    whole = (EXPORTS / "mastodon" / "outbox.json").read_text("utf-8")
    path = tmp_path / "outbox.json"
    path.write_text(whole.replace('"type":"Announce"', '"type"Announce', 1), "utf-8")

    items = taken("mastodon", path)

    assert isinstance(items[0], Document)
    assert "The rest of the file is not read" in items[1].reason
    assert len(items) == 2
