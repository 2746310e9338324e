"""A device that speaks bytes: what it sends, what losses and the account make of it."""

import os
import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_core.byte_space import ByteVocabulary, Wording
from decoding_core.messages import (
    TOKEN_BYTES,
    DraftBlock,
    OpenSession,
    SessionOpened,
    digest,
)
from decoding_core.settings import MethodSettings
from decoding_core.verifier import ByteEngineVerifier
from edge_app.config.settings import PrivacyLimits
from edge_app.decoding.on_device import RememberedRows
from edge_app.decoding.session import Patience
from edge_app.decoding.two_vocabularies import BytesVerifier, whole_characters
from edge_app.privacy.budget import Account
from models.files import locate
from models.running.interface import bytes_of
from models.running.loading import load_model
from models.running.settings import EngineSettings
from tests.edge_app.decoding.losing_server import DISTURBANCES, LosingServer
from tests.edge_app.decoding.test_verifier_session import spread
from tests.fakes import HashEngine, seeds
from tests.tokenizer_file import vocabulary_in
from tests.two_vocabularies import OWN, SERVERS
from tests.writing import MESSAGES, PUBLIC, Run

OTHER_MODEL = os.environ.get("SPECSTEER_SMOLLM2", "")
TOKENIZERS = sorted(Path(os.environ.get("SPECSTEER_TOKENIZERS", "-")).glob("**/*.json"))
"""Published `tokenizer.json` files, such as those of Qwen3, Llama 3.1 and Gemma 3."""
EXAMPLES = pytest.mark.parametrize(
    "examples", [60, pytest.param(10_000, marks=pytest.mark.slow)]
)
VOCABULARIES = pytest.mark.parametrize(
    "name",
    [
        "bytes",
        "embedded",
        pytest.param(
            OTHER_MODEL,
            id="SmolLM2",
            marks=pytest.mark.skipif(not OTHER_MODEL, reason="SPECSTEER_SMOLLM2"),
        ),
        *(pytest.param(str(one), id=one.parent.name) for one in TOKENIZERS),
    ],
)
PIECES = st.sampled_from(
    [
        *(
            "👩\N{ZERO WIDTH JOINER}👩\N{ZERO WIDTH JOINER}👧",
            "👍🏽",
            "🇩🇪",
            "漢字",
            "谢谢你",
        ),
        *("e\N{COMBINING ACUTE ACCENT}", "o\N{COMBINING DIAERESIS}", "Köln", "हिन्दी"),
        *("12345", "3.14", "def f(x):\n    return x\n", "\r\n", "\n\n", "\t", "   "),
        *("don't", "…", "“so”", "http://a.b/c?d=1", "</s>", "<|im_end|>", "שלום"),
        *(
            "\N{ZERO WIDTH SPACE}",
            "\N{ZERO WIDTH NO-BREAK SPACE}",
            " the ",
            "Thank you",
        ),
    ]
)
LETTERS = st.characters(exclude_categories=["Cs", "Cc"], max_codepoint=0x3FFFF)
"""SmolLM2 has no tokens for some control characters, nor for the planes behind, in
which no letters are yet."""
TEXTS = st.lists(st.one_of(PIECES, st.text(LETTERS, max_size=6)), max_size=10).map(
    "".join
)


@cache
def vocabulary_of(name):
    """By name: one token for each byte and some for more, or that of a model."""
    if name == "bytes":
        more = ("the", " t", "👩", "\r\n", "漢", "́")
        alone = [bytes([byte]) for byte in range(256)]
        return ByteVocabulary([*alone, *(one.encode() for one in more), b""], [262])
    if name.endswith(".json"):
        return vocabulary_in(Path(name))
    path = locate("specialist") if name == "embedded" else Path(name)
    return bytes_of(load_model(path, EngineSettings(threads=1)))


