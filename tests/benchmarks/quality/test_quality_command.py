"""`specsteer lab bench quality`, with the embedded pair."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from click.testing import CliRunner

from base.extras import how_to_add
from benchmarks.quality import bench_quality as module
from benchmarks.quality import writing
from decoding_core.methods import available
from edge_app import cli as installed
from edge_app.cli import cli
from tests.models.engines.test_llama_reranker import write_reranker

ROOT = Path(module.__file__).parents[2]
FEW = ("--max-tokens", "5", "--threads", "1", "--passages", "1")
WORDS = "the pier was quiet and the tea was cold so we walked home past the mill"


@pytest.fixture
def run(monkeypatch):
    """Calls `specsteer lab bench quality` in this process, found by the entry point
    that the project declares; a traceback fails the test."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = EntryPoints(
        EntryPoint(name, value, installed.LAB)
        for name, value in project["entry-points"][installed.LAB].items()
    )
    monkeypatch.setattr(installed, "entry_points", declared.select)

    def call(*arguments):
        words = ["lab", "bench", "quality", *map(str, arguments)]
        return CliRunner(charset="utf-8").invoke(
            cli, words, prog_name="specsteer", catch_exceptions=False
        )

    return call


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
def test_ways_to_choose_past_texts_are_rows(run, walks, tmp_path):
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
def test_every_method(run, walks, tmp_path, monkeypatch):
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
    monkeypatch.setattr(writing, "Pair", None)
    kept = out.read_text()
    assert run(*arguments).stdout == first.stdout
    assert out.read_text() == kept
    assert WORDS not in kept


@pytest.mark.slow
def test_a_stop_keeps_what_was_written(run, walks, tmp_path, monkeypatch):
    """It says how to go on; going on gives what an undisturbed run gives."""
    count, stops = [], []
    written = writing.Lab.written

    def write_two(self, case, prompts, arm):
        count.append(arm.method)
        if len(count) == 3:
            self.stop.set()
            stops.append(1)
        return written(self, case, prompts, arm)

    monkeypatch.setattr(writing.Lab, "written", write_two)
    cache, out, undisturbed = (tmp_path / name for name in "abc")
    arguments = ["--data", walks, "--methods", "specialist,steering", *FEW]
    stopped = run(*arguments, "--cache", cache, "--json", out)
    assert stopped.exit_code == 130
    assert "stopped after 2 of 4 texts" in stopped.stderr
    assert "the same command goes on" in stopped.stderr
    assert (stopped.stdout, out.exists()) == ("", False)
    count.clear()
    count.append("so that none is the third")
    count.append("nor fourth")
    count.append("nor fifth")
    assert run(*arguments, "--cache", cache, "--json", out).exit_code == 0
    assert count[3:] == ["specialist", "steering"]
    assert run(*arguments, "--cache", tmp_path, "--json", undisturbed).exit_code == 0
    assert told(out) == told(undisturbed)


def test_texts_without_room_are_left_out(run, walks):
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
        (["--data", ".", "--methods", "steer"], 1, "there is no method 'steer'"),
        (["--data", ".", "--methods", "rejection"], 1, "temperature above 0"),
        (["--data", ".", "--threshold", "much"], 2, "--threshold takes numbers"),
        (["--data", ".", "--strength", "-1"], 1, "strength must lie between"),
        (["--data", ".", "--json", "gone/x.json"], 2, "there is no folder for"),
    ],
)
def test_wrong_usage(run, arguments, status, reason):
    """A sentence, before anything is loaded."""
    result = run(*arguments)
    assert result.exit_code == status
    assert reason in result.stderr
    assert result.stdout == ""


def test_a_missing_extra_is_a_sentence(run, walks, monkeypatch):
    """It says what to install."""
    from benchmarks.quality.writing import _rouge

    _rouge.cache_clear()
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    result = run("--data", walks)
    assert result.exit_code == 1
    assert how_to_add("bench") in result.stderr


HELD = """
import sys
from benchmarks.cache import Cache
from tests.waiting import forever
put, kept = Cache.put, []
def held(*arguments):
    put(*arguments)
    kept.append(1)
    if len(kept) == 3:
        print("held", flush=True)
        forever()
Cache.put = held
from edge_app.cli import main
main()
"""


@pytest.mark.slow
def test_a_killed_run_goes_on(walks, tmp_path):
    """A real process, killed in the middle; what it had is not computed again."""
    cache, out = tmp_path / "cache", tmp_path / "out.json"
    words = [
        "lab",
        "bench",
        "quality",
        *FEW,
        "--data",
        walks,
        "--cache",
        cache,
        "--json",
        out,
    ]
    words += ["--methods", "steering,lossless,generalist,specialist"]
    words = list(map(str, words))
    held = [sys.executable, "-c", HELD, *words]
    with subprocess.Popen(held, cwd=ROOT, stdout=subprocess.PIPE) as killed:
        assert killed.stdout.readline() == b"held\n"
        killed.kill()
    before = lines_in(cache)
    assert len(before) == 3
    assert not out.exists()
    words = [sys.executable, "-m", "edge_app.cli", *words]
    subprocess.run(words, check=True, capture_output=True)
    after = lines_in(cache)
    assert after[: len(before)] == before
    assert len(after) == 2 * (1 + 4)  # nats once a query, then four methods
    first = out.read_text()
    subprocess.run(words, check=True, capture_output=True)
    assert (out.read_text(), lines_in(cache)) == (first, after)


def lines_in(folder):
    """Lines of the only cache in a folder."""
    return [
        line
        for path in folder.glob("*.jsonl")
        for line in path.read_bytes().splitlines(True)
    ]
