"""What is learnt from finished drafts: turns, and how near a text is to the person."""

from dataclasses import replace
from itertools import count

from decoding_core.settings import MethodSettings
from edge_app.decoding.shaping import FAR, MOST, Turn
from edge_app.facts.checking import names_fact
from edge_app.retrieval.lessons import Lesson, lesson_for, steps_nearer
from edge_app.retrieval.voice import learnt_from, mark, voice_of
from models.prompts import Request
from personal_store import Store
from personal_store.edits import Pair
from personal_store.lifecycle.forgetting import forget_learnt
from personal_store.lifecycle.writing import keep_finished
from personal_store.records import Document

DRAFT = "Hi {to},\n\nI hope you are well. {n} ferries came. Best wishes"
TEXT = "Hi {to},\n\n{n} ferries came. Toodle pip"
ONE, TWO = "I hope you are well.", "Best wishes"


def pairs(count, to=("a",)):
    return [
        Pair(n, whom, DRAFT.format(to=whom, n=n), TEXT.format(to=whom, n=n))
        for n in range(count)
        for whom in [to[n % len(to)]]
    ]


def turns(found, kind="email", persons=("a",)):
    return {one.out: one.into for one in learnt_from(found, kind, persons)}


def test_what_is_always_taken_out_is_learnt_towards_that_person():
    """From three drafts on, with what is put in its place; not what one draft alone
    held, and not what stays in every fifth draft."""
    assert turns(pairs(2)) == {}
    assert turns(pairs(3)) == {ONE: "", TWO: "Toodle pip"}
    assert turns(pairs(9), persons=("b",)) == {}
    kept = [Pair(10 + n, "a", DRAFT, DRAFT) for n in range(2)]
    assert turns(pairs(6) + kept) == {}


def test_towards_everybody_three_people_must_show_it():
    """So that a habit towards one person is none towards another."""
    assert turns(pairs(9, "ab"), persons=("c",)) == {}
    assert set(turns(pairs(9, "abc"), persons=("d",))) == {ONE, TWO}
    assert set(turns(pairs(3, ("",)), "review", ())) == {ONE, TWO}


def test_great_letters_and_longer_changes_count_with_the_others():
    """A word at the start of a sentence or within it, by itself or with others."""
    drafted = (
        "Yes, I come. Please call",
        "I say yes. Please let me know",
        "The end: yes",
    )
    final = "Aye, I come. Kindly call", "I say aye. Give me a shout", "the end: aye"
    each = enumerate(zip(drafted, final, strict=True))
    made = [Pair(n, "a", *one) for n, one in each]
    made += [Pair(4, "a", "Please do. The pier", "Kindly do. the pier")]
    made += [Pair(5, "a", "The pier", "the pier")]
    assert turns(made) == {"Yes": "Aye", "Please": "Kindly"}, "letters are no phrase"
    left = [Pair(n, "a", "A ferry, a pier", "The ferry, a pier") for n in range(5)]
    assert turns(left) == {}
    swapped = [(one.out, one.into) for one in Turn("Yes", "Aye").cases()]
    assert swapped == [("Yes", "Aye"), ("yes", "aye")]
    assert len(list(Turn("The", "the").cases())) == 1


def test_what_is_put_in_place_of_a_phrase_must_be_shown_to_three_people_too():
    """Else what one person reads ten times would turn up towards another; so it would
    if somebody with three addresses were three people."""
    made = pairs(10, "a") + [replace(one, person="b") for one in pairs(1)]
    made += [
        replace(one, person="c", text=one.text.replace("Toodle pip", "Yours"))
        for one in pairs(1)
    ]
    assert turns(made, persons=("d",)) == {ONE: "", TWO: ""}
    assert turns(made, persons=("a",)) == {ONE: "", TWO: "Toodle pip"}
    one_person = [replace(one, whom="ana") for one in pairs(9, "abc")]
    assert turns(one_person, persons=("d",)) == {}


def test_the_more_is_changed_the_nearer_to_the_person():
    """A step for each tenth of the words, three at most; none before five drafts."""
    words = [f"w{n}" for n in range(10)]
    for changed, steps in ((0, 0), (1, 1), (10, 3)):
        text = " ".join(["x"] * changed + words[changed:])
        made = [Pair(n, "a", " ".join(words), text) for n in range(12)]
        assert (steps_nearer(made[:4]), steps_nearer(made)) == (0, steps)
    moved = Lesson(nearer=2).settings(MethodSettings())
    assert (moved.threshold, moved.strength) == (0.125, 1.5)


