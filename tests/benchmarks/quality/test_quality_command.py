"""`specsteer lab bench quality`, with the embedded pair."""

import json
import sys

import pytest
from click.testing import CliRunner

from base.extras import how_to_add
from benchmarks.quality import writing
from edge_app.cli import cli
from tests.loras import random_lora

FEW = ("--max-tokens", "5", "--threads", "1", "--passages", "1")
WORDS = "the pier was quiet and the tea was cold so we walked home past the mill"


def run(*arguments):
    """Calls `specsteer lab bench quality` in this process; a traceback fails the
    test."""
    words = ["lab", "bench", "quality", *map(str, arguments)]
    return CliRunner(charset="utf-8").invoke(cli, words, catch_exceptions=False)


@pytest.fixture
def walks(tmp_path):
    """A file of two users, each with a past text and one to write."""
    rows = [
        {
            "user": user,
            "genre": "post",
            "history": [{"prompt": "Tea", "text": f"Hullo all, {WORDS}."}],
            "queries": [{"prompt": "The mill", "target": f"Hullo, {WORDS}, {user}."}],
        }
        for user in ("u1", "u2")
    ]
    path = tmp_path / "walks.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def told(path):
    """What a JSON says, but for how fast it was."""
    body = json.loads(path.read_text())
    for row in body["rows"]:
        row["figures"].pop("speed", None)
    for text in body["texts"]:
        text.pop("seconds", None)
    return body


@pytest.mark.slow
def test_a_stop_keeps_what_was_written(walks, tmp_path, monkeypatch):
    """It says how to go on; going on gives what an undisturbed run gives."""
    count, written = [], writing.Lab.written

    def write(self, *of):
        count.append(of[1].settings.method)
        if len(count) == 3:
            self.bench.stop.set()
        return written(self, *of)

    monkeypatch.setattr(writing.Lab, "written", write)
    cache, out, undisturbed = (tmp_path / name for name in "abc")
    arguments = ["--data", walks, "--methods", "specialist,steering", *FEW]
    stopped = run(*arguments, "--cache", cache, "--json", out)
    assert (stopped.exit_code, stopped.stdout, out.exists()) == (130, "", False)
    assert "stopped after 2 of 4 texts" in stopped.stderr
    assert "the same command goes on" in stopped.stderr
    assert run(*arguments, "--cache", cache, "--json", out).exit_code == 0
    assert count[3:] == ["specialist", "steering"]
    assert run(*arguments, "--cache", tmp_path, "--json", undisturbed).exit_code == 0
    assert told(out) == told(undisturbed)


@pytest.mark.slow
def test_tam_and_pad_are_rows(walks, tmp_path):
    """With an adapter of size 0 they are `none` and `bm25`; without one it is said."""
    words = "--data", walks, "--methods", "specialist", *FEW, "--users", "1"
    rows = "--personalisation", "bm25,none,pad,tam", "--cache", tmp_path / "kept"
    lacking = run(*words, *rows)
    assert (lacking.exit_code, lacking.stdout) == (1, "")
    assert "adapter train --others PATH' trains one" in lacking.stderr
    file = random_lora(size=0.0).write(tmp_path / "still.gguf")
    done = run(*words, *rows, "--lora", file, "--json", tmp_path / "figures.json")
    assert done.exit_code == 0, done.stderr
    texts = {one["history"]: one for one in told(tmp_path / "figures.json")["texts"]}
    for name, same in (("pad", "bm25"), ("tam", "none")):
        assert texts[name]["scores"] == texts[same]["scores"]
        assert texts[name]["nats"] == pytest.approx(texts[same]["nats"])
    file = random_lora(size=0.2).write(tmp_path / "other.gguf")
    done = run(*words, *rows, "--lora", file, "--json", tmp_path / "figures.json")
    other = {one["history"]: one for one in told(tmp_path / "figures.json")["texts"]}
    changed = {name for name in texts if other[name]["nats"] != texts[name]["nats"]}
    assert changed == {"pad", "tam"}


def test_wrong_usage():
    """A sentence, before anything is loaded."""
    for words, status, reason in (
        ("--data gone", 2, "'gone' does not exist"),
        ("", 2, "Missing option '--data'"),
        ("--data . --methods steer", 2, "'steer' is not one of"),
        ("--data . --personalisation pag", 2, "'pag' is not one of"),
        ("--data . --methods rejection", 1, "temperature above 0"),
        ("--data . --threshold much", 2, "not a valid float"),
        ("--data . --strength -1", 1, "strength must lie between"),
        ("--data . --json gone/x.json", 2, "there is no folder for"),
    ):
        result = run(*words.split())
        assert (result.exit_code, result.stdout) == (status, ""), words
        assert reason in result.stderr, words


def test_a_missing_extra_is_a_sentence(walks, monkeypatch):
    """It says what to install."""
    from benchmarks.quality.writing import _rouge

    _rouge.cache_clear()
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    result = run("--data", walks)
    assert result.exit_code == 1
    assert how_to_add("bench") in result.stderr
