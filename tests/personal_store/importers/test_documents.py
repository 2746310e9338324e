"""Notes and documents: the words their owner wrote, and nothing a program reads."""

import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store import SourceError, import_source
from personal_store.files import Source, of_file
from personal_store.importers.documents import docx, front_matter, odt, prose, text
from personal_store.importers.structured import array_values
from personal_store.importers.tables import _lamp_items
from personal_store.reading.letters import MAX_STORED
from personal_store.records import ReadOptions
from personal_store.text.dates import parse_date
from tests.personal_store.stores import counts, damaged, json_values, lay, zipped
from tests.waiting import no_hang

MARCH = parse_date("2024-03-12")


def texts(store):
    return [record.text for record in store.records()]


def test_text_files_are_read(store, tmp_path):
    """Another charset, Windows line ends; the date is the file's; an edit replaces."""
    files = {
        "a.txt": "Schöne Grüße\r\naus dem Süden.\r\n".encode("cp1252"),
        "b.txt": "Ein zweiter Brief.".encode("utf-16"),
        "c.txt": b"\x7fELF\0\0\0",
        "d.txt": b"two words",
        "a.pdf": b"%PDF",
    }
    folder = lay(tmp_path / "letters", files)
    os.utime(folder / "a.txt", (MARCH, MARCH))

    first = import_source(store, "text", folder)
    (folder / "b.txt").write_text("Ein zweiter, neuer Brief.")
    second = import_source(store, "text", folder)

    assert counts(first) == (2, 0, 1, 1)
    assert counts(second) == (0, 1, 2, 1)
    assert texts(store) == ["Schöne Grüße\naus dem Süden.", "Ein zweiter, neuer Brief."]
    assert next(store.records()).sent_at == MARCH
    assert next(store.records()).title == "a"


def test_a_long_text_is_stored_whole(store, take, tmp_path):
    """In pieces, each cut between paragraphs, of which the last says that the file is
    done; read again they are known."""
    paragraphs = [f"Paragraph {i}: " + "word " * 60 for i in range(1000)]
    book = "\n\n".join(paragraphs)

    first = take("text", "book.txt", book)
    again = take("text", "book.txt", book)

    assert first.added == 4
    assert counts(again) == (0, 0, 4, 0)
    assert max(map(len, texts(store))) <= MAX_STORED
    assert "\n\n".join(texts(store)).split() == " ".join(paragraphs).split()
    source = Source(tmp_path / "book.txt", len(book))
    positions = [item.position for item in text.read(source, ReadOptions())]
    assert positions == [0, 0, 0, len(book)]


NOTE = """---
title: "The garden"
date: 2024-03-12
tags: [spring, "garden"]
aliases:
  - green
---
# What to plant ^head

Ask [[People/Anna Berg|Anna]] about [[roses#Red ones]], see [the list](https://x.example).
> Somebody else wrote this line.

> [!note] Mine
> And this I wrote in a box.

![[picture.png]] ![alt](a.png)
```python
print("no prose")
```
%% a remark
over two lines %%It rained. <!-- hidden -->
~~~
also code
"""


def test_a_vault_is_read(store, tmp_path):
    """Front matter gives date, title, tags; links are words; code and embeds go."""
    files = {
        "Garden.md": NOTE,
        "2024-03-12.md": "Today it rained again.\r\n",
        "Templates/Letter.md": "Dear {{name}}, thank you very much.",
        ".obsidian/plugins/readme.md": "This is a plugin of somebody.",
        ".trash/old.md": "Thrown away a while ago.",
        "Clip.md": "---\nsource: https://x.example\n---\nA text by somebody.",
        "Empty.md": "---\ntitle: nothing\n---\n",
    }

    report = import_source(store, "markdown", lay(tmp_path / "vault", files))

    assert counts(report) == (2, 0, 2, 0)
    day, garden = store.records()
    assert (day.text, day.sent_at) == ("Today it rained again.", MARCH)
    assert (garden.title, garden.sent_at) == ("The garden", MARCH)
    assert garden.labels == ("garden", "spring")
    assert garden.text == (
        "What to plant\n\nAsk Anna about roses Red ones, see the list.\n\nMine\n"
        "And this I wrote in a box.\n\nIt rained."
    )