@EXAMPLES
@VOCABULARIES
def test_tokens_spell_exactly_the_text(name, examples):
    vocabulary = vocabulary_of(name)

    @settings(max_examples=examples, deadline=None)
    @given(TEXTS)
    def spells(text):
        data = text.encode()
        assert vocabulary.text(vocabulary.spelled(data)) == data
        assert vocabulary.text(vocabulary.going_on(data)) == data

    spells()


class Listening:
    """The far side: it puts together what is sent to it."""

    def __init__(self):
        self.text, self.blocks = b"", []

    def open(self, request):
        self.text = bytes(request.text_ids)
        return SessionOpened("a", "b", "c")

    def submit(self, block):
        assert digest(list(self.text[: block.position])) == block.digest
        self.text = self.text[: block.position]
        self.text += bytes((*block.settled, *block.drafted))
        self.blocks.append(block)


TERMS = MethodSettings(draft_length=6).terms()


@EXAMPLES
@VOCABULARIES
def test_a_device_sends_its_text_up_to_the_last_whole_character(name, examples):
    """However the text is cut into blocks, and whatever was drafted in vain; each of
    settled and drafted bytes is text by itself where the device's tokens allow it."""
    own = vocabulary_of(name)
    some = st.integers(0, len(own.pieces) - 1)

    @settings(max_examples=examples, deadline=None)
    @given(TEXTS, st.lists(st.integers(0, 6), min_size=1), st.lists(some, max_size=3))
    def sends(text, lengths, refused):
        tokens, heard = own.spelled(text.encode()), Listening()
        verifier = BytesVerifier(heard, Wording(own, own), MESSAGES)
        begin, known, round_ = 0, 0, 0
        verifier.open(OpenSession((1,), (), "own", TERMS))
        while begin <= len(tokens):
            length = lengths[round_ % len(lengths)]
            drafted = (*tokens[begin : begin + length], *refused)[:6]
            settled = tuple(tokens[known:begin])
            check = digest(tokens[:known])
            verifier.submit(DraftBlock(round_, round_, known, check, settled, drafted))
            before, said = own.text(tokens[:begin]), own.text(drafted)
            start = len(whole_characters(before))
            most = start + TERMS.draft_limit * TOKEN_BYTES
            whole = whole_characters((before + said)[:most])
            assert heard.text == max(whole, before, key=len)
            sent = heard.blocks[-1]
            bytes(sent.settled).decode()
            assert sent.position + len(sent.settled) == start
            # The server keeps what was right; one more is drawn.
            known, round_ = begin + min(length, len(tokens) - begin), round_ + 1
            begin = known + 1

    sends()


def test_rows_hang_on_what_stands_before_them_alone():
    """Not on what is drafted behind them, nor on where a block begins."""
    terms = MethodSettings(method="lossless", candidates=12, draft_length=6).terms()
    letters = [n for n, one in enumerate(OWN.pieces) if one and one.isascii()]

    def row(text, begin, drafted):
        model = HashEngine("large", len(SERVERS.pieces))
        inner = ByteEngineVerifier(model, SERVERS, lambda _: [1])
        verifier = BytesVerifier(inner, Wording(OWN, SERVERS), MESSAGES)
        verifier.open(OpenSession((1,), text[:begin], "own", terms))
        block = (*text[begin:], *drafted)
        verifier.submit(DraftBlock(0, 0, begin, digest(text[:begin]), (), block))
        rows = verifier.collect().rows[len(text) - begin :]
        return [(one.token_ids.tolist(), one.generalist_logprobs) for one in rows[:1]]

    tokens = st.lists(st.sampled_from(letters), max_size=6).map(tuple)

    @settings(max_examples=60, deadline=None)
    @given(tokens, tokens.filter(len), tokens.filter(len), st.integers(0, 3))
    def same(text, draft, other, back):
        ((ids, logprobs),) = row(text, len(text), draft[:3])
        begin = max(0, len(text) - back)
        for found, those in row(text, len(text), other) + row(text, begin, draft[:2]):
            assert found == ids
            assert those == pytest.approx(logprobs, abs=1e-4)

    same()


