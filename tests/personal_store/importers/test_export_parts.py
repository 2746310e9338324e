"""What the importers of exports share: texts, tables, lists, names."""

import json

import pytest

from personal_store.errors import SourceError
from personal_store.files import of_file
from personal_store.importers import exports, structured
from personal_store.importers.meta import mend
from personal_store.records import ImportFailure
from tests.personal_store.stores import lay


def write(tmp_path, content):
    return of_file(lay(tmp_path, {"file": content}) / "file")


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("one<br/>two &lt;3", "one\ntwo <3"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("one\n\ntwo <i>three</i>", "one\n\ntwo three"),
        ("I <3 this & that, 1 < 2", "I <3 this & that, 1 < 2"),
        ("<blockquote>theirs</blockquote>mine", "mine"),
        ("a<blockquote>b<blockquote>c</blockquote>d</blockquote>e", "a\ne"),
        ("mine<blockquote>theirs, never closed", "mine"),
        ("<blockquote>" * 40 + "x" + "</blockquote>" * 40 + "mine", ""),
        ("  \n one \r\n two ", "one\n two"),
        (None, ""),
        (7, ""),
    ],
)
def test_texts_read_as_they_were_seen(written, seen):
    assert exports.prose(written) == seen


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@ben Come on Sunday", ("@ben", "Come on Sunday")),
        ("@ben @ada, come", ("@ben", "come")),
        ("@ben@social.example.org hello", ("@ben@social.example.org", "hello")),
        ("@ben", ("@ben", "")),
        ("Come, @ben", ("", "Come, @ben")),
        ("ben@example.org is mine", ("", "ben@example.org is mine")),
        ("@ home", ("", "@ home")),
    ],
)
def test_whom_an_answer_is_for(text, expected):
    assert exports.addressed(text) == expected


def test_messages_that_say_little():
    for text in ("ok", "see you", "https://example.org/a/b/c/d yes"):
        assert exports.says_little(text)
    for text in ("see you soon", "また明日"):
        assert not exports.says_little(text)


@pytest.mark.parametrize("text", ["café", "größer ☕", "plain", "ça"])
def test_letters_in_pieces_are_put_together(text):
    """And whole ones stay whole, whatever they are."""
    assert mend(text) == mend(text.encode().decode("latin-1")) == text
    assert mend(f"{text}\ud83d") == f"{text}\ud83d"


def test_rows_of_a_table(tmp_path):
    """Names in any spelling; a row too long is a failure, a short one is not."""
    names = b'\xef\xbb\xbfComment ID,IP,"Comment Text"\n'
    told = b'1,203.0.113.9,"two\nlines"\n\n2,,x,y\n3\n4,,caf\xe9\n'
    file = write(tmp_path, names + told)

    first, long, short, western = structured.rows(file)

    assert isinstance(long, ImportFailure)
    assert first.fields == {"commentid": "1", "commenttext": "two\nlines"}
    assert short.get("commenttext", "commentid") == "3"
    assert western.get("commenttext") == "café"
    assert western.position == file.size
    assert str(long) == "file, line 5: it has 4 fields, the first line has 3"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_tables_that_a_spreadsheet_saved_again(tmp_path, delimiter):
    """In UTF-16 they are one sentence."""
    lines = [delimiter.join(cells) for cells in (("a", "B b"), ("1", "x"))]
    file = write(tmp_path, "\r\n".join(lines))

    assert structured.has_columns(file.head(), ("a",), ("bb", "b"))
    assert not structured.has_columns(file.head(), ("c",))
    assert [row.fields for row in structured.rows(file)] == [{"a": "1", "bb": "x"}]
    with pytest.raises(SourceError, match="UTF-16"):
        list(structured.rows(write(tmp_path, "\n".join(lines).encode("utf-16"))))


def test_ratings():
    told = {"4": 4.0, "3,5": 3.5, 5: 5.0, "": None, "nan": None, "1e9": None}

    assert {value: structured.number(value) for value in told} == told


@pytest.mark.parametrize("before", ["", '{"a": "\\"b\\": [", "b": ', "window.YTD.x = "])
def test_elements_of_a_long_list(tmp_path, before):
    """Longer than what is read at once; every one is found, positions grow. What is no
    object is a failure."""
    entries = [{"n": n, "text": "ü" * 997} for n in range(2_000)]
    listed = json.dumps([3, *entries, "x"], ensure_ascii=False)
    file = write(tmp_path, before + listed)

    first, *found, last = structured.elements(file, "b")

    assert [element.fields for element in found] == entries
    positions = [element.position for element in found]
    assert positions == sorted(set(positions))
    assert 0 < positions[0] < positions[-1] < file.size
    assert str(first) == "file, entry 1: it is not an object with fields"
    assert str(last).startswith("file, entry 2002:")


@pytest.mark.parametrize("content", ["{}", '{"other": []}', "3", '{"b": {}}'])
def test_a_file_without_the_list_is_one_sentence(tmp_path, content):
    with pytest.raises(SourceError, match="does not hold the list"):
        list(structured.elements(write(tmp_path, content), "b"))


def test_names_are_compared_as_they_are_read():
    """Not by case, invisible marks and the sign of a contact that is not saved."""
    spellings = "Tess Field|tess  field|\u200eTess\u202fField|~\u202fTess Field"
    for name in spellings.split("|"):
        assert exports.identity("x", name) == "x:tess field"
    assert exports.identity("x", "\u200e ") == ""


def test_who_is_me():
    people = exports.People("x")
    people.writers.update({"Ana": 3, "Ben": 5})

    assert people.mine(["ana"], []) == (["ana"], "")
    assert people.mine(["ana@example.org", "Ben"], []) == (["Ben"], "")
    assert people.mine([], ["x:ana"]) == ([], "")
    with pytest.raises(SourceError, match=r"The names are: Ben \(5\), Ana \(3\)"):
        people.mine([], ["y:ana", "ana@example.org"])
    with pytest.raises(SourceError, match="Nobody is called 'Carl'"):
        people.mine(["Carl"], ["y:ana"])
    assert people.mine(["Carl", "Ana"], []) == (["Ana"], "")
    assert people.mine(["Carl"], ["x:ben"]) == ([], "")

    people.owners = ("Carl", "Ben")

    assert people.mine([], []) == (["Ben"], "the export says so")
    assert exports.People("x").mine(["Carl"], []) == ([], "")
