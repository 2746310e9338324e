"""The two forms of a text: the person's holds the real words, the server's does not."""

import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_core.messages import Candidates
from decoding_core.methods import build
from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from edge_app.config.settings import PrivacyLimits
from edge_app.privacy.guard.gate import StandIns, tokens_of
from edge_app.privacy.guard.history import PrivateIndex
from tests.edge_app.decoding.losing_server import DISTURBANCES
from tests.edge_app.decoding.test_verifier_session import METHODS, spread
from tests.edge_app.privacy import guarded
from tests.edge_app.privacy.guarded import DRAFT, PROMPT, GuardedRun
from tests.edge_app.privacy.planted import planted
from tests.fakes import HashEngine

KEEPS_ALL = MethodSettings(method="steering", temperature=0.0, threshold=0.0)


@pytest.mark.parametrize("in_bytes", [False, True])
def test_the_person_reads_the_words_and_the_server_stand_ins(in_bytes):
    """Also a server that reads bytes, as its models have other tokens."""
    run = GuardedRun(KEEPS_ALL, agreeable=True, in_bytes=in_bytes)
    assert run.shown == DRAFT
    assert run.public == (
        "Dear Ben, the keys are with Jamie Miller's son. Call +00 000 or go to 1 Main "
        "Street, and say that we .... All the best to you and yours, and to Jamie of "
        "course."
    )
    assert not run.leaked()
    assert [held.kind for held in run.held] == [
        *("person", "phone", "address", "phrase", "person")
    ]
    for held in run.held:
        tokens = run.emitter.tokens[held.position : held.position + held.tokens]
        assert "".join(token.text for token in tokens) == held.text
        assert {token.origin for token in tokens} == {"local"}
    assert run.tally.statistics().held_back == 5


@pytest.mark.parametrize("mode", ["placeholder", "local"])
@pytest.mark.parametrize("apart", [31, pytest.param(1, marks=pytest.mark.slow)])
def test_what_is_given_passes_the_gate_as_what_is_written_does(mode, apart):
    """Wherever the text stands when it is gone on with, also within a secret."""
    length = len(GuardedRun(KEEPS_ALL).writer.script) - 1
    whole = GuardedRun(KEEPS_ALL, agreeable=True, mode=mode)
    for given_ in range(1, length, apart):
        run = GuardedRun(KEEPS_ALL, agreeable=True, mode=mode, given=given_)
        assert not run.leaked()
        assert whole.shown.endswith(run.shown)
        assert run.public.split()[:3] == ["Dear", "Ben,", "the"]


def leaking(count, seed, set_, **options):
    """Of so many planted secrets, those that came to the socket."""
    secrets = planted(count, seed, set_)
    found = []
    for number, one in enumerate(secrets):
        others = (secrets[(number + 7 * step) % count].letter for step in (1, 2, 3))
        run = GuardedRun(
            replace(KEEPS_ALL, draft_length=(3, 8, 16)[number % 3]),
            draft=one.draft,
            history=(one.letter, *others),
            request="Answer Ben about the things he asked for.",
            secrets=(one.secret,),
            agreeable=True,
            **options,
        )
        assert run.shown == one.draft
        if run.leaked():
            found.append((one.kind, one.secret, run.public))
    return found


@pytest.mark.parametrize("set_", ["tuned", "held_out"])
def test_planted_secrets_do_not_leave(set_):
    assert not leaking(12, 1, set_)


def test_planted_secrets_do_not_leave_in_bytes():
    assert not leaking(6, 1, "tuned", in_bytes=True)


@pytest.mark.slow
@pytest.mark.parametrize("set_", ["tuned", "held_out"])
def test_of_a_thousand_planted_secrets_hardly_one_leaves(set_):
    assert len(leaking(1000, 2, set_)) <= 10


def test_what_the_server_thinks_of_the_rest_is_all_that_matters():
    """A server whose opinion does not depend on the spans: the person's text is the one
    of a run without a guard."""
    for seed in range(3):
        chosen = replace(KEEPS_ALL, threshold=0.4, seed=seed)
        runs = [GuardedRun(chosen, agreeable=True, guarded=on) for on in (False, True)]
        assert runs[0].shown == runs[1].shown


