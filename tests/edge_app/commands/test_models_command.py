"""`specsteer models`: a pair is compared, written into the settings, and refused."""

import json
from dataclasses import replace
from unittest.mock import Mock

import pytest

from edge_app.commands import models
from edge_app.config.settings import read_settings, settings_path
from edge_app.evaluation import choosing
from edge_app.evaluation.figures import Estimate, PairCheck, Worth
from edge_app.evaluation.other_tokens import Shared
from edge_app.evaluation.pair import Speed
from models.engines.llama_cpp import LlamaModel
from models.files import locate
from models.local import describing
from models.local.describing import MachineMemory, describe
from models.local.finding import FoundModel, folder_of
from tests.models.local.test_finding import header_only

TOKENS = [f"t{at}" for at in range(30)]
PAIR = ("embedded-specialist", "embedded-generalist")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two files of one vocabulary, and one of another."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    small = header_only(tmp_path / "small.gguf", TOKENS, unused=2)
    large = header_only(tmp_path / "large.gguf", TOKENS, unused=9)
    other = header_only(tmp_path / "other.gguf", ["x", *TOKENS[1:]])
    return small, large, other


def test_use_writes_the_pair_and_leaves_the_rest_alone(run, files):
    before, after = "# mine\nthreads = 2 # two\n", "\n[method]\nseed = 1 # why\n"
    settings_path().write_text(before + after)
    done = run("models", "use", *files[:2])
    assert done.exit_code == 0, done.output
    text = settings_path().read_text()
    assert text.startswith(f"{before}specialist = ")
    assert text.endswith(after)
    settings = read_settings()
    assert (settings.specialist, settings.generalist) == tuple(map(str, files[:2]))
    run("models", "use", *PAIR)
    assert read_settings().specialist == ""


def test_a_pair_of_two_families_is_used(run, files, tmp_path):
    """And listed where the large one has no small one of its own. One that is not the
    larger is refused, unless told."""
    small, large, other = files
    done = run("models", "use", large, other)
    assert "not the larger of both; --force writes it" in done.stderr
    assert not settings_path().exists()
    done = run("models", "use", large, other, "--force")
    assert "warning: " in done.stderr
    assert read_settings().specialist == str(large)
    with other.open("ab") as file:
        file.write(bytes(4 * other.stat().st_size))
    done = run("models", "use", small, other)
    assert done.exit_code == 0, done.output
    assert read_settings().generalist == str(other)

    found = [(FoundModel(one.name, "made", one), describe(one)) for one in files]
    named = [(a.name, b.name) for a, b, _ in models.fitting_pairs(found)]
    assert named == [("small.gguf", "other.gguf"), ("large.gguf", "other.gguf")]
    with large.open("ab") as file:
        file.write(bytes(2 * large.stat().st_size))
    more = header_only(tmp_path / "more.gguf", ["x", *TOKENS[1:]], unused=2)
    found = [
        (FoundModel(one.name, "made", one), describe(one)) for one in (*files, more)
    ]
    named = [(a.name, b.name) for a, b, _ in models.fitting_pairs(found)]
    assert named == [("small.gguf", "large.gguf"), ("more.gguf", "other.gguf")]


def test_what_two_vocabularies_share_is_said(run, files, capsys):
    worth = Worth(1, 90, *[Estimate(0.5)] * 3)
    speed = Speed(100.0, 10.0, 0.05)
    found = PairCheck(speed, speed, worth, 1.0)
    both = Shared(25, 30, 250, 0.906, 0.9637), 0.0114
    described = describe(files[0]), describe(files[2])
    models.echo_check(described, found, 0.5, "the sample letters", both)
    said = capsys.readouterr().out
    for words in (
        "vocabulary  two, of 30 and 30 tokens: texts go as bytes",
        "25 strings, 83% of the small list and 10% of the large one",
        "96.4% of the small one's tokens are in the large list, and 90.6% end where",
        "bytes take 11 ms a block here, beside the base's 50 ms",
    ):
        assert words in said


