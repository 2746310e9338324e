"""Real texts: read, asked for, and listened to for phrases."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random

from models.prompts import Excerpt, Request
from models.synthetic_writers.examples import Example, Library

_TASKS = {"letter": ("email", "letter"), "conversation": ("reply",)}
_TITLED = ("post", "abstract", "article")
"""Genres whose prompt is the text's title; it is the subject in a history."""
_BROKEN = ("story", "article")  # genres whose texts are cut out of longer ones
_HELD_OUT = 50  # one author in N is kept for validation
_BRIEF = 200  # characters of a preceding turn that a request holds at most
_LED = ("post", "abstract", "article", "letter")
"""Genres whose requests may hold words of the text, as people paste what they have."""
_LEAD = 0.6
"""Share of those requests that do; most often the text then begins so. Where that is
not learnt, a history before such words makes a reader overlook them."""
_LEAD_WORDS = 15, 70
_ELSEWHERE = 0.2  # share of such words that are not the text's first
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


PLAIN = {
    "post": 20,
    "review": 20,
    "conversation": 18,
    "letter": 12,
    "abstract": 22,
    "article": 5,
    "story": 3,
}
"""How often a genre is met without history: near to what people ask for, and abstracts,
which are forgotten first."""
AUTHORED = {"post": 44, "conversation": 16, "abstract": 22, "letter": 14, "story": 4}
"""How often with history."""
_REMEMBERED = {"letter": 300, "post": 300, "abstract": 300}
_REMEMBERED_ELSE = 40
"""How many texts of one author are kept, by genre and in other genres."""
_KEPT = {"article": 0.1, "review": 0.5}
"""Share of the texts without an author that are read."""
_FEWEST = 3  # texts that make an author known
_LONGER = 0.25  # share of texts that may be half as long again
_SHORTEST = 40


class RealTexts:
    """A fair part of all texts, an author's together."""

    def __init__(self, texts: Iterable[Text], rng: Random) -> None:
        self._rng = rng
        self._by_author: dict[tuple[str, str], list[Text]] = {}
        self._met: dict[tuple[str, str], int] = {}
        self._libraries: dict[tuple[str, str], Library] = {}
        for text in texts:
            if len(text.text) < _SHORTEST:
                continue
            key = text.genre, text.author
            kept = self._by_author.setdefault(key, [])
            self._met[key] = met = self._met.get(key, 0) + 1
            room = _REMEMBERED.get(text.genre, _REMEMBERED_ELSE)
            if not text.author:
                if rng.random() < _KEPT.get(text.genre, 1.0):
                    kept.append(text)
            elif len(kept) < room:
                kept.append(text)
            # Each text of an author is as likely to stay.
            elif (place := rng.randrange(met)) < room:
                kept[place] = text

    def examples(self, private: float, longest: int) -> Iterator[Example]:
        """Endless examples, a share of them with history, for texts up to about
        `longest` characters."""
        plain = self._rounds(PLAIN, fewest=1)
        authored = self._rounds(AUTHORED, fewest=_FEWEST)
        while plain:
            with_history = bool(authored) and self._rng.random() < private
            rounds, weights = (authored, AUTHORED) if with_history else (plain, PLAIN)
            genres = [genre for genre in weights if genre in rounds]
            chances = [weights[genre] for genre in genres]
            (genre,) = self._rng.choices(genres, chances)
            author, place = next(rounds[genre])
            limit = int(longest * (1.5 if self._rng.random() < _LONGER else 1))
            yield self._example((genre, author), place, limit, with_history)

    def _example(
        self, key: tuple[str, str], place: int, limit: int, with_history: bool
    ) -> Example:
        rng, text = self._rng, self._by_author[key][place]
        task = task_of(text.genre, rng)
        asked = request(text, task, rng)
        kept, whole = cut(text, limit)
        if not with_history:
            return Example(asked, [], kept, whole=whole)
        library = self._libraries.get(key)
        if library is None:
            one_task = task_of(text.genre, rng)
            texts = [excerpt(one, one_task) for one in self._by_author[key]]
            library = self._libraries[key] = Library(texts)
        # As many as the device asks for, or fewer, as from somebody with few texts.
        wanted = rng.choice((1, 2, 3, 4, 5, 5, 5, 5, 6))
        found = library.found(asked, wanted, library.same_as(place))
        excerpts = [library.texts[i] for i in reversed(found)]
        return Example(asked, excerpts, kept, whole=whole)

    def _rounds(
        self, weights: dict[str, int], fewest: int
    ) -> dict[str, Iterator[tuple[str, int]]]:
        """By genre, authors and the places of their texts, round and round."""
        places: dict[str, list[tuple[str, int]]] = {}
        for (genre, author), texts in self._by_author.items():
            if genre in weights and (fewest == 1 or (author and len(texts) >= fewest)):
                places.setdefault(genre, []).extend(
                    (author, place) for place in range(len(texts))
                )
        for listed in places.values():
            self._rng.shuffle(listed)
        return {genre: cycle(listed) for genre, listed in places.items()}


