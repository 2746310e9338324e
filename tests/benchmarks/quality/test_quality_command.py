"""`specsteer lab bench quality`, with the embedded pair."""

import json
import re
import sys

import pytest
from click.testing import CliRunner

import benchmarks.pair
from base.extras import how_to_add
from benchmarks.quality import writing
from decoding_core.methods import available
from edge_app.cli import cli
from tests.models.engines.test_llama_reranker import write_reranker

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
def test_ways_to_choose_past_texts_are_rows(walks, tmp_path):
    """For what reads them; a reranker is one more if one is given."""
    reranker = write_reranker(tmp_path / "rank.gguf")
    methods = "--methods", "specialist,generalist,costeer", "--costeer-steps", "1,20"
    arguments = ["--data", walks, "--users", 1, *FEW, *methods]
    chosen = "--personalisation", "bm25,noise,profile", "--reranker", reranker
    shown = run(*arguments, *chosen).stdout.splitlines()
    assert shown[0].split()[2:6] == ["threshold", "strength", "T", "history"]
    rows = [tuple(line.split()[:6]) for line in shown[1:]]
    ways = ["bm25", "noise", "profile", "bm25+reranker"]
    assert [row[5] for row in rows if row[:2] == ("walks", "specialist")] == ways
    steered = [row[4:] for row in rows if row[:2] == ("walks", "costeer")]
    assert steered == [(t, way) for t in ("1", "20") for way in ways]
    assert len([row for row in rows if row[:2] == ("walks", "generalist")]) == 1


@pytest.mark.slow
def test_every_method(walks, tmp_path, monkeypatch):
    """A row each; the same command again prints the same, and computes nothing."""
    out = tmp_path / "out.json"
    arguments = ["--data", walks, "--users", 1, *FEW, "--json", out]
    first = run(*arguments)
    assert first.exit_code == 0
    rows = [line.split()[-12:] for line in first.stdout.splitlines()]
    assert len(rows) == 1 + len(available())
    for name in available():
        assert len(re.findall(rf"  {name} ", first.stdout)) == 1
    assert "needs a temperature above 0" in " ".join(first.stderr.split())
    monkeypatch.setattr(benchmarks.pair, "Pair", None)
    kept = out.read_text()
    assert run(*arguments).stdout == first.stdout
    assert out.read_text() == kept
    assert WORDS not in kept


@pytest.mark.slow
def test_a_stop_keeps_what_was_written(walks, tmp_path, monkeypatch):
    """It says how to go on; going on gives what an undisturbed run gives."""
    count, written = [], writing.Lab.written

    def write(self, case, arm, prompts):
        count.append(arm.method)
        if len(count) == 3:
            self.bench.stop.set()
        return written(self, case, arm, prompts)

    monkeypatch.setattr(writing.Lab, "written", write)
    cache, out, undisturbed = (tmp_path / name for name in "abc")
    arguments = ["--data", walks, "--methods", "specialist,steering", *FEW]
    stopped = run(*arguments, "--cache", cache, "--json", out)
    assert stopped.exit_code == 130
    assert "stopped after 2 of 4 texts" in stopped.stderr
    assert "the same command goes on" in stopped.stderr
    assert (stopped.stdout, out.exists()) == ("", False)
    assert run(*arguments, "--cache", cache, "--json", out).exit_code == 0
    assert count[3:] == ["specialist", "steering"]
    assert run(*arguments, "--cache", tmp_path, "--json", undisturbed).exit_code == 0
    assert told(out) == told(undisturbed)


@pytest.mark.slow
def test_texts_without_room_are_left_out(walks):
    """And counted, the second time too; if that is all, it is an error."""
    row = json.loads(walks.read_text().splitlines()[0])
    row["queries"][0]["prompt"] = "tea " * 3000
    row["user"] = "u3"
    both = walks.with_name("both.jsonl")
    both.write_text("\n".join([json.dumps(row), walks.read_text()]))
    for _ in range(2):
        found = run("--data", both, "--methods", "specialist", *FEW)
        assert found.exit_code == 0
        assert "1 of the texts left out" in found.stderr
    alone = run("--data", both, "--users", 1, "--methods", "specialist", *FEW)
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert "no text was written" in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (["--data", "gone"], 2, "'gone' does not exist"),
        ([], 2, "Missing option '--data'"),
        (["--data", ".", "--methods", "steer"], 2, "'steer' is not one of"),
        (["--data", ".", "--personalisation", "pag"], 2, "'pag' is not one of"),
        (["--data", ".", "--methods", "rejection"], 1, "temperature above 0"),
        (["--data", ".", "--threshold", "much"], 2, "not a valid float"),
        (["--data", ".", "--strength", "-1"], 1, "strength must lie between"),
        (["--data", ".", "--json", "gone/x.json"], 2, "there is no folder for"),
    ],
)
def test_wrong_usage(arguments, status, reason):
    """A sentence, before anything is loaded."""
    result = run(*arguments)
    assert result.exit_code == status
    assert reason in result.stderr
    assert result.stdout == ""


def test_a_missing_extra_is_a_sentence(walks, monkeypatch):
    """It says what to install."""
    from benchmarks.quality.writing import _rouge

    _rouge.cache_clear()
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    result = run("--data", walks)
    assert result.exit_code == 1
    assert how_to_add("bench") in result.stderr
