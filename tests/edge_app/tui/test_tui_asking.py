"""The guard asks the person whether what it found may leave."""

import pytest
from tui_helpers import GatedService, make_app, play, said, until
from tui_tapes import letter_recording

from edge_app.decoding.events import HeldBack
from edge_app.tui.screens.drawer import HeldBackQuestion

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
