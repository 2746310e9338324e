"""When the specialist is given the brief to read before a text is asked for."""

import threading
from dataclasses import dataclass, field, replace

from test_tui_writing import writing_at
from tui_helpers import GatedService, make_app, play, settle, until
from tui_tapes import REQUEST, letter_recording

from edge_app.service.requests import WriteRequest
from models.prompts import Request
from tests.waiting import wait_until


@dataclass
class Reading(GatedService):
    """Notes what it was given to read ahead, and when to stop."""

    ahead: list[tuple[WriteRequest, threading.Event]] = field(default_factory=list)

    def read_ahead(self, request, stop):
        self.ahead.append((request, stop))


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
        settle(writing, lambda: not writing.service_busy)
        pause("Thank Bo.")
        assert len(fake.ahead) == 2, "it was written already"
        pause("Something else.")
        wait_until(lambda: len(fake.ahead) == 3, "for the next brief to be read")
        assert fake.requests == [fake.ahead[1][0]]
    assert fake.ahead[2][1].is_set()


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
        writing.ask(REQUEST)
        writing.read_ahead(writing.to_read_ahead())
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