def test_the_list_for_programs(run, files):
    body = json.loads(run("models", "list", "--json").stdout)
    assert {one["name"] for one in body["models"]} == set(PAIR)
    assert [(one["small"], one["large"]) for one in body["pairs"]] == [PAIR]
    names, pairs = {one["name"] for one in body["catalogue"]}, body["catalogue pairs"]
    assert len(pairs) >= 10
    for role in ("specialist", "generalist"):
        assert {pair[role] for pair in pairs} <= names


def test_remove_leaves_what_others_put_there(run, files, home):
    """Whatever the name says."""
    repository = folder_of("maker/repo")
    repository.mkdir(parents=True)
    kept = repository / "a.gguf", home / "store.db", files[0]
    for left in kept[:2]:
        left.write_bytes(b"x")
    up = "../..", "maker/repo/../../../..", f"{repository.parent}/../.."
    for name in (files[0], "qwen3-8b", *up):
        done = run("models", "remove", name, "--yes")
        assert done.exit_code == 1, name
        if name == files[0]:
            assert "remove it with the program that put it there" in done.stderr
        elif name == "qwen3-8b":
            assert "was not pulled" in done.stderr
    assert all(path.exists() for path in kept)


def test_a_pair_is_recommended_for_the_machine(run, files, monkeypatch):
    """The largest that has room now and that its cores read fast enough; where the
    memory is not known, the one that is here."""
    for gigabytes, cores, pair in (
        (4, 64, ""),
        (25, 1, ""),
        (25, 2, "smollm2-360m smollm2-1.7b"),
        (25, 4, "qwen3-0.6b qwen3-4b"),
        (16, 8, "qwen3-0.6b qwen3-8b"),
        (0, 8, ""),
    ):
        memory = Mock(return_value=MachineMemory(gigabytes * 10**9, gigabytes * 10**9))
        monkeypatch.setattr(describing, "machine_memory", memory)
        monkeypatch.setattr(choosing, "usable_cores", Mock(return_value=cores))
        body = json.loads(run("models", "list", "--json").stdout)
        assert body["recommended"] == (pair.split() or None)
        said = run("models", "list").stdout.partition("\n\n")[0]
        if pair:
            assert f": {pair}, a download of " in said
            assert f"\n    specsteer models pull {pair}\n" in said
        else:
            assert said.endswith(": the pair that came with SpecSteer")


@pytest.mark.slow
def test_check_measures_two_vocabularies(run, monkeypatch):
    """The embedded pair, as if it had two."""
    ids = {locate(role): role for role in ("specialist", "generalist")}
    of_model = property(lambda model: ids[model.path])
    monkeypatch.setattr(LlamaModel, "vocabulary_id", of_model)
    done = run("models", "check", *PAIR, "--sample", "--seconds", "20", "--json")
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    assert body["vocabularies"]["ends"] == body["vocabularies"]["used"] == 1.0
    assert 0 < body["vocabularies"]["block_seconds"] < 1
    assert 0 < body["worth"]["kept"]["value"] < 1


@pytest.mark.slow
def test_check_measures_the_embedded_pair_on_the_sample(run):
    done = run("models", "check", *PAIR, "--seconds", "20")
    assert "the sample is measured" in done.stderr
    for words in ("one, of 8,192 tokens", "tokens/s", "times as likely", "threshold"):
        assert words in done.stdout
    done = run("models", "check", *PAIR, "--seconds", "20", "--json")
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    assert body["worth"]["texts"] >= 3
    assert 0 < body["worth"]["kept"]["value"] < 1
    assert body["worth"]["steering"]["low"] < body["worth"]["steering"]["high"] < 0
    assert min(body["specialist"].values()) > 0
    small = replace(describe(locate("specialist")), path=str(locate("specialist")))
    assert body["models"][0]["vocabulary_id"] == small.vocabulary_id
