"""The privacy budget through the whole service: the specialist and its base are real,
the server scripted."""

import threading
from dataclasses import replace

import pytest

from decoding_core.errors import InvalidSettingsError
from decoding_core.settings import MethodSettings
from edge_app.config.settings import PrivacyLimits
from edge_app.decoding.events import Finished, HeldBack, Notice, PrivacySpent
from edge_app.privacy.guard.gate import GuardGate
from edge_app.privacy.ledger import read_ledger, read_spent, spent_path
from edge_app.privacy.reading import sendings
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from models.prompts import Request
from tests.edge_app.service.scripted import URL


@pytest.fixture(params=["off"])
def service(config, connections, request):
    service = WritingService(
        replace(
            config,
            privacy=PrivacyLimits(day=6.0),
            settings=replace(config.settings, guard=request.param),
        )
    )
    yield service
    service.close()


def told(service, limits=None, **changes):
    """What was reckoned of one text."""
    settings = MethodSettings(temperature=0.8, seed=4, threshold=0.3)
    request = WriteRequest(
        Request("Thank Ana for the photos.", recipient="Ana"),
        settings=replace(settings, **changes),
        max_tokens=10,
        privacy=limits,
    )
    return [e for e in events_of(service, request) if isinstance(e, PrivacySpent)]


def events_of(service, request):
    events = []
    service.write(request, events.append, threading.Event())
    assert isinstance(events[-1], Finished)
    return events


@pytest.mark.parametrize("service", ["ask"], indirect=True)
def test_what_is_no_secret_is_asked_once_for_all(service, monkeypatch):
    """And where nobody can be asked, that is said, and nothing leaves."""
    gates, kept = [], []

    class Kept(GuardGate):
        def __init__(self, index, vocabulary, mode, ask, seed):
            gates.append((index, ask))
            super().__init__(index, vocabulary, mode, ask, seed)

    monkeypatch.setattr("edge_app.service.service.GuardGate", Kept)
    service._config = replace(service._config, allow_always=kept.append)
    request = WriteRequest(
        Request("Thank Ana for the photos."), max_tokens=1, privacy=PrivacyLimits()
    )
    held = HeldBack("person", "stands in your texts", " Zoltan,", " Alex,")
    answers = iter(("no", "once", "always"))
    events = events_of(service, request)
    assert any("nobody can be asked" in e.text for e in events if type(e) is Notice)
    events = events_of(service, replace(request, ask=lambda _: next(answers)))
    assert not any(type(event) is Notice for event in events)
    events_of(service, request)
    (_, nobody), (_, person), (later, _) = gates
    assert not nobody(held)
    assert not person(held)
    assert not person(held)  # nobody is asked twice
    assert person(replace(held, text=" Zoltan."))
    assert not kept
    assert person(replace(held, text=" Zoltan;"))
    assert kept == ["Zoltan"]
    events_of(service, request)
    assert not later.is_public("zoltan")
    assert gates[-1][0].is_public("zoltan")


def test_what_a_text_tells_stands_in_events_ledger_and_the_sum_of_the_day(
    service, tmp_path
):
    """And is taken off the limit of the next text, unless that says otherwise. The
    limit is of a size that these weights reach."""
    free = told(service, PrivacyLimits(), base="edge")
    assert free[-1].total > 0
    assert free[-1].limit is None
    limit = 1.2 * free[-1].total
    service._config = replace(service._config, privacy=PrivacyLimits(day=limit))
    first = told(service)
    ledger = tmp_path / "ledger.jsonl"
    entries = [one.nats for one in sendings(ledger) if one.nats is not None]
    assert first[-1].total != 0
    assert entries == pytest.approx([event.nats for event in [*free, *first]])
    spent = free[-1].total + first[-1].total
    (day,) = read_spent(spent_path(ledger)).values()
    assert day == {URL: pytest.approx(spent)}
    second = told(service)
    spent += second[-1].total
    assert second[-1].today == pytest.approx(spent)
    assert spent <= limit + 1e-6
    assert not told(service, PrivacyLimits())  # the base is the server's: not reckoned
    for _ in range(8):  # what a text tells depends on where its blocks end, too
        again = told(service, PrivacyLimits(), base="edge")
        spent += again[-1].total
        assert again[-1].today == pytest.approx(spent)
        if spent > limit:
            break
    assert spent > limit


@pytest.mark.slow
def test_several_texts_at_once_tell_no_more_than_one_may(service, tmp_path):
    """Each has its share of both limits; what all of them told is kept of the day."""
    free = told(service, PrivacyLimits(), base="edge")[-1].total
    limits = PrivacyLimits(text=0.6 * free, day=1.5 * free)
    settings = MethodSettings(temperature=0.8, seed=4, threshold=0.3)
    brief = Request("Thank Ana for the photos.", recipient="Ana")
    request = WriteRequest(brief, settings=settings, max_tokens=10, privacy=limits)
    heard = [[], [], []]
    ask = request.tries(3), [one.append for one in heard]
    service.write_tries(*ask, threading.Event())
    spent = [[e for e in one if isinstance(e, PrivacySpent)][-1] for one in heard]
    assert all(one.total <= limits.text / 3 + 1e-6 for one in spent)
    assert any(one.total > 0 for one in spent)
    (day,) = read_spent(spent_path(tmp_path / "ledger.jsonl")).values()
    assert day[URL] == pytest.approx(free + sum(one.total for one in spent))
    assert day[URL] <= limits.day


def test_what_keeps_no_budget_is_refused_before_anything_is_sent(service, tmp_path):
    with pytest.raises(InvalidSettingsError, match="gives your history away"):
        told(service, PrivacyLimits(text=3.0), method="generalist_with_history")
    assert not list(read_ledger(tmp_path / "ledger.jsonl"))
