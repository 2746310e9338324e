"""When the specialist is given the brief to read before a text is asked for."""

import threading
from dataclasses import dataclass, field, replace

import pytest
from test_tui_writing import writing_at
from tui_helpers import GatedService, make_app, play, settle, until
from tui_tapes import REQUEST, letter_recording

from edge_app.service.requests import WriteRequest
from edge_app.tui.background import PAUSE_SECONDS, ReadingAhead
from models.prompts import Request
from tests.waiting import wait_until

ONE, OTHER = (WriteRequest(Request(text)) for text in ("Thank Ana.", "Thank Bo."))


@dataclass
class Reading(GatedService):
    """Notes what it was given to read ahead, and when to stop."""

    ahead: list[tuple[WriteRequest, threading.Event]] = field(default_factory=list)

    def read_ahead(self, request, stop):
        self.ahead.append((request, stop))


class Looking:
    """A `ReadingAhead` that notes what it gives to read, and its clock."""

    def __init__(self):
        self.now, self.given = 0.0, []
        self.ahead = ReadingAhead(lambda *given: self.given.append(given), self.clock)

    def clock(self):
        return self.now

    def after(self, seconds, request):
        self.now += seconds
        self.ahead.look(request)

    @property
    def read(self):
        return [request for request, _ in self.given]


@pytest.fixture
def looking():
    return Looking()


def reading():
    made = Reading([letter_recording()])
    made.ready.set()
    return made


def test_a_brief_is_read_once_it_has_stood_for_a_while(looking):
    """And only once."""
    looking.after(0, ONE)
    looking.after(PAUSE_SECONDS - 0.1, ONE)
    assert looking.read == []
    for _ in range(3):
        looking.after(0.1, ONE)
    assert looking.read == [ONE]


def test_typing_on_stops_the_reading(looking):
    """What stands then is read at the next pause, be it what stood before."""
    for request in (ONE, OTHER, ONE):
        looking.after(0, request)
        assert all(stop.is_set() for _, stop in looking.given)
        looking.after(PAUSE_SECONDS, request)
        assert not looking.given[-1][1].is_set()
    assert looking.read == [ONE, OTHER, ONE]


def test_while_it_is_typed_nothing_is_read(looking):
    for count in range(20):
        letters = replace(ONE, brief=Request("Thank Ana for the tea"[:count]))
        looking.after(PAUSE_SECONDS / 2, letters)
    assert looking.read == []


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_brief_is_not_read(looking, text):
    for _ in range(2):
        looking.after(PAUSE_SECONDS, WriteRequest(Request(text)))
    assert looking.read == []


def test_what_is_written_needs_no_reading(looking):
    """The reading ends where it begins, and the same brief is not read again."""
    looking.after(0, ONE)
    looking.after(PAUSE_SECONDS, ONE)
    ((_, stop),) = looking.given
    looking.ahead.written(OTHER)
    assert stop.is_set()
    looking.after(0, OTHER)
    looking.after(PAUSE_SECONDS, OTHER)
    assert looking.read == [ONE]


def test_nothing_is_read_while_models_load_or_a_text_is_written():
    """And what is read is what the text will be asked for with."""
    fake, now = reading(), [0.0]
    fake.gates[3] = threading.Event()
    with writing_at(fake, clock=lambda: now[0]) as writing:
        writing.ask(REQUEST)

        def pause():
            for _ in range(2):
                now[0] += 2 * PAUSE_SECONDS
                writing.read_ahead()

        pause()
        assert not writing.ready
        settle(writing, lambda: writing.ready)
        pause()
        wait_until(lambda: fake.ahead, "for the brief to be read")
        writing.draft(REQUEST)
        ((request, stop),) = fake.ahead
        assert stop.is_set()
        writing.ask(replace(REQUEST, text="Something else."))
        pause()
        fake.gates[3].set()
        settle(writing, lambda: not writing.service_busy)
        assert len(fake.ahead) == 1
        pause()
        wait_until(lambda: len(fake.ahead) == 2, "for the next brief to be read")
        assert fake.requests == [request]
        assert fake.ahead[1][0].brief.text == "Something else."
    assert fake.ahead[1][1].is_set()


def test_what_goes_wrong_is_told_when_the_text_is_written():
    """Not before: nothing was asked for."""

    class Failing(Reading):
        def read_ahead(self, request, stop):
            super().read_ahead(request, stop)
            raise OSError("the store is gone")

    fake = Failing([letter_recording()])
    fake.ready.set()
    with writing_at(fake) as writing:
        settle(writing, lambda: writing.ready)
        writing.threads.read_ahead(ONE, threading.Event())
        wait_until(lambda: fake.ahead, "for the reading")
        writing.draft(REQUEST)
        assert settle(writing, lambda: not writing.service_busy) == []


def test_the_app_reads_what_stands_in_the_brief(tmp_path):
    """As it is typed, a pause after the last letter."""
    fake = reading()
    app = make_app(fake, tmp_path, first_request=Request("Thank Ana", "email"))

    async def steps(pilot):
        await until(pilot, lambda: app.writing.ready)
        await pilot.press(*" now")
        await until(
            pilot, lambda: [r for r, _ in fake.ahead if r.brief.text == "Thank Ana now"]
        )
        assert not fake.requests

    play(app, steps)