def test_off_means_off():
    """Without a gate the frames are those of a text that never knew of one."""
    chosen = replace(KEEPS_ALL, threshold=0.5, window=2, draft_length=4)
    plain = GuardedRun(chosen, guarded=False, draft="All the best to you and yours.")
    assert plain.loop._text.public == plain.loop._text.own
    guarded = GuardedRun(chosen, draft="All the best to you and yours.")
    assert guarded.text == plain.text
    assert not guarded.held


def test_the_person_is_asked_once_for_each_span():
    asked = []

    def ask(held):
        asked.append(held.text.strip())
        return held.kind == "phone"

    run = GuardedRun(KEEPS_ALL, agreeable=True, mode="ask", ask=ask)
    assert run.shown == DRAFT
    assert "Call 0176 5512 334 or go to 1 Main Street" in run.public
    assert len(asked) == len(set(asked)) == 5


def test_a_last_word_that_tells_nothing_stays_behind_a_copied_phrase():
    """Else the server's model would go on with the word that was sent before it."""
    choose = StandIns(PrivateIndex(), typed=True, seed=0).choose
    said = [
        choose(f"it was{end}", "phrase") for end in (". The", "", " that's", " soup")
    ]
    assert said == ["... The", "...", "...", "..."]


def test_a_neutral_stand_in_does_not_tell_what_it_stands_for():
    run = GuardedRun(KEEPS_ALL, agreeable=True, mode="local")
    assert run.shown == DRAFT
    assert {held.stand_in.strip(" 's") for held in run.held} == {"..."}


@pytest.mark.parametrize("method", ["steering", "rejection", "costeer"])
def test_without_a_guard_the_secrets_leave_and_with_one_they_do_not(method):
    chosen = MethodSettings(
        method=method, temperature=0.7, seed=3, threshold=0.1, draft_length=5
    )
    open_, guarded = (
        GuardedRun(chosen, agreeable=True, guarded=one) for one in (False, True)
    )
    assert open_.leaked()
    assert not guarded.leaked()


@pytest.mark.parametrize(
    ("method", "length", "window", "limit", "seed"),
    [
        ("steering", 1, 1, None, 2),
        ("rejection", 3, 2, 1e6, 3),
        *(
            pytest.param(*other, marks=pytest.mark.slow)
            for other in (
                ("coupled", 4, 2, None, 12),
                ("speculative", 4, 2, 1e6, 5),
                ("lossless", 7, 3, None, 16),
                ("costeer", 7, 1, None, 24),
            )
        ),
    ],
)
def test_the_account_reads_what_the_server_reads(method, length, window, limit, seed):
    """Also where tokens left on what was drafted behind them, and other tokens stand
    there now, with which the gate would hold them back."""
    chosen = MethodSettings(
        method=method,
        temperature=0.7,
        draft_length=length,
        window=window,
        threshold=0.5,
        seed=seed,
    )
    run = GuardedRun(chosen, seed=str(seed), limits=PrivacyLimits(text=limit))
    assert run.account.tokens
    assert not run.account.unread


@pytest.mark.parametrize(
    "step",
    [
        "gate.spans_of",
        "gate.Scanner._literals_at",
        "gate.Scanner._copied",
        "gate.Scanner._open",
        "gate.StandIns.choose",
        "gate.tokens_of",
        "ask",
    ],
)
def test_a_check_that_fails_lets_nothing_leave(step, monkeypatch):
    servers = []

    class Kept(guarded.LosingServer):
        def __init__(self, *options, **named):
            super().__init__(*options, **named)
            servers.append(self)

    def ask(held):
        raise ArithmeticError

    monkeypatch.setattr(guarded, "LosingServer", Kept)
    if step != "ask":
        module, *names = step.split(".")
        place = import_module(f"edge_app.privacy.guard.{module}")
        *classes, name = names
        for one in classes:
            place = getattr(place, one)
        works = getattr(place, name)

        def breaks(*options, **named):
            shown = "".join(one for one in options if isinstance(one, str))
            if re.search("Zol|Jamie", shown):
                raise ArithmeticError
            return works(*options, **named)

        monkeypatch.setattr(place, name, breaks)
    with pytest.raises(ArithmeticError):
        GuardedRun(KEEPS_ALL, agreeable=True, mode="ask", ask=ask)
    vocabulary = guarded.PieceVocabulary(*guarded.HISTORY, DRAFT)
    before = "Dear Ben, the keys are with"
    assert servers[0].left
    for ids in map(guarded.sent_ids, servers[0].left):
        assert vocabulary.detokenize(ids).strip() in before


