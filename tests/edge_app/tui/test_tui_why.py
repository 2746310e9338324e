"""Why this word: its tokens after edits, the letter it follows, and the panel."""

from rich.console import Console
from tui_helpers import GatedService, drafted, make_app, play, until
from tui_tapes import SOURCES, letter_recording

from edge_app.decoding.events import Choice, Place, Settled, Weighed
from edge_app.service.requests import WriteRequest
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens import cards as cards_text
from edge_app.tui.screens.why import (
    WhyDrawer,
    followed,
    origin,
    word_at,
    words_of_version,
)
from edge_app.tui.text import spliced
from edge_app.tui.variant import Variant
from models.prompts import Request


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
            events.append(Weighed(count, tuple(places)))
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
        editor = app.page.pane.editor
        at = editor.text.index(word)
        row = editor.text[:at].count("\n")
        editor.move_cursor((row, at - editor.text.rfind("\n", 0, at) - 1))
        editor.focus()
        await pilot.press("enter")
        assert isinstance(app.screen, WhyDrawer)

    async def look(pilot, app):
        editor = app.page.pane.editor
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
        await until(pilot, lambda: second.page.pane.editing)
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


def test_enter_breaks_the_line_for_who_is_typing(tmp_path):
    """And on a word the second time."""
    service = GatedService([weighed_recording()])
    service.ready.set()
    app = make_app(service, tmp_path)

    async def steps(pilot):
        await drafted(pilot)
        editor = app.page.pane.editor
        editor.move_cursor((0, 5))
        await pilot.press("x", "enter")
        assert editor.text.startswith("Dear x\nAna")
        await pilot.press("up", "home", "enter")
        assert isinstance(app.screen, WhyDrawer)
        await pilot.press("enter")
        assert app.screen is app.page
        assert editor.text.startswith("\nDear x\nAna")
        editor.move_cursor(editor.document.end)
        await pilot.press("enter")
        assert editor.text.endswith("Ben\n")

    play(app, steps)


def test_a_draft_that_is_taken_up_again_says_why_its_letters_were_read(tmp_path):
    """The words that a letter shares with the request stand in its text alone."""
    folder = JournalFolder(tmp_path / "drafts")
    asked = Request("Say that we walk the railway line.", "email", "Ana")
    cards = []

    async def steps(pilot):
        writing = pilot.app.writing
        if not cards:
            await drafted(pilot)
        await until(pilot, lambda: pilot.app.page.pane.editing)
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
