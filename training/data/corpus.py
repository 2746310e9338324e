"""Reading the training texts: JSON lines, packed with xz, one shard after another."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from models.prompts import Excerpt, Request

_TASKS = {"letter": ("email", "letter"), "conversation": ("reply",)}
_TITLED = ("post", "abstract", "article")
"""Genres whose prompt is the text's title; it is the subject in a history."""
_BROKEN = ("story", "article")
"""Genres whose texts are cut out of longer ones."""
_HELD_OUT = 50
"""One author in so many is kept for validation."""
_BRIEF = 200
"""Characters of a preceding turn that a request holds at most."""
_LED = ("post", "abstract", "article", "letter")
"""Genres whose requests may hold words of the text, as people paste what they have."""
_LEAD = 0.6
"""Share of those requests that do; most often the text then begins so. Where that is
not learnt, a history before such words makes a reader overlook them."""
_LEAD_WORDS = 15, 70
_ELSEWHERE = 0.2
"""Share of such words that are not the text's first."""
_SENTENCE = re.compile(r"(?<=[.!?]) ")
_SALUTATION = re.compile(
    r"(?:my )?(?:very )?(?:own )?dear(?:est)? "
    r"((?:Mrs?|Dr|Ms)\. [^\n,.:;!?]+|[^\n,.:;!?]+)[,.:;!—]",
    re.IGNORECASE,
)
_KEYS = ("genre", "prompt", "text", "author", "item", "rating")
_NOBODY = ("sir", "madam", "friend", "sirs", "love", "boy", "fellow", "old")


@dataclass(frozen=True, slots=True)
class Text:
    """A real text and what is known about it."""

    genre: str
    prompt: str
    text: str
    author: str = ""
    item: str = ""
    rating: str = ""

    @property
    def held_out(self) -> bool:
        """Whether its author is kept for validation."""
        digest = hashlib.sha256(self.author.encode()).digest()
        return bool(self.author) and digest[0] * 256 + digest[1] < 65536 // _HELD_OUT


def read(folder: Path, shards: int = 5) -> Iterator[Text]:
    """The texts of the first shards; each shard is a fair sample of all."""
    for path in sorted((folder / "train").glob("train-*.jsonl.xz"))[:shards]:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield Text(*(str(row.get(key) or "") for key in _KEYS))


def task_of(genre: str, rng: Random) -> str:
    """What a person would ask for to get a text of this genre."""
    return rng.choice(_TASKS.get(genre, (genre,)))


def cut(text: Text, limit: int) -> tuple[str, bool]:
    """The text or its first whole paragraphs of `limit` characters together, and
    whether that is all of it."""
    body = text.text.strip()
    if len(body) <= limit:
        ended = body.endswith((".", "!", "?", '"', "”", ")", "’", "'", ":)"))
        return body, text.genre not in _BROKEN and (ended or text.genre != "review")
    head = body[: limit + 1]
    for mark in ("\n\n", "\n", ". ", " "):
        end = head.rfind(mark)
        if end > limit // 3:
            return head[: end + (mark == ". ")].rstrip(), False
    return head[:limit], False


def request(text: Text, task: str, rng: Random) -> Request:
    """A short request for a text: its title, what went before, or how it begins."""
    recipient, body = "", text.text
    if text.genre == "letter":
        recipient, body = _addressed(text.text)
    title = "" if text.genre == "letter" else _title(text)
    if text.genre in _LED and rng.random() < _LEAD:
        brief = f"{title}\n{lead(body, rng)}".strip()
    else:
        brief = title or " ".join(body.split()[: rng.randint(7, 14)])
    if text.rating and rng.random() < 0.5:
        stars = "star" if text.rating == "1" else "stars"
        brief += f"{'' if brief[-1] in '.!?' else '.'} {text.rating} {stars}"
    return Request(brief, task, recipient or text.item.split(" / ")[-1])


def lead(text: str, rng: Random) -> str:
    """15 to 70 words of the text in one line: most often its first, broken off in the
    midst of a sentence or after one, else a sentence out of it."""
    sentences = _SENTENCE.split(" ".join(text.split()))
    if rng.random() < _ELSEWHERE:
        return " ".join(rng.choice(sentences).split()[: _LEAD_WORDS[1]])
    words = rng.randint(*_LEAD_WORDS)
    whole: list[str] = []
    for sentence in sentences:
        if len(whole) + len(sentence.split()) > words:
            break
        whole += sentence.split()
    if whole and rng.random() < 0.5:
        return " ".join(whole)
    return " ".join(text.split()[:words])


def excerpt(text: Text, task: str) -> Excerpt:
    """The text as a history holds it, before it is shortened."""
    recipient = _addressed(text.text)[0] if text.genre == "letter" else ""
    subject = text.prompt.strip() if text.genre in _TITLED else ""
    return Excerpt(task, recipient, subject, text.text.strip())


def _title(text: Text) -> str:
    """The prompt, or the last whole sentences of one that is long."""
    prompt = " ".join(text.prompt.split())
    if text.genre == "story" or len(prompt) < 12:
        return ""
    if len(prompt) <= _BRIEF:
        return prompt
    tail = prompt[-_BRIEF:]
    start = re.search(r"[.!?…] ", tail)
    return tail[start.end() :] if start and start.end() < _BRIEF - 40 else tail


def _addressed(letter: str) -> tuple[str, str]:
    """Whom a letter is for, if its salutation says so, and what follows."""
    salutation = _SALUTATION.match(letter)
    if not salutation:
        return "", letter
    name = salutation[1].strip()
    if len(name) > 40 or name.lower().split()[-1] in _NOBODY:
        name = ""
    return name.title() if name.isupper() else name, letter[salutation.end() :]
