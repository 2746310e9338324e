"""Why this word: its origin, what the models thought, and which letter it follows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from decoding_core.foreign_text import legible, one_line
from edge_app.decoding.events import Choice, Place, Source
from edge_app.tui.letters import COMMON, date, subject
from edge_app.tui.screens.cards import whose
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.text import Run, State, alike, words_of
from edge_app.tui.variant import Variant
from edge_app.tui.writing import Writing

_LONGEST = 16
_THE_END = "(the end)"


class WhyDrawer(Drawer):
    """Tells of one word of the version on screen; ← and → go to the ones beside it."""

    NAME = "why"
    BESIDE = True
    TITLE = "Why this word"
    FOOT = "← → words · enter breaks the line · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(-1)", "Earlier", show=False),
        Binding("right", "other(1)", "Later", show=False),
        Binding("enter", "break_line", "Break the line", show=False),
    ]

    def __init__(
        self,
        writing: Writing,
        letter: int | None,
        mark: Callable[[Word], None],
        break_line: Callable[[int], None],
    ) -> None:
        """`letter` is where the cursor stands, None."""
        super().__init__(writing)
        self._mark = mark
        self._break_line = break_line
        self._words: list[Word] = []
        variant = writing.variant
        if variant is not None:
            self._words = words_of_version(variant)
        self._at = word_at(self._words, letter)
        self._letter = letter

    def contents(self) -> Iterable[Widget]:
        """One text that scrolls."""
        yield VerticalScroll(Static(id="text", markup=False))

    def on_mount(self) -> None:
        """Tell of the word, and again when the letters are read that the draft knew by
        name alone."""
        self.query_one(VerticalScroll).focus()
        self._show()
        self._reading_back = self.writing.reading_back

    def action_other(self, step: int) -> None:
        """Tell of the word `step` places on."""
        if self._at is not None:
            self._at = max(0, min(self._at + step, len(self._words) - 1))
            self._letter = self._words[self._at].start
            self._show()

    def action_break_line(self) -> None:
        """Break the line at the word, as Enter does everywhere else in a text."""
        if self.is_current:
            if self._letter is not None:
                self._break_line(self._letter)
            self.dismiss()

    def advance(self) -> None:
        """Show the word again if its letters have been read."""
        if self._reading_back > self.writing.reading_back:
            self._reading_back = self.writing.reading_back
            self._show()

    def _show(self) -> None:
        variant = self.writing.variant
        if variant is None or self._at is None:
            self.say("There is no word yet.", "#text")
            return
        word = self._words[self._at]
        self._mark(word)
        parts: list[Text | Table] = [Text(one_line(word.text), "bold")]
        parts.append(Text(f"\n{origin(variant, word)}\n"))
        for at in word.tokens:
            place = variant.weighed.get(at)
            if place is not None:
                parts += table(variant, at, place, whole=len(word.tokens) == 1)
        if word.state != "typed":
            parts.append(self._follows(variant, word))
        self.say(Group(*parts), "#text")
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def _follows(self, variant: Variant, word: Word) -> Text:
        sources = tuple(one for one in variant.sources if one.excerpt)
        if self.writing.reading_back and len(sources) < len(variant.sources):
            return Text("\nlooking into the letters that were read…", "dim")
        if not variant.sources:
            return Text("\nNo letter was read for this draft.", "dim")
        if not sources:
            return Text("\nThe letters that were read are no longer there.", "dim")
        found = followed(variant.text, word.start, sources)
        if found is None:
            name = whose(self.writing)
            return Text(f"\nIt stands in none of {name} that were read.", "dim")
        when = date(found.source)
        title = subject(found.source) + (f", {when}" if when else "")
        return Text.assemble(
            "\nIt follows ",
            (title, "bold"),
            "\n",
            (_flat(found.before), "dim"),
            (_flat(found.run), "underline"),
            (_flat(found.behind), "dim"),
        )


def origin(variant: Variant, word: Word) -> str:
    """Where a word came from, as a sentence."""
    if word.state == "typed":
        return "You typed it, or a part of it. No model was asked."
    if not word.tokens:
        return "It was drafted, and stands elsewhere or otherwise now."
    if word.state == "held":
        held = next(filter(None, map(variant.held_at, word.tokens)), None)
        if held is not None:
            return legible(
                f"Drafted on this device and held back ({held.kind}: {held.reason}). "
                f"The checker read “{one_line(held.stand_in)}” in its place."
            )
    origins = {variant.settled[at].origin for at in word.tokens}
    if "recovered" in origins:
        places = (variant.weighed.get(at) for at in word.tokens)
        gone = next((p.choices[1].text for p in places if p and p.refused), "")
        was = (
            f"“{one_line(gone).strip()}” was drafted" if gone.strip() else "Another was"
        )
        return (
            f"Redrawn: {was}, the checker refused it, and this one was drawn from what "
            "both models thought."
        )
    if "bonus" in origins:
        return "Added: drawn with the checker behind words that it kept."
    if origins == {"local"}:
        return "Drafted on this device; no checker was asked."
    return "Drafted on this device, and kept by the checker."


def table(
    variant: Variant, at: int, place: Place, *, whole: bool
) -> list[Text | Table]:
    """What the models thought of a token, a row for each choice; the first stands
    there. Heads name the models that gave numbers."""
    token = variant.settled[at]
    columns = [("with", "specialist"), ("without", "base"), ("checker", "generalist")]
    given = [
        (head, model)
        for head, model in columns
        if any(getattr(choice, model) is not None for choice in place.choices)
    ]
    kept = token.origin == "accepted" and ("checker", "generalist") not in given
    if kept:
        given.append(("checker", ""))
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column(
        "" if whole else f"“{one_line(token.text)}”", max_width=_LONGEST + 2
    )
    for head, _ in given:
        made.add_column(head, justify="right")
    for number, choice in enumerate(place.choices):
        look, said = "", _name(choice)
        if number == 0:
            look = "bold"
        elif number == 1 and place.refused:
            look = "strike"
        numbers = [
            Text(_share(getattr(choice, model)) if model else "kept" * (not number))
            for _, model in given
        ]
        made.add_row(Text(said, look), *numbers)
    heads = [head for head, _ in given]
    notes = []
    if "with" in heads:
        letters = "the sample letters" if variant.samples else "your letters"
        without = " with and without" if "without" in heads else " with"
        notes.append(f"the small model{without} {letters}")
    if kept:
        notes.append("of what it keeps the checker gives no numbers")
    return [made, Text(f"{'; '.join(notes)}\n", "dim")]


def _name(choice: Choice) -> str:
    text = legible(choice.text).replace("\n", "↵").strip(" ")
    if not text:
        text = "(space)" if choice.text else _THE_END
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _share(chance: float | None) -> str:
    """A probability in a few columns."""
    if chance is None:
        return "–"
    if chance < 0.001:
        return "<0.1 %"
    return f"{100 * chance:.{1 if chance < 0.1 else 0}f} %"


def _flat(text: str) -> str:
    """A stretch of a letter as one line, its ends kept."""
    return legible(" ".join(f"x{text}x".split()))[1:-1]


_MANY = 2000
"""Words from which on those that stand everywhere are passed over in comparing."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text as it stands."""

    start: int
    """Letters of the text before it."""
    end: int
    text: str
    state: State
    tokens: tuple[int, ...] = ()
    """Places of the settled tokens that it was drafted as."""