_MOST = 40_000  # phrases of a kind that are kept
_READ = 5  # one text in N is listened to
_PLAIN = re.compile(r"[A-Za-z0-9' £$€%.,-]+")
_STATEMENT = re.compile(
    r"(?:(?<=[.!?] )|^)([A-Z][^.!?\n]{15,85})\.(?= |$)", re.MULTILINE
)
_MINE = re.compile(r"(?:I|We|I'm|I've|I'll|We're|We've) [a-z]")
_THEIRS = re.compile(r"(?:The|My|Our|There (?:is|are|was|were)|This|That|It) [a-z]")
_THING = re.compile(
    r"\b((?:the|my|our|a|an) (?:[a-z]{3,12} ){0,2}[a-z]{3,12})"
    r"(?= (?:on|at|in|from|with|and|is|was|for|to)\b|[.,;])"
)
_DEED = re.compile(
    r"\b(?:want|need|try|like|able|have|decided|going) to "
    r"([a-z]{2,10} (?:the|a|an|my|our|it|them|some|you|this|that|up|out) "
    r"[a-z][a-z ]{4,40}?)(?=[.,;])"
)
_TOLD = re.compile(r"[^.!?]+[.!?]+")
_WORDS = 4, 20
"""Words of a sentence that somebody might ask to have said, at least and at most."""
_TOLD_GENRES = ("review", "letter", "conversation", "post")
_TENSED = re.compile(
    r"\b(?:was|were|is|are|be|being|been|have|has|had|which|who|that)\b"
)
_LOOSE = re.compile(r"\b(?:he|she|they|his|her|hers|him|their|them|thy|thou|ye|said)\b")
_TOLD_SLOTS = "told", "reviewed"
_WORD = re.compile(r"(?<=[a-z,;] )[a-z]{4,12}(?=[ .,;])")


class Phrases:
    """Listens to texts as they pass, and keeps a fair part of what they name."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.bank: dict[str, list[str]] = {
            slot: [] for slot in ("np", "vp", "i_bank", "s_bank", "word", *_TOLD_SLOTS)
        }
        self._words: set[str] = set()

    def heard(self, texts: Iterable[Text]) -> Iterator[Text]:
        """The texts themselves, listened to."""
        for text in texts:
            if self._rng.randrange(_READ) == 0:
                self._hear(text.text)
            if text.genre in _TOLD_GENRES:
                self._hear_out(text)
            yield text

    def _hear(self, text: str) -> None:
        for word in _WORD.findall(text[:3000]):
            if word not in self._words:  # once, so that rare words are as many as usual
                self._words.add(word)
                self._keep("word", word)
        for match in _STATEMENT.finditer(text[:6000]):
            sentence = match[1]
            if not _PLAIN.fullmatch(sentence) or _LOOSE.search(sentence.lower()):
                continue
            if _MINE.match(sentence):
                mine = sentence if sentence[0] == "I" else "w" + sentence[1:]
                self._keep("i_bank", mine)
            elif _THEIRS.match(sentence):
                self._keep("s_bank", sentence[:1].lower() + sentence[1:])
        for match in _THING.finditer(text[:3000]):
            if not _TENSED.search(match[1]):
                self._keep("np", match[1])
        for match in _DEED.finditer(text[:6000]):
            if not _TENSED.search(match[1]) and not _LOOSE.search(match[1]):
                self._keep("vp", match[1])

    def _hear_out(self, text: Text) -> None:
        """Keep two to five sentences in a row, if each could be asked for."""
        found = _TOLD.findall(" ".join(text.text.split())[:3000])
        count = self._rng.choice((2, 2, 3, 3, 4, 5))
        if len(found) < count:
            return
        start = self._rng.randint(0, len(found) - count)
        some = [one.strip() for one in found[start : start + count]]
        sound = all(
            _PLAIN.fullmatch(one.rstrip(".!?"))
            and _WORDS[0] <= len(one.split()) <= _WORDS[1]
            and "--" not in one
            for one in some
        )
        if sound:
            slot = "reviewed" if text.genre == "review" else "told"
            told = [one[:1].upper() + one[1:] for one in some]
            self._keep(slot, "\n".join(told))

    def _keep(self, slot: str, phrase: str) -> None:
        kept = self.bank[slot]
        if len(kept) < _MOST:
            kept.append(phrase)
        else:
            kept[self._rng.randrange(_MOST)] = phrase
