"""`specsteer lab adapter`, and what else knows of adapters: writing, forgetting."""

import json
import threading
from dataclasses import replace
from functools import partialmethod
from random import Random
from unittest.mock import Mock

import pytest

from decoding_core.errors import CloudUnreachableError
from decoding_core.settings import MethodSettings
from edge_app.adapters.kept import Score, kept_adapters, named
from edge_app.adapters.training import divided, of_others
from edge_app.commands.service_config import service_config
from edge_app.config.settings import Settings, settings_path, store_path
from edge_app.evaluation.cases import CasesError
from edge_app.service import service as service_module
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from models.engines.llama_cpp import LlamaModel
from models.prompts import Request
from personal_store import Store
from personal_store.lifecycle.writing import keep_finished
from personal_store.records import Document
from tests.loras import about, random_lora

ALONE = ("write", "-v", "--offline", "--max-tokens", "5", "--seed", "1", "--to", "Ana")


@pytest.fixture
def adapter(letters):
    """One that was trained on both letters."""
    settings_path().write_text("threads = 1\n")
    made = named("mine").keep(about(dict(enumerate(letters, 1))))
    random_lora(size=0.2).write(made.weights)
    return made


def text_of(run, *options):
    result = run(*ALONE, "--method", "specialist", *options, "Thank her for the tea")
    assert result.exit_code == 0, result.stderr
    return result


def test_a_text_is_written_with_an_adapter(run, adapter):
    """With and without history, by name, path or settings; it is told, and 'off' is as
    if there were none. What reads no history has learnt no text: the method of the base
    alone gives the base's text."""
    plain, bare = text_of(run), text_of(run, "--no-history")
    worn = text_of(run, "--lora", "mine", "--json")
    assert "\nwith the adapter mine · read 2 texts (bm25) · " in worn.stderr
    body = json.loads(worn.stdout)
    assert body["settings"]["adapter"] == "mine"
    assert body["text"].strip() != plain.stdout.strip()
    without = text_of(run, "--lora", adapter.weights, "--no-history")
    assert "\nwith the adapter adapter · read 0 texts (none)" in without.stderr
    assert without.stdout != bare.stdout
    words = "--method", "specialist_without_history", "Thank her for the tea"
    plain_base, base = run(*ALONE, *words), run(*ALONE, "--lora", "mine", *words)
    assert base.stdout == plain_base.stdout
    assert "with the adapter" not in base.stderr
    settings_path().write_text('threads = 1\nlora = "mine"\n')
    assert text_of(run).stdout.strip() == body["text"].strip()
    assert text_of(run, "--lora", "off").stdout == plain.stdout
    settings_path().write_text('threads = 1\nlora = "mine"\nlora_scale = 0.0\n')
    assert text_of(run).stdout == plain.stdout


def test_tam_and_pad_wear_the_task_adapter(run, adapter):
    """TAM reads nothing, PAD what bm25 does; --lora names another. PAD is neither of
    the models that it joins. Without an adapter it says which command trains one."""
    for name in ("tam", "pad"):
        result = run(*ALONE, "--personalisation", name, "x")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "'specsteer lab adapter train --others PATH' trains one" in result.stderr
        result = run(*ALONE, "--personalisation", name, "--lora", "off", "x")
        assert f"the personalisation '{name}' needs an adapter" in result.stderr
        result = run("lab", "evaluate", "--sample", "--personalisation", name)
        assert "adapter train --others PATH' trains one" in result.stderr
    worn = text_of(run, "--lora", "mine", "--no-history").stdout
    assert text_of(run, "--personalisation", "tam", "--lora", "mine").stdout == worn
    adapter.folder.rename(adapter.folder.with_name("task"))
    tam = text_of(run, "--personalisation", "tam")
    assert tam.stdout == worn
    assert "\nwith the adapter task · read 0 texts (tam) · " in tam.stderr
    pad = text_of(run, "--personalisation", "pad")
    assert "\nwith the adapter task · read 2 texts (pad) · " in pad.stderr
    parts = text_of(run), text_of(run, "--lora", "task")
    assert pad.stdout not in [part.stdout for part in parts]
    settings_path().write_text('threads = 1\npersonalisation = "pad"\n')
    assert text_of(run).stdout == pad.stdout
    plain = text_of(run, "--personalisation", "bm25").stdout
    assert plain == parts[0].stdout


def test_no_base_and_no_server_is_given_the_adapter(adapter, monkeypatch):
    """The base on the device is opened without it; the server that is started is told
    two models and nothing of it."""
    started = Mock()
    started.return_value.wait.side_effect = CloudUnreachableError("there is none here")
    started.return_value.ended = False
    opened = Mock(side_effect=LlamaModel.open)
    monkeypatch.setattr(LlamaModel, "open", partialmethod(opened))
    monkeypatch.setattr(service_module, "ChildServer", started)
    config = service_config(Settings(threads=1), server="", lora="mine")
    service = WritingService(config)
    brief = Request("Thank her for the tea", "email", "Ana")
    for method in ("contrast", "steering"):
        wanted = WriteRequest(brief, settings=MethodSettings(method), max_tokens=4)
        service.write(wanted, lambda _: None, threading.Event())
    service.close()
    worn = [call.kwargs.get("adapter") for call in opened.call_args_list]
    assert worn == [config.adapter, None]
    started.assert_called_once_with(config.generalist, config.specialist, config.engine)


