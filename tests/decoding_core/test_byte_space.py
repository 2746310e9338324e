"""Two vocabularies by enumeration: toy tokenizers, a table as the generalist."""

import math
import re
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from decoding_core.byte_space import (
    Border,
    ByteVocabulary,
    ProjectedRows,
    Wording,
    borders_of,
    reading_of,
)
from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.messages import Candidates
from decoding_core.methods.steering import Steering, steered
from decoding_core.residual import coupling_outcomes, rejection_outcomes

MERGES = ByteVocabulary([b"a", b"b", b"ab", b"ba", b"aab", b"", b""], [5])
"""A toy BPE: 5 ends a text, 6 is a control token."""
OWN = ByteVocabulary([b"", b"b", b"a", b"aa", b"bab", b"bb"], [0])
EURO = "€".encode()
FALLBACK = ByteVocabulary([EURO[:1], EURO[1:2], EURO[2:], EURO, b"a", b""], [5])
"""With byte fallback: a character in one token or in three."""
BYTES = ByteVocabulary([b"", b"a", EURO[:2], EURO[2:], EURO[:1], EURO[1:2]], [0])
MOST = 6  # bytes of the texts that are enumerated


def rows_of(vocabulary, seed):
    """A generalist: by the tokens so far, a row of random probabilities (V,)."""
    known = {}

    def row(path):
        if path not in known:
            chance = Random(f"{seed}{path}")
            weights = [chance.random() ** 3 for _ in vocabulary.pieces]
            ids = [
                i
                for i, piece in enumerate(vocabulary.pieces)
                if piece or i in vocabulary.end_ids
            ]
            total = sum(weights[i] for i in ids)
            logs = np.log([weights[i] / total for i in ids]).astype(np.float64)
            known[path] = Candidates(np.array(ids, np.int32), logs, None)
        return known[path]

    return row


def all_borders(vocabulary, model, text):
    """Every border that some tokens of the beginning of `text` lead to."""
    found, unread = [], [(Border(0, 0.0, model(())), ())]
    while unread:
        border, path = unread.pop(0)
        found.append(border)
        row = border.row
        for token, logprob in zip(row.token_ids, row.generalist_logprobs, strict=True):
            piece = vocabulary.pieces[token]
            end = border.start + len(piece)
            if piece and text.startswith(piece, border.start):
                longer = (*path, int(token))
                weight = border.log_weight + float(logprob)
                after = Border(end, weight, model(longer), border, int(token))
                unread.append((after, longer))
    return found


def law(vocabulary, model):
    """Probability of each whole text of at most `MOST` bytes."""
    found, unread = {}, [(b"", (), 1.0)]
    while unread:
        text, path, mass = unread.pop()
        row = model(path)
        for token, logprob in zip(row.token_ids, row.generalist_logprobs, strict=True):
            share = mass * math.exp(logprob)
            if token in vocabulary.end_ids:
                found[text] = found.get(text, 0.0) + share
            elif len(text + vocabulary.pieces[token]) <= MOST:
                longer = text + vocabulary.pieces[token]
                unread.append((longer, (*path, int(token)), share))
    return found


def own_law(own, other, model):
    """The same of the projected rows, each of the text in one's own tokens so far."""
    wording, found, unread = Wording(own, other), {}, [((), 1.0)]
    end_id = own.end_id
    while unread:
        path, mass = unread.pop()
        text = own.text(path)
        borders = all_borders(other, model, text)
        row = ProjectedRows(wording, borders, path).row(len(path), end_id)
        probabilities = np.exp(row.generalist_logprobs.astype(float))
        assert probabilities.sum() == pytest.approx(1.0, abs=1e-6)
        for token, share in zip(row.token_ids.tolist(), probabilities, strict=True):
            if token == end_id:
                found[text] = found.get(text, 0.0) + mass * share
            elif len(text + own.pieces[token]) <= MOST:
                unread.append(((*path, token), mass * share))
    return found