@pytest.mark.parametrize("read", [False, True])
def test_a_void_block_may_spell_what_is_drawn_for_it(read):
    """Other tokens of the same bytes: the server may, or may not, have read them."""
    a, b, ab = (OWN.pieces.index(one) for one in (b"a", b"b", b"ab"))
    model = HashEngine("large", len(SERVERS.pieces))
    inner = ByteEngineVerifier(model, SERVERS, lambda _: [1])
    verifier = BytesVerifier(inner, Wording(OWN, SERVERS), MESSAGES)
    verifier.open(OpenSession((1,), (), "own", TERMS))
    verifier.submit(DraftBlock(0, 0, 0, digest([]), (), (a,)))
    verifier.submit(DraftBlock(0, 1, 1, digest([a]), (), (b, b)))
    verifier.collect()
    if read:
        verifier.collect()
    verifier.submit(DraftBlock(1, 2, 0, digest([]), (ab,), (b, a)))
    assert verifier.collect().rows


def written(settings, disturbances=None, *, timing=0, account=None):
    patience = Patience((0.0,) * 1000, busy=1e12, block=1e12)
    both = {"vocabularies": (OWN, SERVERS), "patience": patience}
    return Run(settings, disturbances, timing=timing, account=account, **both)


@seeds(1, 12)
@pytest.mark.parametrize("method", ["steering", "lossless", "coupled", "speculative"])
def test_no_loss_shows_in_a_text_in_bytes(method, seeds):
    """A line and a server that fail in every way, with blocks cut within characters."""
    for seed in seeds:
        chance = random.Random(seed)
        for window in (1, 4) if len(seeds) == 1 else (1, 2, 4):
            chosen = MethodSettings(
                method=method,
                temperature=0.7 * (seed > 0),
                seed=seed,
                draft_length=4,
                window=window,
                candidates=40,
            )
            kinds = [[chance.choice(DISTURBANCES)] for _ in range(4)]
            failing = spread(chance.randrange(5), kinds, window)
            text = written(chosen, failing, timing=seed)
            assert text.text == written(chosen).text, (seed, window, failing)


SINGLE = [bytes([byte]) for byte in b"abcdefghijklmnop"]
IN_TOKENS = ByteVocabulary([*SINGLE, b""], [16])
RENAMED = ByteVocabulary([b"", *reversed(SINGLE)], [0])
"""The same strings under other numbers."""


class Renamed(HashEngine):
    """The same model behind the other numbers."""

    def logits(self):
        own = [16 - token for token in self.read[-self.memory :]]
        same = HashEngine(self.name)
        same.read = own
        return same.logits()[::-1]


class Accounted(Run):
    """A text with an account, in tokens or in bytes."""

    def __init__(self, settings, *, in_bytes):
        self.server = LosingServer({}, words=RENAMED if in_bytes else None)
        self.server.prompt = tuple(16 - token for token in PUBLIC)
        if in_bytes:
            self.server.models = Renamed("large"), Renamed("base")
        base = RememberedRows(HashEngine("base"))
        limits = PrivacyLimits(text=1e9)
        self.account = Account(settings.draw(), base, lambda event: None, limits)
        self.write(
            *(settings, HashEngine("small"), HashEngine("base"), 40),
            own=IN_TOKENS if in_bytes else None,
            end_ids=(16,),
            account=self.account,
        )


@pytest.mark.parametrize("method", ["steering", "rejection"])
@pytest.mark.parametrize("seed", range(3))
def test_the_account_is_that_of_the_same_text_in_tokens(method, seed):
    chosen = MethodSettings(
        method=method,
        temperature=0.8,
        seed=seed,
        draft_length=4,
        window=1,  # what left behind a refusal hangs on the time
        candidates=17,
    )
    tokens, in_bytes = (Accounted(chosen, in_bytes=one) for one in (False, True))
    assert in_bytes.text == tokens.text
    one, other = (text.account for text in (in_bytes, tokens))
    assert one.tokens == other.tokens > 20
    assert one.total == pytest.approx(other.total, rel=1e-5)
    assert one.unread == other.unread == 0