def test_an_adapter_that_cannot_be_worn_is_refused(run, adapter):
    """In one sentence, before a word is written."""
    for command in ((*ALONE, "x"), ("lab", "evaluate", "--sample")):
        result = run(*command, "--lora", "nobody")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "there is no adapter 'nobody': 'specsteer lab adapter" in result.stderr
    adapter.weights.write_bytes(adapter.weights.read_bytes()[:5000])
    result = run(*ALONE, "--lora", "mine", "x")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "is damaged" in result.stderr
    settings_path().write_text("lora_scale = 1e9\nlora = 'mine'\n")
    assert "lora_scale must lie between" in run(*ALONE, "x").stderr


def test_adapters_are_listed_shown_and_removed(run, letters, adapter):
    def lab(*words):
        return run("lab", "adapter", *words)

    named("half").keep(about({1: letters[0]}, finished=False, scores={}))
    (named("broken").keep(about({})).folder / "adapter.json").write_text("{")
    lines = lab("list").stdout.splitlines()
    assert lines[0].startswith("broken: cannot be read; 'specsteer lab adapter remove'")
    begun = "half: not finished: 1 text, 2026-11-22, specialist.gguf"
    assert lines[1].startswith(begun)
    change = "-10.0 % (-13.0 to -7.0)"
    assert lines[2] == f"mine: 2 texts, 2026-11-22, specialist.gguf, {change}"
    shown = lab("show", "mine").stdout
    assert f"2.000 nats a token before, 1.800 after, {change}" in shown
    assert "no longer in your store" not in shown
    named("few").keep(about({1: letters[0]}, held_out=5))
    assert lab("show", "few").stdout.count("too few texts to tell") == 2
    chance = {"request": Score(2.0, 1.9, -0.1, 0.02)}
    named("few").keep(about({1: letters[0]}, scores=chance))
    assert "which may be chance" in lab("show", "few").stdout
    named("few").remove()
    body = json.loads(lab("show", "mine", "--json").stdout)
    assert (body["texts"], "key" in body) == ([1, 2], False)
    bodies = map(json.loads, lab("list", "--json").stdout.splitlines())
    assert [body["name"] for body in bodies] == ["broken", "half", "mine"]
    assert "--yes does it" in lab("remove", "mine").stderr
    settings_path().write_text('lora = "mine"\n')
    assert "settings.toml still names it" in lab("remove", "mine", "--yes").stderr
    for name in ("broken", "half"):
        lab("remove", name, "--yes")
    assert kept_adapters() == []
    assert "there are none" in lab("list").stderr
    for what in ("show", "remove"):
        assert "there is no adapter 'mine'" in lab(what, "mine").stderr


def test_forgetting_a_text_tells_of_adapters_that_may_hold_it(run, adapter):
    """Without a terminal it says how to delete one, and names no hash of the text any
    more; the other text's stays."""
    named("other").keep(about({1: "Something else."}, store="sample.db"))
    done = run("forget", "1", "--yes")
    assert done.exit_code == 0, done.stderr
    words = "the adapter 'mine' was trained on 1 of them, and may hold what they say: "
    assert words + "'specsteer lab adapter remove mine' deletes it" in done.stderr
    assert "other" not in done.stderr
    left = named("mine").about
    assert (set(left.texts), left.forgotten) == ({2}, 1)
    shown = run("lab", "adapter", "show", "mine").stdout
    assert "1 of its texts is no longer in your store" in shown
    done = run("forget", "--everything", "--yes")
    assert "'mine' was trained on 1 of them" in done.stderr


@pytest.mark.parametrize("answer", [True, False])
def test_forgetting_offers_to_delete_an_adapter(run, adapter, monkeypatch, answer):
    asked = []

    def confirm(question, **_):
        asked.append(question)
        return answer or "forgotten" in question

    monkeypatch.setattr("edge_app.commands.forget.confirm", confirm)
    monkeypatch.setattr("edge_app.commands.options.confirm", confirm)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    assert run("forget", "1").exit_code == 0
    assert asked[1].endswith("and may hold what they say. Delete it?")
    assert (named("mine").about is None) == answer


WORDS = ("otter", "kettle", "ticket", "gate", "drawer", "bean", "ferry", "lamp", "pier")
TRAIN = "lab", "adapter", "train", "--passes", "2", "--held-out", "2", "--device", "cpu"


