"""What may be asked for, what comes of it, and what the screen says of it."""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass, field, replace

import pytest
from textual import events as keys
from tui_helpers import (
    FIRST_BLOCK,
    HOLD,
    SECOND,
    GatedService,
    drafted,
    drafted_at,
    gated_service,
    make_app,
    play,
    settle,
    until,
    writing_at,
    written,
)
from tui_tapes import LETTER, REQUEST, held_letter, letter_recording, plain_recording

from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from decoding_core.wire_json import open_to_json
from edge_app.decoding.events import (
    Drafted,
    EventEmitter,
    Finished,
    PrivacySpent,
    Sent,
    Settled,
    Statistics,
    Token,
    Verified,
)
from edge_app.service.requests import WriteRequest
from edge_app.service.tape import RecordedService
from edge_app.tui.background import Background
from edge_app.tui.draft import Begun
from edge_app.tui.journal import JournalFolder
from edge_app.tui.screens.cards import (
    numbers_card,
    sent_card,
    server,
    sources_card,
    strip_line,
)
from edge_app.tui.screens.page import next_step, starting
from edge_app.tui.screens.sent import in_words, said_by, stand_ins_of
from edge_app.tui.screens.tables import rows
from edge_app.tui.text import cut, joined
from edge_app.tui.variant import STRUCK_SECONDS, Traffic, Variant
from edge_app.tui.writing import Writing
from models.prompts import Request
from tests.edge_app.privacy import messages
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("drawn_when_asked")


def test_the_draft_begins_by_itself_when_the_models_are_loaded():
    """Before the first word the page says what is waited for; a stop forgets it."""
    fake = gated_service(ready=False)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        writing.stop()
        assert not writing.service_busy
        writing.draft(REQUEST)
        assert "loading the models" in next_step(writing)
        assert not fake.requests
        fake.ready.set()
        settle(writing, lambda: not writing.service_busy)
        variant = writing.variant
        assert variant.text == LETTER
        variant.ended, variant.settled = None, []
        assert starting(writing) == "reading 3 letters…"
        variant.opened = None
        assert starting(writing) == "reading 3 letters… asking the checker…"
        variant.sources = ()
        assert starting(writing) == "looking for letters that fit…"
    assert len(fake.requests) == 1


def test_again_takes_the_next_seed_and_some_chance():
    """Also behind one that is still written. Flipping ends at the first and last."""
    fake = gated_service(hold=HOLD)
    with writing_at(fake, MethodSettings(seed=4)) as writing:
        assert not writing.flip(-1)
        writing.draft(REQUEST)
        settle(writing, lambda: fake.played > HOLD and writing.background.idle)
        fake.gates.clear()
        written(writing.again, REQUEST)
        assert [known.text for known in writing.variants] == [FIRST_BLOCK, SECOND]
        written(writing.again, REQUEST)
        flipped = [writing.flip(step) for step in (1, -1, -1, -1)]
        assert flipped == [False, True, True, False]
    settings = [request.settings for request in fake.requests]
    assert [one.seed for one in settings] == [4, 5, 6]
    assert [one.temperature for one in settings] == [0, 0.7, 0.7]


def test_a_problem_is_news_and_the_text_stays():
    """Whatever a thread fails of; without models nothing waits, and drafting tries to
    load them again."""
    fake = gated_service()
    fake.unprepared = "No model file: run specsteer models pull."
    fake.problem = "The model file is broken: download it again."
    fake.import_letters = lambda *args: 1 / 0
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        news = settle(writing, lambda: bool(writing.problem))
        assert news == [(fake.unprepared, "error")]
        assert not writing.variants
        fake.unprepared = ""
        writing.draft(REQUEST)
        news = settle(writing, lambda: not writing.service_busy)
        assert news == [(fake.problem, "error")]
        assert writing.variant.text == LETTER
        writing.import_letters("mbox", None, [])
        news = settle(writing, lambda: writing.imported)
        assert news[0][0] == "Unexpected ZeroDivisionError: division by zero"


@dataclass
class Reading(GatedService):
    """Notes what it was given to read ahead, and when to stop."""

    ahead: list[tuple[WriteRequest, threading.Event]] = field(default_factory=list)

    def read_ahead(self, request, stop):
        self.ahead.append((request, stop))
        raise OSError("which is said when the text is asked for, not before")


def reading():
    made = Reading([letter_recording()])
    made.ready.set()
    return made


