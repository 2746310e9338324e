"""Drawers and dialogs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from textual import events
from textual.widgets import Button, Input
from tui_helpers import (
    SECOND,
    GatedService,
    drafted,
    gated_service,
    make_app,
    play,
    said,
    until,
    until_drafted_twice,
)
from tui_tapes import LETTER, REQUEST, SOURCES, letter_recording

from decoding_core.errors import StoppedError
from edge_app.decoding.events import Alternatives, Choice, HeldBack, Place, Settled
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.service import WritingService
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens import cards as cards_text
from edge_app.tui.screens.compare import differences, hunks, sentences, taken
from edge_app.tui.screens.drawer import HeldBackQuestion
from edge_app.tui.screens.sent import hex_dump
from edge_app.tui.screens.why import (
    WhyDrawer,
    followed,
    origin,
    word_at,
    words_of_version,
)
from edge_app.tui.screens.widgets import complete, dropped
from edge_app.tui.text import joined, spliced
from edge_app.tui.variant import Variant
from models.prompts import Request
from personal_store.import_runs import Unfinished
from tests.waiting import wait_until


def test_compare_shows_what_differs():
    pieces = differences("I fly a kite.", "I fly kites.")

    assert "".join(t for t, change in pieces if change != "new") == "I fly a kite."
    assert "".join(t for t, change in pieces if change != "gone") == "I fly kites."


def test_other_sentences_are_not_told_apart_word_by_word():
    """A word or a gap that both have does not part what is struck from what is new."""
    pieces = differences("So I can come, if it is easy.", "So It is all here to see.")
    assert pieces == [
        ("So ", "same"),
        ("I can come, if it is easy", "gone"),
        ("It is all here to see", "new"),
        (".", "same"),
    ]
    assert differences("a b c d e", "a x c d y") == [
        ("a ", "same"),
        ("b", "gone"),
        ("x", "new"),
        (" c d ", "same"),
        ("e", "gone"),
        ("y", "new"),
    ]


def test_paths_are_completed(tmp_path):
    (tmp_path / "letters").mkdir()

    assert complete(f"{tmp_path}/let") == f"{tmp_path}/letters/"
    assert complete(f"{tmp_path}/none") is None
    assert complete("") is None


def test_bytes_are_shown_as_numbers_and_letters():
    assert hex_dump(b"Hi\x00").split() == ["00000", "48", "69", "00", "Hi."]


def test_a_drawer_is_closed_once(tmp_path):
    """A choice that comes late, behind the key that closed it, ends no app."""
    app = make_app(gated_service(), tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+l")
        await until(pilot, lambda: app.screen is not app.page)
        drawer = app.screen
        drawer.dismiss()
        drawer.dismiss()
        await until(pilot, lambda: app.screen is app.page)

    play(app, steps)


TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n”)"), max_size=30)


@given(TEXTS)
def test_sentences_are_all_of_a_text(text):
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text


@given(TEXTS, TEXTS)
def test_taking_all_hunks_makes_the_other(here, there):
    """But for the space around them: first the last hunk, so that places stay."""
    ours, theirs = [(here, "kept")], [(there, "typed")]
    found = hunks(here, there)
    assert "".join(here[slice(*one.here)] for one in found) == here
    assert "".join(there[slice(*one.there)] for one in found) == there
    for hunk in reversed(found):
        if not hunk.same:
            ours = spliced(ours, *taken(hunk, ours, theirs))
    assert "".join(t for t, _ in ours).split() == there.split()


@pytest.mark.parametrize(
    ("here", "there", "first"),
    [
        ("A b. C d. E.", "A b. X. E.", "A b. X. E."),
        ("A b. C d.", "A b. X y.", "A b. X y."),
        ("A b.", "A b. X y.", "A b. X y."),
        ("A b. C d.", "A b.", "A b."),
        ("Hi,\n\nA b.", "Ho,\n\nA b.", "Ho,\n\nA b."),
        ("A. B.", "X. A. B.", "X. A. B."),
    ],
)
def test_a_hunk_is_taken_with_the_space_it_needs(here, there, first):
    ours, theirs = [(here, "kept")], [(there, "typed")]
    hunk = next(one for one in hunks(here, there) if not one.same)
    made = joined(spliced(ours, *taken(hunk, ours, theirs)))
    assert "".join(text for text, _ in made) == first


@pytest.mark.slow
def test_a_hunk_is_taken_put_back_and_there_again(tmp_path):
    journals = JournalFolder(tmp_path / "drafts")
    app = make_app(gated_service(), tmp_path, journals=journals)

    async def steps(pilot):
        await until_drafted_twice(pilot)
        variant = app.writing.variant
        await pilot.press("f9")
        assert "right: version 1" in said(app, ".note")
        await pilot.press("space", "space")
        changed = variant.text
        assert changed.startswith("Dear Ana,\n\nThank you for the photographs. ")
        assert app.page.editor.text == changed
        await pilot.press("u", "u")
        assert variant.text == SECOND
        await pilot.press("up", "up", "space", "space", "escape", "ctrl+z", "ctrl+z")
        assert app.page.editor.text == SECOND
        await pilot.press("ctrl+y", "ctrl+y")
        assert app.writing.variant.text == changed
        app.texts = [known.text for known in app.writing.variants]

    play(app, steps)
    (one,) = journals.kept()[0]
    assert [known.text for known in one.draft.variants] == app.texts
    assert app.texts[0] == LETTER


def test_sentences_that_are_alike_stand_side_by_side():
    here = "Hi. I can come on Monday. Bring tea."
    there = "Dear Ana. What a day. I can come on Friday. Bring the tea. Bye."
    sides = [(here[slice(*h.here)], there[slice(*h.there)]) for h in hunks(here, there)]
    assert [(left.strip(), right.strip()) for left, right in sides] == [
        ("Hi.", "Dear Ana. What a day."),
        ("I can come on Monday.", "I can come on Friday."),
        ("Bring tea.", "Bring the tea."),
        ("", "Bye."),
    ]


MAIL = (
    "From - Sat Mar 02 10:00:00 2024\nFrom: Tess <tess@example.org>\n"
    "To: Ana <ana@example.org>\nSubject: tea {n}\nMessage-ID: <{n}@example.org>\n"
    "Date: Sat, 2 Mar 2024 10:00:0{n} +0000\n\nHullo Ana, the tea number {n} is ready "
    "and stands on the piano in the hall.\n\nTess\n\n"
)


def mailbox(folder: Path) -> Path:
    path = folder / "My Mail's box" / "Sent.mbox"
    path.parent.mkdir()
    path.write_text("".join(MAIL.format(n=n) for n in range(3)))
    (path.parent / "holiday.jpg").write_bytes(b"\xff\xd8")
    return path


def test_a_dropped_path_is_the_path_it_means(tmp_path):
    """As terminals paste what is dropped on them."""
    path = mailbox(tmp_path)
    plain = str(path)
    escaped = plain.replace(" ", "\\ ").replace("'", "\\'")

    for pasted in (
        plain,
        escaped,
        f"{escaped} {tmp_path}/other\\ one",
        f'"{plain}"',
        "'{}'".format(plain.replace("'", "'\\''")),
        path.as_uri(),
        f"{path.as_uri()}\r\n",
        f"  {plain}\n",
        path.as_uri().replace("file://", "file://localhost"),
    ):
        assert dropped(pasted) == plain, pasted
    assert dropped("file://elsewhere/x") is None
    assert dropped("a word") is None
    assert dropped("") is None


def test_what_is_there_is_said_before_it_is_read(tmp_path):
    path = mailbox(tmp_path)
    fake = gated_service()
    fake.reading.set()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+o")
        field = app.screen.query_one("#path", Input)
        field.post_message(events.Paste(f"'{tmp_path}'"))
        await until(pilot, lambda: field.value == str(tmp_path))
        await pilot.press("enter")
        await until(pilot, lambda: "enter reads this" in said(app, "#result"))
        assert "mbox  1 file" in said(app, "#plan")
        assert "mbox: 3 mails" in said(app, "#plan")
        assert "taking tess@example.org for you, because" in said(app, "#plan")
        assert "not read: holiday.jpg" in said(app, "#plan")
        assert not fake.imported
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.writing.imported))
        field.value = str(path.with_name("holiday.jpg"))
        await pilot.press("enter")
        await until(pilot, lambda: "choose its kind" in said(app, "#result"))
        await pilot.press("enter")
        assert len(fake.imported) == 1

    play(app, steps)
    assert fake.imported == [("auto", tmp_path, [])]


def test_whose_letters_they_are_is_asked_before_they_are_read(tmp_path):
    """Where the mail does not tell, and anew when anything is changed; then the page
    has no request of the sample any more."""
    box = tmp_path / "both.mbox"
    ours = (f"{name} <{name}@example.org>" for name in ("tess", "ana"))
    turned = "".join(
        MAIL.format(n=n).replace("Tess <tess@example.org>", who)
        for n, who in enumerate([*ours] * 2)
    )
    box.write_text(turned.replace("To: Ana <ana@example.org>", "To: x@example.org"))
    fake = gated_service()
    fake.reading.set()
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+o")
        field = app.screen.query_one("#path", Input)
        await until(pilot, lambda: field.has_focus)
        field.value = str(box)
        await pilot.press("enter")
        await until(pilot, lambda: "address is yours: say so" in said(app, "#result"))
        await pilot.press("enter")
        assert not fake.imported
        app.screen.query_one("#me", Input).value = "tess@example.org"
        await pilot.press("enter")
        await until(pilot, lambda: "enter reads this" in said(app, "#result"))
        assert "taking tess@example.org for you, as you say" in said(app, "#plan")
        assert not fake.imported
        assert app.page.brief.request == REQUEST
        await pilot.press("enter")
        await until(pilot, lambda: "10 letters" in said(app, "#result"))
        assert app.page.brief.request.text == ""
        assert not app.writing.samples

    play(app, steps)
    assert fake.imported == [("auto", box, ["tess@example.org"])]


def test_an_import_is_paused_and_goes_on(tmp_path):
    class Pausing(type(gated_service())):
        def import_letters(self, kind, path, me, progress):
            self.imported.append((kind, path, me))
            if len(self.imported) == 1:
                wait_until(lambda: progress(3, 10), "for the pause")
            return "10 letters read."

    fake = Pausing([])
    fake.ready.set()
    app = make_app(fake, tmp_path)
    box = mailbox(tmp_path)

    async def steps(pilot):
        await pilot.press("ctrl+o")
        field = app.screen.query_one("#path", Input)
        await until(pilot, lambda: field.has_focus)
        field.value = str(box)
        await pilot.press("enter")
        await until(pilot, lambda: "enter reads this" in said(app, "#result"))
        await pilot.press("enter")
        await until(pilot, lambda: app.writing.importing is not None)
        button = app.screen.query_one(Button)
        await until(pilot, lambda: str(button.label) == "Pause")
        button.press()
        await until(pilot, lambda: str(button.label) == "Go on")
        assert "paused" in said(app, "#result")
        assert app.writing.samples, "it is not the person's own yet"
        button.press()
        await until(pilot, lambda: str(button.label) == "Read them")
        assert "10 letters read" in said(app, "#result")

    play(app, steps)
    assert fake.imported == [("auto", box, [])] * 2


def test_what_an_earlier_sitting_began_is_offered(tmp_path):
    """It says where that stopped, goes on with the same, and can be told not to."""

    class Begun(type(gated_service())):
        left = None

        def unfinished_import(self):
            return None if self.left else was

        def leave_import(self, asked):
            self.left = asked

    was = Unfinished("auto", tmp_path / "All mail", ("a@b.org",), done=4, total=10)
    fake = Begun([])
    app = make_app(fake, tmp_path)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.paused is not None)
        (news,) = app._notifications
        assert f"reading {was.path} stopped at 40 %" in news.message
        assert "^O goes on there" in news.message
        await pilot.press("ctrl+o")
        await until(pilot, lambda: len(app.screen.query(Button)) == 2)
        assert said(app, "#result") == f"reading {was.path} stopped at 40 %"
        read, leave = app.screen.query(Button)
        assert (str(read.label), leave.display) == ("Go on", True)
        read.press()
        await until(pilot, lambda: app.writing.importing is not None)
        await until(pilot, lambda: not leave.display)
        app.writing.pausing.set()
        fake.reading.set()
        await until(pilot, lambda: leave.display)
        leave.press()
        await until(pilot, lambda: fake.left is not None)
        await until(pilot, lambda: str(read.label) == "Read them")

    fake.ready.set()
    play(app, steps)
    assert fake.imported == [("auto", was.path, ["a@b.org"])]
    assert fake.left.is_same(was)


def test_the_service_reads_whatever_it_finds(tmp_path):
    """And an import that was stopped goes on where it was."""
    path = mailbox(tmp_path)
    nowhere = tmp_path / "none.gguf"
    service = WritingService(
        ServiceConfig(nowhere, nowhere, tmp_path / "store.db", nowhere)
    )
    told = []

    def stop(done, total):
        told.append((done, total))
        raise StoppedError("stopped")

    with pytest.raises(StoppedError):
        service.import_letters("auto", path.parent, ["tess@example.org"], stop)
    sentence = service.import_letters(
        "auto", path.parent, ["tess@example.org"], lambda *_: None
    )
    assert "3" in sentence
    assert service.counts()["own"] == 3
    service.close()


HELD = HeldBack("person", "stands in your texts", " Zoltan", " Alex")


class AskingService(GatedService):
    """Asks once before it writes, as the guard does."""

    answered: str = ""

    def write(self, request, emit, stop):
        self.answered = request.ask(HELD)
        super().write(request, emit, stop)


def asking():
    service = AskingService([letter_recording()])
    service.ready.set()
    return service


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("enter",), "no"),
        pytest.param(("escape",), "no", marks=pytest.mark.slow),
        (("f7",), "once"),
        (("down", "down", "enter"), "always"),
    ],
)
def test_each_span_is_the_persons_to_decide(tmp_path, keys, answer):
    service = asking()
    app = make_app(service, tmp_path)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: isinstance(app.screen, HeldBackQuestion))
        for word in ("Zoltan", "stands in your texts", "Alex"):
            assert word in said(app, "#sentence")
        await pilot.press(*keys)
        await until(pilot, lambda: not app.writing.service_busy)
        assert service.answered == answer
        assert not isinstance(app.screen, HeldBackQuestion)

    play(app, steps)


def test_a_text_that_is_stopped_waits_for_no_answer(tmp_path):
    """Whatever ends it: the question closes, and nothing leaves."""
    service = asking()
    app = make_app(service, tmp_path)

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: isinstance(app.screen, HeldBackQuestion))
        app.writing.stop()
        await until(pilot, lambda: service.answered == "no")
        await until(pilot, lambda: not isinstance(app.screen, HeldBackQuestion))

    play(app, steps)


def weighed_recording():
    """The letter, with what was thought of each word; nothing of what the checker
    thought of those that it kept."""
    events, count = [], 0
    refused = ()
    for event in letter_recording():
        events.append(event)
        refused = getattr(event, "refused", refused)
        if isinstance(event, Settled):
            places = []
            for token in event.tokens:
                redrawn = token.origin == "recovered"
                others = [Choice(9, " Bath", 0.21), Choice(8, " York", 0.0004)]
                if redrawn:
                    others = [Choice(7, refused[0], 0.6, 0.5, 0.01), *others]
                first = (token.id, token.text, 0.42)
                more = (0.1, 0.61) if redrawn else ()
                places.append(Place((Choice(*first, *more), *others), redrawn))
            events.append(Alternatives(count, tuple(places)))
            count += len(places)
    return events


def version(events=None):
    variant = Variant(WriteRequest(Request("Thank Ana.")))
    for event in events or weighed_recording():
        variant.apply(event, 0.0)
    return variant


def test_each_word_knows_its_tokens():
    variant = version()
    words = words_of_version(variant)

    for word in words:
        pieces = "".join(variant.settled[at].text for at in word.tokens)
        assert word.text in pieces
        assert variant.text[word.start : word.end] == word.text


def test_words_keep_their_tokens_when_others_are_edited():
    variant = version()
    was = {word.text: word.tokens for word in words_of_version(variant)}
    at = variant.text.index("photographs")
    runs = spliced(variant.runs(), at, len("photographs"), [("lovely cake", "typed")])
    variant.edited = spliced(runs, 0, 0, [("Oh, ", "typed")])

    now = {word.text: word for word in words_of_version(variant)}
    assert now["Whitby"].tokens == was["Whitby"]
    assert now["cake"].tokens == ()
    assert "You typed it" in origin(variant, now["cake"])
    assert "Redrawn: “home” was drafted" in origin(variant, now["Whitby"])
    assert "kept by the checker" in origin(variant, now["Thank"])


def test_the_word_at_a_letter_is_found():
    words = words_of_version(version())

    assert words[word_at(words, 0)].text == "Dear"
    assert words[word_at(words, 4)].text == "Dear"
    assert words[word_at(words, 5)].text == "Ana"
    assert words[word_at(words, None)].text == "Ben"
    assert word_at([], 3) is None


def test_the_passage_with_the_longest_run_is_followed():
    text = "We can walk the old railway line to the coast."
    at = text.index("railway")

    found = followed(text, at, SOURCES)

    assert found.source == SOURCES[1]
    assert found.run == "can walk the old railway line"
    assert followed(text, text.index("coast"), SOURCES) is None
    assert followed(text, text.index("to"), SOURCES) is None, "it stands everywhere"


def test_enter_on_a_word_tells_why_also_after_the_end_of_the_app(tmp_path):
    """By the journal alone, and with the letters from the store: it keeps none."""
    folder = JournalFolder(tmp_path / "drafts")

    def service():
        made = GatedService([weighed_recording()])
        made.ready.set()
        return made

    async def ask(pilot, app, word):
        editor = app.page.editor
        at = editor.text.index(word)
        row = editor.text[:at].count("\n")
        editor.move_cursor((row, at - editor.text.rfind("\n", 0, at) - 1))
        editor.focus()
        await pilot.press("enter")
        assert isinstance(app.screen, WhyDrawer)

    async def look(pilot, app):
        editor = app.page.editor
        await ask(pilot, app, "Whitby")
        await until(pilot, lambda: "looking" not in told(app))
        assert "home” was drafted" in told(app)
        assert "61 %" in told(app)
        await pilot.press("left")
        assert "kept by the checker" in told(app)
        assert editor.selected_text == "at"

    async def steps(pilot):
        await drafted(pilot)
        await look(pilot, first)
        assert "in none of" in told(first)
        await pilot.press("escape")
        await ask(pilot, first, "Ben")
        await pilot.press("right", "left", "escape")
        assert first.screen is first.page

    async def again(pilot):
        await until(pilot, lambda: second.page.editor.editing)
        await look(pilot, second)
        await pilot.press("escape")
        await ask(pilot, second, "old")
        await pilot.press("right")
        await until(pilot, lambda: "Jun 2025" in told(second))
        assert "june visit" in told(second)

    first = make_app(service(), tmp_path, journals=folder)
    play(first, steps)
    assert "railway line again if my knee" not in _written(tmp_path)
    second = make_app(service(), tmp_path, journals=folder)
    play(second, again)


def test_a_draft_that_is_taken_up_again_says_why_its_letters_were_read(tmp_path):
    """The words that a letter shares with the request stand in its text alone."""
    folder = JournalFolder(tmp_path / "drafts")
    asked = Request("Say that we walk the railway line.", "email", "Ana")
    cards = []

    async def steps(pilot):
        writing = pilot.app.writing
        if not cards:
            await drafted(pilot)
        await until(pilot, lambda: pilot.app.page.editor.editing)
        await until(pilot, lambda: not writing.reading_back)
        cards.append(cards_text.sources_card(writing, 60).plain)

    for _ in range(2):
        made = GatedService([weighed_recording()])
        made.ready.set()
        app = make_app(made, tmp_path, journals=folder, first_request=asked)
        play(app, steps)
    assert "railway" in cards[0]
    assert cards[1] == cards[0]


def told(app):
    """All that the panel says."""
    console = Console(width=60, no_color=True)
    with console.capture() as capture:
        console.print(app.screen.query_one("#text").content)
    return " ".join(capture.get().split())


def _written(folder):
    return "".join(path.read_text() for path in folder.rglob("*.jsonl"))
