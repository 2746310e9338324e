"""What may be asked for and what comes of it, without a screen."""

from contextlib import contextmanager
from dataclasses import replace

from test_tui_variant import LETTER
from tui_helpers import SECOND, gated_service, settle
from tui_tapes import REQUEST, SOURCES

from decoding_core.settings import MethodSettings
from edge_app.tui.screens.page import next_step
from edge_app.tui.writing import Writing

FIRST_BLOCK = "Dear Ana,\n\nThank you for the photographs."
HOLD = 16  # before the second word of the second block


@contextmanager
def writing_at(fake, settings=None, ledger=None, **options):
    """A sitting with `fake`, closed at the end."""
    writing = Writing(fake, settings or MethodSettings(), ledger, **options)
    writing.prepare()
    try:
        yield writing
    finally:
        writing.close()
    assert fake.closed


def test_the_draft_begins_by_itself_when_the_models_are_loaded():
    fake = gated_service(ready=False)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        assert "loading the models" in next_step(writing, samples=True)
        assert not fake.requests
        fake.ready.set()
        settle(writing, lambda: not writing.service_busy)
        assert writing.variant.text == LETTER


def test_again_takes_the_next_seed_and_some_chance():
    fake = gated_service()
    with writing_at(fake, MethodSettings(seed=4)) as writing:
        for write in (writing.draft, writing.again, writing.again):
            write(REQUEST)
            settle(writing, lambda: not writing.service_busy)
    settings = [request.settings for request in fake.requests]
    assert [(s.seed, s.temperature) for s in settings] == [(4, 0), (5, 0.7), (6, 0.7)]


def test_drafting_the_same_again_gives_another_version():
    fake = gated_service()
    with writing_at(fake) as writing:
        for _ in range(2):
            writing.draft(REQUEST)
            settle(writing, lambda: not writing.service_busy)
    assert [request.settings.seed for request in fake.requests] == [0, 1]


def test_another_request_is_drafted_as_it_is_set():
    fake = gated_service()
    with writing_at(fake) as writing:
        for request in (REQUEST, replace(REQUEST, recipient="Bo")):
            writing.draft(request)
            settle(writing, lambda: not writing.service_busy)
    assert [request.settings.seed for request in fake.requests] == [0, 0]


def test_again_while_drafting_waits_for_the_service():
    fake = gated_service(hold=HOLD)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: fake.played > HOLD and writing.background.idle)
        fake.gates.clear()
        writing.again(REQUEST)
        settle(writing, lambda: not writing.service_busy)
        assert [known.text for known in writing.variants] == [FIRST_BLOCK, SECOND]


def test_stop_before_the_models_are_loaded_forgets_the_request():
    fake = gated_service(ready=False)
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        writing.stop()
        fake.ready.set()
        settle(writing, lambda: writing.ready)
        assert not writing.service_busy
    assert not fake.requests


def test_offline_and_what_is_left_out_reach_the_service():
    fake = gated_service()
    with writing_at(fake) as writing:
        writing.offline = True
        writing.exclude(SOURCES[1])
        writing.exclude(SOURCES[2])
        writing.exclude(SOURCES[2])
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
    assert (fake.requests[0].offline, fake.requests[0].excluded) == (True, {12})


def test_a_problem_is_news_and_the_text_stays():
    fake = gated_service()
    fake.problem = "The model file is broken: download it again."
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        news = settle(writing, lambda: not writing.service_busy)
        assert news == [(fake.problem, "error")]
        assert writing.variant.text == LETTER


def test_without_models_nothing_waits():
    fake = gated_service()
    fake.unprepared = "No model file: run specsteer models pull."
    with writing_at(fake) as writing:
        writing.draft(REQUEST)
        assert settle(writing, lambda: bool(writing.problem)) == [
            (fake.unprepared, "error")
        ]
        assert not writing.busy


def test_the_ledger_reads_all_events():
    events = []
    with writing_at(gated_service(), ledger=events.append) as writing:
        writing.draft(REQUEST)
        settle(writing, lambda: not writing.service_busy)
    assert events == gated_service().recordings[0]


def test_flipping_ends_at_the_first_and_the_last():
    with writing_at(gated_service()) as writing:
        assert not writing.flip(-1)
        for _ in range(2):
            writing.again(REQUEST)
            settle(writing, lambda: not writing.service_busy)
        assert (writing.flip(1), writing.flip(-1), writing.flip(-1)) == (
            False,
            True,
            False,
        )


def test_an_unexpected_error_in_a_thread_is_reported():
    fake = gated_service()
    fake.search = None
    fake.import_letters = lambda *args: 1 / 0
    with writing_at(fake) as writing:
        writing.import_letters("mbox", None, [])
        news = settle(writing, lambda: writing.imported)
        assert news[0][0] == "Unexpected ZeroDivisionError: division by zero"
