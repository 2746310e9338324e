from itertools import product

import pytest

from decoding_core.draft_length import DraftLengths
from decoding_core.errors import StoppedError
from decoding_core.methods import available, build
from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, role_of
from edge_app.decoding.events import Drafted, Settled, Verified
from edge_app.decoding.on_device import OfflineVerifier, verifier_of
from tests.fakes import HashEngine, TableEngine, WidthEngine, seeds
from tests.writing import END, PRIVATE, PUBLIC, Writing, hashed


def scripted(threshold, generalist_script, **changes):
    """The specialist writes 3 4 5 6 7 8; the generalist has its own script."""
    verifier = EngineVerifier(
        TableEngine(generalist_script, len(PUBLIC)), TableEngine([], len(PUBLIC))
    )
    settings = MethodSettings(
        **{"threshold": threshold, "draft_length": 3, "window": 1, **changes}
    )
    small = TableEngine([3, 4, 5, 6, 7, 8], len(PRIVATE))
    return Writing(settings, small, verifier, max_tokens=6)


def counts(writing):
    """Of each verified block: drafted, accepted, given up behind it."""
    verified = writing.all(Verified)
    return [(event.drafted, event.accepted, event.in_vain) for event in verified]


@pytest.mark.parametrize("window", [1, 4, "auto"])
def test_a_bonus_is_drawn_after_each_full_block_where_one_is_asked_for(window):
    """Three kept and one steered bonus a round, in turns: the next block stands behind
    the bonus, whatever the window."""
    script = [3, 4, 5, 6, 7, 8]
    writing = scripted(0.5, script, bonus_from="steered", window=window)
    assert writing.run() == script
    assert writing.origins == ["accepted"] * 3 + ["bonus"] + ["accepted"] * 2
    assert counts(writing) == [(3, 3, 0), (2, 2, 0)]


@pytest.mark.parametrize("method", ["steering", "lossless", "specialist"])
@pytest.mark.parametrize("length", [1, 7, 40])
def test_a_text_that_is_given_goes_on_as_it_did(method, length):
    """What is drawn hangs on the text before it and on the seed alone, so a text that
    is given up to some place is written to the same end: also behind more of it than a
    block carries."""
    settings = MethodSettings(method=method, temperature=1.0, seed=7)
    whole = hashed(settings, max_tokens=60, end_ids=()).run()
    rest = hashed(
        settings, max_tokens=60, end_ids=(), loop={"given_ids": whole[:length]}
    )
    assert rest.run() == whole[length:]


@pytest.mark.parametrize(
    "method", ["steering", "lossless", "coupled", "speculative", "rejection"]
)
def test_how_a_text_was_read_changes_no_token(method):
    """Whatever the specialist had read before, however long the blocks were, and though
    the server lost all that it had read: with models that give a token other figures
    alone than among others."""
    ahead = [(), ((11, 12), (13, 1)), (PRIVATE, (5,)), (PRIVATE[:-1], (2,), (5, 6))]

    class Forgetting(EngineVerifier):
        def verify(self, block):
            if block.round % self.every == 0:
                for engine in self.models:
                    engine.rollback(0)
            return super().verify(block)

    texts = set()
    lost = zip((99, 3, 99, 3), ahead, strict=True)
    for length, window, (every, pieces) in product((1, 4), (1, 3), lost):
        models = [WidthEngine(name) for name in ("small", "large", "base")]
        for piece in pieces:
            models[0].evaluate(piece)
        settings = MethodSettings(
            method=method, temperature=1.0, draft_length=length, window=window
        )
        verifier = Forgetting(*models[1:])
        verifier.every, verifier.models = every, models[1:]
        writing = Writing(settings, models[0], verifier, max_tokens=20, end_ids=())
        texts.add(tuple(writing.run()))
    assert len(texts) == 1


def test_the_device_drafts_on_while_blocks_are_out():
    """Up to the window and to the end of the text; then the oldest is waited for."""
    writing = scripted(0.5, [3, 4, 5, 6, 7, 8], draft_length=2, window=2)
    # Not even when a verdict is expected within no time, as it is here.
    writing.loop._lengths.worth_a_token = lambda *_: True
    assert writing.run() == [3, 4, 5, 6, 7, 8]
    assert counts(writing) == [(2, 2, 0)] * 3
    kinds = [
        {Drafted: "d", Verified: "v"}.get(type(event), "") for event in writing.events
    ]
    # Two blocks are out, and the third is drafted, before the first is verified.
    assert "".join(kinds) == "ddddddvvv"


def test_a_token_is_timed_when_it_is_drafted_with_what_is_out_then(monkeypatch):
    """Else those that are drafted ahead would count as drafted in turns."""
    seen = []
    monkeypatch.setattr(DraftLengths, "drafted", lambda _, __, out: seen.append(out))
    writing = scripted(0.5, [3, 4, 5, 6, 7, 8], window=2)
    out = []
    monkeypatch.setattr(
        writing.emitter, "drafted", lambda _: out.append(len(writing.loop._out))
    )
    writing.run()
    assert set(out) == {0, 1}
    assert seen == out[-len(seen) :]
    assert len(seen) >= len(out) - 1  # the first token reads the prompt


def test_what_is_drafted_behind_a_refusal_is_in_vain():
    """It is counted, and never verified; the text goes on from the refused place."""
    writing = scripted(0.5, [3, 4, 9, 6, 7, 8], draft_length=2, window=2)
    tokens = writing.run()
    verified = writing.all(Verified)
    assert tokens[:2] == [3, 4]
    assert counts(writing)[:2] == [(2, 2, 0), (2, 0, 2)]
    assert verified[1].refused == ("<5>", "<6>", "<7>", "<8>")
    assert writing.origins[:3] == ["accepted", "accepted", "recovered"]
    numbers = writing.tally.statistics()
    assert numbers.in_vain == sum(vain for *_, vain in counts(writing))
    assert numbers.drafted == sum(drafted for drafted, *_ in counts(writing))
    assert len(writing.all(Drafted)) == numbers.drafted + numbers.in_vain


