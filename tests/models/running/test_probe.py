import json

import pytest

from models.running import machine as probing
from models.running.machine import Answer


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv(probing.BUFFERS_VARIABLE, raising=False)
    probing.probe.cache_clear()
    yield
    probing.probe.cache_clear()


def test_a_trial_runs_in_a_child_and_its_answer_is_kept(home, monkeypatch):
    """Once per machine and build."""
    answer = probing.probe()
    kept = json.loads((home / "engine-probe.json").read_text())
    assert kept["answer"] == {"works": answer.works, "reason": answer.reason}
    probing.probe.cache_clear()
    monkeypatch.setattr(probing, "_try_in_child", lambda _: pytest.fail("tried again"))
    assert probing.probe() == answer


def test_another_build_is_tried_anew(home, monkeypatch):
    """A kept answer of another machine or build does not count."""
    (home / "engine-probe.json").write_text(
        json.dumps({"key": "other", "answer": {"works": True, "reason": "old"}})
    )
    monkeypatch.setattr(probing, "_try_in_child", lambda _: Answer(False, "new"))
    assert probing.probe() == Answer(False, "new")


@pytest.mark.parametrize(("wish", "works"), [("on", True), ("off", False)])
def test_the_person_may_override(monkeypatch, wish, works):
    """Without a trial."""
    monkeypatch.setenv(probing.BUFFERS_VARIABLE, wish)
    monkeypatch.setattr(probing, "_try_in_child", lambda _: pytest.fail("tried"))
    assert probing.probe().works is works


def test_a_crash_of_the_child_means_no(monkeypatch, tmp_path):
    """The signal is named, and this process lives."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "crash.py").write_text(
        "import os, signal\ndef main(): os.kill(os.getpid(), signal.SIGSEGV)"
    )
    monkeypatch.setattr(probing, "_TRIAL", "crash:main")
    answer = probing._try_in_child(tmp_path)
    assert answer == Answer(
        False, "they crash on this machine (SIGSEGV), nothing needs them"
    )


def test_a_damaged_note_is_no_answer(home, monkeypatch):
    """It is tried again."""
    (home / "engine-probe.json").write_text("{")
    monkeypatch.setattr(probing, "_try_in_child", lambda _: Answer(True, "tried"))
    assert probing.probe() == Answer(True, "tried")
