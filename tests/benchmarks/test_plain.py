"""What of a draft for a dry writer nobody would send."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.content import plain
from benchmarks.content.bench_coverage import checked, row_of, shown
from benchmarks.content.plain import plain_tasks, plainness
from benchmarks.content.requests import Text
from edge_app.evaluation.pair import Opinions

TASKS = {task.asked.name: task for task in plain_tasks()[:10]}  # of Martin, on a site
ASKED = TASKS["plain-17"]


def test_each_of_twelve_writers_is_asked_for_ten_letters():
    tasks = plain_tasks()
    assert len(tasks) == 120
    assert all(len(task.history.kinds()) == 40 for task in tasks)
    assert {len(task.habits) for task in tasks} == {2, 3}


@pytest.fixture
def judged(monkeypatch):
    """Judges a draft by a generalist to whom each letter costs so much."""
    vocabulary = SimpleNamespace(
        tokenize=lambda text: list(text.encode()), piece=lambda token: bytes([token])
    )
    pair = SimpleNamespace(
        small=SimpleNamespace(vocabulary=vocabulary),
        built=lambda *_: SimpleNamespace(public_ids=(1,), private_ids=(2,)),
        readers=lambda _: None,
    )
    bench = SimpleNamespace(pair=pair, result=lambda _, compute: compute())

    def of(text, nats=2.0):
        def read(_, ids, *__):
            costs = np.full(len(ids), nats)
            return Opinions(costs / 2, costs, costs, np.array([]), np.array([]))

        monkeypatch.setattr(plain, "read", read)
        made = plainness(bench, ASKED, text, 100)
        return checked(ASKED, Text(text, 10, 8, 4, "end"), "steering", made)

    return of


SOUND = (
    "Hi Basil,\n\nI won't sign it. Page 3 says two years and we agreed on one. Send a "
    "new one.\n\nThanks,\nMartin"
)


def test_a_draft_that_says_what_was_asked_can_be_sent(judged):
    sound = judged(SOUND)
    assert sound.sendable
    assert (sound.plain.foreign, sound.plain.invented) == ((), ())
    assert sound.habits == 3
    assert row_of("steering", 0.7, [sound]).plain["sendable"].value == 1.0


def test_what_nobody_asked_for_is_foreign_unless_the_generalist_expects_it(judged):
    """With what it costs base, specialist and generalist."""
    said = SOUND.replace("Send", "Trudging off with a gusty walnut. Send")
    strange = judged(said)
    assert strange.plain.foreign == ("trudging", "gusty", "walnut")
    assert strange.plain.foreign_sentences == 1
    assert strange.plain.foreign_nats == pytest.approx((19 / 3, 38 / 3, 38 / 3))
    assert not strange.sendable
    assert "foreign: trudging gusty walnut (6.3, 12.7, 12.7 nats)" in shown(strange)
    assert judged(said, nats=0.5).sendable


@pytest.mark.parametrize(
    ("there", "instead", "invented", "turned"),
    [
        ("Page 3", "Page 5", ("5",), False),
        ("Page 3", "On Friday page 3", ("friday",), False),
        ("Send a", "Ask Gertrud for a", ("gertrud",), False),
        ("I won't sign it.", "I will sign it.", (), True),
    ],
)
def test_what_is_invented_or_turned_round_cannot_be_sent(
    judged, there, instead, invented, turned
):
    wrong = judged(SOUND.replace(there, instead))
    assert wrong.plain.invented == invented
    assert wrong.reversed == turned
    assert not wrong.sendable