def test_a_lesson_is_what_the_store_shows_and_the_owner_says(tmp_path):
    """Struck out, a turn is not made; a phrase struck out is one. The request decides
    the length if it names one."""
    with Store.open(tmp_path / "store.db") as store:
        for pair in pairs(6, ("Ana",)):
            document = Document(
                *(0, "", "email", pair.text + ",\nSam"),
                recipient="Ana",
                drafted=pair.drafted + ",\nSam",
                own_share=0.5,
            )
            keep_finished(store.db, f"page:{pair.record}", document)
        ask = Request("Thank her for the boat", "email", "Ana")
        lesson = lesson_for(store.db, ask)
        assert {turn.out for turn in lesson.turns} == {ONE, TWO}
        assert {turn.nats for turn in lesson.turns} == {4.5}
        assert lesson.frame.greeting == "Hi Ana,"
        assert lesson.length.high >= 10
        assert (lesson.nearer, lesson.frame.lead) == (3, MOST)
        said = {one.value: one for one in voice_of(store.db, "email", "Ana").lines}
        assert (said[TWO].into, said[TWO].edits, said[ONE].holds) == (
            *("Toodle pip", 6),
            True,
        )
        mark(store.db, "email", "Ana", "never", "struck", ONE)
        mark(store.db, "email", "Ana", "phrase", "struck", "ferries came")
        lesson = lesson_for(store.db, ask)
        assert {turn.out for turn in lesson.turns} == {TWO, "ferries came"}
        brief = Request("Thank her in two sentences", "email", "Ana")
        assert lesson_for(store.db, brief).length is None
        assert lesson_for(store.db, ask, "short").length.high < 10
        assert lesson_for(store.db, ask, "long").length.low > 10
        other = lesson_for(store.db, Request("Thank him", "email", "Ben"))
        assert (other.turns, other.length, other.nearer) == ((), None, 0)


def test_how_sentences_begin_is_learnt_from_drafts_and_letters(tmp_path):
    """From three drafts to a person, or to three people, if nearly all of the last ones
    were left so; "I" says nothing. What was said of the line wins."""
    great = "Hi {},\n\nThe raft came. I saw it. We row.\n\nYours,\nSam"
    small = great.replace("The", "the").replace("We", "we")
    with Store.open(tmp_path / "store.db") as store:

        def finish(to, drafted, text, count=3):
            for _ in range(count):
                made = Document(0, "", "email", text.format(to), recipient=to)
                made = replace(made, drafted=drafted.format(to), own_share=0.1)
                keep_finished(store.db, f"page:{next(number)}", made)

        def begins(*people):
            asked = [Request("Thank them", "email", to) for to in people]
            return [lesson_for(store.db, one).small for one in asked]

        number = count()
        finish("Ana", great, small, 2)
        finish("Ben", great, great)
        assert begins("Ana", "Ben", "Eve") == [None] * 3
        finish("Ana", great, small, 1)
        assert begins("Ana", "Ben", "Eve") == [True, None, None]
        (line,) = (one for one in voice_of(store.db, to="Ana").lines if one.edits)
        assert (line.name, line.value, len(line.records)) == ("small-letters", "yes", 3)
        mark(store.db, "email", "Ana", "small-letters", "struck")
        assert begins("Ana") == [None]
        mark(store.db, "email", "Ana", "small-letters", "")
        for to in ("Cy", "Di"):
            finish(to, great, small)
        assert begins("Ana", "Di", "Eve") == [True, True, None]
        finish("Di", small, great, 9)
        finish("Ed", great, small, 9)
        assert begins("Ana", "Di", "Eve") == [True, False, True]
        assert forget_learnt(store.db, store.path)[0]
        assert begins("Ana", "Di", "Eve") == [None] * 3
        for to, text in (("Fay", small), ("Gus", great)):
            for _ in range(3):
                made = Document(0, "", "email", text.format(to), recipient=to)
                keep_finished(
                    store.db, f"page:{next(number)}", replace(made, own_share=1)
                )
        assert begins("Fay", "Gus", "Eve") == [True, None, None]


