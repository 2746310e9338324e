"""Prompts as read: found by their tokens, never wrong, and gone with their letters."""

import json
import os
import threading
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Settled, Source
from edge_app.service import kept_states
from edge_app.service.kept_states import KeptStates
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from models.prompts import Request
from models.running.interface import Model, TextSlots
from models.running.settings import EngineSettings, PersonalAdapter
from personal_store import Store, copies, import_source, keys
from personal_store.lifecycle import forgetting
from personal_store.states import records_of, states, states_folder
from personal_store.transfer import restore

TEXTS = [
    "Hullo Ana, the pier photos came out well; the tea was cold. Best, Tess",
    "Hullo Ben, the boat is mended and the rope is dry again. Best, Tess",
]
PROMPT = Random(1).choices(range(1000), k=200)


class Slots(TextSlots):
    """Saves the tokens of a slot as they are."""

    saves = True

    def _allocate(self):
        self.held = []

    def _save(self, slot):
        return json.dumps(self._tokens[slot]).encode()

    def _restore(self, slot, length, saved):
        self.held = json.loads(saved)
        return len(self.held) == length

    def _forget(self, slot, position):
        del self.held[position:]

    def _read(self, readings, logits):
        self.held += readings[0].token_ids

    def _use_threads(self, single, several): ...

    def _free(self): ...


class Language(Model):
    """No more of a model than slots ask for."""

    slots_type = Slots
    vocabulary_size, context_length, name = 1000, 1024, "m"

    def __init__(self, path, settings=None):
        self.path, self.settings = path, settings or EngineSettings()

    def close(self): ...


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A store of two texts."""
    monkeypatch.setattr(keys, "_known", {})
    monkeypatch.setattr(keys, "in_keyring", lambda _: "")
    lines = tmp_path / "letters.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "jsonl", lines)
        copies.back_up(store.db, store.path)
    return tmp_path / "store.db"


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_bytes(b"weights")
    return Language(file)


def sources(*ids):
    return [Source(one, "", 0.0, {}, TEXTS[one - 1]) for one in ids]


def keep(model, path, token_ids=PROMPT, ids=(1,), **options):
    """Read a prompt and keep its state."""
    slots = model.open()
    slots.sequence().evaluate(token_ids)
    kept = KeptStates(slots, path, **options)
    kept.copy(token_ids, sources(*ids))
    kept.write()


def restored(model, path, token_ids=PROMPT, **options):
    """How many tokens of a prompt need not be read."""
    slots = model.open(**options)
    KeptStates(slots, path).restore(token_ids)
    held = slots.tokens(0)
    assert held == token_ids[: len(held)] == slots.held[: len(held)]
    return len(held)


def test_a_state_serves_up_to_where_the_prompts_differ(model, path, tmp_path):
    """A state of another model, adapter or setting does not; nor is a prompt kept
    twice."""
    for _ in range(2):
        keep(model, path)
    (file,) = states(path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert not any(text.encode() in file.read_bytes() for text in TEXTS)
    assert restored(model, path) == 200
    assert restored(model, path, PROMPT + [7] * 30) == 192
    assert restored(model, path, PROMPT[:150] + [7] * 30) == 144
    assert restored(model, path, PROMPT[:70] + [7] * 30) == 0  # soon read
    assert restored(model, path, [7, *PROMPT]) == 0
    exact = Language(model.path, EngineSettings(exact=True))
    assert restored(exact, path) == 0
    assert restored(model, path, context_length=512) == 0
    adapter = tmp_path / "a.gguf"
    adapter.write_bytes(b"lora")
    assert restored(model, path, adapter=PersonalAdapter(adapter)) == 0
    model.path.write_bytes(b"weighty")
    assert restored(model, path) == 0


@pytest.mark.parametrize("key", [None, keys.fresh()], ids=["plain", "encrypted"])
def test_a_damaged_file_is_not_there(model, path, key):
    """Wherever it is changed, cut or grown."""
    if key is not None:
        pytest.importorskip("cryptography")
        copies.encrypt(path, key)
    keep(model, path)
    (file,) = states(path)
    whole = file.read_bytes()
    assert restored(model, path) == 200
    assert (str(PROMPT)[1:40].encode() in whole) == (key is None)

    @given(st.integers(0, len(whole) - 1), st.integers(1, 255), st.booleans())
    def damaged(at, mask, cut):
        data = bytearray(whole)
        data[at] ^= mask
        file.write_bytes(data[:at] if cut else data)
        assert restored(model, path) == 0

    damaged()
    for data in (b"", whole[:-1], whole + b"x", b"\n" * 9, b"[]\n[]\n"):
        file.write_bytes(data)
        assert restored(model, path) == 0


@pytest.mark.parametrize(
    "away",
    [
        lambda store: forgetting.forget(store.db, store.path, [1]),
        lambda store: forgetting.put_into_trash(store.db, [1]),
        lambda store: forgetting.exclude(store.db, [1]),
        lambda store: forgetting.forget_everything(store.db, store.path),
        lambda store: restore(store.db, store.path, copies.backup_path(store.path)),
    ],
    ids=["forget", "trash", "exclude", "forget everything", "restore"],
)
def test_a_state_goes_with_its_letters(model, path, away):
    """With any of them; those of other letters stay if these do. What a process that
    was killed has left says nothing, and goes, too."""
    keep(model, path, ids=(1, 2))
    keep(model, path, PROMPT[::-1], ids=(), others=[1])
    keep(model, path, sorted(PROMPT), ids=(2,))
    (states_folder(path) / "0.state.1.part").write_bytes(b"")
    with Store.open(path) as store:
        away(store)
        kept = [one.read_bytes().split(b"\n")[0] for one in states(path)]
        assert kept == [b'{"records": [2]}'] * bool(store.passage(1) is None and kept)


def test_all_states_go_when_the_store_gets_another_key(model, path):
    """Also one that is written just then: it would stay plain."""
    pytest.importorskip("sqlcipher3")
    keep(model, path)
    slots = model.open()
    slots.sequence().evaluate(PROMPT[::-1])
    late = KeptStates(slots, path)
    late.copy(PROMPT[::-1], sources(1))
    copies.encrypt(path, keys.fresh())
    assert not list(states(path))
    late.write()
    assert not list(states(path))


def test_a_text_that_goes_while_it_is_written_from_takes_the_state_along(model, path):
    """Also if its number is another text's by then; two writers do not meet."""
    slots = model.open()
    slots.sequence().evaluate(PROMPT)
    late, other = KeptStates(slots, path), KeptStates(slots, path)
    late.copy(PROMPT, sources(1, 2))
    other.copy(PROMPT, [replace(sources(2)[0], excerpt="as it was")])
    with Store.open(path) as store:
        forgetting.put_into_trash(store.db, [1])
    late.write()
    other.write()
    assert not list(states(path))