@pytest.mark.parametrize(
    ("own", "other"), [(OWN, MERGES), (BYTES, FALLBACK), (MERGES, OWN)]
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_rows_in_own_tokens_give_each_text_the_probability_that_the_generalist_gives_it(
    own, other, seed
):
    model = rows_of(other, seed)
    theirs, ours = law(other, model), own_law(own, other, model)
    assert theirs.keys() == ours.keys()
    for text, probability in theirs.items():
        assert ours[text] == pytest.approx(probability, abs=1e-12, rel=1e-9), text


PAIRS = pytest.mark.parametrize(
    ("own", "other"), [(OWN, MERGES), (BYTES, FALLBACK), (MERGES, OWN)]
)


def begun(vocabulary, model, text):
    """The probability that a text begins so: of all tokens that first reach its end."""
    total, unread = 0.0, [(0, (), 1.0)]
    while unread:
        at, path, mass = unread.pop()
        row = model(path)
        for token, logprob in zip(row.token_ids, row.generalist_logprobs, strict=True):
            piece, share = vocabulary.pieces[token], mass * math.exp(logprob)
            if piece and piece.startswith(text[at:]):
                total += share
            elif piece and text.startswith(piece, at):
                unread.append((at + len(piece), (*path, int(token)), share))
    return total


@PAIRS
def test_a_drafted_token_that_nothing_is_written_with_has_the_probability_of_its_bytes(
    own, other
):
    model, judged = rows_of(other, 7), 0
    for path in product(range(len(own.pieces)), repeat=2):
        if {*path} & {own.end_id} or not all(own.pieces[token] for token in path):
            continue
        *before, drafted = path
        text = own.text(path)
        borders = all_borders(other, model, text)
        rows = ProjectedRows(Wording(own, other), borders, path)
        plain = rows.row(len(before), own.end_id)
        if plain is None or drafted in plain.token_ids:
            continue
        row = rows.row(len(before), own.end_id, added=drafted)
        found = row.generalist_logprobs[row.token_ids == drafted]
        wanted = begun(other, model, text) / begun(other, model, own.text(before))
        assert math.exp(float(found[0])) == pytest.approx(wanted, abs=1e-9)
        judged += 1
    assert judged or (own, other) != (OWN, MERGES)


def emitted(method, specialist, row, threshold=0.5):
    """Probabilities (V,) of what stands at a place whose draft is from S (V,)."""
    target = steered(np.log(specialist[row.token_ids]), row, 1.0)
    found = np.zeros(len(specialist))
    outcomes = {"lossless": rejection_outcomes, "coupled": coupling_outcomes}
    for token, share in enumerate(specialist):
        if not share:
            continue
        if method in outcomes:
            stays, *others = outcomes[method](target, specialist, row, token)
        else:
            at = (row.token_ids == token).nonzero()[0]
            ratio = row.generalist_logprobs[at] - row.base[at]
            rule = Steering(rule="stochastic").acceptance(ratio, 0.0, threshold)
            stays = float(rule.sum())
            others = (1.0 - stays) * target
        found[token] += share * stays
        found[row.token_ids] += share * np.asarray(others)
    return found


@PAIRS
@pytest.mark.parametrize("method", ["lossless", "coupled", "steering"])
def test_what_is_emitted_has_the_stated_law(own, other, method):
    """`lossless` and `coupled` emit T; with S as without history, and so with T = L,
    each text has the generalist's own probability, byte for byte. Steering emits
    S * min(1, (L/B) / threshold), and T where that leaves something."""
    model, chance = rows_of(other, 3), np.random.default_rng(5)
    drawn = np.array([bool(one) for one in own.pieces])
    drawn[own.end_id] = True
    found, unread = {}, [((), 1.0)]
    while unread:
        path, mass = unread.pop()
        text = own.text(path)
        borders = all_borders(other, model, text)
        row = ProjectedRows(Wording(own, other), borders, path).row(
            len(path), own.end_id
        )
        base = drawn * chance.random(len(own.pieces)) ** 2
        base /= base.sum()
        row = replace(row, base_logprobs=np.log(base[row.token_ids]))
        same = emitted(method, base, row)
        generalist = np.exp(row.generalist_logprobs)
        if method == "steering":
            kept = np.zeros(len(base))
            kept[row.token_ids] = np.minimum(base[row.token_ids], generalist / 0.5)
            wanted = kept.copy()
            wanted[row.token_ids] += (1.0 - kept.sum()) * generalist
            np.testing.assert_allclose(same, wanted, atol=1e-9)
            same = np.zeros(len(base))
            same[row.token_ids] = generalist  # the walk goes on by the generalist
        for token in same.nonzero()[0].tolist():
            if token == own.end_id:
                found[text] = found.get(text, 0.0) + mass * same[token]
            elif len(text + own.pieces[token]) <= 4:
                unread.append(((*path, token), mass * same[token]))
    theirs = law(other, model)
    for text, probability in found.items():
        assert probability == pytest.approx(theirs[text], abs=1e-9), text


def test_what_a_tokenizer_would_change_is_spelled_as_it_is():
    """One that composes accents, as Qwen's does; and one that writes a blank first."""
    accent = "e\N{COMBINING ACUTE ACCENT}".encode()
    pieces = [b"x", b"\xc3\xa9", b"e", accent[1:], accent[1:2], accent[2:], b" x"]
    composing = ByteVocabulary(pieces, (), lambda _: [0, 1, 0])
    assert (
        composing.text(composing.spelled(b"x" + accent + b"x")) == b"x" + accent + b"x"
    )
    blank = ByteVocabulary(pieces, (), lambda _: [6, 0])
    assert blank.spelled(b"xx") == [0, 0]
    with pytest.raises(VocabularyMismatchError, match="0x7a"):
        composing.spelled(b"xz")


def test_rows_that_do_not_spell_the_text_are_refused():
    row = Candidates(np.array([0, 1], np.int32), np.log([0.5, 0.5]), None)
    rows = [replace(row, start=0), replace(row, start=2)]
    with pytest.raises(MessageError, match="do not spell"):
        borders_of(rows, b"ab", MERGES)
    with pytest.raises(MessageError):
        borders_of([replace(row, token_ids=np.array([0, 99], np.int32))], b"", MERGES)


def test_a_reading_begins_a_token_before_the_draft():
    words = ByteVocabulary([b"a", b"b", b"ab"], ())
    reading = reading_of(words, b"ababab", drafted=2, rows=9)
    assert (reading.token_ids, reading.first, reading.starts) == (
        [2, 2, 2],
        1,
        [-2, 0, 2],
    )
    few = reading_of(words, b"ababab", drafted=2, rows=2)
    assert (few.token_ids, few.starts) == ([2, 2], [-2, 0])
    assert reading_of(words, b"", drafted=0, rows=9).starts == [0]


def test_a_draft_changes_no_cut_before_it():
    words = ByteVocabulary([b"a", b"b", b"ab"], ())
    reading = reading_of(words, b"abab", drafted=1, rows=9)
    assert (list(reading.token_ids), reading.starts) == ([2, 0], [-1, 0])


def test_blanks_at_the_end_are_cut_as_before_a_word():
    """As GPT-2 has it, the last blank before a word is a part of it or stands alone."""
    pieces = [b"\n", b"\n\n", b"a", b"x", b" ", b"  ", b"   ", b" a"]

    def tokenize(text):
        found = re.findall(r"\s+(?!\S)| \S|\s|\S", text)
        return [pieces.index(one.encode()) for one in found]

    words = ByteVocabulary(pieces, (), tokenize)
    assert words.spelled(b"x\n\n") == [3, 1]
    assert words.going_on(b"x\n\n") == [3, 0, 0]
    assert words.going_on(b"x   ") == [3, 5, 4]  # a word takes the last blank
    assert words.going_on(b"xa") == words.spelled(b"xa") == [3, 2]
    assert words.going_on(b"") == []
    assert reading_of(words, b"x\n\n", drafted=2, rows=9).starts == [-1, 0, 1, 2]
