"""The prompts of LaMP and LongLaMP: one line per past text, and all of them joined.

LaMP calls them per-profile-entry prompt and aggregated input prompt. Names of fields
and the wording, spaces included, are those of the published code: `LaMP/prompts` of
github.com/LaMP-Benchmark/LaMP, and the LongLaMP code that grew out of it. The papers
are arXiv 2304.11406 and 2407.11016.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.quality.query import Kind

_PLAIN = "{entries}. {asked}"
_PATTERNS = "{entries}. Following the given patterns {asked}"
_TITLED = '"{title}" is the title for "{text}" '


@dataclass(frozen=True, slots=True)
class Template:
    """How one task asks, and how it shows past texts."""

    name: str
    asks: str
    """What stands in the input of every question of the task, in small letters."""
    entry: str
    """One past text, with its fields in braces."""
    long: str
    """The field that is shortened where room is short."""
    searched: tuple[str, ...]
    """The fields in which past texts are looked for."""
    kind: Kind = "text"
    joined: str = _PLAIN
    after: str = ""
    """What of the input stands after this is looked for; empty: all of it."""
    also_called: Mapping[str, str] = field(default_factory=dict)
    """Other names of fields in some releases."""

    def fields(self) -> frozenset[str]:
        """The fields that a past text must have."""
        return frozenset(re.findall(r"{(\w+)}", self.entry)) | {*self.searched}

    def fits(self, asked: str, entry: Mapping[str, object] | None) -> bool:
        """Whether a question with this input and such past texts is of this task."""
        known = self._renamed(entry) if entry is not None else self.fields()
        return self.asks in asked.lower() and self.fields() <= set(known)

    def shown(self, entry: Mapping[str, object], long: str | None = None) -> str:
        """The prompt of one past text; `long` stands in for its long field."""
        words = self._renamed(entry)
        return self.entry.format_map(
            words if long is None else {**words, self.long: long}
        )

    def text(self, entry: Mapping[str, object]) -> str:
        """The long field of a past text."""
        return str(self._renamed(entry)[self.long])

    def terms(self, entry: Mapping[str, object]) -> str:
        """What of a past text is searched."""
        words = self._renamed(entry)
        return " ".join(str(words[name]) for name in self.searched)

    def query(self, asked: str) -> str:
        """What is looked for."""
        if self.name == "LaMP-1":
            return " ".join(re.findall(r'"(.*?)"', asked, re.DOTALL)[1:3])
        _, found, rest = asked.partition(self.after) if self.after else ("", "", "")
        return rest.strip() if found else asked

    def whole(self, asked: str, entries: Sequence[str]) -> str:
        """The input with its past texts; without any, the input alone."""
        if not entries:
            return asked
        listed = ", and ".join(entries)
        if self.name != "LaMP-1":
            return self.joined.format(entries=listed, asked=asked)
        before, title, rest = asked.partition("title")
        return f"{before}{title}, and {listed}{rest}" if title else asked

    def _renamed(self, entry: Mapping[str, object]) -> dict[str, object]:
        return {self.also_called.get(name, name): entry[name] for name in entry}


TEMPLATES = (
    Template(
        "LaMP-1",
        "which reference is related",
        '"{title}"',
        "title",
        ("title", "abstract"),
        kind="choice",
    ),
    Template(
        "LaMP-2",
        "which tag does this movie relate to",
        'the tag for the movie: "{description}" is "{tag}" ',
        "description",
        ("description",),
        kind="choice",
        after="description:",
    ),
    Template(
        "LaMP-2 news",
        "which category does this article relate to",
        'the category for the article: "{text}" is "{category}" ',
        "text",
        ("title", "text"),
        kind="choice",
        after="article:",
    ),
    Template(
        "LaMP-3",
        "what is the score of the following review",
        '{score} is the score for "{text}" ',
        "text",
        ("text",),
        kind="rating",
        after="review:",
    ),
    Template(
        "LaMP-4",
        "generate a headline for the following article",
        _TITLED,
        "text",
        ("title", "text"),
        after="article:",
    ),
    Template(
        "LaMP-5",
        "generate a title for the following abstract",
        '"{title}" is a title for "{abstract}" ',
        "abstract",
        ("title", "abstract"),
        joined=_PATTERNS,
        after="paper:",
    ),
    Template(
        "LaMP-6",
        "generate a subject for the following email",
        _TITLED,
        "text",
        ("text",),
        after=":",
    ),
    Template(
        "LaMP-7",
        "paraphrase the following tweet",
        '"{text}" ',
        "text",
        ("text",),
        joined=(
            "{entries} are written by a person. Following the given patterns {asked}"
        ),
        after=":",
    ),
    Template(
        "LongLaMP abstract",
        "generate an abstract for the title",
        '"{abstract}" is the abstract for the title "{title}"',
        "abstract",
        ("title", "abstract"),
        joined=(
            "{entries}. Use the above abstracts as context to understand the style and "
            "language of the user and, {asked}"
        ),
        after="items:",
    ),
    Template(
        "LongLaMP review",
        "generate the review text written by a reviewer",
        '"{overall}" is a rating for the product with description "{description}". '
        '"{summary}" is summary for "{reviewText}" ',
        "reviewText",
        ("overall", "summary", "description", "reviewText"),
        joined=_PATTERNS,
    ),
    Template(
        "LongLaMP topic",
        "generate the content for a reddit post",
        '"{summary}" is a summary for "{content}" ',
        "content",
        ("summary", "content"),
        joined="{entries}. Following the given patterns, {asked}",
        also_called={"input": "summary", "output": "content"},
    ),
    Template(
        "LongLaMP email",
        "email",
        _TITLED,
        "text",
        ("text",),
        after=":",
    ),
)
"""In the order in which they are tried."""


def template_of(asked: str, entry: Mapping[str, object] | None) -> Template | None:
    """The task of a question; None where no task asks so."""
    return next((one for one in TEMPLATES if one.fits(asked, entry)), None)