def test_what_stands_in_the_brief_is_read_once_and_no_further():
    """Not while models load or a text is written, nor an empty brief; typing on stops
    it, and what is read is what the text will be asked for with."""
    fake = reading()
    fake.gates[3] = threading.Event()
    with writing_at(fake) as writing:

        def pause(text):
            writing.ask(replace(REQUEST, text=text))
            if (request := writing.to_read_ahead()) is not None:
                writing.read_ahead(request)

        pause("Thank Ana.")
        assert not fake.ahead
        settle(writing, lambda: writing.ready)
        for text in ("", " \n", "Thank Ana.", "Thank Ana."):
            pause(text)
        wait_until(lambda: fake.ahead, "for the brief to be read")
        pause("Thank Bo.")
        wait_until(lambda: len(fake.ahead) == 2, "for the other brief")
        assert [stop.is_set() for _, stop in fake.ahead] == [True, False]
        writing.draft(writing.request)
        assert fake.ahead[1][1].is_set()
        pause("Something else.")
        fake.gates[3].set()
        assert settle(writing, lambda: not writing.service_busy) == []
        pause("Thank Bo.")
        assert len(fake.ahead) == 2, "it was written already"
        pause("Something else.")
        wait_until(lambda: len(fake.ahead) == 3, "for the next brief to be read")
        assert fake.requests == [fake.ahead[1][0]]
    assert fake.ahead[2][1].is_set()


AT = LETTER.index(" The one")


def test_it_goes_on_from_the_cursor():
    """As a version of its own, whose first part is what the other has, with the origin
    of each letter; the server is asked to go on from it."""
    fake = gated_service()
    with drafted_at(fake) as writing:
        first = writing.variant
        writing.edit(first, 0, 0, [("Oh. ", "typed")])
        writing.go_on(REQUEST, 4 + AT + 7)  # inside of a word
        settle(writing, lambda: not writing.service_busy)
        before = "Oh. " + LETTER[: LETTER.index(" one of the three")]
        assert fake.requests[1].before == before
        assert joined(writing.variant.runs()) == joined(
            [*cut(first.runs(), 0, len(before)), *writing.variant.runs()[-10:]]
        )
        assert writing.variant.text.startswith(before + "Dear Ana, thank")
        assert first.text == "Oh. " + LETTER
        # The same again is another version of it.
        writing.flip(-1)
        written(writing.go_on, REQUEST, 4 + AT + 7)
        assert fake.requests[2].settings.seed == 2


def test_only_the_selection_is_written_anew():
    """Without a word, or with those that stood there, the version before stays."""
    fake = gated_service()
    start, end = LETTER.index("The one"), LETTER.index("\n\nI can")
    with drafted_at(fake) as writing:
        written(writing.redraw, REQUEST, start - 1, end + 1)
        request, variant = fake.requests[1], writing.variant
        assert request.before == LETTER[: start - 1]
        assert request.instead_of == LETTER[start:end]
        assert LETTER[end:].startswith(request.behind)
        assert request.max_tokens < 400
        assert variant.text.startswith(LETTER[: start - 1])
        assert variant.text.endswith(LETTER[end:])
        for recording, why in (
            ([Finished("end", Statistics())], "no word was written"),
            (plain_recording("Dear Ana,"), "came again"),
        ):
            fake.recordings = [recording]
            written(writing.redraw, REQUEST, 0, 9)
            assert (len(writing.variants), writing.variant) == (2, variant)
            assert why in writing.reason
        fake.recordings = [plain_recording("Hi Ana,")]
        written(writing.redraw, REQUEST, 0, 9)
        assert writing.variant.text == "Hi Ana," + variant.text[9:]
        assert len({one.settings.seed for one in fake.requests}) == 5


def stretch(*events):
    variant = Variant(
        WriteRequest(REQUEST),
        before=[("Dear Ana. I", "kept")],
        after=[(" Yours,", "typed")],
    )
    for event in events:
        variant.apply(event, 0.0)
    return variant