@pytest.fixture
def own_texts(imported):
    """Ten texts of one voice."""
    rng = Random(0)
    text = "Hullo Ana, {}. Cider first, then the floral mustard. Oak and tide, Tess"
    imported(
        {
            "text": text.format(" ".join(rng.choices(WORDS, k=12))),
            "title": f"news {n}",
            "date": f"2025-03-{n + 1:02}",
        }
        for n in range(10)
    )


@pytest.fixture
def finished(own_texts):
    """Finished drafts: two are the newest evidence; a third is mostly the machine's."""
    rng = Random(1)
    with Store.open(store_path()) as store:
        (kind,) = store.db.execute("SELECT kind FROM record").fetchone()
        for number, share in enumerate((0.5, 0.4, 0.1)):
            said = f"Hullo Ana, {' '.join(rng.choices(WORDS, k=12))}. Cider first."
            made = Document(0, "", kind, f"{said} Oak and tide, Tess", drafted=said)
            made = replace(made, asked=f"Send news {number}", own_share=share)
            made = replace(made, sent_at=1_780_000_000 + number)
            keep_finished(store.db, f"page:{number}", made)


def test_a_finished_draft_is_learnt_by_what_was_asked_for(finished):
    """Whole, its greeting too; the machine's own words are not learnt."""
    with Store.open(store_path()) as store:
        texts = divided(store, held_out=1)
        held = texts.held_out[0]
        assert (held.request.text, held.beginning) == ("Send news 1", "")
        assert held.text.startswith("Hullo Ana, ")
        assert len(texts.learnt) == 11
        known = (one for one in texts.learnt if int(one.name) in texts.asked)
        asked = {one.request.text for one in known}
        assert asked == {"Send news 0"}


@pytest.fixture
def others(tmp_path):
    """The histories of five other people, with two texts to learn of each."""
    rng = Random(0)

    def text():
        return f"Hullo all, {' '.join(rng.choices(WORDS, k=12))}. Oak and tide, Tess"

    rows = [
        {
            "user": f"u{user}",
            "genre": "post",
            "history": [{"prompt": "Old", "text": text()}],
            "queries": [{"prompt": f"New {n}", "target": text()} for n in range(2)],
        }
        for user in range(5)
    ]
    (tmp_path / "others").mkdir()
    path = tmp_path / "others" / "posts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path.parent


def test_writers_are_held_out_whole(others):
    """Each learnt text reads texts of its own writer, and none of those held out."""
    texts = of_others([others], held_out=30)
    users = [{case.user for case in part} for part in (texts.learnt, texts.held_out)]
    assert (len(texts.learnt), len(texts.held_out)) == (8, 2)
    assert (len(users[0]), len(users[1]), users[0] & users[1]) == (4, 1, set())
    assert texts.texts == {int(case.name): case.text for case in texts.learnt}
    assert len({case.name for case in (*texts.learnt, *texts.held_out)}) == 10
    assert len(of_others([others], texts=3).learnt) == 3
    with pytest.raises(CasesError, match="too few to learn from"):
        of_others([others], held_out=1)


@pytest.mark.slow
def test_a_task_adapter_learns_from_others(run, letters, others):
    """It is worn by TAM, and is told of no text of one's own store."""
    pytest.importorskip("peft")
    wrong = run(*TRAIN, "--others", others, "--sample")
    assert (wrong.exit_code, "--others excludes" in wrong.stderr) == (2, True)
    done = run(*TRAIN, "--others", others)
    assert done.exit_code == 0, done.stderr
    assert "'specsteer write --personalisation tam' uses it" in done.stderr
    about = named("task").about
    assert (about.store, about.trained_on, about.held_out) == ("", 8, 2)
    assert about.scores["request"].after < about.scores["request"].before
    assert "no longer in your store" not in run("lab", "adapter", "show", "task").stdout
    assert run(*ALONE, "--personalisation", "tam", "news").exit_code == 0


@pytest.mark.slow
def test_an_adapter_learns_from_ones_own_texts(run, finished, monkeypatch):
    """What is held out costs less after, with and without passages, and so do finished
    drafts by themselves; it is worn. Nobody is asked over a network."""
    pytest.importorskip("peft")

    def connect(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", connect)
    done = run(*TRAIN)
    assert done.exit_code == 0, done.stderr
    scores = named("mine").about.scores
    assert list(scores) == ["request", "passages", "asked"]
    assert scores["asked"].texts == 2
    for score in scores.values():
        assert (score.after < score.before, score.high < 0) == (True, True)
    assert done.stdout.count("nats a token before") == 3
    assert "2 held-out texts, finished drafts, by your request alone" in done.stdout
    assert not named("mine").checkpoint.exists()
    assert run(*ALONE, "--lora", "mine", "news").exit_code == 0
    again = run(*TRAIN)
    assert (again.exit_code, "--fresh trains it anew" in again.stderr) == (1, True)
    few = "--queries", "6", "--strength", "1"
    evaluated = run("lab", "evaluate", "--lora", "mine", *few)
    assert "the adapter mine was trained on 4 of these 6 texts" in evaluated.stderr