def test_what_a_text_is_to_say_is_known_by_its_request_in_its_order(tmp_path):
    """Without words that ask, and the recipient's; a chosen length counts more."""
    ask = Request("Tell Ana the jam is ready, and say yes to Sunday", "email", "Ana")
    with Store.open(tmp_path / "store.db") as store:
        how = store.db, ask
        assert lesson_for(*how).asked == ()
        asked = lesson_for(*how, "short", adds_nothing=True).asked
        assert asked == ("jam", "ready", "sunday")
        assert lesson_for(*how, "long", adds_nothing=True).asked == ()
        longer = store.db, replace(ask, text=f"{ask.text}, in full")
        assert lesson_for(*longer, adds_nothing=True).asked == ()


def test_a_frame_that_had_to_be_put_in_leads_by_more(tmp_path):
    """By two nats a draft, within the bound; if it is usual towards this person too."""
    text = "Hi {to},\n\nThe raft came.\n\nToodle pip,\nSam"
    with Store.open(tmp_path / "store.db") as store:
        for number in range(12):
            to = ("Ana", "Ben", "Cy")[number % 3]
            lost = {0: "Toodle pip", 3: "Hi Ana", 6: "Hi Ana"}.get(number, "Psst")
            drafted = text.format(to=to).replace(lost, "Best")
            made = Document(0, "", "email", text.format(to=to), recipient=to)
            made = replace(made, drafted=drafted, own_share=0.5)
            keep_finished(store.db, f"page:{number}", made)
        leads = [
            lesson_for(store.db, Request("Thank them", "email", to)).frame.lead
            for to in ("Ana", "Ben", "Cy", "Eve")
        ]
    assert leads == [FAR, *3 * [MOST + 2]]


def test_what_is_often_said_is_said_besides_unless_it_is_a_fact(tmp_path):
    """A whole sentence as it is written, in a quarter of the letters to that person;
    a day may be over, and what is struck out is not said."""
    often = "The kettle is on, and our cat sends her love to you."
    with Store.open(tmp_path / "store.db") as store:
        for number, boat in enumerate(["raft", "punt", "ferry", "canoe"]):
            body = (
                f"The {boat} came. We sail on Saturday. {often} Any news of a {boat}?"
            )
            text = f"Hi Ana,\n\n{body}\n\nYours,\nSam"
            document = Document(0, "", "email", text, recipient="Ana", own_share=1.0)
            keep_finished(store.db, f"page:{number}", document)
        ask = Request("Thank her for the boat", "email", "Ana")
        assert lesson_for(store.db, ask).frame.besides == ()
        lesson = lesson_for(store.db, ask, names_fact=names_fact)
        assert lesson.frame.besides == (often,)
        assert often in lesson.words
        assert lesson.length.usual == 28
        said = "the kettle is on and our cat sends her love to you"
        mark(store.db, "email", "Ana", "phrase", "struck", said)
        assert lesson_for(store.db, ask, names_fact=names_fact).frame.besides == ()


def test_nothing_that_is_learnt_of_one_person_turns_up_towards_another(tmp_path):
    """Neither in a lesson nor in a voice, for somebody known or new; she has three
    addresses and gets most letters."""
    hers = (
        "Ahoy {to}!\n\nPsst: mind the Snork. {n} came 🐢. Our lamp winks at you. {end}"
    )
    plain = "Hi {to},\n\n{n} came today.\n\nBye,\nSam"
    people = [("Ana Ruiz", f"ana{n % 3}@a.example", hers) for n in range(12)]
    people += [(name, "", plain) for name in ("Bo", "Cy", "Di") for _ in range(3)]
    with Store.open(tmp_path / "store.db") as store:
        for number, (to, address, form) in enumerate(people):
            values = {"to": to.split()[0], "n": chr(65 + number) * 3}
            text = form.format(**values, end="So it goes, o/.\n\nToodle pip,\nZed")
            made = Document(0, "", "email", text, recipient=to, own_share=0.5)
            drafted = text.replace("mind the Snork", "take good care")
            made = replace(made, recipient_address=address, drafted=drafted)
            keep_finished(store.db, f"page:{number}", made)
        mark(store.db, "email", "Ana", "phrase", "set", "wink wink")
        own = ["Ahoy", "Psst", "Snork", "take", "🐢", "winks", "goes", "Toodle", "wink"]
        for to in ("Ana", "Bo", "Eve"):
            ask = Request("Thank them", "email", to)
            lesson = lesson_for(store.db, ask, names_fact=lambda _: False)
            voice = voice_of(store.db, "email", to)
            said = repr((lesson, [(one.value, one.into) for one in voice.lines]))
            assert [one in said for one in own] == [to == "Ana"] * len(own), said
            assert (lesson.nearer > 0) == (to == "Ana")