def test_keys_go_on_write_anew_paste_and_undo(tmp_path):
    """^J with the cursor inside of the text goes on; ^R redraws what is selected. What
    was done to a version can be undone when it is shown again. Pasted text is told from
    typed; a piece that is moved keeps its origin. All of it is there again."""
    journals = JournalFolder(tmp_path / "drafts")
    fake = gated_service()

    async def steps(pilot):
        app, editor = pilot.app, pilot.app.page.editor
        await drafted(pilot)
        editor.move_cursor((2, 30))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: not app.writing.service_busy and editor.editing)
        assert fake.requests[1].before == "Dear Ana,\n\nThank you for the photographs."
        editor.move_cursor((0, 0))
        await pilot.press("shift+end", "ctrl+r")
        await until(pilot, lambda: not app.writing.service_busy and editor.editing)
        assert fake.requests[2].instead_of == "Dear Ana,"
        # What came is selected, so that ^R writes it once more.
        text = app.writing.variant.text
        assert text.startswith(editor.selected_text)
        assert editor.selected_text
        await pilot.press("end", "x", "f7", "f7")
        await until(pilot, lambda: editor.text == LETTER)
        editor.move_cursor((0, 0))
        app.post_message(keys.Paste("From afar. "))
        await until(pilot, lambda: editor.text.startswith("From"))
        assert editor.runs()[0] == ("From afar. ", "pasted")
        await pilot.press("f8", "f8", "ctrl+z")
        assert editor.text == app.writing.variant.text == text
        await pilot.press("f7", "f7", "ctrl+z")
        assert editor.text == LETTER
        await pilot.press("ctrl+y")
        assert app.writing.variant.edited[0] == ("From afar. ", "pasted")
        # Cut "From" and put it back behind a letter.
        editor.move_cursor((0, 0))
        await pilot.press(*["shift+right"] * 4, "ctrl+x", "h", "ctrl+v")
        assert editor.runs()[:2] == [("h", "typed"), ("From afar. ", "pasted")]
        editor.move_cursor((1, 0))
        await pilot.press("shift+down", "shift+end", "ctrl+x", "ctrl+v")
        assert all(state != "pasted" for _, state in editor.runs()[2:])
        app.texts = [variant.text for variant in app.writing.variants]

    app = make_app(fake, tmp_path, journals=journals)
    play(app, steps)
    with writing_at(gated_service(), journals=journals) as writing:
        assert writing.take_up()
        assert [known.text for known in writing.variants] == app.texts


def test_what_a_thread_adds_while_it_is_applied_is_drawn():
    """It wakes nobody, as a message is on its way; so the page must hear of it."""
    background, done, woken = Background(), [], []
    background.wake = lambda: woken.append(len(done))

    class Late(deque):
        """Looked at for the first time a moment before a thread adds something."""

        def __len__(self):
            found = super().__len__()
            if not done:
                done.append("looked")
                background.post(lambda: done.append("applied"))
            return found

    background._woken, background._came = True, Late()
    came = background.apply()
    assert came == ("applied" in done)
    assert came or woken


def cards(writing) -> dict[str, str]:
    said = {
        "sources_card": sources_card(writing, 35),
        "sent_card": sent_card(writing, 35),
        "numbers_card": numbers_card(writing),
        "strip_line": strip_line(writing),
    }
    return {name: text.plain for name, text in said.items()}


@pytest.mark.parametrize("samples", [True, False])
def test_your_letters_are_the_persons_own(samples):
    """And the sample is named for what it is, in every card."""
    with writing_at(gated_service()) as writing:
        writing.samples = samples
        settle(writing, lambda: writing.ready and bool(writing.counts))
        before = cards(writing)["sources_card"]
        written(writing.draft, REQUEST)
        writing.samples = False  # letters were read meanwhile; this text is as it was
        said = cards(writing)
    name = "Tess's sample letters" if samples else "your letters"
    card = said["sent_card"].replace("\n", " ")
    assert card.startswith(f"{name}: 2 stock phrases, 0 facts your request")
    assert said["strip_line"].startswith("left: 2 stock phrases, 0 facts · ")
    assert ("your" in before) is not samples
    assert not any("your letters" in text for text in said.values()) or not samples


def test_the_dot_tells_of_a_dead_server():
    """Ended while nobody writes, silent in the middle of a text, and back."""
    fake = gated_service()
    letter = letter_recording()
    end = [Settled((Token(1, " alone", "local"),)), Finished("end", Statistics())]
    fake.recordings = [letter, [*letter[:20], *end], letter]
    with writing_at(fake) as writing:

        def dot() -> str:
            return server(writing).plain

        settle(writing, lambda: writing.ready)
        assert dot().startswith("● own server")
        fake.server_ended = lambda: True
        writing.look_at_checker()
        assert dot().startswith("✗ the checker has ended")
        fake.server_ended = lambda: False
        writing.look_at_checker()
        for start in ("● own server", "✗ no answer", "● own server"):
            written(writing.again, REQUEST)
            assert dot().startswith(start)
        writing.offline = True
        assert dot().startswith("○ offline")