def test_front_matter():
    """What is never closed is none."""
    front = "a: 1\nB c: 'x, y'\ntags:\n  - one\n  - two # remark\nnone: []\nkey:\n"
    fields = {"a": ["1"], "b c": ["x, y"], "tags": ["one", "two"], "none": []}

    assert front_matter(f"--- \n{front}---\nbody") == (fields | {"key": []}, "body")
    assert front_matter("---\n---\nbody") == ({}, "body")
    assert front_matter(f"---\n{front}") == ({}, f"---\n{front}")


@given(st.text(alphabet="-:[]'\"#!|>`~%<\n ab^&", max_size=200))
def test_no_note_raises_or_invents(text):
    """Nothing is in the prose that was not in the note."""
    _, body = front_matter(f"---\n{text}")

    assert set(prose(body)) <= set(text) | {"-", "\n", " "}


@pytest.mark.parametrize("mark", ["[[", "![", "<!--", "%%", "`", "> ", "[a](", "---\n"])
def test_hostile_notes_take_no_long_time(mark):
    """Much of what begins something and never ends it."""
    with no_hang():
        prose(mark * (500_000 // len(mark)))


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
CORE = (
    '<cp:coreProperties xmlns:cp="a" xmlns:dc="b" xmlns:dcterms="c">'
    "<dc:title>A letter</dc:title><dcterms:created>2024-03-12T00:00:00Z"
    "</dcterms:created></cp:coreProperties>"
)
WORD = f"""<?xml version="1.0"?><w:document {W} xmlns:mc="m"><w:body>
<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>
<w:r><w:t>Dear Anna,</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">thank you </w:t></w:r>
<w:del><w:r><w:delText>no </w:delText></w:r></w:del>
<w:ins><w:r><w:t>so much</w:t></w:r></w:ins><w:r><w:br/><w:t>for it</w:t></w:r>
<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>
<w:moveFrom><w:p><w:r><w:t>moved away</w:t></w:r></w:p></w:moveFrom>
<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></mc:Choice>
<mc:Fallback><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></mc:Fallback>
</mc:AlternateContent></w:body></w:document>"""
ODF = """<?xml version="1.0"?><office:document-content xmlns:office="o" xmlns:text="t">
<office:body><office:text><text:tracked-changes><text:p>deleted</text:p>
</text:tracked-changes><text:h>Dear Anna,</text:h>
<text:p>thank<text:s text:c="2"/>you<text:note><text:p>a foot note</text:p></text:note>
 <text:span>so much</text:span><text:line-break/>for it</text:p>
<office:annotation><text:p>a remark</text:p></office:annotation>
</office:text></office:body></office:document-content>"""
META = CORE.replace("dcterms:created", "meta:creation-date").replace("dcterms", "meta")


@pytest.mark.parametrize(
    ("kind", "parts", "body"),
    [
        ("docx",
         {"word/document.xml": WORD, "docProps/core.xml": CORE,
          "word/comments.xml": "<x/>"},
         "Dear Anna,\n\nthank you so much\nfor it\n\nIn a box."),
        ("odt", {"content.xml": ODF, "meta.xml": META},
         "Dear Anna,\n\nthank  you\n so much\nfor it"),
    ],
)  # fmt: skip
def test_word_processors_are_read(store, tmp_path, kind, parts, body):
    """As they read now: insertions in, deletions and moved text out. Though each is a
    zip, 'import mbox' does not look into it."""
    lay(tmp_path, {f"a.{kind}": zipped(parts), "~$a.docx": "lock"})

    report = import_source(store, kind, tmp_path)

    assert counts(report) == (1, 0, 0, 0)
    (record,) = store.records()
    assert (record.title, record.sent_at, record.text) == ("A letter", MARCH, body)
    with pytest.raises(SourceError, match="is not an mbox file"):
        import_source(store, "mbox", tmp_path / f"a.{kind}")


LAUGHS = (
    '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    f"<w:document {W}><w:p><w:t>&b; well well</w:t></w:p></w:document>"
)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"word/document.xml": LAUGHS}, "declares a document type"),
        ({"word/document.xml": "<a><b></a>"}, "XML is broken"),
        ({"word/other.xml": "<a/>"}, "has no word/document.xml"),
        ({"word/document.xml": b"<a>" + bytes(40_000_000)}, "far too much"),
        (None, "cannot be read"),
    ],
    ids=["entities", "broken", "missing", "bomb", "no zip"],
)
def test_hostile_documents_are_failures(take, parts, sentence):
    data = b"PK no zip at all" if parts is None else zipped(parts)

    report = take("docx", "a.docx", data)

    assert counts(report) == (0, 0, 0, 1)
    assert sentence in str(report.failures[0])


