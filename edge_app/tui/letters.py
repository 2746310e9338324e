"""A source in words: its subject, its date, and why it was read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from decoding_core.foreign_text import one_line
from edge_app.decoding.events import Source
from edge_app.retrieval.naming import parted
from edge_app.service.requests import Letter
from models.prompts import Request

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun",
           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")  # fmt: skip
_TITLE = re.compile(
    r"(?P<kind>\w+)(?: (?P<how>to|of|for|from) (?P<who>.+?))?"
    r"(?:, (?P<year>\d{4})-(?P<month>\d\d)-\d\d)?(?:: (?P<subject>.*))?$"
)
_SHORTEST_WORD = 3
COMMON = frozenset(
    re.findall(
        r"\w+",
        "about also ask asks because been before could does dont from give have here "
        "into just like make more much need only over please said says should some "
        "than thank thanks that their them then there they this very want wants were "
        "what when where which will with would write yes your "
        "all and any are but can did for get got had has her him his how its let may "
        "not now one our out say see she the too two was way who why you",
    )
)
"""Words of a request that say nothing of a source in which they stand too."""
_MOST_WORDS = 2


def subject(source: Source) -> str:
    """What the source is called: its subject, or its kind and whom it is for."""
    if isinstance(source, Letter) and source.subject:
        return one_line(source.subject)
    title = one_line(source.title)
    found = _TITLE.match(title)
    if found is None:
        return title
    how = "from" if found["how"] == "from" else "to"
    who = f" {how} {found['who']}" if found["who"] else ""
    return found["subject"] or f"{found['kind']}{who}"


def sender(source: Source) -> str:
    """Who wrote a received text, or `you` of one's own."""
    if isinstance(source, Letter) and source.sender:
        return parted(source.sender)[0] or source.sender
    found = _TITLE.match(one_line(source.title))
    if found is None or found["how"] != "from":
        return "you"
    return found["who"].partition(" <")[0]


def address(source: Source) -> str:
    """The address that an answer to a received text goes to; empty if unknown."""
    if isinstance(source, Letter) and source.sender:
        return parted(source.answer_to or source.sender)[1]
    found = _TITLE.match(one_line(source.title))
    who = found["who"] if found is not None and found["how"] == "from" else ""
    return parted(who or "")[1]


def date(source: Source) -> str:
    """Month and year, such as `Jul 2026`; empty where the source has no date."""
    found = _TITLE.match(one_line(source.title))
    if found is None or not found["month"]:
        return ""
    return f"{_MONTHS[(int(found['month']) - 1) % 12]} {found['year']}"


def reason(source: Source, request: Request) -> str:
    """Why the source was read for `request`: `same person · photos`."""
    parts = source.score_parts
    reasons = ["same person"] if parts.get("same_recipient") else []
    reasons += shared_words(request, source)[:_MOST_WORDS]
    if not reasons and parts.get("same_kind"):
        reasons = [f"{request.task}s like it"]
    return " · ".join(reasons) or "one of the latest"


def shared_words(request: Request, source: Source) -> list[str]:
    """Words of the request that stand in the source too, as the request has them."""
    there = set(_words(f"{source.title} {source.excerpt}"))
    names = set(_words(request.recipient)) | COMMON
    found = []
    for word in dict.fromkeys(_words(request.text)):
        stem = word[:-1] if word.endswith("s") else word
        ours = {word, stem, stem + "s"}
        if len(stem) >= _SHORTEST_WORD and not ours & names and ours & there:
            found.append(word)
    return found


def _words(text: str) -> Sequence[str]:
    return re.findall(r"[^\W\d_]+", text.casefold().replace("'", ""))