@pytest.mark.parametrize(
    ("bonus_from", "origin", "token"),
    [("steered", "recovered", 6), ("generalist", "bonus", 9)],
)
def test_a_bonus_waits_for_what_only_this_person_would_write(bonus_from, origin, token):
    """The generalist names one candidate after the full block, 9; the specialist would
    write 6. As a draft, 6 is a candidate itself, and strength lets it win."""
    settings = MethodSettings(
        draft_length=3, candidates=1, bonus_from=bonus_from, strength=2.0
    )
    verifier = EngineVerifier(
        TableEngine([3, 4, 5, 9, 7, 8], len(PUBLIC)), TableEngine([], len(PUBLIC))
    )
    small = TableEngine([3, 4, 5, 6, 7, 8], len(PRIVATE))
    writing = Writing(settings, small, verifier, max_tokens=4)
    assert writing.run() == [3, 4, 5, token]
    assert writing.origins == ["accepted"] * 3 + [origin]


def reference(settings, count, seed=""):
    """Step-by-step steered decoding over the whole vocabulary."""
    engines = [HashEngine(name + seed) for name in ("small", "large", "base")]
    rows = [
        engine.evaluate(prompt)[0]
        for engine, prompt in zip(engines, (PRIVATE, PUBLIC, PUBLIC), strict=True)
    ]
    draw, text = settings.draw(), []
    for position in range(count):
        small, large, base = (log_softmax(r, settings.temperature) for r in rows)
        token = draw.coupled(
            log_softmax(large + settings.strength * (small - base)), position
        )
        text.append(token)
        if token == END:
            break
        rows = [engine.evaluate([token])[0] for engine in engines]
    return text


@seeds(2, 4)
@pytest.mark.parametrize("method", available())
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_where_blocks_end_changes_no_text(method, temperature, seeds):
    """Nor how many are out: tokens and origins are the same."""
    if method == "rejection" and not temperature:
        pytest.skip("it needs a temperature")
    for seed in seeds:
        texts = []
        for length, window in ((3, 1), (1, 2), (2, 4), (7, 3), ("auto", "auto")):
            settings = MethodSettings(
                method=method,
                temperature=temperature,
                draft_length=length,
                window=window,
                seed=seed,
                threshold=(0.5, "auto")[seed % 2],
            )
            writing = hashed(settings, str(seed), max_tokens=30)
            writing.run()
            texts.append(writing.emitter.tokens)
        assert all(text == texts[0] for text in texts)


@pytest.mark.parametrize("window", [1, 2, 4])
def test_the_specialist_reads_every_token_once(window):
    """It always holds prompt and settled text but for the last token, and what it
    drafted behind; a refused draft is rolled back when it next reads."""
    writing = hashed(MethodSettings(threshold=0.8, draft_length=3, window=window))
    text = list(PRIVATE)
    for block in writing.loop.blocks():
        text += block.token_ids
        assert writing.engine.read[: len(text) - 1] == text[:-1]
    drafted = len(writing.all(Drafted))
    recovered = writing.origins.count("recovered")
    read = sum(writing.engine.evaluations)
    assert read <= len(PRIVATE) + drafted + recovered


def test_stop_keeps_what_is_settled():
    writing = hashed(MethodSettings())
    with pytest.raises(StoppedError):
        for _ in writing.loop.blocks():
            writing.stop.set()
    settled = [token for event in writing.all(Settled) for token in event.tokens]
    assert settled == writing.emitter.tokens
    assert settled


@pytest.mark.parametrize("method", [*available()])
def test_what_may_not_follow_a_text_is_not_drawn_there(method):
    """By no method: here two odd tokens in a row."""
    settings = MethodSettings(method=method, temperature=1.0)
    role = role_of(settings.terms(), build(settings))

    def never(before):
        return range(1, 17, 2) if odd(before) else ()

    def odd(before):
        return bool(before) and before[-1] % 2 == 1

    behind_odd = 0
    for seed in "abcdef":
        small, base = HashEngine("small" + seed), HashEngine("base" + seed)
        server = EngineVerifier(HashEngine("large" + seed), base)
        verifier = verifier_of(
            role, lambda server=server: server, lambda base=base: base
        )
        tokens = Writing(settings, small, verifier, 40, loop={"never": never}).run()
        behind_odd += sum(odd(tokens[:at]) for at in range(1, len(tokens)))
        for at in range(1, len(tokens)):
            assert not (odd(tokens[:at]) and odd(tokens[: at + 1]))
    assert behind_odd > 3


def test_thoughts_are_neither_shown_nor_counted():
    """A model that writes marks of several tokens, which cannot be forbidden: they are
    cut off as they come, in drafts too."""
    pieces = dict(enumerate(["<thi", "nk>", "so", "</think>", "\n", "Hi", " Ana", "."]))
    script = [*range(8), END]
    writing = Writing(
        MethodSettings(draft_length=3),
        TableEngine(script, len(PRIVATE)),
        OfflineVerifier(),
        piece=lambda token: pieces.get(token, "").encode(),
    )
    writing.run()
    assert writing.emitter.text() == "Hi Ana."
    assert "".join(event.text for event in writing.all(Drafted)) == "Hi Ana."
    # The first half of the mark could still have been text.
    assert writing.tally.statistics().local == len(["<thi", "Hi", " Ana", ".", "end"])
