"""How somebody writes, counted from their texts: lines, marks, and what forgetting
takes away."""

import json
from dataclasses import replace

import pytest

from edge_app.evaluation.cases import passage
from edge_app.retrieval.voice import SAME_MANNER, body_of, in_manner, mark, voice_of
from personal_store import Store, StoreError, import_source, transfer
from personal_store.habits import habits_of
from personal_store.lifecycle.forgetting import exclude, forget, forget_learnt
from personal_store.search.tables import check, refresh

ANA = "Hey {name}!\n\nit's me again - the kettle sings 😊. {n} ferries came.\n\nxo\nSam"
PHRASE = "it's me again the kettle sings"
BOSS = """Dear Dr. Berg,

I am writing about item {n}. I will send the figures, as agreed on the phone.

Kind regards,
Samuel Lee"""


def put(store, tmp_path, rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    names = ("text", "kind", "to", "date")
    import_source(store, "jsonl", path, mapping={name: name for name in names})


def row(text, recipient, number, kind="email"):
    date = f"2024-03-{number % 27 + 1:02}T10:00:00"
    return {"text": text, "kind": kind, "to": recipient, "date": date}


@pytest.fixture
def letters(tmp_path):
    numbers = ["two", "three", "four", "five", "six"]
    rows = [
        row(ANA.format(name="Ana", n=n), "Ana Ruiz", i) for i, n in enumerate(numbers)
    ]
    rows += [row(BOSS.format(n=n), "Helga Berg", i) for i, n in enumerate(numbers)]
    with Store.open(tmp_path / "store.db") as store:
        put(store, tmp_path, rows)
        yield store


@pytest.mark.parametrize(
    ("text", "to", "wanted"),
    [
        (
            "hey ben,\n\ni can't come! it rains - a lot.\n\ncheers\nsam",
            "Ben Cole",
            {"greeting": "hey {name},", "sign_off": "cheers", "name": "sam",
             "lower": 2, "exclaimed": 1, "dashes": 1, "contracted": 1, "words": 11},
        ),
        (
            "Ben, the form came.\n\nUntil the next tide,\nOld Sam\n\nPS: bring tea",
            "Ben",
            {"greeting": "{name},", "sign_off": "Until the next tide,",
             "name": "Old Sam", "sentences": 1},
        ),
        (
            "Liebe Anna,\n\ndanke für die Fotos, die du mir geschickt hast. Wie geht "
            "es dir?\n\nLiebe Grüße, Sam",
            "Anna Berg",
            {"greeting": "Liebe {name},", "sign_off": "Liebe Grüße,", "name": "Sam",
             "language": "de", "form": "du"},
        ),
        ("The soup was thin.", "Ben", {"greeting": "", "sign_off": "", "name": ""}),
        ("", "", {"words": 0, "sentences": 0}),
    ],
)  # fmt: skip
def test_a_letter_shows_its_habits(text, to, wanted):
    found = habits_of(text, "email", to)
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_a_voice_is_that_towards_a_person(letters, tmp_path):
    """With the texts that each line is from; a general line is shown to three people
    at least, so that what is said to one never turns up towards another."""
    ana = voice_of(letters.db, "email", "Ana")
    said = {line.name: (line.value, line.shown, line.of) for line in ana.lines}
    assert said["greeting"] == ("Hey {name}!", 5, 5)
    assert (said["sign-off"], said["name"]) == (("xo", 5, 5), ("Sam", 5, 5))
    assert said["emoji"] == ("yes 😊", 5, 5)
    assert (said["small-letters"][0], said["exclamation-marks"][0]) == ("yes", "no")
    assert said["contractions"][0] == said["dashes"][0] == "yes"
    assert (PHRASE, 5) in [(one.value, one.shown) for one in ana.lines]
    assert ana.length == (13, 13, 13)
    whose = {letters.passage(i).recipient for i in ana.lines[0].records}
    assert whose == {"Ana Ruiz"}
    general = voice_of(letters.db, "email", "Nobody known")
    assert general.general
    assert (general.lines, general.length, general.texts) == ((), None, 10)
    assert (
        "; a line needs 3, or texts to 3 people: 'specsteer import'" in general.whence
    )
    assert ana.whence == "5 emails to ana ruiz"
    more = [row(BOSS.format(n="one"), f"P{i} Berg", i) for i in (1, 2, 3)]
    put(letters, tmp_path, more)
    everybody = voice_of(letters.db)
    ends = next(line for line in everybody.lines if line.name == "sign-off")
    assert (ends.value, ends.shown, ends.of) == ("Kind regards,", 8, 13)
    assert not {"Sam", "xo", PHRASE} & {line.value for line in everybody.lines}
    assert voice_of(letters.db, "review").lines == ()


def test_letters_in_the_manner_of_those_to_the_recipient_are_read():
    """With fewer than three letters to somebody, it is not known what that is."""
    ana, boss = ANA.format(name="Bo", n="one"), BOSS.format(n="one")
    found = [
        replace(passage(at, "email", to, "", text), score=2.0 - at / 9)
        for at, (to, text) in enumerate(
            [("Ana", ana)] * 3 + [("Helga", boss), ("Bo", ana), ("Cy", boss)]
        )
    ]
    hers = [
        replace(o, score_parts={"bm25": 1.0, "same_recipient": o.recipient == "Ana"})
        for o in found
    ]
    read = in_manner(hers)
    assert [one.recipient for one in read] == [*["Ana"] * 3, "Bo", "Helga", "Cy"]
    assert read[0].score_parts["same_manner"] == SAME_MANNER
    assert 0.0 < read[-1].score_parts["same_manner"] < SAME_MANNER / 2
    assert in_manner(hers[1:]) == hers[1:]


def test_one_person_with_several_addresses_is_one(tmp_path):
    """Towards everybody nothing shows of what is said to her alone, nor the sign that
    she gets most."""
    ways = "Ana Ruiz <a@home.example>", "Ana <ana@work.example>", "Ana R", "Ana Ruiz"
    text = ANA.format(name="Ana", n="one")
    with Store.open(tmp_path / "store.db") as store:
        put(store, tmp_path, [row(f"{text} {i}", to, i) for i, to in enumerate(ways)])
        assert voice_of(store.db).lines == ()
        assert voice_of(store.db, "email", "Nobody known").texts == 4
        more = [row(f"Hi {to}, fine :) {to}", to, 9) for to in ("Bo", "Cy")]
        put(store, tmp_path, more)
        said = {one.name: one.value for one in voice_of(store.db).lines}
        assert said["emoji"] == "yes"
        assert "greeting" not in said


def test_of_two_people_of_one_name_the_last_written_to_is_meant(letters, tmp_path):
    """And the other one is named; more of the name decides."""
    rows = [row(BOSS.format(n=n), "Ana Lee", 20 + n) for n in range(3)]
    put(letters, tmp_path, [*rows, row(ANA.format(name="Ana", n="ten"), "Ana", 26)])
    meant = voice_of(letters.db, "email", "ana")
    assert meant.persons == ("ana", "ana lee")
    assert ", not to ana ruiz: an address says who is meant" in meant.whence
    assert meant.value("sign-off") == "Kind regards,"
    for to, person in (("Ana Lee", "ana lee"), ("Ruiz", "ana ruiz")):
        found = voice_of(letters.db, "email", to)
        assert found.persons == (person,)
        assert "an address" not in found.whence
    mark(letters.db, "email", "Ana", "sign-off", "set", "Bye,")
    assert voice_of(letters.db, "email", "Ruiz").value("sign-off") == "xo"


def test_what_the_owner_says_wins_and_can_be_taken_back(letters):
    """Towards the one person; a pin goes with the last text that says it."""
    db = letters.db
    mark(db, "email", "Ana", "greeting", "set", "Hola {name},")
    mark(db, "email", "Helga", "sign-off", "pinned")
    mark(db, "email", "", "sign-off", "set", "Bye,")
    mark(db, "email", "Ana", "phrase", "struck", PHRASE)
    mark(db, "email", "Ana", "length", "set", "40 words")
    ana, boss = (voice_of(db, "email", to) for to in ("Ana", "Helga Berg"))
    assert (ana.value("greeting"), ana.value("sign-off")) == ("Hola {name},", "Bye,")
    assert boss.value("greeting") == "Dear Dr. {name},"
    assert boss.value("sign-off") == "Kind regards,"
    struck = [line for line in ana.lines if line.value == PHRASE]
    assert [line.holds for line in struck] == [False]
    assert ana.length == (40, 40, 40)
    mark(db, "email", "Ana", "greeting", "")
    assert voice_of(db, "email", "Ana").value("greeting") == "Hey {name}!"
    for name in ("colour", "small-letters"):
        with pytest.raises(StoreError):
            mark(db, "email", "", name, "set", "x")
    forget(db, letters.path, [p.record_id for p in letters.written_to("Helga")])
    rows = db.execute("SELECT person, line FROM voice_mark ORDER BY person, line")
    assert rows.fetchall() == [
        ("", "sign-off"), ("ana ruiz", "length"), ("ana ruiz", "phrase"),
    ]  # fmt: skip
    assert forget_learnt(db, letters.path) == (0, 3)


def test_a_text_takes_its_share_along(letters, tmp_path):
    """Excluded, in a copy, or forgotten; nothing is left, and a wrong row shows."""
    db, name = letters.db, "greeting"

    def greets(db=db):
        return [one.shown for one in voice_of(db, to="Ana").lines if one.name == name]

    first = letters.written_to("Ana")[0].record_id
    exclude(db, [first])
    assert greets() == [4]
    exclude(db, [first], excluded=False)
    lines = list(transfer.as_lines(db))
    (tmp_path / "all.jsonl").write_bytes(b"".join(lines))
    with Store.open(tmp_path / "second.db") as second:
        import_source(second, "jsonl", tmp_path / "all.jsonl")
        assert greets(second.db) == [5]
    assert forget(db, letters.path, [first]).left == ()
    assert (greets(), check(db), body_of(db, first)) == ([4], [], "")
    db.execute(
        "UPDATE habit SET words = 99 WHERE id = ?",
        [letters.written_to("Ana")[0].record_id],
    )
    assert "does not show" in check(db)[0]
    refresh(db, [one for (one,) in db.execute("SELECT id FROM record").fetchall()])
    assert check(db) == []