@pytest.mark.parametrize(
    ("history", "draft"),
    [
        ("鍵は山本花子さんが持っています。", "昨日山本花子に会った。花子も来る。"),
        ("המפתח אצל חנן ברגר.", "דיברתי עם ולחנן אתמול."),
    ],
)
def test_names_without_blanks_do_not_leave(history, draft):
    """In the middle of a run of letters, cut anywhere by tokens and blocks."""
    for length in (1, 2, 5):
        run = GuardedRun(
            replace(KEEPS_ALL, draft_length=length),
            draft=draft,
            history=(history,),
            secrets=("山本花子", "花子", "חנן"),
            agreeable=True,
            in_bytes=length == 2,
        )
        assert run.shown == draft
        assert run.held
        assert not run.leaked()


some = st.lists(st.sampled_from(DISTURBANCES), unique=True, max_size=2)


@settings(max_examples=3)  # each is two texts over a hundred tokens
@given(
    st.sampled_from(METHODS),
    st.sampled_from([0.0, 0.7]),
    st.sampled_from(["cloud", "edge"]),
    st.integers(0, 20),
    st.integers(1, 4),
    st.one_of(st.just("auto"), st.integers(1, 9)),
    st.tuples(st.integers(0, 9), st.lists(some, max_size=8)),
)
def test_no_loss_lets_a_secret_out(
    method, temperature, base, seed, window, length, losses
):
    """Nor shows in the text; whatever the length of drafts and the window."""
    chosen = MethodSettings(
        method=method,
        temperature=0.7 if method == "rejection" else temperature,
        base=base,
        draft_length=4,
        window=1,
        seed=seed,
        threshold="auto" if seed % 2 and method == "steering" else 0.5,
    )
    quiet = GuardedRun(chosen, seed=str(seed))
    other = replace(chosen, draft_length=length, window=window)
    disturbed = GuardedRun(other, disturbances=spread(*losses, window), seed=str(seed))
    assert disturbed.text == quiet.text
    assert disturbed.public == quiet.public
    assert not quiet.leaked()
    assert not disturbed.leaked()
    for text in disturbed.server.opened:
        public = disturbed.loop._text.public
        assert tuple(text) == tuple(public[: len(text)])


def test_coupled_is_exact_given_the_public_text():
    """Each token outside of a span is the one that decoding step by step draws, from
    the target of the specialist behind the person's text and of the other two behind
    the public one, with the noise of its place."""
    chosen = MethodSettings(method="coupled", temperature=0.7, seed=5, draft_length=7)
    run = GuardedRun(chosen)
    assert run.held
    size, draw, method = run.vocabulary.size, chosen.draw(), build(chosen)
    own = run.loop._text.own
    public, held = [], {one.position: one for one in run.held}
    large, base = (HashEngine(name, size, spread=1.0) for name in ("large", "base"))
    at = 0
    while at < len(own):
        if at in held:
            public += tokens_of(held[at].stand_in, run.vocabulary)
            at += held[at].tokens
            continue
        run.writer.read = [*run.private, *own[:at]]
        large.read = base.read = [*PROMPT, *public]
        logprobs = [
            log_softmax(model.logits()[None], 0.7)[0].astype(np.float32)
            for model in (large, base)
        ]
        best = np.argsort(-logprobs[0], kind="stable")[: chosen.candidates]
        ids = np.sort(best).astype(np.int32)
        row = Candidates(ids, *(one[ids] for one in logprobs))
        logits = run.writer.logits().astype(np.float32)
        specialist = draw.unnormalised(logits[ids])
        target = method.target(specialist, row)
        with np.errstate(divide="ignore"):
            index = draw.coupled(np.log(target), at, row.token_ids)
        assert ids[index] == own[at]
        public.append(own[at])
        at += 1
    assert public == list(run.loop._text.public)