def test_the_least_recently_used_goes_first(model, path):
    """And a state that is too large alone, or cannot be written, is not kept."""
    prompts = [[one] * 200 for one in range(4)]
    keep(model, path, prompts[0])
    (size,) = (file.stat().st_size for file in states(path))
    for prompt in prompts[1:]:
        for file in states(path):
            os.utime(file, (0, 0))
        assert restored(model, path, prompts[0]) == 200
        keep(model, path, prompt, most_bytes=int(2.5 * size))
    found = [restored(model, path, prompt) for prompt in prompts]
    assert found == [200, 0, 0, 200]
    for file in states(path):
        file.unlink()
    keep(model, path, most_bytes=size // 2)
    states_folder(path).rmdir()
    states_folder(path).touch()
    keep(model, path)
    assert restored(model, path) == 0


def test_a_text_is_the_same_with_and_without_a_state(
    config, connections, read, monkeypatch
):
    """Under `exact`. The second service reads a piece of the prompt; one that holds
    notes of the person is not kept."""
    monkeypatch.setattr(kept_states, "_WORTH", 16)
    brief = Request("Thank Ana for the photos of the pier. " * 4, recipient="Ana")
    settings = MethodSettings(temperature=0.8, seed=1, threshold=0.3)
    asked = WriteRequest(
        brief, settings=settings, max_tokens=12, excluded=frozenset([2])
    )
    config = replace(config, engine=EngineSettings(extra_buffers=False, exact=True))

    def write(service, request):
        read.clear()
        events = []
        service.write(request, events.append, threading.Event())
        tokens = [t.id for e in events if isinstance(e, Settled) for t in e.tokens]
        return tokens, max(read)

    other = config.store.with_name("other.jsonl")
    letter = {"kind": "email", "recipient": "Ana", "text": "Dear Annie, no. Tess"}
    other.write_text(json.dumps(letter))
    with Store.open(config.store) as store:
        import_source(store, "jsonl", other)
    with closing(WritingService(config)) as service:
        write(service, replace(asked, background="She has a cold.", max_tokens=2))
        assert not list(states(config.store))
        first, whole = write(service, asked)
    (file,) = states(config.store)
    assert records_of(file) == {1, 2}  # the second says how she is greeted
    with closing(WritingService(config)) as service:
        again, piece = write(service, asked)
    assert (again, piece < 32 < whole) == (first, True)