def words_of_version(variant: Variant) -> list[Word]:
    """All words of a version, each with the tokens that it was drafted as."""
    drafted = _words(variant.drafted())
    # What it goes on from, or is put back behind it, was no part of its writing.
    begin = sum(len(text) for text, _ in variant.before)
    lengths = (len(token.text) for token in variant.settled)
    spans = list(pairwise(accumulate(lengths, initial=begin)))
    first, placed = 0, list[tuple[int, ...]]()
    for word in drafted:
        while first < len(spans) and spans[first][1] <= word.start:
            first += 1
        last = first
        while last < len(spans) and spans[last][0] < word.end:
            last += 1
        placed.append(tuple(range(first, last)))
    standing = _words(variant.runs())
    found = list(standing)
    for first, there, count in _same(standing, drafted):
        for i in range(count):
            word = standing[first + i]
            if word.state != "typed":
                found[first + i] = Word(
                    word.start, word.end, word.text, word.state, placed[there + i]
                )
    return found


def word_at(words: Sequence[Word], letter: int | None) -> int | None:
    """The place of the word that holds `letter`, or else stands before it."""
    before = [
        at for at, word in enumerate(words) if letter is None or word.start <= letter
    ]
    return before[-1] if before else (0 if words else None)


def _words(runs: Sequence[Run]) -> list[Word]:
    text = "".join(text for text, _ in runs)
    states = [state for text, state in runs for _ in text]
    return [
        Word(start, end, text[start:end], look)
        for start, end, look in words_of(text, states)
    ]


def _same(one: Sequence[Word], other: Sequence[Word]) -> list[tuple[int, int, int]]:
    """Places in both and lengths of the stretches that are the same."""
    matcher = SequenceMatcher(
        None,
        [word.text for word in one],
        [word.text for word in other],
        autojunk=len(one) > _MANY,
    )
    return [(b.a, b.b, b.size) for b in matcher.get_matching_blocks()]


_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_AROUND = 40
"""Letters of the passage that are shown before and behind the run."""
_SHORTEST_WORD = 4
"""Letters of a word that says something by itself."""
_MOST = 12
"""Words that are compared to either side."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A passage that holds the word, and words beside it where there are any."""

    source: Source
    before: str
    run: str
    behind: str


def followed(text: str, start: int, sources: Iterable[Source]) -> Followed | None:
    """The passage that the word of `text` at letter `start` follows."""
    ours = list(_WORD.finditer(text))
    at = next((i for i, word in enumerate(ours) if word.end() > start), None)
    if at is None:
        return None
    names = [word.group().casefold() for word in ours]
    best: tuple[int, int] = (0, 0)
    found: Followed | None = None
    for source in sources:
        theirs = list(_WORD.finditer(source.excerpt))
        others = [word.group().casefold() for word in theirs]
        for there, name in enumerate(others):
            if name != names[at]:
                continue
            back = alike(names[:at][::-1][:_MOST], others[:there][::-1])
            on = alike(names[at + 1 :][:_MOST], others[there + 1 :])
            run = names[at - back : at + on + 1]
            # What it follows stands before it, so that counts first.
            rank = (back, on)
            if (rank <= best and found is not None) or not _telling(run):
                continue
            best = rank
            first, last = theirs[there - back].start(), theirs[there + on].end()
            found = Followed(source, *_cut(source.excerpt, first, last))
    return found


def _telling(run: Sequence[str]) -> bool:
    """Whether a run of words is more than what stands in every letter."""
    return any(len(word) >= _SHORTEST_WORD and word not in COMMON for word in run)


def _cut(text: str, first: int, last: int) -> tuple[str, str, str]:
    before, behind = text[max(0, first - _AROUND) : first], text[last : last + _AROUND]
    before = ("…" if first > _AROUND else "") + before
    return (
        before,
        text[first:last],
        behind + ("…" if last + _AROUND < len(text) else ""),
    )
