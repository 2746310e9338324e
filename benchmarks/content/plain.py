"""Twelve dry writers, and what of a draft in their place nobody would send.

A word of a draft is foreign if it stands neither in the request nor in the letters
that were read, and the generalist holds it unlikely.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cache import key_of
from benchmarks.content.requests import Task, read_requests
from benchmarks.pair import Bench
from edge_app.evaluation.cases import History, passages
from edge_app.evaluation.pair import read
from edge_app.facts.phrases import COMMON, WordsOf, stem
from edge_app.facts.values import KINDS, words_of
from edge_app.retrieval.context import find_passages
from models.prompts import Excerpt

PLAIN = Path(__file__).with_name("plain.toml")
_WRITERS = Path(__file__).with_name("dry_writers.toml")
_UNLIKELY = -log(0.01)  # nats of a word that the generalist does not expect
_ROLES = "base", "specialist", "generalist"


@dataclass(frozen=True, slots=True)
class Plainness:
    """What of a draft is neither asked for, nor read, nor likely."""

    words: int  # that say something
    foreign: tuple[str, ...]
    foreign_nats: tuple[float, ...]
    """What a foreign word costs base, specialist and generalist on average."""
    foreign_sentences: int  # two foreign words, or half of what says something
    sentences: int
    invented: tuple[str, ...]  # values and names that were not asked for


def plain_tasks() -> list[Task]:
    """Ten requests to each of twelve dry writers, in turns."""
    writers = tomllib.loads(_WRITERS.read_text("utf-8"))["writer"]
    asked, tasks = read_requests(PLAIN), []
    for number, writer in enumerate(writers):
        past = [
            Excerpt(
                *("email", to, ""),
                f"{writer['greeting'].format(name=to)}\n\n{body}\n\n{writer['end']}",
            )
            for to, body in writer["letters"]
        ]
        history = History.of(passages(past, writer["name"]))
        ends = dict(zip(("sign-off", "name"), writer["end"].split("\n"), strict=False))
        for one in asked[number % 4 :: 4]:
            greeting = writer["greeting"].format(name=one.request.recipient)
            ways = {"greeting": (greeting,)} | {k: (v,) for k, v in ends.items()}
            tasks.append(Task(one, history, ways))
    return tasks


def plainness(bench: Bench, task: Task, text: str, max_tokens: int) -> Plainness:
    """What of a draft is foreign and invented; raises StoppedError."""
    asked, pair = task.asked, bench.pair
    found = find_passages(task.history, asked.request)
    known = {stem(word.text) for word in words_of(asked.told)}
    known.update(stem(w.text) for past in found for w in words_of(past.text))
    prompts = pair.built(asked.request, found, asked.notes, max_tokens)
    vocabulary = pair.small.vocabulary
    ids = vocabulary.tokenize(text)
    ends = np.cumsum([len(vocabulary.piece(token)) for token in ids])

    def compute() -> dict[str, Any]:
        costs = read(pair.readers(prompts), ids, (), ())
        return {role: getattr(costs, role).tolist() for role in _ROLES}

    read_by = {"public": prompts.public_ids, "private": prompts.private_ids}
    costs = bench.result({"costs": ids, "prompts": key_of(read_by)}, compute)
    held = WordsOf(text)
    valued = {
        place + further
        for kind in KINDS
        for place, length, _ in held.values(kind)
        for further in range(length)
    }
    sentences: dict[int, list[bool]] = {}
    foreign, nats = [], []
    for place, word in enumerate(held.words):
        says = word.text.isalpha() and len(word.text) > 2 and word.text not in COMMON
        if place in valued or not says:
            continue
        first, last = (len(text[:at].encode()) for at in word.span)
        tokens = slice(
            int(np.searchsorted(ends, first, "right")),
            int(np.searchsorted(ends, last)) + 1,
        )
        of_word = [sum(costs[role][tokens]) for role in _ROLES]
        strange = stem(word.text) not in known and of_word[-1] > _UNLIKELY
        sentences.setdefault(word.sentence, []).append(strange)
        if strange:
            foreign.append(word.text)
            nats.append(of_word)
    own = {
        w.text for ways in task.habits.values() for way in ways for w in words_of(way)
    }
    return Plainness(
        words=sum(map(len, sentences.values())),
        foreign=tuple(foreign),
        foreign_nats=tuple(map(float, np.mean(nats, axis=0))) if nats else (),
        foreign_sentences=sum(
            sum(one) > 1 or 2 * sum(one) >= len(one) for one in sentences.values()
        ),
        sentences=len(sentences),
        invented=tuple(_invented(held, WordsOf(asked.told), own)),
    )


def _invented(held: WordsOf, asked: WordsOf, own: set[str]) -> Iterator[str]:
    """Figures, days, months and names of a draft that the request does not hold."""
    figures = {_figure(word.text) for word in asked.words}
    known = own | {word.text for word in asked.words}
    for kind in ("day", "month"):
        right = [value for _, _, value in asked.values(kind)]
        for place, _, value in held.values(kind):
            known.add(held.words[place].text)
            if value not in right:
                yield held.words[place].text
    for word in held.words:
        figure = _figure(word.text)
        strange = word.capital and not word.begins and word.text.isalpha()
        named = strange and word.text not in known and word.text not in COMMON
        if (figure and figure not in figures) or (named and len(word.text) > 1):
            yield word.text


def _figure(word: str) -> str:
    return re.sub(r"\D", "", word.removesuffix(".00"))