def test_the_privacy_that_was_spent_is_shown():
    """In what left and among the numbers, and nowhere before."""
    writing = Writing(RecordedService([]), MethodSettings())
    writing.draft_state.apply(Begun(WriteRequest(Request("x"))))
    variant = writing.variants[0]
    variant.apply(Sent(0.0, "http://a", "block", 9, (1,), b""), 1.0)
    assert "told" not in sent_card(writing, 60).plain
    assert "told" not in [row[0] for row in rows(writing)]
    for nats, total in ((2.5, 2.5), (0.5, 3.0)):
        told = PrivacySpent(nats, 1, total, 2, 2.5, 4.0, 8.0, True, 0)
        variant.apply(told, 1.0)
    card = sent_card(writing, 60).plain
    assert "told of your history: 3.0 nats" in card
    found = {name: value for name, value, _ in rows(writing)}
    assert found["told"] == "3.0 of 8 nats"


def test_words_that_were_held_back_did_not_leave():
    """The card and the drawer say how many, and a new draft begins with none. No
    verdict comes for them, and none is waited for."""
    writing = Writing(RecordedService([]), MethodSettings())
    writing.draft_state.apply(Begun(WriteRequest(Request("x"))))
    variant = writing.variants[0]
    for event in held_letter():
        writing.happened(variant, event)

    assert variant.runs()[3:] == [(" the", "held"), (" cold", "held")]
    assert "2 words held back from the checker" in sent_card(writing, 60).plain
    assert "“the cold” stayed here, “...” was sent" in stand_ins_of(variant)
    assert "2 words held back" in strip_line(writing).plain
    assert not writing.checker_silent
    writing.happened(variant, Settled((Token(5, " black", "local"),)))
    assert writing.checker_silent
    writing.begin_anew()
    assert sent_card(writing, 60).plain == "nothing was sent yet"
    assert strip_line(writing).plain.startswith("nothing was sent yet")


def test_each_message_says_its_bytes_in_words():
    """The request with a letter that two of its tokens make, opened anew with a text;
    blocks by the opening before them; what nobody told words of, as a number."""
    pieces = {1: b"user\nThank Am", 2: b"\xc3", 3: b"\xa9lie.", 4: b"", 5: b" Dear"}
    told = []
    EventEmitter(told.append, pieces.__getitem__).prompted([1, 2, 3, 4])
    terms = MethodSettings(draft_length=4).terms()
    frames, lost = role_of(terms).frames, tuple(range(90, 99))

    def opening(*text):
        said = OpenSession((1, 2, 3, 4), text, "fake", terms)
        body = json.dumps(open_to_json(said)).encode()
        return Sent(1.0, "http://a:1", "open", 500, text, body.ljust(400))

    def block(settled, drafted):
        said = DraftBlock(0, 0, 0, digest(()), settled, drafted)
        body = frames.encode_block(said)
        return Sent(2.0, "http://a:1", "block", 99, (*settled, *drafted), body)

    traffic = Traffic()
    for event in (
        *told,
        *(Drafted(5, " Dear"), Drafted(6, " Ana")),
        *(opening(), block((), (5, 6)), block((5,), lost[:3]), opening(5)),
        Sent(3.0, "http://a:1", "close", 90, (), b""),
        Sent(3.0, "http://a:1", "open", 90, (), b'{"prompt_ids": [1, 2]}'),
        Sent(3.0, "http://a:1", "block", 90, (5, 6), b"\xff"),
    ):
        traffic.apply(event)
    request = {"your request": "user\nThank Amélie."}
    unknown = "(3 pieces, whose words nothing here tells)"
    assert [said_by(traffic, number) for number in range(len(traffic.sent))] == [
        request,
        {"drafted": " Dear Ana"},
        {"settled before": " Dear", "drafted": unknown},
        request | {"the text so far": " Dear"},
        {},
        {},
        {"in words": " Dear Ana"},
    ]