@settings(max_examples=25)
@given(st.data())
def test_no_bytes_stop_the_documents(tmp_path, data):
    """Damaged zips, and damaged XML in whole ones."""
    xml = damaged(data, WORD.encode())
    whole = zipped({"word/document.xml": xml, "content.xml": xml})
    path = lay(tmp_path, {"a.docx": damaged(data, whole)}) / "a.docx"

    for importer in (docx, odt):
        assert len(list(importer.read(of_file(path), ReadOptions()))) == 1


LAMP = [
    {"id": "110", "input": "Generate a headline", "profile": [
        {"id": "1", "title": "Rain again", "text": "It rained all over the town."},
        {"id": "2", "text": "A lovely chair, it creaks.", "score": "4"},
    ]},
    {"reviewerId": "B", "profile": [
        {"overall": 5, "summary": "Soup", "reviewText": "Hot.", "description": "A"},
        {"title": "A paper", "abstract": "We show that it works."},
        {"input": "Why?", "output": "Because of the weather."},
        {"tag": "nothing to read"},
        "nonsense",
    ]},
    {"id": "3"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data"),
    [("a_questions.json", json.dumps(LAMP)),
     ("a.jsonl", "\n".join(map(json.dumps, LAMP)))],
)  # fmt: skip
def test_benchmark_profiles_are_a_history(store, take, tmp_path, name, data):
    """Of all users, or of one: who is not there is a sentence with those who are."""
    with pytest.raises(SourceError, match=r"no user '\?'; it has: 110, "):
        take("lamp", name, data, mapping={"user": "?"})
    one = take("lamp", name, data, mapping={"user": "110"})
    report = take("lamp", name, data)
    again = import_source(store, "lamp", tmp_path)

    assert counts(one) == (2, 0, 1, 1)
    assert counts(report) == (3, 0, 4, 1)
    assert counts(again) == (0, 0, 7, 1)
    found = [(r.kind, r.title, r.text, r.rating or 0) for r in store.records()]
    assert sorted(found) == [
        ("note", "A paper", "We show that it works.", 0),
        ("note", "Rain again", "It rained all over the town.", 0),
        ("note", "Why?", "Because of the weather.", 0),
        ("review", "", "A lovely chair, it creaks.", 4.0),
        ("review", "Soup", "Hot.", 5.0),
    ]


@given(st.lists(json_values("profile", "text", "id"), max_size=5), st.integers(0, 4))
def test_long_lists_are_read_element_by_element(values, indent):
    """Positions grow by whole elements; the last is at most the size."""
    data = json.dumps(values, ensure_ascii=False, indent=indent or None).encode()

    found = list(array_values(io.BytesIO(data), "it"))
    positions = [position for position, _ in found]

    assert repr([value for _, value in found]) == repr(values)  # NaN equals nothing
    assert positions == sorted(set(positions))
    assert all(position <= len(data) for position in positions)
    for value in values:
        list(_lamp_items(Source(Path("a"), 1), value, "", 0, 1))


_DEEP = pytest.param("[" * 100_000, id="deep")


@pytest.mark.parametrize("text", ["", "{}", "[1", "[1,", '["a', _DEEP, "[x]"])
def test_broken_lists_are_a_sentence(text):
    with pytest.raises(SourceError, match="is not JSON"):
        list(array_values(io.BytesIO(text.encode()), "it"))