def test_a_message_in_bytes_says_them():
    """No words that events told of tokens with the same numbers."""
    traffic, terms = Traffic(), MethodSettings(draft_length=4).terms()
    for event in (
        Drafted(ord("Z"), "a token"),
        messages.opening_in_bytes(terms, "Thank Amélie."),
        messages.block_in_bytes(terms, 0, "Zoë,".encode(), b""),
        messages.opening_in_bytes(terms, "Thank Amélie.", "Zoë".encode()),
    ):
        traffic.apply(event)
    assert [said_by(traffic, number) for number in range(3)] == [
        {"your request": "user: Thank Amélie."},
        {"drafted": "Zoë,"},
        {"your request": "user: Thank Amélie.", "the text so far": "Zoë"},
    ]
    named = [in_words(one) for one in traffic.sent]
    assert named == ["your request", "5 bytes to check", "your request and text"]


def played(events, now=0.0):
    variant = Variant(WriteRequest(REQUEST))
    for event in events:
        variant.apply(event, now)
    return variant


def test_words_are_shown_as_they_come():
    """Drafted words wait; a refused one is struck for a moment before what replaced it,
    with all its pieces, and one in the place of the last; a token that was not drafted
    voids what waits. No line break that waits is shown: it would move the page."""
    variant = played([Drafted(0, "I"), Drafted(1, " fly"), Drafted(2, " a kite")])
    assert variant.shown(0.0)[1:] == [(" fly", "waiting"), (" a kite", "waiting")]
    variant.apply(Verified(3, 1, (" fly", " a kite"), 0.1), 0.0)
    variant.apply(
        Settled((Token(0, "I", "accepted"), Token(9, " walk", "recovered"))), 0
    )
    variant.apply(Drafted(5, " home"), 0.0)
    struck = [("I", "kept"), (" fly", "refused"), (" walk", "replaced")]
    assert variant.shown(0.1) == [*struck, (" home", "waiting")]
    assert (" fly", "refused") not in variant.shown(STRUCK_SECONDS + 0.1)
    variant.apply(Settled((Token(7, " on", "recovered"),)), 0.0)
    assert variant.shown(1.0)[2:] == [(" on", "replaced")]

    variant = played([Drafted(1, "One"), Drafted(2, ".\n\n"), Drafted(3, "Two")])
    assert variant.shown(0.0) == [("One", "waiting"), (".", "waiting")]
    variant.apply(Verified(3, 1, (".\n\n", "Two"), 0.1), 0.0)
    assert variant.shown(0.0) == [("One", "waiting"), (".", "refused")]
    variant.apply(Settled((Token(1, "One", "accepted"),)), 0.0)
    for word in (" wor", "ked", " well"):
        variant.apply(Drafted(4, word), 0.0)
    variant.apply(Verified(3, 0, (" wor", "ked", " well"), 0.1), 0.0)
    variant.apply(Verified(1, 0, ("\n",), 0.1), 0.0)
    assert variant.shown(0.0) == [("One", "kept"), (" worked", "refused")]


STOOD = "Dear Ana,\n\nThe pier is fine. The ferret bit Ben.\n\nTess"


class Best(RecordedService):
    """Writes drafts at once; the second is the best."""

    def write_best(self, requests, emits, stop, fit=None):
        for number, (request, emit) in enumerate(zip(requests, emits, strict=True)):
            text = f" The tape is here{'!' * number}" if request.instead_of else STOOD
            emit(Settled((Token(number, text, "accepted"),)))
            emit(Finished("end", Statistics()))
        self.requests = requests
        return [1, 0, 2]


def test_a_line_changes_a_draft_and_the_best_of_several_is_shown():
    """Each as a version of its own; the brief asks for what the text is to say now."""
    asked = Request("Say the pier is fine. Say the ferret bit Ben.", "email", "Ana")
    with writing_at(Best([])) as writing:
        settle(writing, lambda: writing.ready)
        written(writing.several, asked)
        assert (len(writing.variants), writing.draft_state.current) == (4, 1)
        writing.ask(asked)
        assert writing.turn("drop the ferret") == "kept 7 of 11 words"
        shorter = STOOD.replace(" The ferret bit Ben.", "")
        assert writing.variant.text == shorter
        assert writing.request.text == "Say the pier is fine."
        written(writing.turn, "mention the tape")
        whole = shorter.replace("fine.", "fine. The tape is here!")
        assert writing.variant.text == whole
        assert writing.service.requests[0].brief.text.endswith("Mention the tape.")
        writing.turn("warmer")
        assert writing.variants[-1].before == [("Dear Ana,\n\n", "kept")]
        assert (len(writing.attempts), writing.style.tone) == (11, "warm")
